"""Equilibria, their frequencies and buckling loads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csc_array

import fem_mbs as mbs
from fem_mbs.derivatives import eigen, parameters
from fem_mbs.elements import (
    Beam,
    BeamSection,
    Bearing,
    Bushing,
    Force,
    FrictionSpring,
    JointSpring,
    Moment,
    NodeSensor,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    SpringDamper,
)
from tests.catalogue import EVERYTHING
from tests.derivatives.varied import builder, scale


def cantilever(EI: float = 2.0, length: float = 1.0, moment: float = 4.0, load: float = 0.0) -> mbs.Model:  # noqa: N803
    """Bent to an arc by a moment at its end, or pressed."""
    model = mbs.Model("SE3")
    section = BeamSection(EA=1e3, GA=1e3, GJ=5.0, EI=(EI, 3.0 * EI), mass=0.4, inertia=(2e-3, 1e-3, 1e-3))
    beam = Beam.line(model, (0, 0, 0), (length, 0, 0), section, elements=10, name="beam")
    model.fix(beam.nodes[0])
    model.add(Moment(beam.nodes[-1], (0, -moment, 0)))
    model.add(Force(beam.nodes[-1], (-load, 0, 0)))
    return model


def tip(solution: Any) -> Any:
    """Of the beam, in its plane."""
    return solution.position(solution.model["beam"].nodes[-1])[-1, [0, 2]]


def test_an_arc() -> None:
    """Closed form of the tip under an end moment: M, EI and L; the elements are exact there."""
    found = mbs.sensitivities(cantilever, {"moment": 4.0, "EI": 2.0, "length": 1.0}, of=mbs.statics, step=0.25)
    np.testing.assert_allclose(tip(found.solution), [0.4546487134, 0.7080734183], atol=1e-9)
    derivatives = found.of(tip)
    np.testing.assert_allclose(derivatives["moment"], [-0.2176988875, 0.0503060021], atol=1e-8)
    np.testing.assert_allclose(derivatives["EI"], [0.4353977750, -0.1006120043], atol=1e-8)
    np.testing.assert_allclose(derivatives["length"], [-0.4161468365, 0.9092974268], atol=1e-7)


@pytest.mark.parametrize("place", [1.0, 1e3, 1e4])
def test_what_is_moved_as_a_whole_goes_along(place: float) -> None:
    """However far it is: a share of its place is a long way for springs of a metre."""

    def build(place: float, stiffness: float = 50.0) -> mbs.Model:
        model = mbs.Model(gravity=(0, 0, -9.81))
        bob, top = model.add_node((place, 0, 0), name="bob"), model.add_node((place, 0, 1.0))
        model.fix(top)
        model.fix(bob, translation=False)
        model.add(RigidBody(bob, 1.0, (1, 1, 1)))
        model.add(SpringDamper(top, bob, stiffness, free_length=0.8))
        model.add(Bushing(top, bob, (10.0, 10.0, 0.0, 0.0, 0.0, 0.0)))
        return model

    values = {"place": place, "stiffness": 50.0}
    found = mbs.sensitivities(build, values, of=mbs.statics).of(lambda run: run.position("bob")[-1])
    np.testing.assert_allclose(found["place"], (1, 0, 0), atol=2e-6)
    np.testing.assert_allclose(found["stiffness"], (0, 0, 9.81 / 50.0**2), atol=1e-9)


@pytest.mark.ci
def test_frequencies_about_what_is_bent() -> None:
    """Against differences of whole analyses over a longer step: the change of the equilibrium counts."""
    values = {"EI": 2.0, "moment": 1.0}
    found = mbs.sensitivities(cantilever, values, of=mbs.statics)
    mine = found.of(lambda s: mbs.modes(s.model, 2, s.state(-1)).frequencies)

    def frequencies(**changed: float) -> Any:
        model = cantilever(**{**values, **changed})
        tight = mbs.Newton(force_tolerance=1e-12, max_iterations=30)
        return mbs.modes(model, 2, mbs.statics(model, newton=tight).state(-1)).frequencies

    for name, value in values.items():
        step = 1e-3 * value
        expected = (frequencies(**{name: value + step}) - frequencies(**{name: value - step})) / (2.0 * step)
        np.testing.assert_allclose(mine[name], expected, rtol=1e-4, atol=1e-6)


TIGHT = mbs.Newton(force_tolerance=1e-12, constraint_tolerance=1e-14, max_iterations=60)
NO_EQUILIBRIUM = (
    "no equilibrium was found",
    "open and close",
    "steps of time",
    "has changed along the path",
    "depend on the way there",
    "repeat",
    "touch",
    "state that rests",
    "is not unique",
)
"""Why some classes have none, or none with a derivative."""
QUICK = ("moment by a signal", "gears", "pressure", "rolling disc")


@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n in QUICK else [pytest.mark.slow]) for n in EVERYTHING])
def test_every_class(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All numbers of its constructor and gravity: equilibrium, reactions, frequencies about it."""
    build, values = builder(("R3xSO3", "SE3", "mixed")[len(name) % 3], name)
    del values["speed"]

    def at_rest(**given: Any) -> mbs.Model:
        return build(speed=0.0, **given)

    def whole(model: mbs.Model) -> tuple[Any, Any]:
        found = mbs.statics(model, newton=TIGHT)
        return found, mbs.modes(model, 4, found.state(-1), damped=True)

    try:
        own = mbs.sensitivities(at_rest, values, of=mbs.statics, scale=scale(values), newton=TIGHT)
    except mbs.FemMbsError as error:
        assert any(text in str(error) for text in NO_EQUILIBRIUM), error
        return
    modes = own.about(mbs.modes, count=4, damped=True)
    runs = []
    for step in (1e-4, 2e-4):
        monkeypatch.setattr(parameters, "STEP", step)
        runs.append(mbs.sensitivities(at_rest, values, of=whole, scale=scale(values)))

    def state(found: Any) -> Any:
        """But for what is counted along the way, which nothing depends on."""
        last = found.state(-1)
        return np.concatenate([last.x.ravel(), last.R.ravel(), last.u[found.system.order >= 0], last.multipliers])

    def eigenvalues(found: Any) -> Any:
        return found.eigenvalues

    def shapes(found: Any) -> Any:
        return found.shapes

    # shapes of eigenvalues that are close have more of the rounding; matrices of laws are differences themselves
    of_matrices = 1e-5 if "by a law" in name else 2e-6
    for k, mine, query, close, least in (
        (0, own, state, 2e-6, 1e-3), (1, modes, eigenvalues, of_matrices, 1e-3), (1, modes, shapes, 1e-4, 1e-2),
    ):  # fmt: skip
        derivatives = mine.of(query)
        near, far = (each.of(lambda found, k=k, query=query: query(found[k])) for each in runs)
        for key in values:
            expected = (4.0 * near[key] - far[key]) / 3.0
            limit = close * np.abs(expected).max(initial=least)
            np.testing.assert_allclose(derivatives[key], expected, rtol=0.0, atol=limit, err_msg=f"{query} {key}")


