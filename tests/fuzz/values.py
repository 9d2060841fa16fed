"""Values for the arguments of public calls: good ones, and junk that nothing should swallow.

Both follow from the annotation of a parameter, so that a new function or element is covered as soon as it exists.
"""

from __future__ import annotations

import collections.abc
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from types import NoneType, SimpleNamespace, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import numpy as np
from meshes import brick, calculated, dumped, punched
from numpy.random import Generator

import fem_mbs as mbs
from fem_mbs.alpha.newmark import Parameters, chung_hulbert
from fem_mbs.contracts import Constraint, Element, Shape
from fem_mbs.elements import (
    PID,
    Ball,
    Beam,
    BeamSection,
    Bearing,
    Box,
    Capsule,
    Contact,
    CrossFlow,
    FixedJoint,
    FlexibleBody,
    Force,
    Harmonic,
    Interface,
    Junction,
    Maxwell,
    NodeSensor,
    PointMass,
    Ramp,
    Reduction,
    RevoluteJoint,
    RigidBody,
    Shell,
    ShellSection,
    Signal,
    SphericalJoint,
    beams_from_mesh,
)
from fem_mbs.lie import so3
from fem_mbs.model.description import ModelDescription

SHEET = ShellSection.isotropic(0.1, 1e3, 0.3, 1.0)
SECTION = BeamSection(1e3, 1e3, 10.0, 10.0, 1.0, (2e-2, 1e-2, 1e-2))
EXTREMES = (1e308, -1e308, 1e-320, 5e-324, 10**400, -(10**25), 2**63, 1e61, 1e-61, 1e155, 1e-155, 1e30, 1e-30)


def never(*_: Any) -> Any:
    raise ValueError("a function of the user that fails")


class Closed:
    """A function of the user that returns what no function may, or fails; knows whether it was called."""

    def __init__(self, value: Any) -> None:
        self.value, self.called = value, False

    def __call__(self, *_: Any) -> Any:
        self.called = True
        return never() if self.value is never else self.value

    def __repr__(self) -> str:
        return f"function that returns {self.value!r}"


