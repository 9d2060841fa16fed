"""Mistakes in a user's own element, joint, internal variable or method: refused by name, before they cost a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.contracts import ElementBatch, Energy, InternalVariable, Method, Nothing, Report, Step, unconstrained
from fem_mbs.elements import FirstOrderActuator, Maxwell, RigidBody, SphericalJoint
from fem_mbs.elements.forces.springs import MaxwellBatch
from fem_mbs.elements.joints.relative import RelativeJoint
from fem_mbs.elements.joints.relative_batch import RelativeBatch

Change = Callable[[Any], Any]


def spring_whose(name: str, change: Change, attribute: bool = False) -> mbs.Model:
    """A body on an element of the user's, one function of which returns something else; or one attribute is that."""

    class MyBatch(MaxwellBatch):
        def __init__(self, elements: Sequence[MySpring], number: Any) -> None:
            super().__init__(elements, number)
            if attribute:
                setattr(self, name, change(getattr(self, name)))

    class MySpring(Maxwell):
        @classmethod
        def batch(cls, elements: Sequence[Any], number: Any) -> ElementBatch:
            return MyBatch(elements, number)

    if not attribute:
        right = getattr(MaxwellBatch, name)
        setattr(MyBatch, name, lambda self, *arguments: change(right(self, *arguments)))
    model, body = hanging()
    model.add(MySpring(model.ground, body, 20.0, 3.0), name="leg")
    return model


def joint_whose(name: str, change: Change, attribute: bool = False) -> mbs.Model:
    """A body on a joint of the user's."""

    class MyBatch(RelativeBatch):
        def __init__(self, joints: Sequence[Any], number: Any) -> None:
            super().__init__(joints, number)
            if attribute:
                setattr(self, name, change(getattr(self, name)))

    class MyJoint(RelativeJoint):
        closes = ("translation x", "translation y")

        @classmethod
        def batch(cls, constraints: Sequence[Any], number: Any) -> Any:
            return MyBatch(constraints, number)

    if not attribute:
        right = getattr(RelativeBatch, name)
        setattr(MyBatch, name, lambda self, *arguments: change(right(self, *arguments)))
    model, body = hanging()
    model.add(MyJoint(model.ground, body, None), name="guide")
    return model


class Unfinished(ElementBatch):
    def __init__(self) -> None:
        pass


def spring_of(batch: Callable[[], Any]) -> mbs.Model:
    """A body on an element of the user's, of some batch."""

    class Own(Maxwell):
        @classmethod
        def batch(cls, elements: Sequence[Any], number: Any) -> Any:
            return batch()

    model, body = hanging()
    model.add(Own(model.ground, body, 20.0, 3.0), name="leg")
    return model


def hanging() -> tuple[mbs.Model, mbs.Node]:
    model = mbs.Model(gravity=(0, 0, -9.81))
    body = model.add_node((0, 0, -1), name="bob")
    model.add(RigidBody(body, 2.0, (1, 1, 1)))
    return model, body


def first(part: Change) -> Change:
    """What changes the first of a pair or triple."""
    return lambda result: (part(result[0]), *result[1:])