def test_buckling() -> None:
    """Euler's load grows with the stiffness, and falls with the square of the length, but for what shortens before."""
    values = {"EI": 2.0, "length": 1.0}

    def pressed(**given: float) -> mbs.Model:
        return cantilever(moment=0.0, load=1.0, **given)

    found = mbs.sensitivities(pressed, values, of=mbs.statics, load_end=0.1)
    load = mbs.buckling(found.solution.model, initial=found.solution.state(-1)).factors[0]
    rates = found.of(lambda s: mbs.buckling(s.model, initial=s.state(-1)).factors, relative=True)
    assert abs(load / (np.pi**2 * 2.0 / 4.0) - 1.0) < 0.02
    assert abs(rates["EI"][0] / load - 1.0) < 0.02 and abs(rates["length"][0] / load + 2.0) < 0.04


@pytest.mark.ci
def test_buckling_about_an_equilibrium_of_laws_of_loads() -> None:
    """A load that is a function of the factor counts as one that is multiplied by it, as it does beyond the path."""

    def column(EI: float = 2.0, P0: float = 1.0, P1: float = 1.0) -> mbs.Model:  # noqa: N803
        model = cantilever(EI, moment=0.0)
        model.add(Force(model.nodes[-1], (-P0, 0, 0)))
        model.add(Force(model.nodes[-1], lambda t: (-P1 * t, 0, 0)))
        return model

    for loads in ({"P0": 1.0, "P1": 1.0}, {"P0": 0.0, "P1": 2.0}):
        values = {"EI": 2.0, **loads}
        rates = mbs.sensitivities(column, values, of=mbs.statics, scale={"P0": 1.0}).about(mbs.buckling)
        (factor,), of = rates.solution.factors, rates.of(lambda b: b.factors[0])
        np.testing.assert_allclose(of["P0"], of["P1"], rtol=1e-6)  # both are full at the factor one
        # all stiffnesses that count grow with EI, but for those of shear and length, and the factor with 1/P
        assert abs(2.0 * of["P1"] / factor + 1.0) < 3e-3 and abs(2.0 * of["EI"] / factor - 1.0) < 0.02