class Odd:
    """An object that nothing knows, and that refuses to be printed or made an array."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("no array")

    def __bool__(self) -> bool:
        raise RuntimeError("no truth")


RETURNED = ("abc", np.nan, np.inf, -1e300, 1j, np.ma.masked, [[1.0], [2.0]], {}, object(), Odd(), never)
TEXTS = ("", "abc", "\ud800", "a\0b", "1", "a" * 5000)
NOT_FINITE = (np.nan, np.inf, -np.inf)
OBJECTS = (1j, b"bytes", {}, {"a": 1}, {1, 2}, object(), int, Odd(), np.datetime64("2020-01-01"), 10**5000, range(0))
MASKED = np.ma.masked, np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
SCALARS = np.array(1.0), np.array("a"), np.array(None)
LISTS = ([], [[]], [1, [2]], ["a"], [None] * 3, np.zeros((0, 3)), np.zeros((2, 2, 2)), np.array(["SE3"], dtype=object))


# Good values


def world(rng: Generator, group: str = "R3xSO3") -> SimpleNamespace:
    """A pendulum with a beam and a spring, a run of it, and whatever else calls may want."""
    model = mbs.Model(group, gravity=(0, 0, -9.81))
    bob = model.add_node((1, 0, 0), name="bob")
    body = model.add(RigidBody(bob, 1.0, (0.1, 0.1, 0.1)), name="body")
    pivot = model.add(RevoluteJoint(model.ground, bob, (0, 1, 0), point=(0, 0, 0)), name="pivot")
    beam = Beam.line(model, (1, 0, 0), (2, 0, 0), SECTION, elements=2, start_node=bob, name="arm")
    ball = model.add(SphericalJoint(beam.nodes[-1], model.add_node((2, 0, 1), name="end")), name="ball")
    model.add(PointMass(model["end"] if hasattr(model, "__getitem__") else model.nodes[-1], 0.1))
    model.add(RigidBody(model.nodes[-1], 0.1, (0.01, 0.01, 0.01)))
    spring = model.add(Maxwell(model.ground, bob, 5.0, 4.0, point_a=(0, 0, 1)), name="spring")
    load = model.add(Force(bob, (0.1, 0, 0)))
    shell = Shell.rectangle(model, (5, 0, 0), (1, 0, 0), (0, 1, 0), SHEET, elements=(1, 1), name="sheet")
    flexible = model.add(FlexibleBody.place(model, REDUCED, (8.0, 0, 0), name="brick"), name="brick body")
    floored(model, bob)
    run = mbs.simulate(model, 0.03, 0.01)
    stiff, meshed = cantilever(group), mbs.Model(group)
    structure = beams_from_mesh(meshed, portal(), SECTION)
    meshed.fix(structure.nodes[0])
    return SimpleNamespace(
        rng=rng,
        model=model,
        stiff=stiff,
        run=run,
        path=mbs.statics(stiff),
        modes=mbs.modes(stiff, 3),
        buckling=mbs.buckling(stiff),
        foreign=mbs.simulate(falling(), 0.02, 0.01),
        joints=[pivot, ball],
        elements=[body, beam, spring, load],
        beam=beam,
        shell=shell,
        flexible=flexible,
        sheet=SHEET,
        structure=structure,
        sway=mbs.simulate(meshed, 0.02, 0.01),
        method=mbs.GeneralizedAlpha(),
        radau=mbs.RadauIIA(),
        kutta=mbs.RungeKuttaMuntheKaas(),
        linear=mbs.linearize(stiff),
        node=bob,
        section=SECTION,
        law=Harmonic(1.0, 2.0),
        junction=model.add(Junction(0.0)),
        signal=Signal({}, (), 0.3),
        checkpoint=run.checkpoint,
        study=mbs.convergence_study(falling, None, [0.02, 0.01], 0.005, t_end=0.05),
        sensor=NodeSensor(bob, "velocity", (1, 0, 0)),
        block=PID(Signal({}, (), 0.3), 1.0),
        steady=mbs.CoSimulation(falling(), {}, {"none": Signal({}, (), 0.3)}, 0.01),
        folder=Path("."),
        **analysed(),
    )


@cache
def analysed() -> dict[str, Any]:
    """Results of rotors and of derivatives, which calls do not change."""
    measured = mbs.Misfit(height, np.array([0.005, 0.01, 0.02]), np.array([-1e-4, -5e-4, -2e-3]), 1e-5)
    return {
        "campbell": mbs.campbell(spun(), [1.0, 20.0], count=2),
        "unbalanced": mbs.unbalance_response(spun(), [1.0, 2.0], {"disc": 1e-3}),
        "derivatives": mbs.sensitivities(swinging, {"mass": 1.0, "length": 1.0}, 0.02, 0.01),
        "objective": mbs.objective(swinging, lambda s: s.position("bob")[-1, 2], ["mass", "length"], 0.02, 0.01),
        "identified": mbs.fit(swinging, {"length": 1.1}, measured, 0.02, 0.01),
    }


def floored(model: mbs.Model, node: mbs.Node) -> None:
    """A floor that a node does not reach."""
    floor = Contact(model.ground, node, Box((9, 9, 1), center=(0, 0, -9)), Ball(0.1), restitution=0.5, stiffness=1e3)
    model.add(floor, name="floor")


def cantilever(group: str = "R3xSO3") -> mbs.Model:
    model = mbs.Model(group, gravity=(0, 0, -1.0))
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), SECTION, elements=3, name="bar")
    model.fix(beam.nodes[0])
    model.add(Force(beam.nodes[-1], (-0.1, 0, 0)))
    floored(model, beam.nodes[-1])
    return model


BRICK = brick((2, 1, 1), (2.0, 1.0, 1.0), 1e5, 100.0)
REDUCED = Reduction(
    *BRICK, {"end": Interface.average([[0.0, 0, 0], [0, 1, 1]])}, modes=2, loads={"wind": np.ones((12, 3))}
)


@cache
def loose() -> mbs.LinearModel:
    """A part that nothing holds."""
    model = mbs.Model()
    Beam.line(model, (0, 0, 0), (1, 0, 0), SECTION, elements=2)
    return mbs.linearize(model)


ROTORS = ("campbell", "unbalance_response", "steady_spin")
SOURCES = ("solid", "abaqus", "calculix", "nastran", "ansys")


def spun() -> mbs.Model:
    """A disc on bearings."""
    model = mbs.Model("SE3")
    disc = model.add_node((0, 0, 0), name="disc")
    model.add(RigidBody(disc, 1.0, (0.2, 0.1, 0.1)))
    model.add(Bearing(model.ground, disc, (1, 0, 0), (100.0, 400.0, 0.0, 1e3, 1e3)), "bearing")
    return model


def reduced(w: SimpleNamespace) -> Path:
    """A file of a reduction."""
    path = w.folder / "reduced.npz"
    REDUCED.save(path)
    return Path(path)


def falling() -> mbs.Model:
    model = mbs.Model("SE3")
    node = model.add_node((0, 0, 0), velocity=(1, 0, 0), name="stone")
    model.add(RigidBody(node, 1.0, (1, 1, 1)))
    model.add_node((1, 1, 1), velocity=(1, 0, 0))
    model.add(FixedJoint(node, model.nodes[-1]))
    model.add(RigidBody(model.nodes[-1], 1.0, (1, 1, 1)))
    return model


def swinging(mass: float = 1.0, length: float = 1.0) -> mbs.Model:
    """A pendulum with parameters."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    bob = model.add_node((length, 0, 0), name="bob")
    model.add(RigidBody(bob, mass, (0.1, 0.1, 0.1)))
    model.add(RevoluteJoint(model.ground, bob, (0, 1, 0), point=(0, 0, 0)))
    return model


def height(solution: mbs.Solution) -> Any:
    """Of its bob."""
    return solution.position("bob")[:, 2]