MISTAKES = {
    "force of a wrong width": (
        lambda: spring_whose("force", first(lambda f: f[:, :12])),
        r"MyBatch.force must have the shape \(1, 13\), received \(1, 12\).*1 internal variables.*MySpring 'leg'",
    ),
    "force of the right size, turned": (lambda: spring_whose("force", first(np.transpose)), "MyBatch.force must have"),
    "force of a scalar": (lambda: spring_whose("force", first(np.sum)), r"MyBatch.force must .* received \(\)"),
    "stiffness without own rows": (
        lambda: spring_whose("stiffness", lambda K: K[:, :12, :12]),
        r"MyBatch.stiffness must have the shape \(1, 13, 13\), received \(1, 12, 12\)",
    ),
    "stiffness of None": (lambda: spring_whose("stiffness", lambda K: None), "MyBatch.stiffness must have the shape"),
    "damping without cells": (lambda: spring_whose("damping", lambda C: C[0]), "MyBatch.damping must have the shape"),
    "nodes of one row": (lambda: spring_whose("nodes", lambda n: n[0], True), "MyBatch: nodes must be whole numbers"),
    "nodes that are no numbers": (
        lambda: spring_whose("nodes", lambda n: n + 0.5, True),
        "MyBatch: nodes must be whole numbers",
    ),
    "nodes of another model": (
        lambda: spring_whose("nodes", lambda n: n + 7, True),
        r"MyBatch: nodes must be rows from 0 to 1; take them from number\(...\)",
    ),
    "internal variables of another model": (
        lambda: spring_whose("own", lambda n: n + 1, True),
        "MyBatch: own must be rows",
    ),
    "owners forgotten": (lambda: spring_whose("owners", lambda o: [], True), "owners has 0 entries for 1 cells"),
    "lengths of a wrong number": (
        lambda: joint_whose("length", lambda own: own[:1], True),
        r"MyBatch: length must have one entry for each of the 2 equations",
    ),
    "velocity of a wrong number": (
        lambda: joint_whose("velocity", lambda own: np.array([True]), True),
        r"MyBatch: velocity must have one entry for each of the 2 equations",
    ),
    "Phi of a wrong length": (
        lambda: joint_whose("evaluate", first(lambda phi: phi[:1])),
        r"MyBatch.evaluate: Phi must have the shape \(2,\), received \(1,\).*MyJoint 'guide'",
    ),
    "B of one node": (
        lambda: joint_whose("evaluate", lambda r: (r[0], r[1][:, :6], r[2])),
        r"MyBatch.evaluate: B must have the shape \(2, 12\), received \(2, 6\)",
    ),
    "force of nothing": (
        lambda: spring_whose("force", lambda pair: None),
        r"MyBatch.force of MySpring 'leg' and its kind must be \(forces, context\), received None",
    ),
    "force without context": (
        lambda: spring_whose("force", lambda pair: pair[0]),
        r"MyBatch.force .* \(forces, context",
    ),
    "forces that are complex": (
        lambda: spring_whose("force", first(lambda f: f + 0j)),
        "MyBatch.force .* real numbers",
    ),
    "forces of a list": (lambda: spring_whose("force", first(np.ndarray.tolist)), "MyBatch.force .* must be an array"),
    "energy of a number": (lambda: spring_whose("energy", lambda e: 3.0), "MyBatch.energy .* must be an Energy"),
    "energy of a wrong length": (
        lambda: spring_whose("energy", lambda e: Energy(strain=np.zeros(3))),
        r"MyBatch.energy: strain must have the shape \(1,\), received \(3,\)",
    ),
    "energy of no number": (
        lambda: spring_whose("energy", lambda e: Energy(strain=np.array([np.nan]))),
        "MyBatch.energy: strain of MySpring 'leg' and its kind must be finite numbers",
    ),
    "jump at no time": (lambda: spring_whose("next_jump", lambda t: None), "MyBatch.next_jump .* must be a time in s"),
    "evaluate of a pair": (
        lambda: joint_whose("evaluate", lambda result: result[:2]),
        r"MyBatch.evaluate of MyJoint 'guide' and its kind must be \(Phi, B, context\), received",
    ),
    "a batch without nodes": (lambda: spring_of(lambda: Unfinished()), "Unfinished of Own 'leg' has no nodes"),
    "no batch": (lambda: spring_of(lambda: None), "Own.batch must return an? ElementBatch, received None"),
    "H of a wrong shape": (
        lambda: joint_whose("second", lambda H: H[:1]),
        r"MyBatch.second must have the shape \(2, 12, 12\), received \(1, 12, 12\)",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_wrong_shapes_are_refused_at_the_start(name: str) -> None:
    make, message = MISTAKES[name]
    for run in (lambda model: mbs.simulate(model, 0.1, 0.01), mbs.statics, mbs.modes):
        with pytest.raises(mbs.ModelError, match=f"(?s){message}"):
            run(make())


def write(motion: Any) -> Any:
    motion.x[0] += 1.0


FAILURES: dict[str, tuple[Change, str]] = {
    "raises": (lambda motion: 1 / 0, r"failed: ZeroDivisionError\('division by zero'\) \(test_bad_contracts.py, line"),
    "changes the motion": (write, "read-only.*what it is given is not to be changed: work on a copy"),
    "mistypes": (lambda motion: motion.nix, "'Motion' object has no attribute 'nix'"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_code_of_users_that_fails_is_named_at_the_start_and_later(name: str) -> None:
    """Of whatever kind its error is, which is the cause; a run keeps its steps, and a motion stays as it is."""
    fail, message = FAILURES[name]

    def model(after: float) -> mbs.Model:
        class MyBatch(MaxwellBatch):
            def force(self, motion: Any, prescribed: Any) -> Any:
                fail(motion) if motion.t >= after else None
                return super().force(motion, prescribed)

        class MySpring(Maxwell):
            @classmethod
            def batch(cls, elements: Sequence[Any], number: Any) -> ElementBatch:
                return MyBatch(elements, number)

        own, body = hanging()
        own.add(MySpring(own.ground, body, 20.0, 3.0), name="leg")
        return own

    words = f"(?s): MyBatch.force of MySpring 'leg' and its kind {message}" if "failed" in message else message
    for run in (lambda: mbs.simulate(model(0.0), 0.1, 0.01), lambda: mbs.modes(model(0.0))):
        with pytest.raises(mbs.FemMbsError, match=words) as error:
            run()
        assert error.value.__cause__ is not None
    if fail is not write:
        with pytest.raises(mbs.FemMbsError, match=words) as error:
            mbs.simulate(model(0.05), 0.1, 0.01)
        assert error.value.solution is not None and len(error.value.solution.t) == 5


def test_a_method_with_other_arguments_than_those_of_the_contract_is_told() -> None:
    class MyBatch(MaxwellBatch):
        def force(self, motion: Any) -> Any:  # type: ignore[override]
            return super().force(motion, None)

    class MySpring(Maxwell):
        @classmethod
        def batch(cls, elements: Sequence[Any], number: Any) -> ElementBatch:
            return MyBatch(elements, number)

    model, body = hanging()
    model.add(MySpring(model.ground, body, 20.0, 3.0))
    with pytest.raises(mbs.FemMbsError, match=r"simulate: .*MyBatch.force\(\) takes 2 positional arguments but 3"):
        mbs.simulate(model, 0.1, 0.01)


def test_a_stiffness_that_is_no_number_is_that_of_its_element() -> None:
    message = "MySpring 'leg': its stiffness is not finite numbers"
    with np.errstate(all="ignore"), pytest.raises(mbs.ConvergenceError, match=message):
        mbs.simulate(spring_whose("stiffness", lambda K: K * np.nan), 0.1, 0.01)


@pytest.mark.parametrize("closes", [(), ("translation x", "translation x"), ("translation q",), "translation x"])
def test_a_joint_closes_motions_each_once(closes: Any) -> None:
    model, body = hanging()
    mine = type("Mine", (RelativeJoint,), {"closes": closes})
    with pytest.raises(mbs.ModelError, match="Mine.closes must name motions from 'translation x' to 'rotation z'"):
        mine(model.ground, body, None)


def test_a_joint_that_has_not_called_its_base_is_refused() -> None:
    class Mine(RelativeJoint):
        closes = ("translation x",)

        def __init__(self, a: Any, b: Any) -> None:
            pass

    model, body = hanging()
    with pytest.raises(mbs.ModelError, match=r"Mine.* has no nodes.*super\(\).__init__"):
        model.add(Mine(model.ground, body))


def test_a_batch_is_of_the_class() -> None:
    class Mine(Maxwell):
        def batch(self, elements: Sequence[Any], number: Any) -> Any:  # type: ignore[override]
            return None

    model, body = hanging()
    model.add(Mine(model.ground, body, 20.0, 3.0))
    with pytest.raises(mbs.ModelError, match="Mine.batch must be a class method"):
        mbs.simulate(model, 0.1, 0.01)


@pytest.mark.parametrize(
    ("make", "method", "message"),
    [(lambda of: spring_whose("force", of), 0, "MyBatch.force"), (lambda of: joint_whose("evaluate", of), 1, "B")],
)
def test_wrong_shapes_are_refused_later(make: Any, method: int, message: str) -> None:
    """Of what was in order at the start."""
    calls = iter(range(1_000_000))

    def later(result: Any) -> Any:
        parts = list(result)
        parts[method] = parts[method][:, :6] if next(calls) > 30 else parts[method]
        return tuple(parts)

    with pytest.raises(mbs.ModelError, match=rf"{message} must have the shape .*, received \({method + 1}, 6\)"):
        mbs.simulate(make(later), 1.0, 0.01)


class Exploding:
    """A law whose force over its delay is too large for a number from 0.05 s on."""

    def __call__(self, t: float, length: float, speed: float) -> float:
        return 1e306 if t > 0.05 else 0.0

    by_length = by_speed = staticmethod(lambda t, length, speed: 0.0)


def test_a_state_that_is_no_number_is_named() -> None:
    """Not a negative mass, nor a step that is too long: the element and its unknown."""
    model, body = hanging()
    model.add(SphericalJoint(model.ground, body))

    class Diverging(MaxwellBatch):
        def law(self, length: Any, speed: Any, state: Any, prescribed: Any) -> Any:
            law = super().law(length, speed, state, prescribed)
            return law._replace(value=law.value * [[1.0, np.nan]])

    class Leg(Maxwell):
        @classmethod
        def batch(cls, elements: Sequence[Any], number: Any) -> ElementBatch:
            return Diverging(elements, number)

    model.add(Leg(model.ground, body, 20.0, 3.0), name="leg")
    with pytest.raises(mbs.FemMbsError, match="Leg 'leg'.*nan") as error:
        mbs.simulate(model, 0.1, 0.01)
    assert "mass" not in str(error.value)


@pytest.mark.parametrize("method", [mbs.GeneralizedAlpha(0.8), mbs.LieEuler(), mbs.RungeKuttaMuntheKaas()])
def test_forces_that_stop_to_be_numbers_are_named_and_the_steps_kept(method: Method) -> None:
    model, body = hanging()
    model.add(FirstOrderActuator(model.ground, body, Exploding(), 1e-3), name="motor")
    with np.errstate(all="ignore"), pytest.raises(mbs.FemMbsError, match="'motor'.*(not finite|has become)") as error:
        mbs.simulate(model, 0.2, 0.001, method)
    assert error.value.solution is not None
    assert len(error.value.solution.t) > 40
    assert "mass" not in str(error.value)


def test_drives_are_checked_against_what_is_closed() -> None:
    model, body = hanging()

    class Driven(RelativeJoint):
        closes = ("translation x", "translation y", "translation z", "rotation x")

    with pytest.raises(mbs.ModelError, match="Driven on .* with one, and this one has 'rotation y', 'rotation z'"):
        Driven(model.ground, body, None, drive=np.sin)


@pytest.mark.parametrize("method", [mbs.LieEuler(), mbs.RungeKuttaMuntheKaas()])
def test_variable_steps_need_an_error_estimate(method: Method) -> None:
    model, body = hanging()
    model.add(Maxwell(model.ground, body, 20.0, 3.0))
    if method.error_order is not None:
        pytest.skip("it has one")
    with pytest.raises(mbs.ModelError, match=f"{type(method).__name__}.*error"):
        mbs.simulate(model, 0.1, mbs.VariableStep(1e-3), method)


def test_methods_for_models_without_constraints_name_joints() -> None:
    model, body = hanging()
    model.add(SphericalJoint(model.ground, body), name="hook")
    with pytest.raises(mbs.ModelError, match="LieEuler is for models without constraints.*'hook'"):
        unconstrained(mbs.LieEuler(), mbs.System(model))


class Lazy(Method):
    """A method whose step is what it is told."""

    order: ClassVar[int] = 1
    Memory: ClassVar[Any] = Nothing

    def __init__(self, result: Callable[[mbs.State], Any]) -> None:
        self.result = result

    def init(self, system: mbs.System, state: mbs.State, h: float) -> Nothing:
        return Nothing()

    def step(self, system: mbs.System, state: mbs.State, h: float, memory: Nothing) -> Step:
        return self.result(state)


@pytest.mark.parametrize(
    "result",
    [lambda state: None, lambda state: state, lambda state: (state, Nothing()), lambda state: Step(None, 1, None)],
)
def test_a_step_that_is_none_is_refused(result: Callable[[mbs.State], Any]) -> None:
    model, _ = hanging()
    with pytest.raises(mbs.ModelError, match="Lazy.step must return Step"):
        mbs.simulate(model, 0.1, 0.01, Lazy(result))


class Told(Lazy):
    """The same, of a step of a length."""

    def step(self, system: mbs.System, state: mbs.State, h: float, memory: Nothing) -> Step:
        return self.result(state, h)  # type: ignore[call-arg]


def ended(state: mbs.State, h: float, **changed: Any) -> Step:
    end = replace(state.at(state.t + h), **{name: getattr(state, name) * value for name, value in changed.items()})
    return Step(end, Nothing(), Report())


WRONG_STEPS: dict[str, tuple[Callable[[mbs.State, float], Step], str]] = {
    "time": (lambda state, h: ended(state, 0.0), "must return the state at t = 0.01 s, received one at t = 0.0 s"),
    "report": (
        lambda state, h: ended(state, h)._replace(report=None),
        r"must return Step\(state, memory, report, error\)",
    ),
    "memory": (
        lambda state, h: ended(state, h)._replace(memory=object()),
        "its memory, the NamedTuple Nothing",
    ),
    "shape": (lambda state, h: ended(state, h, v=np.ones((1, 2, 6))), r"v must be numbers of the shape \(2, 6\)"),
    "numbers": (lambda state, h: ended(state, h, x=1j), "x must be numbers"),
    "nan": (
        lambda state, h: ended(state, h, vdot=np.nan if state.t > 0.045 else 1.0),
        "vdot has become nan at",
    ),
}


@pytest.mark.parametrize("name", WRONG_STEPS)
def test_every_step_of_a_method_of_a_user_is_looked_at(name: str) -> None:
    step, message = WRONG_STEPS[name]
    model, _ = hanging()
    with pytest.raises(mbs.FemMbsError, match=f"Told.step.*{message}") as error:
        mbs.simulate(model, 0.1, 0.01, Told(step))
    assert error.value.solution is not None and error.value.solution.t[-1] == pytest.approx(0.05 * (name == "nan"))


def test_what_a_method_begins_with_is_its_memory() -> None:
    model, _ = hanging()
    forgets = type("Forgets", (Told,), {"init": lambda self, system, state, h: None})
    with pytest.raises(mbs.ModelError, match="Forgets.init must return its memory, the NamedTuple Nothing"):
        mbs.simulate(model, 0.1, 0.01, forgets(ended))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": ""}, "name must be text"),
        ({"name": "z", "kind": "velocity"}, "kind must be one of 'coordinate', 'state', 'algebraic', 'history'"),
        ({"name": "z", "rate": 1.0}, "only a coordinate has an initial rate"),
        ({"name": "z", "size": 0.0}, "size must be a positive number"),
        ({"name": "z", "initial": np.inf}, "initial must be a finite number"),
    ],
)
def test_internal_variables_of_no_kind_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(mbs.ModelError, match=message):
        InternalVariable(**arguments)


@pytest.mark.parametrize(
    "internal_variables", [("z",), [InternalVariable("z"), InternalVariable("z")], InternalVariable("z"), None]
)
def test_internal_variables_have_names_of_their_own(internal_variables: Any) -> None:
    class Leg(Maxwell):
        def __init__(self, *nodes: Any) -> None:
            super().__init__(*nodes, 20.0, 3.0)
            self.internal_variables = internal_variables

    model, body = hanging()
    leg = Leg(model.ground, body)
    with pytest.raises(mbs.ModelError, match="Leg.*internal variables"):
        model.add(leg)


def test_the_former_name_of_internal_variables_is_refused() -> None:
    class Former(Maxwell):
        unknowns = (InternalVariable("z"),)

    model, body = hanging()
    with pytest.raises(mbs.ModelError, match="'unknowns' is called 'internal_variables' now"):
        model.add(Former(model.ground, body, 20.0, 3.0))


@pytest.mark.parametrize("force", [lambda *given: 1 / 0, staticmethod(lambda motion, prescribed: 1 / 0)])
def test_lambdas_in_place_of_methods_are_named_by_their_class(force: Any) -> None:
    batch = type("MyBatch", (MaxwellBatch,), {"force": force, "__module__": __name__})

    class MySpring(Maxwell):
        @classmethod
        def batch(cls, elements: Sequence[Any], number: Any) -> ElementBatch:
            return batch(elements, number)

    own, body = hanging()
    own.add(MySpring(own.ground, body, 20.0, 3.0), name="leg")
    with pytest.raises(mbs.FemMbsError, match="MyBatch.<lambda> of MySpring 'leg' and its kind failed: ZeroDivision"):
        mbs.simulate(own, 0.1, 0.01)