@pytest.mark.slow
def test_modes_by_formula() -> None:
    """As differences of whole analyses about the equilibrium, shapes too; the moment's stiffness is not symmetric."""
    values = {"EI": 2.0, "moment": 1.0, "length": 1.0}
    bent = mbs.sensitivities(cantilever, values, of=mbs.statics)
    modes = bent.about(mbs.modes, count=3)
    more = mbs.modes(bent.solution.model, 10, bent.solution.state(-1)).frequencies[:3]
    np.testing.assert_allclose(modes.solution.frequencies, more, rtol=1e-9)  # coupled with modes beyond
    for query in (lambda m: m.frequencies, lambda m: np.abs(m.shapes[0])):
        mine = modes.of(query)
        theirs = bent.of(lambda s, query=query: query(mbs.modes(s.model, 3, s.state(-1))))
        for name in values:
            np.testing.assert_allclose(mine[name], theirs[name], atol=1e-5 * np.abs(theirs[name]).max())
    pressed = mbs.sensitivities(
        lambda EI: cantilever(EI, moment=0.0, load=1.0), {"EI": 2.0}, of=mbs.statics, load_end=0.1
    )
    for query in (lambda b: b.factors, lambda b: np.abs(b.shapes).sum(axis=(1, 2))):
        mine = pressed.about(mbs.buckling, count=2).of(query)["EI"]
        theirs = pressed.of(lambda s, query=query: query(mbs.buckling(s.model, 2, initial=s.state(-1))))["EI"]
        np.testing.assert_allclose(mine, theirs, rtol=1e-5)


def test_modes_about_a_state_that_is_given() -> None:
    """It stays, also in the models beside: a pendulum held aside by a spring."""

    def arm(mass: float) -> mbs.Model:
        model = mbs.Model(gravity=(0, 0, -10.0))
        node = model.add_node((1.0, 0, 0))
        model.add(RigidBody(node, mass, (1.0, 1.0, 1.0)))
        model.add(JointSpring(model.add(RevoluteJoint(model.ground, node, (0, 1, 0), point=(0, 0, 0))), 40.0))
        return model

    state = mbs.statics(arm(2.0)).state(-1)
    rate = mbs.sensitivities(arm, {"mass": 2.0}, of=mbs.modes, state=state).of(lambda m: m.angular)["mass"]
    ahead, back = (mbs.modes(arm(mass), state=state).angular for mass in (2.001, 1.999))
    np.testing.assert_allclose(rate, (ahead - back) / 0.002, rtol=1e-6)
    with pytest.raises(mbs.ModelError, match="state is the one of at="):
        mbs.sensitivities(arm, {"mass": 2.0}, of=mbs.statics).about(mbs.modes, state=state)