def good(hint: Any, name: str, w: SimpleNamespace, label: str) -> Any:
    """A value that a parameter may have, of what its name or else its annotation say."""
    rng: Generator = w.rng
    for key in (f"{label}.{name}", name):
        if key in SPECIAL:
            return SPECIAL[key](w)
    parts = kinds(hint)
    kind = parts[rng.integers(len(parts))]
    rule = rule_of(kind)
    if hasattr(rule, "allowed"):
        return list(rule.allowed)[rng.integers(len(rule.allowed))]
    base = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    if base is bool:
        return bool(rng.integers(2))
    if base is int:
        return int(rng.integers(2, 4))
    if base is float:
        bound = getattr(rule, "keywords", {}).get("high")
        return float(rng.uniform(0.05, 0.95)) * min(1.0, bound or 1.0)
    if base is str:
        return f"name {rng.integers(10**9)}"
    if get_origin(base) is collections.abc.Callable or base is collections.abc.Callable:
        return lambda *_: 0.0
    if isinstance(base, type) and base in OBJECTS_OF:
        return OBJECTS_OF[base](w)
    if is_vector(kind):
        return rng.normal(size=3)
    if get_origin(base) in (list, collections.abc.Sequence, collections.abc.Iterable):
        return [good(get_args(base)[0], "", w, label) for _ in range(2)]
    return rng.normal(size=3)


def pick(values: list[Any], w: SimpleNamespace) -> Any:
    return values[w.rng.integers(len(values))]


