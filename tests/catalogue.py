"""Every element, joint and method of the library, and those of this file, to be tried on the laws of their contracts.

An entry makes one element on the nodes of a :class:`fem_mbs.testing.Stage`. A new class gets an entry here, and nothing
else: which laws are its own follows from what it says of itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product

import numpy as np
from meshes import brick

import fem_mbs as mbs
from fem_mbs import Node
from fem_mbs.arrays import Array
from fem_mbs.contracts import Constraint, Element, ElementBatch, InternalVariable, Motion, Numbering
from fem_mbs.elements import (
    PID,
    Ball,
    Beam,
    BeamContact,
    BeamSection,
    Bearing,
    Block,
    Box,
    Bush,
    Bushing,
    CamJoint,
    Capsule,
    ConstantVelocityJoint,
    Contact,
    ContactGroup,
    Coupling,
    CrossFlow,
    CurveJoint,
    CylindricalJoint,
    DistanceJoint,
    DistributedLoad,
    Drag,
    EdgeLoad,
    EndRelease,
    FirstOrderActuator,
    FixedJoint,
    FlexibleBody,
    Force,
    ForceActuator,
    FrictionSpring,
    FunctionSensor,
    GeneralJoint,
    Gravity,
    Interface,
    JointActuator,
    JointDrive,
    JointForce,
    JointFriction,
    JointSensor,
    JointSpring,
    JointStop,
    JournalBearing,
    LineActuator,
    LineSensor,
    Maxwell,
    ModalBody,
    Moment,
    MomentActuator,
    NodeSensor,
    OrientationJoint,
    ParallelAxesJoint,
    PlanarJoint,
    Plane,
    PointMass,
    PointOnLineJoint,
    PointOnPlaneJoint,
    PositionMotor,
    Pressure,
    PrismaticJoint,
    Reduction,
    RevoluteJoint,
    RigidBody,
    RollingDisc,
    Rope,
    SampledStateSpace,
    Saturation,
    ScrewJoint,
    Shell,
    ShellSection,
    SlidingJoint,
    SpeedMotor,
    SphericalJoint,
    SpinUp,
    SpringDamper,
    StateSpace,
    TorqueMotor,
    TransferFunction,
    Truss,
    UniversalJoint,
)
from fem_mbs.elements.beams.section import Profile
from fem_mbs.elements.beams.track import BeamTracks, Sections
from fem_mbs.elements.forces.coordinate_law import Acting, CoordinateElement, CoordinateLawBatch, Law
from fem_mbs.elements.forces.line import LineBatch, LineElement
from fem_mbs.elements.joints.relative import RelativeJoint
from fem_mbs.lie import so3
from fem_mbs.testing.stage import AWAY, GROUPS, HOME, RigidMotion, Stage, build

__all__ = ["AWAY", "GROUPS", "HOME", "RigidMotion", "build"]

PLAIN = BeamSection(EA=30.0, GA=(10.0, 12.0), GJ=3.0, EI=(4.0, 5.0), mass=1.3, inertia=(0.3, 0.1, 0.2))


def _coupled() -> BeamSection:
    """Fully coupled stiffness and a mass centre off the line of nodes."""
    A = np.random.default_rng(2).normal(size=(6, 6))
    offset = so3.skew(np.array([0.0, 0.1, 0.2]))
    J = np.diag([0.4, 0.3, 0.2]) - 1.5 * offset @ offset
    mass = np.block([[1.5 * np.eye(3), -1.5 * offset], [1.5 * offset, J]])
    return BeamSection.general(3.0 * A @ A.T + 5.0 * np.eye(6), mass)


COUPLED = _coupled()
SLIM = BeamSection(EA=20.0, GA=(8.0, 9.0), GJ=2.0, EI=(3.0, 2.0), mass=1.1, inertia=(0.2, 0.1, 0.1))
YIELDS = {"stiffness": 7.0, "restitution": 0.5, "friction": 0.3, "creep": 0.5}
SHAPES = ("straight", "curved", "twisted with offsets")
INTERPOLATIONS = ("SE3", "R3xSO3")


def _beam(shape: str, section: BeamSection, interpolation: str, n: Stage) -> Beam:
    if shape == "twisted with offsets":
        axes = [n.vector(y) for y in ((0, 1, 2), (0, 2, 1), (0, 2, -1))]
        return Beam(
            n.line,
            section,
            axes,
            interpolation=interpolation,
            start=n.point((0.1, -0.3, 0.2)),
            end=n.point((1.4, 0.5, -0.9)),
        )
    return Beam(n.line if shape == "straight" else n.arc, section, n.vector((0, 1, 2)), interpolation=interpolation)


def _beams(sections: dict[str, BeamSection]) -> dict[str, Callable[[Stage], Element]]:
    return {
        f"{interpolation} beam, {shape}, {name}": partial(_beam, shape, sections[name], interpolation)
        for interpolation, shape, name in product(INTERPOLATIONS, SHAPES, sections)
    }


ENDS = {"straight": np.array([1.8, 0.9, -0.9]), "curved": (0.98, 0.83, 0.5), "twisted with offsets": (1.9, 0.7, -0.9)}


def _higher(order: int, shape: str, section: Profile, n: Stage) -> Beam:
    """An element of order 2 or 3; the fourth node is far from the end of the beam, which is rigidly connected to it."""
    nodes, axes = (n.arc if shape == "curved" else n.line), [(0, 1, 2)] * 3
    ends = {}
    if shape == "twisted with offsets":
        axes, ends["start"] = [(0, 1, 2), (0, 2, 1), (0, 2, -1)], n.point((0.1, -0.3, 0.2))
    if order == 3:
        nodes, axes = [*nodes, (n.line if shape == "curved" else n.arc)[2]], [*axes, axes[-1]]
        ends["end"] = n.point(ENDS[shape])
    return Beam(nodes, section, [n.vector(y) for y in axes], order=order, **ends)


SHEET = ShellSection.isotropic(0.1, E=30.0, nu=0.3, rho=20.0)
PLIES = ShellSection.laminate([(0.0, 0.04), (35.0, 0.03), (90.0, 0.05)], E1=30.0, E2=5.0, G12=3.0, nu12=0.25, rho=20.0)
LAMINATE = PLIES.with_offset(0.07).with_damping(0.1)


def _shell(n: Stage, section: ShellSection = SHEET, direction: tuple[float, ...] = (1.0, 2.0, 0.5)) -> Shell:
    """Two warped quadrilaterals."""
    (a, b, c), (d, e, f) = n.line, n.arc
    return Shell([[a, b, e, d], [b, c, f, e]], section, direction=n.vector(direction))


def _widening(s: float) -> BeamSection:
    mass = (2 - s) * np.diag([1.5, 1.5, 1.5, 0.5, 0.2, 0.3])
    return BeamSection.general((1 + s) * COUPLED.stiffness, mass).with_damping(0.1 + 0.1 * s)


class Ratio(LineElement):
    """A spring whose stretch is an internal variable, which an algebraic equation determines."""

    def __init__(self, a: Node, b: Node, stiffness: float) -> None:
        super().__init__(a, b, None, b.at((0.2, 0.1, -0.3)))
        self.stiffness = stiffness
        self.internal_variables = (InternalVariable("stretch", "algebraic"),)

    @classmethod
    def batch(cls, elements: Sequence[Ratio], number: Numbering) -> ElementBatch:
        return RatioBatch(elements, number)


class RatioBatch(LineBatch):
    """``N = k s`` with ``s + s^3 = length/built - 1``."""

    def __init__(self, elements: Sequence[Ratio], number: Numbering) -> None:
        super().__init__(elements, number)
        self.k, self.built = np.array([[e.stiffness, e.built] for e in elements]).T

    def force(self, motion: Motion, prescribed: None) -> tuple[Array, tuple]:  # type: ignore[type-arg]
        length, G, line = self.coordinates.evaluate(motion)
        s = motion.u[self.own]
        equation = s + s**3 - (length / self.built - 1.0)[:, None]
        return np.concatenate([(self.k[:, None] * s) * G, equation], axis=-1), (line, s)

    def stiffness(self, context: tuple) -> Array:  # type: ignore[type-arg]
        line, s = context
        K = np.zeros((len(s), 13, 13))
        K[:, :12, :12] = (self.k * s[:, 0])[:, None, None] * self.coordinates.second(line)
        K[:, :12, 12] = self.k[:, None] * line.G
        K[:, 12, :12] = -line.G / self.built[:, None]
        K[:, 12, 12] = 1.0 + 3.0 * s[:, 0] ** 2
        return K

    def stressed(self, context: tuple, d: Array) -> tuple:  # type: ignore[override,type-arg]
        line, s = context
        return line, s + d[:, 12:]

    def damping(self, context: tuple) -> None:  # type: ignore[override,type-arg]
        return None


def modal_body(n: Stage, modes: int = 2) -> ModalBody:
    """A body with modes that move its mass centre and turn with it, about another mass centre than its node."""
    rng = np.random.default_rng(3)
    S, C = 0.3 * rng.normal(size=(2, 3, modes))
    A, B, D = rng.normal(size=(3, modes, modes))
    one = np.eye(modes)
    return ModalBody(
        n.line[1],
        2.0,
        (1.0, 2.0, 2.5),
        2 * one + A @ A.T,
        20 * one + B @ B.T,
        modal_damping=0.1 * D @ D.T,
        translation=S,
        rotation=C,
        center_of_mass=(0.1, 0.2, 0.3),
    )


def flexible_body(
    n: Stage,
    names: str = "ab",
    method: str = "craig-bampton",
    modes: int = 2,
    stiffens: bool = False,
    loads: dict[str, Array] | None = None,
) -> FlexibleBody:
    """A soft brick along the line of the stage."""
    points, K, M = brick((4, 2, 2), (1.5, 0.3, 0.3), 2e2, 30.0)
    all_ends = {
        "a": Interface.average(lambda p: p[:, 0] == 0.0, (0.0, 0.0, 0.0)),
        "b": Interface.rigid(lambda p: p[:, 0] == 1.5, (1.5, 0.0, 0.0)),
        "c": Interface.rigid([[0.3, -0.2, -0.2], [0.9, -0.1, 0.2]], (0.8, 0.0, 0.0)),
    }
    ends = {name: all_ends[name] for name in names}
    own = Reduction(
        *(points - [0.0, 0.15, 0.15], K, M, ends),
        method=method,
        modes=modes,
        damping=0.05,
        loads=loads,
        geometric=(lambda u: (u[::3] @ points[:, 0] / 1e2) * K) if stiffens else None,
    )
    along = np.array([2.0, 1.0, -1.0]) / np.sqrt(6)
    across = np.cross(along, (0, 0, 1))
    across /= np.linalg.norm(across)
    axes = n.pose.Q @ np.stack([along, across, np.cross(along, across)], axis=1)
    nodes = dict(zip("acb", n.line, strict=True))
    return FlexibleBody({name: nodes[name] for name in names}, own, position=n.point((0, 0, 0)), rotation=axes)


def _hinge(n: Stage, a: int, b: int) -> RevoluteJoint:
    """A hinge about an axis."""
    return RevoluteJoint(n.line[a], n.line[b], n.vector((1, 2, -1)), n.point((0.4, 0.1, -0.2)))


class Brake(CoordinateElement):
    """A moment against a coordinate, as large as the reactions of its joint."""

    active = True

    @classmethod
    def batch(cls, elements: Sequence[Brake], number: Numbering) -> ElementBatch:
        return BrakeBatch(elements, number)


class BrakeBatch(CoordinateLawBatch):
    """``0.3 |lambda| tanh(q')``, with a rounded norm."""

    def __init__(self, elements: Sequence[Brake], number: Numbering) -> None:
        super().__init__(elements, number)
        self.reads = np.array([number.multipliers(element.joint) for element in elements])

    def force(self, motion: Motion, prescribed: None) -> tuple[Array, tuple[Acting, Array]]:  # type: ignore[override]
        force, acting = super().force(motion, motion.multipliers[self.reads])
        return force, (acting, motion.multipliers[self.reads])

    def law(self, q: Array, rate: Array, state: Array, prescribed: Array) -> Law:
        normal, slip = np.sqrt(1.0 + np.vecdot(prescribed, prescribed)), np.tanh(rate)
        value, by_rate = 0.3 * normal * slip, 0.3 * normal * (1 - slip**2)
        none = np.zeros((len(q), 1))
        return Law(value[:, None], none, by_rate[:, None], np.zeros((len(q), 1, 0)))

    def stiffness(self, context: tuple[Acting, Array]) -> Array:  # type: ignore[override]
        return super().stiffness(context[0])

    def stressed(self, context: tuple[Acting, Array], d: Array) -> tuple[Acting, Array]:  # type: ignore[override]
        return super().stressed(context[0], d), context[1]

    def damping(self, context: tuple[Acting, Array]) -> Array:  # type: ignore[override]
        return super().damping(context[0])

    def accept(self, context: tuple[Acting, Array]) -> Array:  # type: ignore[override]
        return super().accept(context[0])

    def history_rates(self, context: tuple[Acting, Array]) -> Array | None:  # type: ignore[override]
        return super().history_rates(context[0])

    def by_multipliers(self, context: tuple[Acting, Array]) -> Array:
        acting, load = context
        share = acting.law.value / (1.0 + np.vecdot(load, load))[:, None]
        result = np.zeros((len(load), 13, load.shape[1]))
        result[:, :12] = acting.measured.gradient[:, :, None] * (share * load)[:, None]
        return result


ELEMENTS: dict[str, Callable[[Stage], Element]] = {
    "rigid body": lambda n: RigidBody(n.line[1], 2.0, (1.0, 2.0, 2.5), (0.1, 0.2, 0.3)),
    "centred rigid body": lambda n: RigidBody(n.line[2], 2.0, np.diag([1.0, 2.0, 2.5]) + 0.1),
    "point mass": lambda n: PointMass(n.arc[1], 2.0),
    **_beams({"plain": PLAIN, "coupled": COUPLED}),
    **_beams({"plain damped": PLAIN.with_damping(0.3), "coupled damped": COUPLED.with_damping(0.2)}),
    "beam of order 2, curved, coupled damped": partial(_higher, 2, "curved", COUPLED.with_damping(0.2)),
    "beam of order 3, straight, tapered": partial(_higher, 3, "straight", (PLAIN, SLIM)),
    "beam of order 3 with offsets, damped": partial(_higher, 3, "twisted with offsets", COUPLED.with_damping(0.2)),
    "tapered beam": lambda n: Beam(n.arc, _widening, n.vector((0, 1, 2))),
    "truss with offsets, damped": lambda n: Truss(
        *(n.line[0], n.line[2], COUPLED.with_damping(0.2)),
        point_a=n.line[0].at((0.1, 0.2, -0.1)),
        point_b=n.line[2].at((0.3, 0.0, 0.2)),
    ),
    "Maxwell": lambda n: Maxwell(
        *(n.line[0], n.line[2], 30.0, 4.0),
        free_length=1.1,
        point_a=n.line[0].at((0.1, 0.2, -0.1)),
        point_b=n.line[2].at((0.3, 0.0, 0.2)),
    ),
    "actuator": lambda n: FirstOrderActuator(
        n.line[1], n.arc[0], _servo, 0.3, initial=2.0, point_a=n.line[1].at((0.1, 0.2, -0.1))
    ),
    "spring and damper": lambda n: SpringDamper(
        *(n.line[0], n.arc[2], 7.0, 0.6),
        free_length=1.1,
        point_a=n.line[0].at((0.1, 0.0, 0.3)),
        point_b=n.arc[2].at((0.3, 0, 0.2)),
    ),
    "spring with a law": lambda n: SpringDamper(
        n.line[0], n.arc[2], force=_servo, point_b=n.arc[2].at((0.3, 0.1, 0.2))
    ),
    "bushing": lambda n: Bushing(n.line[0], n.arc[0], (3.0, 4.0, 5.0, 0.0, 1.0, 2.0), 0.3),
    "bushing, coupled, with offsets": lambda n: Bushing(
        n.line[1],
        n.arc[1],
        COUPLED.stiffness,
        COUPLED.stiffness[::-1, ::-1] / 9,
        point=n.point((0.4, 0.1, -0.2)),
        axes=n.pose.Q @ so3.exp(np.array([0.3, -0.5, 0.8])),
    ),
    "spring in a slider": lambda n: JointSpring(_slider(n), 7.0, 0.6, free=0.2),
    "spring in a hinge": lambda n: JointSpring(_turner(n), 7.0, 0.6, free=0.2),
    "spring in a ball": lambda n: JointSpring(
        SphericalJoint(n.line[0], n.line[1]), 7.0, 0.6, free=0.2, coordinate="rotation y"
    ),
    "force by a law in a slider": lambda n: JointForce(_slider(n), lambda t, q, v: np.sin(t) * q - q**2 * v),
    "moment by a law in a hinge": lambda n: JointForce(_turner(n), _servo),
    "stop of a slider": lambda n: JointStop(_slider(n), -0.01, 0.02, 7.0, 0.1),
    "stop of a hinge": lambda n: JointStop(_turner(n), None, 0.02, 7.0, 0.1),
    "rigid stop of a slider": lambda n: JointStop(_slider(n), -0.01, 0.02, restitution=0.5),
    "rigid stop of a hinge": lambda n: JointStop(_turner(n), None, 0.02, restitution=0.5),
    "rope": lambda n: Rope(n.line[0], n.arc[2], 9.0, point_b=n.arc[2].at((0.3, 0.1, 0.2))),
    "contact of a box on a plane": lambda n: Contact(
        n.line[1], n.arc[0], Plane(n.vector((-1, -2, 1)), n.point((9.0, 9.0, 9.0))), Box((0.1, 0.2, 0.3)), friction=0.3
    ),
    "contact of a beam with a ball": lambda n: BeamContact(
        Beam(n.line, SLIM), n.arc[0], Ball(0.1), radius=0.02, restitution=0.3, friction=0.3
    ),
    "contact of a beam with a ball that yields": lambda n: BeamContact(
        Beam(n.line, SLIM),
        n.arc[0],
        Ball(0.15, center=n.point((0.4, 0.3, 0.1))),
        radius=0.2,
        **YIELDS,
    ),
    "contacts of three balls": lambda n: ContactGroup(
        [n.line[0], n.line[1], n.arc[2]], [Ball(0.1), Ball(0.2), Ball(0.1)], restitution=0.5, friction=0.3
    ),
    "contact of two beams": lambda n: BeamContact(
        Beam(n.line, SLIM), Beam(n.arc, SLIM), radius=0.02, other_radius=0.03, friction=0.3, points=2
    ),
    "contact of a beam with a capsule that yields": lambda n: BeamContact(
        Beam(n.line, SLIM),
        n.arc[0],
        Capsule(0.15, 0.4, n.vector((1, -2, 1)), center=n.point((0.4, 0.3, 0.1))),
        radius=0.2,
        **YIELDS,
    ),
    "contact that yields": lambda n: Contact(
        n.line[1],
        n.arc[0],
        Plane(n.vector((-1, -2, 1)), n.arc[0].position),
        Capsule(0.2, 0.3, n.vector((1, 2, -1))),
        **YIELDS,
    ),
    "pin in a bush": lambda n: Contact(n.line[1], n.arc[0], Bush(9.0, n.vector((1, 2, -1))), Ball(0.1), friction=0.3),
    "contact of capsules": lambda n: Contact(
        n.line[1], n.arc[0], Capsule(0.01, 0.1, n.vector((1, 2, -1))), Capsule(0.02, 0.2), restitution=0.3, friction=0.3
    ),
    "friction in a slider": lambda n: JointFriction(
        _slider(n), 0.3, 0.5, preload=9.0, reactions=False, viscous=0.1, creep=0.5, stribeck=2.0
    ),
    "friction in a hinge": lambda n: JointFriction(
        _turner(n), 0.3, preload=9.0, radius=0.2, reactions=False, creep=0.5
    ),
    "bristles in a slider": lambda n: JointFriction(
        _slider(n), 0.3, 0.5, preload=9.0, reactions=False, viscous=0.1, stribeck=2.0, bristle=2.0
    ),
    "bristles in a hinge": lambda n: JointFriction(
        _turner(n), 0.3, 0.5, preload=9.0, radius=0.2, reactions=False, stribeck=2.0, bristle=2.0
    ),
    "friction by reactions in a slider": lambda n: JointFriction(
        n.add(_slider(n)), 0.3, 0.5, preload=9.0, length=0.7, viscous=0.1, creep=0.5, stribeck=2.0
    ),
    "friction by reactions in a hinge": lambda n: JointFriction(
        n.add(_turner(n)), 0.3, radius=0.2, thrust_radius=0.1, length=0.7, creep=0.5
    ),
    "bristles by reactions in a hinge": lambda n: JointFriction(
        n.add(_turner(n)), 0.3, 0.5, preload=9.0, radius=0.2, thrust_radius=0.1, length=0.7, stribeck=2.0, bristle=2.0
    ),
    "torque motor": lambda n: TorqueMotor(_turner(n), np.sin),
    "speed motor": lambda n: SpeedMotor(_turner(n), np.cos, 3.0, 5.0),
    "speed motor at its limit": lambda n: SpeedMotor(_slider(n), 8.0, 3.0, 5.0, limit=1.0),
    "position motor": lambda n: PositionMotor(_slider(n), np.sin, 3.0, 5.0, 2.0),
    "position motor at its limit": lambda n: PositionMotor(_turner(n), 9.0, 3.0, 5.0, 2.0, limit=1.0),
    "position motor without integral": lambda n: PositionMotor(_turner(n), np.sin, 3.0, derivative=2.0),
    "bearing": lambda n: Bearing(
        n.line[0], n.line[1], n.vector((1, 2, -1)), (40.0, 30.0), (0.4, 0.3), point=n.point((0.4, 0.1, -0.2))
    ),
    "bearing with thrust and tilts": lambda n: Bearing(
        n.line[1], n.arc[0], n.vector((1, 2, -1)), 20 * np.eye(5) + 3.0, np.eye(5), across=n.vector((2, -1, 0))
    ),
    "bearing that is cross-coupled": lambda n: Bearing(
        n.line[1], n.arc[0], n.vector((1, 2, -1)), [[20.0, 8.0], [-8.0, 25.0]], [[0.5, 0.1], [0.2, 0.4]]
    ),
    "bearing that depends on the speed": lambda n: Bearing(
        n.line[1],
        n.arc[0],
        n.vector((1, 2, -1)),
        [[[20.0, 1.0], [-1.0, 25.0]], [[22.0, 4.0], [-4.0, 28.0]], [[30.0, 7.0], [-9.0, 35.0]]],
        [[0.5, 0.4], [0.4, 0.3], [0.2, 0.2]],
        speeds=(-20.0, 0.0, 20.0),
    ),
    "bearing of functions of the speed": lambda n: Bearing(
        n.line[1],
        n.arc[0],
        n.vector((1, 2, -1)),
        lambda w: [[20.0 + 0.1 * w * w, w], [-w, 25.0]],
        lambda w: (0.4 + 0.1 * np.cos(w), 0.3),
    ),
    "journal bearing": lambda n: JournalBearing(
        n.line[0], n.arc[2], n.vector((1, 2, -1)), 0.5, 0.4, 4.0, 300.0, point=n.line[0].at((0.1, 0.0, 0.3))
    ),
    "modal body": modal_body,
    "modal body of one mode": partial(modal_body, modes=1),
    "flexible body": flexible_body,
    "flexible body of one interface": partial(flexible_body, names="a"),
    "flexible body that stiffens": partial(flexible_body, stiffens=True),
    "flexible body of interfaces alone": partial(flexible_body, method="guyan"),
    "flexible body of three interfaces and free modes": partial(flexible_body, names="abc", method="free", modes=3),
    "spring that slips": lambda n: FrictionSpring(n.line[0], n.arc[2], 7.0, 1.5, point_a=n.line[0].at((0.1, 0.0, 0.3))),
    "spring with an algebraic variable": lambda n: Ratio(n.line[0], n.arc[2], 5.0),
    "brake of a ball joint": lambda n: Brake(
        n.add(SphericalJoint(n.line[0], n.line[1], n.point((0.4, 0.1, -0.2)))), "rotation y"
    ),
    "world force": lambda n: Force(
        n.line[1], lambda t: n.vector((2.0 * t, 1.0, -3.0)), point=n.line[1].at((0.1, 0.3, -0.2))
    ),
    "body force": lambda n: Force(n.line[1], (2.0, 1.0, -3.0), frame="body", point=n.line[1].at((0.1, 0.3, -0.2))),
    "world moment": lambda n: Moment(n.arc[1], n.vector((2.0, 1.0, -3.0))),
    "body moment": lambda n: Moment(n.arc[1], lambda t: (2.0, 1.0 + t, -3.0), frame="body"),
    "shell": _shell,
    "laminated shell with offset and damping": lambda n: _shell(n, LAMINATE),
    "shell with given normals": lambda n: Shell(
        [*n.line[:2], *n.arc[1::-1]], SHEET, normals=lambda x: n.vector((0.3, -0.9, 0.4)), thick=True
    ),
    "pressure": lambda n: Pressure(_shell(n), -2.0),
    "pressure over time": lambda n: Pressure(_shell(n), lambda t: 3.0 * t),
    "pressure at nodes": lambda n: Pressure(_shell(n), [1.0, -2.0, 0.5, 3.0, 1.5, -1.0]),
    "pressure at nodes over time": lambda n: Pressure(_shell(n), lambda t: np.cos(t + np.arange(6.0))),
    "load per area of a shell": lambda n: DistributedLoad(_shell(n), n.vector((1, 2, 3))),
    "load per area that follows a shell": lambda n: DistributedLoad(
        _shell(n), (1, 2, 3), moment=(0.1, 0.2, 0.3), frame="body"
    ),
    "load along an edge": lambda n: EdgeLoad(n.arc, n.vector((1, 2, 3)), moment=n.vector((0, 1, 0))),
    "dead distributed load": lambda n: DistributedLoad(
        _beam("curved", PLAIN, "SE3", n), n.vector((2.0, 1.0, -3.0)), moment=lambda t: n.vector((t, 0.5, 2.0))
    ),
    "distributed load that follows": lambda n: DistributedLoad(
        _beam("curved", PLAIN, "R3xSO3", n), lambda t: (2.0 * t, 1.0, -3.0), moment=(0.4, -0.3, 2.0), frame="body"
    ),
    "distributed load that follows, linear, with offsets": lambda n: DistributedLoad(
        _beam("twisted with offsets", PLAIN, "SE3", n),
        [(2.0, 1, -3), (0, 2, 1), (1, 1, 1)],
        moment=(0.4, -0.3, 2.0),
        frame="body",
    ),
    "distributed load that follows, on order 3": lambda n: DistributedLoad(
        _higher(3, "curved", PLAIN, n), lambda t: (2.0 * t, 1.0, -3.0), moment=(0.4, -0.3, 2.0), frame="body"
    ),
    "drag across a twisted beam with offsets": lambda n: Drag(
        _beam("twisted with offsets", PLAIN, "SE3", n),
        CrossFlow(1.2, lambda s: 0.3 + 0.2 * s, coefficient=1.1, tangential=0.1),
        fluid=n.vector((1, 2, 0)),
    ),
    "drag on order 3 in a vortex, by a law": lambda n: Drag(
        _higher(3, "curved", PLAIN, n),
        _lift,
        fluid=lambda t, x: n.vector((t, 0, 1)) + np.cross(n.vector((1, 2, 3)), x - n.point((0, 0, 0))),
    ),
    "gravity of a body": lambda n: Gravity(
        RigidBody(n.line[1], 2.0, (1.0, 2.0, 2.5), (0.1, 0.2, 0.3)), n.vector((1.0, 2.0, 3.0))
    ),
    "gravity of a beam, a function": lambda n: Gravity(
        _beam("twisted with offsets", COUPLED, "SE3", n), lambda t: n.vector((1.0, t, 3.0))
    ),
    "dead distributed load, linear, with offsets": lambda n: DistributedLoad(
        _beam("twisted with offsets", PLAIN, "SE3", n), lambda t: [n.vector((2.0, k * t, -3)) for k in range(3)]
    ),
}


CONTROL: dict[str, Callable[[Stage], Element]] = {
    **{
        f"sensor of {quantity}": lambda n, quantity=quantity: NodeSensor(
            n.line[1],
            quantity,
            n.vector((1, 2, 3)),
            point=n.line[1].at((0.1, 0.2, 0.3)),
            origin=n.point((0.3, 0.1, 0.2)),
        )
        for quantity in (
            "position",
            "velocity",
            "acceleration",
            "rotation_vector",
            "angular_velocity",
            "angular_acceleration",
        )
    },
    **{
        f"sensor of {quantity} along the body": lambda n, quantity=quantity: NodeSensor(
            n.line[1], quantity, (1, 2, 3), frame="body", point=n.line[1].at((0.1, 0.2, 0.3))
        )
        for quantity in ("velocity", "acceleration", "angular_velocity", "angular_acceleration")
    },
    "sensor of an angle": lambda n: JointSensor(SphericalJoint(n.line[1], n.arc[0]), coordinate="rotation x"),
    "sensor of a rate": lambda n: JointSensor(
        SphericalJoint(n.line[1], n.arc[0]), "coordinate_rate", coordinate="rotation y"
    ),
    "sensor of a length": lambda n: LineSensor(n.line[1], n.arc[0], "length", point_a=n.line[1].at((0.1, 0.2, -0.1))),
    "sensor of a speed": lambda n: LineSensor(
        n.line[1], n.arc[0], "speed", point_a=n.line[1].at((0.1, 0.2, -0.1)), point_b=n.arc[0].at((0.3, 0, 0.1))
    ),
    "sensor by a function": lambda n: FunctionSensor([n.line[1], n.arc[0]], _seen),
    "state space": lambda n: StateSpace(
        [np.sin, 2.0], [[0, 1], [-3, -0.5]], np.ones((2, 2)), np.eye(2), 0.1 * np.eye(2)
    ),
    "transfer function": lambda n: TransferFunction(np.cos, [1.0, 2.0, 0.5], [2.0, 3.0, 40.0]),
    "PID with limits": lambda n: PID(np.cos, 1.0, 2.0, 0.3, filter=0.1, limits=(-0.5, 0.6)),
    "PID with a rate": lambda n: PID(np.cos, 1.0, 2.0, 0.3, rate=np.sin),
    "limits": lambda n: Saturation(lambda t: 3.0 * t, (-1.0, 1.0)),
    "block by functions": lambda n: Block(
        np.sin, lambda t, x, u: -x * abs(x) + u, lambda t, x, u: x[0] * u[0], initial=[0.3]
    ),
    "sampled controller": lambda n: SampledStateSpace(np.sin, 0.1, [[0.5]], [[1.0]], [[2.0]], [[1.0]], delay=0.05),
    "force by a signal": lambda n: ForceActuator(
        n.line[1], np.cos, n.vector((1, 2, 3)), point=n.line[1].at((0.1, 0.2, 0.3))
    ),
    "force along the body by a signal": lambda n: ForceActuator(
        n.line[1], np.cos, (1, 2, 3), frame="body", point=n.line[1].at((0.1, 0.2, 0.3))
    ),
    "moment by a signal": lambda n: MomentActuator(n.line[1], np.cos, n.vector((1, 2, 3))),
    "torque in a joint by a signal": lambda n: JointActuator(
        SphericalJoint(n.line[1], n.arc[0]), np.cos, coordinate="rotation z"
    ),
    "pull by a signal": lambda n: LineActuator(n.line[1], n.arc[0], np.cos, point_a=n.line[1].at((0.1, 0.2, -0.1))),
}
ELEMENTS |= CONTROL


def _seen(motion: Motion) -> float:
    """What moves with the nodes."""
    across = motion.R[0].T @ (motion.x[1] - motion.x[0])
    return float(across[0] * across[1] + motion.V[0, 4] * motion.V[1, 2] + motion.A[1, 3])


def _servo(t: float, length: float, speed: float) -> float:
    """A force that pulls to a length that moves."""
    return 5.0 * (length - 1.0 - 0.2 * np.sin(t)) + 0.5 * length * speed


def _lift(velocity: Array, s: Array) -> Array:
    """Lift and drag of a profile, which stalls."""
    angle, size = np.arctan2(velocity[:, 2], velocity[:, 1]), np.vecdot(velocity, velocity)[:, None]
    return size * np.stack([0.0 * angle, 0.1 + s * np.sin(angle) ** 2, np.sin(2.0 * angle)], axis=-1)


class Turner(RelativeJoint):
    """Turns about an axis, from axes that are given."""

    closes = ("translation x", "translation y", "translation z", "rotation x", "rotation y")


def _slider(n: Stage) -> PrismaticJoint:
    """A slider that is measured, but not added."""
    return PrismaticJoint(n.line[0], n.line[1], n.vector((1, 2, -1)), n.point((0.4, 0.1, -0.2)))


def _turner(n: Stage) -> RelativeJoint:
    """A hinge likewise."""
    axes = n.pose.Q @ so3.exp(np.array([0.3, -0.5, 0.8]))
    return Turner(n.line[0], n.line[1], n.point((0.4, 0.1, -0.2)), axes)


def sliding(beam: Beam, node: Node, share: float, rotation: bool = False) -> SlidingJoint:
    """On a beam at a share of its length."""
    x, R = (np.array([getattr(own, name) for own in beam.nodes]) for name in ("position", "rotation"))
    tracks = BeamTracks([beam])
    place = share * float(tracks.lengths[0])
    point = Sections(tracks, np.zeros(1, int), x[None], R[None], np.array([place])).x[0]
    return SlidingJoint(beam, node, point, rotation=rotation)


def _wire(n: Stage, closed: bool) -> CurveJoint:
    points = [n.point(p) for p in ((0.4, 0.1, -0.2), (1.0, 0.5, 0.3), (1.2, 1.0, 0.1), (0.5, 1.1, 0.4), (0, 0.7, -0.5))]
    return CurveJoint(n.line[0], n.arc[1], [*points, points[0]] if closed else points, points[2])


def outline(center: Array, radii: tuple[float, float], turned: float = 0.0, points: int = 24) -> Array:
    """An ellipse in the plane of x and y."""
    angle = np.linspace(0, 2 * np.pi, points + 1)
    across = np.stack([radii[0] * np.cos(angle), radii[1] * np.sin(angle), 0 * angle], axis=1)
    return center + across @ so3.exp(np.array([0, 0, -turned]))


def _cam(n: Stage, flat: bool) -> CamJoint:
    """An ellipse on which a line lies, or a disc rolls."""
    cam = [n.point(p) for p in outline(np.zeros(3), (0.5, 0.3))]
    shapes = [(-1.0, 0.3, 0.0), (1.0, 0.3, 0.0)] if flat else outline(np.array([0, 0.4, 0]), (0.1, 0.1), points=12)
    return CamJoint(n.line[0], n.arc[1], n.vector((0, 0, 1)), cam, [n.point(p) for p in shapes])


def _axes(n: Stage) -> Array:
    """Axes of a joint as columns."""
    return np.stack([n.vector(axis) for axis in so3.exp(np.array([0.3, -0.8, 0.5])).T], axis=-1)


JOINTS: dict[str, Callable[[Stage], Constraint]] = {
    "spherical": lambda n: SphericalJoint(n.line[0], n.line[1], n.point((0.4, 0.1, -0.2))),
    "revolute": lambda n: RevoluteJoint(n.line[1], n.arc[0], n.vector((1, 2, -1)), n.point((0.4, 0.1, -0.2))),
    "hinge at node b": lambda n: RevoluteJoint(n.line[0], n.line[1], n.vector((0, 0, 1))),
    "hinge driven by a law": lambda n: RevoluteJoint(
        n.line[1], n.arc[0], n.vector((1, 2, -1)), n.point((0.4, 0.1, -0.2)), drive=SpinUp(-3.0, 2.0)
    ),
    "hinge driven by a function": lambda n: RevoluteJoint(
        n.line[1], n.arc[0], n.vector((1, 2, -1)), n.point((0.4, 0.1, -0.2)), drive=lambda t: 0.6 * t + 0.2 * np.sin(t)
    ),
    "prismatic": lambda n: PrismaticJoint(n.line[1], n.arc[0], n.vector((1, 2, -1)), n.point((0.4, 0.1, -0.2))),
    "prismatic, driven": lambda n: PrismaticJoint(
        n.line[1], n.arc[0], n.vector((1, 2, -1)), n.point((0.4, 0.1, -0.2)), drive=lambda t: 0.3 * np.sin(2 * t)
    ),
    "cylindrical": lambda n: CylindricalJoint(n.line[0], n.arc[2], n.vector((1, 2, -1)), n.point((0.4, 0.1, -0.2))),
    "planar": lambda n: PlanarJoint(n.line[1], n.arc[0], n.vector((1, 2, -1)), n.point((0.4, 0.1, -0.2))),
    "universal": lambda n: UniversalJoint(
        n.line[1], n.arc[0], n.vector((1, 2, -1)), n.vector((2, -1, 0)), n.point((0.4, 0.1, -0.2))
    ),
    "constant velocity": lambda n: ConstantVelocityJoint(
        n.line[1], n.arc[0], n.vector((1, 2, -1)), n.vector((1, 2, -1)), n.point((0.4, 0.1, -0.2))
    ),
    "constant velocity, bent": lambda n: ConstantVelocityJoint(
        n.line[1], n.arc[0], n.vector((1, 2, -1)), n.vector((2, 1, -0.5)), n.point((0.4, 0.1, -0.2))
    ),
    "point on a line": lambda n: PointOnLineJoint(n.line[1], n.arc[0], n.vector((1, 2, -1)), n.point((0.4, 0.1, -0.2))),
    "point on a plane": lambda n: PointOnPlaneJoint(
        n.line[1], n.arc[0], n.vector((1, 2, -1)), n.point((0.4, 0.1, -0.2))
    ),
    "parallel axes": lambda n: ParallelAxesJoint(n.line[1], n.arc[0], n.vector((1, 2, -1)), n.point((0.3, 0.1, 0.4))),
    "orientation": lambda n: OrientationJoint(n.line[1], n.arc[0]),
    "distance": lambda n: DistanceJoint(n.line[1], n.arc[0], n.point((0.4, 0.1, -0.2)), n.point((0.1, 0.9, 0.3))),
    "distance, driven": lambda n: DistanceJoint(
        n.line[1], n.arc[0], n.point((0.4, 0.1, -0.2)), drive=lambda t: 0.2 * np.sin(2 * t)
    ),
    "screw": lambda n: ScrewJoint(n.line[1], n.arc[0], n.vector((1, 2, -1)), 6.0, n.point((0.4, 0.1, -0.2))),
    "left-handed screw": lambda n: ScrewJoint(n.line[1], n.arc[0], n.vector((1, 2, -1)), -9.0),
    "general, a slot": lambda n: GeneralJoint(
        n.line[1], n.arc[0], (True, False, True), (False, True, False), point=n.point((0.4, 0.1, -0.2)), axes=_axes(n)
    ),
    "end release, a pin": lambda n: EndRelease(
        n.arc[0], _beam("straight", PLAIN, "SE3", n), side="start", release="yz"
    ),
    "fixed": lambda n: FixedJoint(n.line[1], n.arc[2], n.point((0.4, 0.1, -0.2))),
    "ball moved by a function": lambda n: SphericalJoint(
        n.line[1],
        n.arc[0],
        n.point((0.4, 0.1, -0.2)),
        displacement=lambda t: n.vector((0.3 * np.sin(2 * t), np.sin(t) ** 2, 0.1 * t)),
    ),
    "sliding joint": lambda n: sliding(_beam("straight", PLAIN, "SE3", n), n.arc[1], 0.3),
    "sleeve on a curved beam": lambda n: sliding(_beam("curved", PLAIN, "R3xSO3", n), n.line[1], 0.7, True),
    "sleeve on a beam with offsets": lambda n: sliding(
        _beam("twisted with offsets", PLAIN, "SE3", n), n.arc[1], 0.4, True
    ),
    "sliding joint on order 2": lambda n: sliding(_higher(2, "curved", PLAIN, n), n.line[0], 0.6),
    "sleeve on order 3": lambda n: sliding(_higher(3, "straight", PLAIN, n), n.arc[0], 0.4, True),
    "gears": lambda n: Coupling(_hinge(n, 0, 1), _hinge(n, 1, 2), -0.7),
    "differential": lambda n: Coupling([_hinge(n, 0, 1), _hinge(n, 1, 2), _hinge(n, 2, 0)], [1.0, 0.5, -2.0]),
    "ball driven about x": lambda n: JointDrive(
        SphericalJoint(n.line[0], n.line[1]), lambda t: 0.3 * np.sin(2 * t), coordinate="rotation x"
    ),
    "wire": lambda n: _wire(n, False),
    "closed wire": lambda n: _wire(n, True),
    "cam with a flat follower": lambda n: _cam(n, True),
    "cam with a roller": lambda n: _cam(n, False),
    "rolling disc": lambda n: RollingDisc(
        n.line[1], n.arc[0], n.vector((1, 2, 3)), n.vector((3, -1, 1)), 0.4, center=n.point((0.2, 0.1, 0.9))
    ),
}

EVERYTHING = {**ELEMENTS, **JOINTS}

METHODS: dict[str, mbs.Method] = {
    "generalised-alpha": mbs.GeneralizedAlpha(),
    "generalised-alpha, index 2": mbs.GeneralizedAlpha(0.8, "index2"),
    "generalised-alpha, perturbed start": mbs.GeneralizedAlpha(0.6, start="perturbed"),
    "generalised-alpha, modified Newton": mbs.GeneralizedAlpha(newton=mbs.Newton(modified=True)),
    "Hilber, Hughes, Taylor": mbs.GeneralizedAlpha.hht(0.1),
    "updated Lagrangian": mbs.UpdatedLagrangian(0.8),
    "updated Lagrangian, rotation vector": mbs.UpdatedLagrangian(0.8, parametrization="rotation_vector"),
    "Runge-Kutta-Munthe-Kaas": mbs.RungeKuttaMuntheKaas(),
    "Runge-Kutta-Munthe-Kaas, drifting": mbs.RungeKuttaMuntheKaas(projection=False),
    "Dormand, Prince": mbs.RungeKuttaMuntheKaas("DOPRI5"),
    "Bogacki, Shampine": mbs.RungeKuttaMuntheKaas("ODE23"),
    "Butcher": mbs.RungeKuttaMuntheKaas("RK6"),
    "Lie-Euler": mbs.LieEuler(),
    "Tait-Bryan angles": mbs.ClassicalAlpha(),
    "Euler parameters": mbs.ClassicalAlpha("euler_parameters"),
    "Tait-Bryan angles, Runge-Kutta": mbs.ClassicalRungeKutta(),
    "Lie-Euler, second kind": mbs.LieEuler(coordinates="second"),
    "Lie-Euler, index 2": mbs.LieEuler("index2"),
    "Lie-Euler, index 1": mbs.LieEuler("index1"),
    "Lie-Euler, overdetermined": mbs.LieEuler("overdetermined"),
    "Lie-Euler, symplectic": mbs.LieEuler("symplectic"),
    "Radau IIA": mbs.RadauIIA(),
    "non-smooth generalised-alpha": mbs.NonsmoothAlpha(),
}