def test_buckling_loads_that_are_two() -> None:
    """Of a round column, whose loads grow with its stiffness; one of them alone has no derivative that is told."""

    def column(E: float) -> mbs.Model:
        model = mbs.Model()
        beam = Beam.line(model, (0, 0, 0), (0, 0, 1), BeamSection.circle(0.01, E, 0.3, 7800.0), 4)
        model.fix(beam.nodes[0])
        model.add(Force(beam.nodes[-1], (0, 0, -1.0)))
        return model

    found = mbs.sensitivities(column, {"E": 2e11}, of=mbs.buckling, count=2)
    rates = found.of(lambda b: b.factors / found.solution.factors, relative=True)["E"]
    np.testing.assert_allclose(rates, 1.0, rtol=1e-3)  # strains fall as it stiffens
    with pytest.raises(mbs.ModelError, match="of mode 1: there are more modes with this eigenvalue"):
        mbs.sensitivities(column, {"E": 2e11}, of=mbs.buckling).of(lambda b: b.factors)


def test_modes_that_share_a_frequency() -> None:
    """A square beam: of a stiffness about one axis one branch has no derivative, the other the square root's."""

    def square(one: float = 20.0, both: float = 1.0) -> mbs.Model:
        model = mbs.Model()
        section = BeamSection(1e5, 1e5, 10.0, (one * both, 20.0 * both), 1.0, (2e-6, 1e-6, 1e-6))
        model.fix(Beam.line(model, (0, 0, 0), (1, 0, 0), section, 10).nodes[0])
        return model

    found = mbs.sensitivities(square, {"one": 20.0, "both": 1.0}, of=mbs.modes, count=2)
    rates = found.of(lambda m: m.frequencies / found.solution.frequencies, relative=True)
    np.testing.assert_allclose(rates["one"], [0.0, 0.5], atol=1e-3)  # shear takes a share
    np.testing.assert_allclose(rates["both"], [0.5, 0.5], atol=1e-3)
    np.testing.assert_allclose(rates["one"][1], rates["both"], rtol=1e-7)
    assert "modes 1 and 2 have one eigenvalue" in found.notes[0]
    with pytest.raises(mbs.ModelError, match="no derivative against one; modes 1 and 2"):
        found.of(lambda m: m.shapes.real)

    with pytest.raises(mbs.ModelError, match="of mode 1: there are more modes with this eigenvalue"):
        mbs.sensitivities(square, {"one": 20.0}, of=mbs.modes, count=1).of(lambda m: m.frequencies)


@pytest.mark.parametrize(("k", "told"), [(1.0, False), (1e-4, True)])
def test_derivatives_that_rounding_hides_are_told(k: float, told: bool) -> None:
    """Of a stiff rod on a soft spring, which swings as sqrt(k/h): rounding of its stiffness in shear is more than k."""

    def rod(k: float, h: float) -> mbs.Model:
        model = mbs.Model()
        beam = Beam.line(model, (0, 0, 0), (1, 0, 0), BeamSection.rectangle(0.02, h, 210e9, 0.3, 7850.0), 8)
        model.add(JointSpring(model.add(RevoluteJoint(model.ground, beam.nodes[0], (0, 1, 0))), k))
        return model

    found = mbs.sensitivities(rod, {"k": k, "h": 0.01}, of=mbs.modes, count=2)
    rate = found.of(lambda m: m.angular / found.solution.angular, relative=True)["h"][0]
    assert any("mode 1 against" in note and "by rounding" in note for note in found.notes) is told
    assert (abs(rate + 0.5) > 3e-3) == told


def slider(k: float = 4.0, c: float = 1.0) -> mbs.Model:
    """A mass of 1 kg on a spring with a damper."""
    model = mbs.Model()
    node = model.add_node((1.0, 0, 0))
    model.add(RigidBody(node, 1.0, (1.0, 1.0, 1.0)))
    model.add(JointSpring(model.add(PrismaticJoint(model.ground, node, (1, 0, 0))), k, c))
    return model