WHIRL = ("displacement", "forward", "backward", "major", "minor")
OBJECTS_OF: dict[type, Any] = {
    mbs.Node: lambda w: pick(w.model.nodes[1:], w),
    ModelDescription: lambda w: pick([w.model, w.stiff], w),
    mbs.Model: lambda w: pick([w.model, w.stiff], w),
    mbs.System: lambda w: w.run.system,
    mbs.State: lambda w: w.run.state(-1),
    mbs.Solution: lambda w: pick([w.run, w.path], w),
    mbs.Checkpoint: lambda w: w.run.checkpoint,
    mbs.Method: lambda w: w.method,
    mbs.Newton: lambda w: mbs.Newton(),
    mbs.VariableStep: lambda w: mbs.VariableStep(0.5),
    Parameters: lambda w: chung_hulbert(0.8),
    BeamSection: lambda w: SECTION,
    ShellSection: lambda w: SHEET,
    Shell: lambda w: w.shell,
    Beam: lambda w: w.beam,
    Ball: lambda w: Ball(0.1),
    Capsule: lambda w: Capsule(0.1, 0.3),
    Shape: lambda w: pick([Ball(0.1), Box((0.1, 0.2, 0.3))], w),
    Element: lambda w: pick(w.elements, w),
    Constraint: lambda w: pick(w.joints, w),
    Path: lambda w: w.folder / f"file{w.rng.integers(5)}",
}
SPECIAL: dict[str, Any] = {
    "inertia": lambda w: (1.0, 1.2, 1.5),
    "ShellSection.general.inertia": lambda w: 1e-3,
    "coordinate": lambda w: None,
    "Coupling.joint_1": lambda w: w.joints,
    "Coupling.joint_2": lambda w: [1.0, -2.0],
    "Coupling.ratio": lambda w: None,
    "Coupling.coordinates": lambda w: [None, "rotation x"],
    "modal_mass": lambda w: [1.0, 2.0],
    "modal_stiffness": lambda w: [[10.0, 1.0], [1.0, 20.0]],
    "modal_damping": lambda w: [0.1, 0.1],
    "translation": lambda w: np.full((3, 2), 0.1),
    "GeneralJoint.translation": lambda w: pick([(True, False, True), (True, True, True)], w),
    "GeneralJoint.rotation": lambda w: pick([(True, False, True), (False, True, False)], w),
    "GeneralJoint.drive": lambda w: None,
    "axes_b": lambda w: so3.exp(w.rng.normal(size=3)),
    **{f"{kind}.drive": lambda w: None for kind in ("CylindricalJoint", "ParallelAxesJoint")},
    "x_axis": lambda w: None,
    "UniversalJoint.axis_a": lambda w: (1.0, 2.0, -1.0),
    "UniversalJoint.axis_b": lambda w: (2.0, -1.0, 0.0),
    "ConstantVelocityJoint.axis_a": lambda w: (1.0, 2.0, -1.0),
    "ConstantVelocityJoint.axis_b": lambda w: (2.0, 1.0, 0.0),
    "Model.fix.translation": lambda w: True,
    "rotation": lambda w: so3.exp(w.rng.normal(size=3)),
    "Model.fix.rotation": lambda w: True,
    "Reduction.points": lambda w: BRICK[0],
    "Reduction.stiffness": lambda w: BRICK[1],
    "Reduction.mass": lambda w: BRICK[2],
    "Reduction.interfaces": lambda w: {"end": Interface.average([[0.0, 0, 0], [0, 1, 1]])},
    "Reduction.modes": lambda w: 2,
    "Reduction.dofs": lambda w: None,
    "Reduction.triangles": lambda w: None,
    "Reduction.rayleigh": lambda w: (0.1, 1e-4),
    "Reduction.frequency": lambda w: None,
    "Reduction.solve": lambda w: None,
    "Reduction.mesh": lambda w: None,
    "BeamContact.points": lambda w: 2,
    "Reduction.recover": lambda w: {"all": [[0.0, 0, 0], [1, 1, 1]]},
    "Reduction.loads": lambda w: {"wind": np.ones((len(BRICK[0]), 3))},
    **{f"Reduction.{call}.path": lambda w: reduced(w) for call in ("save", "load")},
    "ShellSection.inertia": lambda w: 1.0,
    "ShellSection.plies": lambda w: [(0.0, -0.05, 0.05)],
    "reduction": lambda w: REDUCED,
    "body": lambda w: w.flexible,
    "Reduction.solid.mesh": lambda w: solid(),
    "Reduction.solid.E": lambda w: 1e5,
    "Reduction.solid.rho": lambda w: 100.0,
    "Reduction.solid.nu": lambda w: 0.3,
    **{
        f"Reduction.{call}.interfaces": lambda w: {"end": Interface.average([[0.0, 0, 0], [0, 1, 1]])}
        for call in SOURCES
    },
    **{f"Reduction.abaqus.{name}": lambda w: w.folder / "none.mtx" for name in ("stiffness", "mass", "deck")},
    **{
        f"Reduction.calculix.{name}": lambda w, k=k: calculated(w.folder, BRICK)[k]
        for k, name in enumerate(("stiffness", "mass", "unknowns", "deck"))
    },
    **{
        f"Reduction.ansys.{name}": lambda w, k=k: dumped(w.folder, BRICK)[k]
        for k, name in enumerate(("stiffness", "mass", "mapping", "nodes"))
    },
    **{
        f"{kind}.{call}.node": lambda w, held=held: pick(
            [*getattr(w, held).nodes[1:], getattr(w, held).nodes[-1].name], w
        )
        for kind, held in (
            ("Solution", "model"),
            *((kind, "stiff") for kind in ("StaticSolution", "Modes", "Buckling")),
        )
        for call in ("position displacement rotation rotation_vector velocity angular_velocity acceleration").split()
    },
    **{
        f"{kind}.{call}.contact": lambda w, held=held: pick(["floor", getattr(w, held)["floor"]], w)
        for kind, held in (("Solution", "model"), ("StaticSolution", "stiff"))
        for call in ("contact_force", "contact_losses", "gap", "impulses", "touching")
    },
    "RigidBody.solid.shape": lambda w: Ball(0.1),
    "Reduction.model.linear": lambda w: loose(),
    "Reduction.model.interfaces": lambda w: {"end": Interface.rigid([2])},
    "Reduction.nastran.matrices": lambda w: punched(w.folder, BRICK, "free")[0],
    "Reduction.nastran.bulk": lambda w: punched(w.folder, BRICK, "free")[1],
    "Bearing.stiffness": lambda w: (1e3, 2e3),
    "Bearing.damping": lambda w: (1.0, 2.0),
    "Bearing.speeds": lambda w: None,
    "Bearing.axis": lambda w: (0.0, 0.0, 1.0),
    "Bearing.across": lambda w: None,
    **{f"{call}.model": lambda w: spun() for call in ROTORS},
    **{f"{call}.speeds": lambda w: [1.0, 2.0] for call in ROTORS},
    **{f"{call}.turning": lambda w: None for call in ROTORS},
    **{f"{call}.axis": lambda w: (1.0, 0.0, 0.0) for call in ROTORS},
    "steady_spin.speed": lambda w: 20.0,
    "campbell.count": lambda w: 2,
    **{f"UnbalanceResponse.{part}.node": lambda w: "disc" for part in WHIRL},
    "UnbalanceResponse.bearing_force.bearing": lambda w: "bearing",
    **{f"Objective.{call}.p": lambda w: w.rng.uniform(0.5, 1.5, 2) for call in ("__call__", "value", "gradient")},
    "Sensitivities.of.query": lambda w: height,
    "Sensitivities.about.of": lambda w: lambda model, state: float(state.x[-1, 2]),
    "Sensitivities.about.at": lambda w: pick([0, 1, -1], w),
    "unbalance_response.unbalance": lambda w: {"disc": 1e-3},
    "Interface.kind": lambda w: "average",
    **{f"Interface.{call}nodes": lambda w: [[0.0, 0, 0], [0, 1, 1]] for call in ("", "rigid.", "average.")},
    **{f"Interface.{call}weights": lambda w: None for call in ("", "average.")},
    "FlexibleBody.nodes": lambda w: [w.beam.nodes[0]],
    "FlexibleBody.position": lambda w: w.beam.nodes[0].position - (0.0, 0.5, 0.5),
    "FlexibleBody.rotation": lambda w: None,
    "FlexibleBody.node.interface": lambda w: "end",
    "MeshLoad.load": lambda w: "wind",
    "MeshLoad.value": lambda w: pick([0.3, lambda t: t], w),
    "FlexibleBody.chain.reductions": lambda w: [REDUCED],
    "FlexibleBody.chain.name": lambda w: f"row {w.rng.integers(10**9)}",
    "where": lambda w: "end",
    "FlexibleBody.place.name": lambda w: f"body {w.rng.integers(10**9)}",
    "ModalBody.rotation": lambda w: np.full((3, 2), 0.1),
    "GA": lambda w: (1e3, 2e3),
    "EI": lambda w: 10.0,
    "outline": lambda w: w.rng.normal(size=(4, 2)),
    "shear_center": lambda w: (0.1, 0.0),
    "BeamSection.general.stiffness": lambda w: 10.0 * np.eye(6),
    "BeamSection.general.mass": lambda w: np.eye(6),
    "plies": lambda w: [(0.0, 0.1), (30.0, 0.2)],
    "ShellSection.stiffness": lambda w: np.eye(8),
    "modulus": lambda w: np.eye(3),
    "nu12": lambda w: 0.3,
    "ShellSection.general.A": lambda w: np.eye(3),
    "ShellSection.general.B": lambda w: np.zeros((3, 3)),
    "ShellSection.general.D": lambda w: np.eye(3),
    "ShellSection.general.S": lambda w: np.eye(2),
    **{
        f"{call}.{name}": value
        for call in ("Shell", "Shell.rectangle", "Shell.surface", "Shell.from_mesh")
        for name, value in {
            "section": lambda w: SHEET,
            "nodes": lambda w: w.shell.nodes,
            "normals": lambda w: None,
            "direction": lambda w: (1.0, 0.2, 0.1),
            "grid": lambda w: (1, 1),
            "elements": lambda w: (2, 1),
            "given": lambda w: None,
            "closed": lambda w: (False, False),
            "place": lambda w: lambda u, v: (u, v, u * v),
            "mesh": lambda w: square(),
        }.items()
    },
    "Shell.rectangle.u": lambda w: (1.0, 0.1, 0.2),
    "Shell.rectangle.v": lambda w: (0.1, 1.0, 0.2),
    "Shell.node.i": lambda w: 0,
    "Shell.node.j": lambda w: -1,
    "shell": lambda w: w.shell,
    "ply": lambda w: None,
    "EdgeLoad.nodes": lambda w: w.shell.edge("left"),
    "Pressure.value": lambda w: pick([0.3, lambda t: t], w),
    "damping": lambda w: 0.1,
    "nu": lambda w: 0.3,
    "poisson": lambda w: 0.3,
    "inner_radius": lambda w: 0.01,
    "y_axis": lambda w: (0.1, 0.2, 1.0),
    "t_end": lambda w: 0.05,
    "step": lambda w: 0.01,
    "times": lambda w: [0.04, 0.05],
    "h": lambda w: 0.01,
    "system": lambda w: w.run.system,
    "memory": lambda w: w.method.init(w.run.system, w.run.state(-1), 0.01),
    "RadauIIA.step.memory": lambda w: w.radau.init(w.run.system, w.run.state(-1), 0.01),
    "RungeKuttaMuntheKaas.step.memory": lambda w: w.kutta.init(w.run.system, w.run.state(-1), 0.01),
    **{
        f"{kind}.{call}.state": lambda w: w.run.state(-1)
        for kind in ("GeneralizedAlpha", "RadauIIA", "RungeKuttaMuntheKaas")
        for call in ("init", "step")
    },
    "loads": lambda w: [0.5, 1.0],
    "events": lambda w: lambda state: state.t - 0.015,
    "steps": lambda w: [0.02, 0.01],
    "reference": lambda w: 0.005,
    "interval": lambda w: (0.0, 0.04),
    "model_factory": lambda w: falling,
    "CoSimulation.inputs": lambda w: {},
    "CoSimulation.outputs": lambda w: {},
    "export_fmu.path": lambda w: w.folder / f"model_{w.rng.integers(10**9)}.fmu",
    "export_fmu.inputs": lambda w: {},
    "export_fmu.outputs": lambda w: {},
    **{
        f"{name}.{key}": value
        for name in ("sensitivities", "objective", "fit")
        for key, value in {
            "build": lambda w: swinging,
            "parameters": lambda w: {"mass": 1.0, "length": 1.0},
            "goal": lambda w: mbs.Final(height),
            "data": lambda w: mbs.Misfit(height, [0.01, 0.04], [0.0, -0.1], 0.1),
            "scale": lambda w: {"mass": 2.0},
            "bounds": lambda w: {"mass": (0.1, 5.0)},
            "prior": lambda w: {"mass": (1.0, 0.1)},
            "of": lambda w: None,
            "starts": lambda w: 1,
            "executor": lambda w: None,
            "store": lambda w: None,
        }.items()
    },
    **{f"{name}.signal": lambda w: height for name in ("Final", "Integral", "KS", "PNorm", "Misfit")},
    "Misfit.times": lambda w: [0.01, 0.04],
    "Misfit.data": lambda w: [0.0, -0.1],
    "Misfit.sigma": lambda w: 0.1,
    "sweep.function": lambda w: lambda x, seed=0: {"y": x + seed},
    "sweep.cases": lambda w: [{"x": x} for x in w.rng.normal(size=2).tolist()],
    "sweep.executor": lambda w: None,
    "sweep.store": lambda w: w.folder / f"{w.rng.integers(10**9)}.jsonl",
    "mesh": lambda w: portal(),
    "results_on_mesh.structure": lambda w: w.structure,
    "results_on_mesh.solution": lambda w: w.sway,
    "section": lambda w: SECTION,
    "merge": lambda w: 1e-6,
    "options": lambda w: {},
    "element": lambda w: RigidBody(pick(w.model.nodes[1:], w), 1.0, (1.0, 1.0, 1.0)),
    "nodes": lambda w: w.beam.nodes,
    "start": lambda w: (0.0, 0.0, 0.0),
    "end": lambda w: (1.0, 2.0, 3.0),
    "Beam.start": lambda w: None,
    "Beam.end": lambda w: None,
    "System.end": lambda w: 10.0,
    "start_node": lambda w: None,
    "end_node": lambda w: None,
    "k": lambda w: int(w.rng.integers(2)),
    "Solution.__call__.t": lambda w: 0.015,
    "StaticSolution.__call__.t": lambda w: 0.5,
    "beam": lambda w: w.beam,
    "joint": lambda w: w.joints[0],
    "part": lambda w: w.elements[2],
    "count": lambda w: 2,
    "LinearModel.state_space.inputs": lambda w: {},
    "input": lambda w: pick([0.3, lambda t: t], w),
    "inputs": lambda w: pick([0.3, [lambda t: t]], w),
    "error": lambda w: pick([0.3, lambda t: t], w),
    "source": lambda w: Signal({}, (), 0.3),
    "limits": lambda w: (-1.0, 2.0),
    "PID.rate": lambda w: None,
    "A": lambda w: -0.5,
    "B": lambda w: 1.0,
    "C": lambda w: 2.0,
    "StateSpace.D": lambda w: 0.5,
    "SampledStateSpace.D": lambda w: 0.5,
    "StateSpace.initial": lambda w: [0.1],
    "SampledStateSpace.initial": lambda w: [0.1],
    "PID.initial": lambda w: 0.1,
    "Block.initial": lambda w: [0.1],
    "SampledController.initial": lambda w: [0.1],
    "SampledController.start": lambda w: None,
    "SampledStateSpace.start": lambda w: None,
    "SampledController.outputs": lambda w: 1,
    "Block.outputs": lambda w: 1,
    "delay": lambda w: 0.01,
    "num": lambda w: [1.0, 2.0],
    "den": lambda w: [1.0, 3.0],
    "quantity": lambda w: pick(["velocity", "acceleration", "angular_velocity"], w),
    "JointSensor.quantity": lambda w: "coordinate_rate",
    "LineSensor.quantity": lambda w: "speed",
    "equation": lambda w: "translation x",
    "variable": lambda w: "damper",
    "Signal.terms": lambda w: pick([{}, {(w.elements[2], 0): 0.5}], w),
    "Signal.laws": lambda w: pick([(), ((np.sin, 2.0),)], w),
    "Signal.of.part": lambda w: w.elements[2],
    "mode": lambda w: int(w.rng.integers(3)),
    "matrix": lambda w: pick(["exact", "simplified"], w),
    "parametrization": lambda w: "conformal",
    "FirstOrderActuator.initial": lambda w: 0.5,
    "GeneralizedAlpha.start": lambda w: "consistent",
    "UpdatedLagrangian.start": lambda w: "consistent",
    "value": lambda w: pick([w.rng.normal(size=3), lambda t: (t, 0.0, 1.0)], w),
    "force": lambda w: pick([w.rng.normal(size=3), lambda t: (t, 0.0, 1.0)], w),
    "moment": lambda w: w.rng.normal(size=3),
    "displacement": lambda w: lambda t: (t * t, 0.0, 0.0),
    "drive": lambda w: lambda t: t * t,
    "progress": lambda w: False,
    "InternalVariable.rate": lambda w: 0.0,
    "axes": lambda w: np.eye(3),
    "arc_length": lambda w: False,
    "interpolation": lambda w: "SE3",  # the only one of higher orders
    "Beam.order": lambda w: pick([1, 2], w),
    "order": lambda w: pick([1, 2, 3], w),
    "trusses": lambda w: pick([True, False, []], w),
    "release": lambda w: pick([("yz", None), None], w),
    "release_start": lambda w: None,
    "release_end": lambda w: None,
    "EndRelease.release": lambda w: pick(["y", "yz", "xyz"], w),
    "EndRelease.node": lambda w: w.model.nodes[1],
    "EndRelease.side": lambda w: "end",
    "hold": lambda w: [],
    "smallest": lambda w: 1e-6,
    "first": lambda w: 1e-3,
    "largest": lambda w: 1e-2,
    "tolerance": lambda w: 0.1,
    "alpha": lambda w: 0.1,
    "newton": lambda w: mbs.Newton(),
    "initial": lambda w: None,
    "state": lambda w: None,
    "group": lambda w: pick(["SE3", "R3xSO3"], w),
    "load_end": lambda w: 1.0,
    "by": lambda w: None,
    "point": lambda w: w.rng.normal(size=3),
    "places": lambda w: w.rng.normal(size=(4, 3)),
    "points": lambda w: w.rng.normal(size=(5, 3)),
    "profile_a": lambda w: [(0, 0, 0), (1, 0, 0)],
    "profile_b": lambda w: [(0, 0.2, 0), (0.5, 0, 0), (1, 0.2, 0)],
    "CamJoint.normal": lambda w: (0, 0, 1),
    "Bushing.stiffness": lambda w: pick([np.ones(6), 2.0 * np.eye(6)], w),
    "Bushing.damping": lambda w: pick([0.1, np.ones(6), np.eye(6)], w),
    "CrossFlow.width": lambda w: pick([0.3, lambda s: 0.3 + s], w),
    "Drag.law": lambda w: CrossFlow(1.2, 0.3),
    "Drag.fluid": lambda w: pick([(1.0, 0.0, 2.0), lambda t, x: 2.0 * x], w),
    "Gravity.part": lambda w: pick(w.elements[:2], w),
    "JointFriction.kinetic": lambda w: 0.1,
    "JointFriction.static": lambda w: pick([None, 0.2], w),
    "JointFriction.preload": lambda w: 2.0,
    "JointFriction.radius": lambda w: 0.1,
    "JointSpring.free": lambda w: 0.1,
    "JointStop.lower": lambda w: pick([None, -0.5], w),
    "JointStop.upper": lambda w: 0.5,
    "SpringDamper.free_length": lambda w: pick([None, 0.5], w),
    "SpringDamper.force": lambda w: None,
    "SpringDamper.stiffness": lambda w: 2.0,
    "PositionMotor.position": lambda w: pick([0.5, np.sin], w),
    "SpeedMotor.speed": lambda w: pick([0.5, np.sin], w),
    "TorqueMotor.torque": lambda w: pick([0.5, np.sin], w),
    "SlidingJoint.rotation": lambda w: True,
    "center_of_mass": lambda w: (0.1, 0.0, 0.0),
    "size": lambda w: (64, 48),
    "terminal": lambda w: pick([True, False, 2], w),
    "file": lambda w: w.folder / "picture.png",
    "duration": lambda w: 0.1,
    "fps": lambda w: 10,
    "InternalVariable.size": lambda w: 2.0,
    "InternalVariable.initial": lambda w: 0.1,
    "Box.size": lambda w: (0.1, 0.2, 0.3),
    "Surface.mesh": lambda w: sheet(),
    "PointToPoint.initial": lambda w: 0.3,
    "PointToPoint.final": lambda w: 1.3,
    "PointToPoint.order": lambda w: pick([3, 5, 7], w),
    "Ramp.end": lambda w: 2.0,
    "Constant.value": lambda w: pick([2.0, (1.0, 2.0, 3.0)], w),
    "Vector.x": lambda w: law_of_time(w),
    "Vector.y": lambda w: law_of_time(w),
    "Vector.z": lambda w: law_of_time(w),
    "values": lambda w: pick([[1.0, 2.0], np.eye(3)[:2]], w),
    "ClassicalAlpha.parametrization": lambda w: "tait_bryan",
    "Table.from_file.path": lambda w: columns(w),
    "load.path": lambda w: stored(w),
    "resume.path": lambda w: stored(w),
    "path": lambda w: w.folder / "made",
    "channels": lambda w: None,
    "turning": lambda w: None,
    "store": lambda w: None,
    "callback": lambda w: None,
    "Table.from_file.time": lambda w: pick([0, "time"], w),
    "Table.from_file.value": lambda w: pick([1, "force", [1, 2, "force"]], w),
}