@pytest.mark.parametrize("of", [mbs.modes, lambda model, damped: mbs.modes(model, damped=damped)])
@pytest.mark.parametrize("c", [1.0, 3.9, 4.1, 10.0])
def test_damped_modes(of: Any, c: float) -> None:
    """Of s^2 + c s + k = 0 by formula, and by differences of a function that asks for them with options of its own."""
    rates = mbs.sensitivities(slider, {"k": 4.0, "c": c}, of=of, damped=True)
    s = rates.solution.eigenvalues
    found = rates.of(lambda m: m.eigenvalues)
    np.testing.assert_allclose(found["k"], -1.0 / (2.0 * s + c), rtol=1e-4)
    np.testing.assert_allclose(found["c"], -s / (2.0 * s + c), rtol=1e-4)


def test_dampers_change_nothing_of_modes_without_them() -> None:
    """f = sqrt(k / m) / 2 pi, and what it changes by."""
    rates = mbs.sensitivities(slider, {"k": 4.0, "c": 1.0}, of=mbs.modes).of(lambda m: m.frequencies)
    np.testing.assert_allclose([rates["k"], rates["c"]], [[1.0 / (8.0 * np.pi)], [0.0]], atol=1e-9)


def rotor(k: float = 40.0, polar: float = 0.2, c: float = 0.3) -> mbs.Model:
    """A disc under its weight that tilts on a bearing: a w'' + (c - i polar W) w' + k w = 0 at the speed W."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    disc = model.add_node((0, 0, 0))
    model.add(RigidBody(disc, 10.0, (polar, 0.1, 0.1)))
    model.add(Bearing(model.ground, disc, (1, 0, 0), (1e6, 1e6, 1e6, k, k), (0.0, 0.0, 0.0, c, c)))
    return model


@pytest.mark.ci
def test_modes_of_what_turns() -> None:
    """In axes that turn, where each is seen with W less, and in a Campbell diagram; critical speeds, free turning."""
    values, speed, a = {"k": 40.0, "polar": 0.2, "c": 0.3}, 50.0, 0.1
    b = values["c"] - 1j * values["polar"] * speed
    s = np.roots([a, b, values["k"]])
    exact = {name: -own / (2.0 * a * s + b) for name, own in {"k": 1.0, "polar": -1j * speed * s, "c": s}.items()}

    spin = mbs.sensitivities(rotor, values, of=mbs.steady_spin, speed=speed)
    modes = spin.about(mbs.modes, count=3, damped=True)
    found, rates = modes.solution.eigenvalues, modes.of(lambda m: m.eigenvalues)
    assert abs(found[0]) < 1e-12 and all(own[0] == 0.0 for own in rates.values())
    for eigenvalue, *derivatives in zip(found[1:], *(rates[name][1:] for name in values), strict=True):
        both = np.array([s - 1j * speed, (s - 1j * speed).conj()])
        number, k = np.unravel_index(np.abs(both - eigenvalue).argmin(), both.shape)
        for name, own in zip(values, derivatives, strict=True):
            np.testing.assert_allclose(own if number == 0 else np.conj(own), exact[name][k], rtol=1e-6)

    diagram = mbs.sensitivities(rotor, values, of=mbs.campbell, speeds=[speed], count=2)
    rates = diagram.of(lambda d: d.angular)
    order = np.argsort(np.abs(s.imag))
    np.testing.assert_allclose(diagram.solution.angular[0], np.abs(s.imag)[order], rtol=1e-9)
    for name in values:
        np.testing.assert_allclose(rates[name][0], (np.sign(s.imag) * exact[name].imag)[order], rtol=1e-5)


def test_shapes_beside_sensors() -> None:
    """Modal masses count what a sensor of accelerations reads, whose equation is not symmetric."""

    def sensed(k: float) -> mbs.Model:
        model = slider(k)
        model.add(NodeSensor(model.nodes[1], "acceleration", direction=(1, 0, 0)))
        return model

    mine, theirs = (
        mbs.sensitivities(sensed, {"k": 4.0}, of=of, damped=True).of(lambda m: np.append(m.shapes.ravel(), m.own))["k"]
        for of in (mbs.modes, lambda model, damped: mbs.modes(model, damped=damped))
    )
    np.testing.assert_allclose(mine, theirs, atol=1e-6 * np.abs(theirs).max())


def test_where_eigenvalues_have_none() -> None:
    """Where a motion ceases to swing, or begins to: roots of the parameters, which have no derivative."""
    critical = mbs.sensitivities(slider, {"k": 4.0, "c": 4.0}, of=mbs.modes, damped=True)
    with pytest.raises(mbs.ModelError, match="the motion is just where it ceases to swing"):
        critical.of(lambda m: m.eigenvalues)

    def free(k: float) -> mbs.Model:
        model = mbs.Model()
        section = BeamSection(1e5, 1e5, 1e3, (1e3, 2e3), 1.0, (2e-2, 1e-2, 1e-2))
        first = Beam.line(model, (0, 0, 0), (1, 0, 0), section, 4).nodes[0]
        model.fix(first, translation=(False, True, True))
        model.add(SpringDamper(model.ground, first, k, point_a=(-1, 0, 0), free_length=1.0))
        return model

    loose = mbs.sensitivities(free, {"k": 0.0}, of=mbs.modes, count=1, scale={"k": 1.0})
    with pytest.raises(mbs.ModelError, match="no derivative against k"):
        loose.of(lambda m: m.frequencies)


@pytest.mark.parametrize(("at", "warns"), [(4.0, True), (4.1, False)])
def test_differences_that_tell_nothing(at: float, warns: bool, caplog: pytest.LogCaptureFixture) -> None:
    """Of results with a kink within the difference, as of runs that differ by more than their parameters."""
    bent = mbs.sensitivities(slider, {"k": at}, of=lambda model: max(mbs.modes(model).angular[0], 2.0))
    bent.of(lambda value: value)
    assert ("the two sides of the difference against k differ by" in caplog.text) is warns


@pytest.mark.ci
def test_limits_of_the_load() -> None:
    """Von Mises' two bars, closed form: the load, and how far down it is reached."""

    def bars(EA: float, a: float, z: float) -> mbs.Model:  # noqa: N803
        model = mbs.Model()
        top = model.add_node((0, 0, z), name="top")
        model.fix(top, translation=(True, True, False))
        for x in (-a, a):
            length = float(np.hypot(a, z))
            model.add(SpringDamper(model.ground, top, EA / length, point_a=(x, 0, 0), free_length=length))
        model.add(Force(top, (0, 0, -1.0)))
        return model

    path = mbs.sensitivities(bars, {"EA": 2e4, "a": 2.0, "z": 0.5}, of=mbs.statics, load_end=300.0, arc_length=True)
    found = path.limits()
    np.testing.assert_allclose(found.solution.t, [113.1828232346, -113.1828232346], rtol=1e-9)
    np.testing.assert_allclose(-found.solution.displacement("top")[0, 2], 0.2142464315, rtol=1e-8)
    loads, places = found.of(lambda s: s.t[0]), found.of(lambda s: -s.displacement("top")[0, 2])
    for name, load, place in (
        ("EA", 0.0056591412, 0.0), ("a", -163.0715772833, -0.0028392453), ("z", 652.2863091334, 0.4398498441),
    ):  # fmt: skip
        np.testing.assert_allclose(loads[name], load, rtol=1e-8)
        np.testing.assert_allclose(places[name], place, rtol=1e-6, atol=1e-9)
    with pytest.raises(mbs.ModelError, match="no limit on the path"):
        mbs.sensitivities(bars, {"EA": 2e4, "a": 2.0, "z": 0.5}, of=mbs.statics, load_end=10.0).limits()


def test_steady_rotation_and_linear_models() -> None:
    """A mass on a spring that turns, r = k l0/(k - m w^2); its transfer function -1/(k - m w^2 + i w c)."""

    def radial(k: float = 500.0, damping: float = 3.0) -> mbs.Model:
        model = mbs.Model()
        arm, mass = model.add_node((0, 0, 0)), model.add_node((1.2, 0, 0), name="mass")
        model.add(RigidBody(arm, 0.1, (1.0, 1.0, 1.0)))
        model.add(RigidBody(mass, 2.0, (1.0, 1.0, 1.0)))
        model.add(RevoluteJoint(model.ground, arm, (0, 0, 1)))
        slider = model.add(PrismaticJoint(arm, mass, (1, 0, 0)))
        model.add(JointSpring(slider, k, damping, free=-0.2))
        return model

    turning = mbs.sensitivities(radial, {"k": 500.0}, of=mbs.steady_rotation, angular_velocity=(0, 0, 8.0))
    radius = turning.of(lambda s: np.linalg.norm(s.position("mass")[-1]))
    np.testing.assert_allclose(np.linalg.norm(turning.solution.position("mass")[-1]), 1.3440860215, rtol=1e-9)
    np.testing.assert_allclose(radius["k"], -0.0009249624, rtol=1e-6)

    def response(linear: mbs.LinearModel) -> Any:
        w = 5.0
        matrix = linear.K - w**2 * linear.M + 1j * w * linear.C
        whole = np.block(
            [[matrix.toarray(), linear.L.toarray()], [linear.B.toarray(), np.zeros((linear.B.shape[0],) * 2)]]
        )
        force = np.zeros(len(whole))
        force[6] = 1.0
        return np.linalg.solve(whole, force)[6]

    held = mbs.sensitivities(lambda k, c: radial(k, c), {"k": 500.0, "c": 3.0}, of=mbs.linearize)
    exact = 1.0 / (500.0 - 25.0 * 2.0 + 15.0j)
    np.testing.assert_allclose(response(held.solution), exact, rtol=1e-6)
    rates = held.of(response)
    np.testing.assert_allclose(rates["k"], -(exact**2), rtol=1e-6)
    np.testing.assert_allclose(rates["c"], -5.0j * exact**2, rtol=1e-6)