def law_of_time(w: SimpleNamespace) -> Any:
    return pick([2.0, Ramp(1.0), Harmonic(1.0, 2.0) + 1.0], w)


def columns(w: SimpleNamespace) -> Path:
    """A file with columns of numbers."""
    file: Path = w.folder / "columns.csv"
    file.write_text("time,force,speed\n0,1,2\n1,2,3\n", encoding="utf-8")
    return file


def stored(w: SimpleNamespace) -> Path:
    """A file with a run."""
    file: Path = w.foreign.save(w.folder / "run")
    return file


def sheet() -> Any:
    import meshio

    return meshio.Mesh(np.eye(3), [("triangle", [[0, 1, 2]])])


def square() -> Any:
    import meshio

    return meshio.Mesh(np.array([(0.0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]), [("quad", [[0, 1, 2, 3]])])


def solid() -> Any:
    import meshio

    corners = np.array([(0, 0, 0), (2, 0, 0), (2, 1, 0), (0, 1, 0), (0, 0, 1), (2, 0, 1), (2, 1, 1), (0, 1, 1)], float)
    return meshio.Mesh(corners, [("hexahedron", [list(range(8))])])


def portal() -> Any:
    import meshio

    points = np.array([[0, 0, 0], [0, 0, 1], [1, 0, 1], [1, 0, 0]], float)
    return meshio.Mesh(points, [("line", [[0, 1], [1, 2], [2, 3]])])


SCALED = (
    "inertia",
    "modal_mass",
    "modal_stiffness",
    "modal_damping",
    "translation",
    "outline",
    "times",
    "loads",
    "GA",
    "values",
)
"""Arguments that are arrays of other shapes than vectors, to be multiplied by extreme numbers."""


SCALAR = ("other", "sigma", "num", "den", "initial", "initial_output", "GA", "EI", "GJ", "EA")
"""Arguments that may be one number or several."""

# Junk


def kinds(hint: Any) -> list[Any]:
    """The alternatives of an annotation, None apart."""
    if get_origin(hint) in (Union, UnionType):
        return [part for part in get_args(hint) if part is not NoneType]
    return [hint]


def plain(kind: Any) -> Any:
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def rule_of(kind: Any) -> Any:
    return get_args(kind)[1] if get_origin(kind) is Annotated else None


def is_vector(kind: Any) -> bool:
    rule = rule_of(kind)
    return getattr(rule, "__name__", "") in ("vector", "direction")


def is_number(kind: Any) -> bool:
    return getattr(rule_of(kind), "__name__", "") == "_number_or_vector"


def junk(hint: Any, name: str, default: Any, w: SimpleNamespace) -> tuple[Any, bool]:
    """A value that no parameter of this annotation can have, or an extreme one; and whether it is the first."""
    rng: Generator = w.rng
    bases = [base for kind in kinds(hint) for base in kinds(plain(kind))]
    numeric = any(base in (int, float) for base in bases)
    if rng.random() < 0.25 and (numeric or any(map(is_vector, kinds(hint)))):
        value = EXTREMES[rng.integers(len(EXTREMES))]
        return (value if numeric else np.array([1.0, value, 0.0], dtype=object).tolist()), False
    if rng.random() < 0.2 and name in SCALED and not numeric:
        value = EXTREMES[rng.integers(len(EXTREMES))]
        return np.full(np.shape(SPECIAL[name](w)), value, dtype=object).tolist(), False
    if (mbs.State in bases or mbs.Checkpoint in bases) and rng.random() < 0.8:
        return tampered(w), True
    choices: list[Any] = [*OBJECTS, *NOT_FINITE]
    callable_too = any(get_origin(base) is collections.abc.Callable or base is Any for base in bases)
    if callable_too and rng.random() < 0.4:
        return Closed(RETURNED[rng.integers(len(RETURNED))]), False
    if default is not None and NoneType not in get_args(hint):
        choices.append(None)
    named = any(getattr(rule_of(kind), "__name__", "") == "_selection" for kind in kinds(hint))  # a set of a mesh
    if not named and str not in bases and not any(base is Path for base in bases):
        choices += TEXTS
    elif name != "unit":
        choices += TEXTS[2:4]
    if bool not in bases:
        choices += [True, np.True_]
    scalar = numeric or Any in bases or name in SCALAR or any(map(is_number, kinds(hint)))
    choices += [*LISTS, *MASKED, *(SCALARS[1:] if scalar else SCALARS)]
    if name == "recover":  # sets of the mesh, by names of nobody knows what, or none
        choices = [value for value in choices if not isinstance(value, dict) and not are_texts(value)]
    if name == "element":  # of which there may be a list, with none
        choices = [value for value in choices if not (isinstance(value, list) and not any(value))]
    if name in ("initial", "recover", "loads", "plies"):  # where none is what it is by default
        choices = [value for value in choices if not is_empty(value)]
    if callable_too or type in bases:
        choices = [value for value in choices if not isinstance(value, type)]
    if any(get_origin(base) in (collections.abc.Mapping, dict) for base in bases):
        choices = [value for value in choices if not isinstance(value, dict)]
    if any(get_origin(base) in LIST_TYPES for base in bases):
        choices = [value for value in choices if not is_empty(value)]
    if any(get_origin(base) in LIST_TYPES and str in kinds(get_args(base)[0]) for base in bases):
        # names of nobody knows what, or one
        choices = [value for value in choices if not (are_texts(value) or isinstance(value, str))]
    if any(is_vector(kind) for kind in kinds(hint)):
        choices += [(1, 2), np.full(3, np.nan), (np.inf, 0, 0), 3.0, np.zeros((3, 3)), ("1", "2", "3")]
    if numeric:
        choices += [np.array([1.0, 2.0]), (1,)]
    return choices[rng.integers(len(choices))], True


LIST_TYPES = (list, tuple, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection)


def is_empty(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return not value.size
    return isinstance(value, list | range | dict | set) and not len(value)


def are_texts(value: Any) -> bool:
    if not isinstance(value, list | tuple | np.ndarray) or isinstance(value, np.ndarray) and not value.shape:
        return False
    return len(value) > 0 and all(isinstance(own, str) for own in value)


def tampered(w: SimpleNamespace) -> Any:
    """A state that is none of the model."""
    rng: Generator = w.rng
    state = w.run.state(-1)
    name = str(rng.choice(["t", "x", "R", "v", "vdot", "u", "udot"]))
    if name == "t":
        return replace(state, t=[np.nan, "now", None, np.inf][rng.integers(4)])
    array = np.array(getattr(state, name))
    wrong = [
        partial(np.full_like, array, np.nan),
        lambda: np.where(np.arange(array.size).reshape(array.shape) == 0, np.inf, array),
        lambda: array[:-1] if len(array) else np.zeros(1),
        lambda: array[..., None],
        lambda: "abc",
        lambda: None,
        lambda: array.astype(object) + 1j,
    ]
    if name == "R":
        wrong += [lambda: 2.0 * array, lambda: 0.0 * array, lambda: -array]
    if rng.random() < 0.1:
        return w.foreign.state(-1)
    return replace(state, **{name: wrong[rng.integers(len(wrong) if array.size else 4)]()})