def test_refused() -> None:
    """By name."""
    with pytest.raises(mbs.ModelError, match="modes: has no argument 't_end'"):
        mbs.sensitivities(cantilever, {"EI": 2.0}, 1.0, of=mbs.modes)
    with pytest.raises(mbs.ModelError, match="sensitivities: of: has no argument 't_end'; it takes model"):
        mbs.sensitivities(cantilever, {"EI": 2.0}, 1.0, of=lambda model: 1.0)
    with pytest.raises(mbs.ModelError, match="limits are of paths of mbs.statics"):
        (found := mbs.sensitivities(cantilever, {"EI": 2.0}, of=mbs.modes)).limits()
    with pytest.raises(mbs.ModelError, match="the function must return numbers"):
        found.of(lambda modes: [1.0, [2.0]])
    with pytest.raises(mbs.ModelError, match="needs t_end and step"):
        mbs.sensitivities(cantilever, {"EI": 2.0})
    with pytest.raises(mbs.ModelError, match="has no argument 'load_end' for a run"):
        mbs.sensitivities(cantilever, {"EI": 2.0}, 0.1, 0.01, load_end=2.0)


def test_a_hinge_with_a_spring() -> None:
    """Sags by m g l cos(a) = k a: its counted turns are history that nothing depends on."""

    def arm(k: float) -> mbs.Model:
        model = mbs.Model(gravity=(0, 0, -10.0))
        node = model.add_node((1.0, 0, 0))
        model.add(RigidBody(node, 2.0, (1.0, 1.0, 1.0)))
        hinge = model.add(RevoluteJoint(model.ground, node, (0, 1, 0), point=(0, 0, 0)), name="hinge")
        model.add(JointSpring(hinge, k))
        return model

    found = mbs.sensitivities(arm, {"k": 40.0}, of=mbs.statics)
    a = found.solution.coordinate("hinge")[-1]
    rate = found.of(lambda s: s.coordinate("hinge")[-1])["k"]
    np.testing.assert_allclose(rate, -a / (40.0 + 20.0 * np.sin(a)), rtol=1e-7)
    with pytest.raises(mbs.ModelError, match="nothing in the model depends on idle"):
        mbs.sensitivities(lambda k, idle: arm(k), {"k": 40.0, "idle": 1.0}, of=mbs.statics)


def test_a_spring_that_sticks_keeps_what_it_begins_with() -> None:
    """A body on it goes along with the free length, also where that is far from none against its limit."""

    def hanging(length: float) -> mbs.Model:
        model = mbs.Model(gravity=(0, 0, -10.0))
        node = model.add_node((0, 0, -length), name="body")
        model.add(RigidBody(node, 2.0, (1.0, 1.0, 1.0)))
        model.add(PrismaticJoint(model.ground, node, (0, 0, 1)))
        model.add(FrictionSpring(model.ground, node, 1e3, 40.0, free_length=length))
        return model

    found = mbs.sensitivities(hanging, {"length": 1.0}, of=mbs.statics)
    np.testing.assert_allclose(found.of(lambda s: s.position("body")[-1, 2])["length"], -1.0, rtol=1e-7)


@pytest.mark.parametrize(("push", "swings"), [(1e-6, True), (1e-16, False)])
def test_what_is_at_rest_swings_whatever_the_size_of_its_shape(push: float, swings: bool) -> None:
    """A stiffness beyond rounding makes it swing."""
    stiffness, change = csc_array(np.diag([1.0, 0.0])), csc_array(np.diag([0.0, push]))
    for size in (1e-4, 1.0, 1e4):
        assert np.isnan(eigen._at_rest(stiffness, change, np.array([[0.0], [size]])))[0] == swings


def test_loads_that_act_in_full_do_so_in_derivatives_of_all_states() -> None:
    """Of a slider on a spring of ``k``, pushed by ``F``, at each load factor: ``1/k`` and ``-F/k^2``."""

    def pushed(k: float = 4.0, F: float = 0.5) -> mbs.Model:  # noqa: N803
        model = slider(k)
        model.add(Force(model.nodes[1], (F, 0, 0)))
        return model

    found = mbs.sensitivities(pushed, {"k": 4.0, "F": 0.5}, of=mbs.statics, ramp=False)
    derivatives = found.of(lambda solution: solution.position(solution.model.nodes[1])[:, 0])
    np.testing.assert_allclose(derivatives["F"], 1 / 4.0, rtol=1e-7)
    np.testing.assert_allclose(derivatives["k"], -0.5 / 16.0, rtol=1e-7)


def test_what_does_not_depend_on_a_parameter_is_no_kink(caplog: pytest.LogCaptureFixture) -> None:
    """An equilibrium that sinks, and is to rounding: of dampers, and of a reaction that is the weight."""

    def build(k: float, c: float) -> mbs.Model:
        model = mbs.Model(gravity=(0, 0, -9.81))
        bar = model.add_node((0.8, 0, 0))
        model.add(RigidBody(bar, 1.5, (0.01, 0.01, 0.01)))
        hinge = model.add(RevoluteJoint(model.ground, bar, (0, 1, 0), (0, 0, 0)), name="hinge")
        model.add(JointSpring(hinge, k, c))
        return model

    rest = mbs.sensitivities(build, {"k": 2.0, "c": 0.1}, of=mbs.statics, load_end=0, ramp=False)
    assert rest.of(lambda solution: solution.coordinate("hinge")[-1])["c"] == 0.0
    assert abs(rest.of(lambda solution: solution.reaction("hinge")[0][-1, 2])["k"]) < 1e-7
    assert not rest.about(mbs.modes, count=1, damped=True).notes
    assert not caplog.messages
