"""Nodes to build elements and joints on, anywhere in space, and trials of what is built: in large random motions.

Beside them, laws of what elements and joints may offer beside their equations: pictures, signals, section forces,
recipes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import numpy as np

from fem_mbs.arrays import Array, ArrayLike, IntArray
from fem_mbs.compiled import in_use
from fem_mbs.contracts import Constraint, ConstraintBatch, Element, ElementBatch, Node, SectionForces, SignalSource
from fem_mbs.contracts.arguments import array, choice, function, whole_number
from fem_mbs.contracts.checked import checked
from fem_mbs.contracts.motion import Motion
from fem_mbs.errors import FemMbsError, users_failure
from fem_mbs.files.store.description import describe, rebuild
from fem_mbs.files.store.values import class_name
from fem_mbs.lie import se3, so3
from fem_mbs.linear.solvers import sums
from fem_mbs.model.model import Model
from fem_mbs.system.batch_checks import check_shapes, not_finite
from fem_mbs.system.system import System
from fem_mbs.testing.differences import ContractError, DoesNotApplyError, near

if TYPE_CHECKING:
    from typing_extensions import Self


GROUPS = ("R3xSO3", "SE3", "mixed")
GRAVITY = np.array([0.3, 0.2, -9.0])


@dataclass(frozen=True, eq=False)
class RigidMotion:
    """A rigid motion of everything: ``x -> Q x + c``."""

    Q: Array
    c: Array

    def point(self, p: ArrayLike) -> Array:
        """A place in space."""
        return np.asarray(self.Q @ np.asarray(p, dtype=float) + self.c)

    def vector(self, v: ArrayLike) -> Array:
        """A direction in space."""
        return np.asarray(self.Q @ np.asarray(v, dtype=float))


HOME = RigidMotion(np.eye(3), np.zeros(3))
AWAY = RigidMotion(so3.exp(np.array([1.0, -2.0, 0.7])), np.array([3.0, -1.0, 2.0]))


Joint = TypeVar("Joint", bound=Constraint)


@dataclass(frozen=True)
class Stage:
    """What an element or a joint is built on to be checked.

    The whole model is also built elsewhere in space, so that whatever is given in world components has to go through
    ``point`` or ``vector``.

    Attributes
    ----------
    line, arc : list of Node
        Three nodes on a straight line and three on an arc of 50 degrees, all turned arbitrarily.
    """

    line: list[Node]
    arc: list[Node]
    pose: RigidMotion
    model: Model

    @property
    def nodes(self) -> list[Node]:
        """All six."""
        return [*self.line, *self.arc]

    def add(self, joint: Joint) -> Joint:
        """Add a joint on whose reactions an element depends."""
        return self.model.add(joint)

    def point(self, p: ArrayLike) -> Array:
        """A place in the world that moves with the stage."""
        return self.pose.point(p)

    def vector(self, v: ArrayLike) -> Array:
        """A direction in the world that moves with the stage."""
        return self.pose.vector(v)


def _seeds(value: Any, label: object) -> list[int]:
    return [whole_number(own, label, 0) for own in array(value, label, (None,), what="a list of whole numbers")]


Make = Callable[[Stage], Element | Constraint]
Seeds = Annotated[Sequence[int], _seeds]


@checked
def build(
    *makes: Make, group: Annotated[str, choice(GROUPS)] = "R3xSO3", pose: RigidMotion = HOME
) -> tuple[Model, list[Element | Constraint]]:
    """Model with the parts of ``makes``; ``group`` "mixed" puts every other node on SE(3)."""
    rng = np.random.default_rng(5)
    model = Model("R3xSO3" if group == "mixed" else group, pose.vector(GRAVITY))

    def nodes(points: Array) -> list[Node]:
        made = []
        for k, p in enumerate(points):
            own = ("SE3", "R3xSO3")[k % 2] if group == "mixed" else None
            made.append(model.add_node(pose.point(p), pose.Q @ so3.exp(rng.normal(size=3)), group=own))
        return made

    angle = np.radians([0.0, 20.0, 50.0])
    arc = np.stack([np.sin(angle), 1 - np.cos(angle), 0.5 * np.ones(3)], axis=1)
    line = np.outer([0.0, 0.8, 1.5], [2.0, 1.0, -1.0]) / np.sqrt(6)
    stage = Stage(nodes(line), nodes(arc), pose, model)
    return model, [model.add(function(make, "build: make", of=" of a Stage")(stage)) for make in makes]


def random_motion(system: System, seed: int, pose: RigidMotion = HOME, t: float = 0.7) -> Motion:
    """Large random deformation, velocity and acceleration of a model, all of it turned at random.

    Neighbouring nodes turn against each other by about one radian. ``pose`` moves the result rigidly, for a model that
    was built there.
    """
    rng = np.random.default_rng(seed)
    turn = so3.exp(rng.normal(size=3))
    back = pose.Q.T @ system.R0, (system.x0 - pose.c) @ pose.Q
    x = (back[1] + 0.3 * rng.normal(size=(system.n, 3))) @ turn.T
    R = turn @ back[0] @ so3.exp(0.4 * rng.normal(size=(system.n, 3)))
    V, A = rng.normal(size=(2, system.n, 6))
    sizes = [variable.size or 1.0 for _, variable in system.internal_variables]
    u, udot, uddot = rng.normal(size=(3, system.k)) * sizes
    order = system.order
    rates = np.where(order > 0, udot, 0.0), np.where(order == 2, uddot, 0.0)
    multipliers = rng.normal(size=system.m)
    place = x @ pose.Q.T + pose.c, pose.Q @ R
    return Motion(t, *place, V, A, system.gravity, system.u0 + 0.3 * u, *rates, multipliers)


def at_rest(motion: Motion) -> Motion:
    """The same configuration without any rates."""
    still, none = np.zeros_like(motion.V), np.zeros_like(motion.u)
    return replace(motion, V=still, A=still, udot=none, uddot=none)


def weightless(motion: Motion) -> Motion:
    """The same motion without gravity."""
    return replace(motion, gravity=np.zeros(3))


def moved(motion: Motion, pose: RigidMotion) -> Motion:
    """The whole motion moved rigidly, gravity with it; body components stay."""
    x, gravity = motion.x @ pose.Q.T + pose.c, pose.vector(motion.gravity)
    return replace(motion, x=x, R=pose.Q @ motion.R, gravity=gravity)


def neighbour(motion: Motion, d: Array, dV: Array | float = 0.0, dA: Array | float = 0.0) -> Motion:
    """Motion at increments ``d`` (N,) away, body increments first, with changed velocities and accelerations (N,)."""
    n, k = len(motion.x), len(motion.u)
    changes = np.stack([np.broadcast_to(part, 6 * n + k) for part in (d, dV, dA)])
    (d, dV, dA), (own, dudot, duddot) = changes[:, : 6 * n].reshape(3, n, 6), changes[:, 6 * n :]
    R, y = se3.exp(d)
    return replace(
        motion,
        x=motion.x + np.matvec(motion.R, y),
        R=motion.R @ R,
        V=motion.V + dV,
        A=motion.A + dA,
        u=motion.u + own,
        udot=motion.udot + dudot,
        uddot=motion.uddot + duddot,
    )


def later(motion: Motion, s: float) -> Motion:
    """The motion a time ``s`` later: each node goes on along its own screw, accelerated by ``A`` to second order.

    Right to first order in ``s``, in configuration and velocity.
    """
    Vdot = motion.A.copy()
    Vdot[:, :3] -= np.cross(motion.V[:, 3:], motion.V[:, :3])
    velocity, acceleration = np.append(motion.V, motion.udot), np.append(Vdot, motion.uddot)
    return neighbour(motion, s * velocity, dV=s * acceleration)


COMPONENTS = ("translation x", "translation y", "translation z", "rotation x", "rotation y", "rotation z")


@dataclass(frozen=True)
class LawTrial:
    """What laws are tried on."""

    make: Make
    seed: int
    system: System
    motion: Motion

    @classmethod
    def of(cls, make: Make, seed: int, pose: RigidMotion = HOME) -> Self:
        """The element or joint that ``make`` makes."""
        model, _ = build(make, pose=pose)
        system = System(model)
        return cls(make, seed, system, random_motion(system, seed, pose))

    @property
    def part(self) -> Element | Constraint:
        """What is held to the law: the last part of the model."""
        return self.system.number.parts[-1]

    @property
    def name(self) -> str:
        """The class that is held to the law."""
        return type(self.system.all_batches[0]).__name__

    def sizes(self) -> Array:
        """What counts as large of each component ``(N,)``: 1 for nodes, the size of internal variables."""
        own = np.array([variable.size or 1.0 for _, variable in self.system.internal_variables])
        return np.append(np.ones(6 * self.system.n), own)

    def names(self) -> list[str]:
        """What the components ``(N,)`` are."""
        nodes = [f"{component} of {node}" for node in self.system.nodes for component in COMPONENTS]
        return [*nodes, *(f"'{variable.name}' of {owner}" for owner, variable in self.system.internal_variables)]


class ElementTrial(LawTrial):
    """An element."""

    @property
    def element(self) -> Element:
        """The element."""
        if not self.system.elements:
            raise ContractError("check_element: what was made is not an Element; check_joint is for joints")
        return self.system.elements[0]

    @property
    def batch(self) -> ElementBatch:
        """Its batch."""
        return self.system.batches[0]

    @property
    def rows(self) -> IntArray:
        """Components of its cells, ``(n, b)``."""
        return self.system.components[0]

    def force(self, motion: Motion | None = None) -> tuple[Array, Any]:
        """Contribution ``(n, b)`` and context."""
        motion = self.motion if motion is None else motion
        force, context = self.batch.force(motion, self.batch.at(motion.t))
        return force.sum(axis=1) if self.batch.terms > 1 else force, context

    def residual(self, motion: Motion | None = None) -> Array:
        """Assembled contribution ``(N,)``."""
        force, _ = self.force(motion)
        return sums(self.rows.ravel(), force.ravel(), self.system.N)

    def dense(self, matrix: Array | None) -> Array:
        """A matrix of the batch, assembled to ``(N, N)``."""
        result = np.zeros((self.system.N, self.system.N))
        if matrix is not None:
            np.add.at(result, (self.rows[:, :, None], self.rows[:, None]), matrix)
        return result


class JointTrial(LawTrial):
    """A joint, which the random motion violates."""

    @property
    def joint(self) -> Constraint:
        """The joint."""
        if not self.batches:
            raise ContractError("check_joint: what was made is not a Constraint; check_element is for elements")
        return self.batch.owners[0]

    @property
    def batches(self) -> list[ConstraintBatch]:
        """All batches of the model."""
        return self.system.constraint_batches

    @property
    def batch(self) -> ConstraintBatch:
        """Its batch."""
        return self.batches[0]

    @property
    def rows(self) -> IntArray:
        """Components of the joint, ``(b,)``."""
        return self.system.constraint_components[0][0]

    def evaluate(self, motion: Motion | None = None) -> tuple[Array, Array, Any]:
        """``Phi`` (m,), ``B`` (m, b) and the context."""
        motion = self.motion if motion is None else motion
        return self.batch.evaluate(motion, self.batch.at(motion.t))

    def own_names(self) -> list[str]:
        """What the columns of ``B`` are."""
        names = self.names()
        return [names[row] for row in self.rows]

    def increments(self, d: Array) -> Array:
        """Increments ``(N,)`` of all components from those of the joint ``(b,)``."""
        result = np.zeros(self.system.N)
        np.add.at(result, self.rows, d)
        return result


def shapes_are_right(trial: LawTrial) -> None:
    """Forces, gradients and matrices have the shapes that nodes and variables ask for; the motion stays as it is."""
    system, motion = trial.system, trial.motion
    try:
        check_shapes(system, motion, system.prescribe(motion.t))
        if text := not_finite(system, system.evaluate(motion, np.ones(system.m), system.prescribe(motion.t))):
            raise ContractError(text)
    except Exception as error:
        failure = error if isinstance(error, FemMbsError) else users_failure(error, trial.name)
        if failure is None:
            raise
        raise ContractError(str(failure)) from error


def many_are_the_sum(trial: LawTrial) -> None:
    """A batch of several does what each does alone."""
    once, twice = trial.system, System(build(trial.make, trial.make)[0])
    if len(twice.constraint_batches) > len(once.constraint_batches):
        raise ContractError("two equal joints have different keys; batch_key() must not depend on the object")
    motion = random_motion(twice, trial.seed)
    names = ("u", "udot", "uddot", "multipliers")
    halves = zip(*(np.split(getattr(motion, name), 2) for name in names), strict=True)
    parts = [replace(motion, **dict(zip(names, half, strict=True))) for half in halves]
    first, second = (once.evaluate(part, part.multipliers, once.prescribe(part.t)) for part in parts)
    both = twice.evaluate(motion, motion.multipliers, twice.prescribe(motion.t))
    nodes = once.nodes_of(first.force + second.force)
    force = np.concatenate([nodes.ravel(), once.own_of(first.force), once.own_of(second.force)])
    hint = "Do arrays keep their first axis?"
    near("forces of two in a batch", both.force, force, 1e-12 * np.abs(force).max(initial=1e-9), hint)
    constraint = np.concatenate([first.constraint, second.constraint])
    near("Phi of two in a batch", both.constraint, constraint, 1e-13, hint)
    for gradient, *alone in zip(both.gradients, first.gradients, second.gradients, strict=True):
        near("B of two in a batch", gradient, np.concatenate(alone), 1e-13, hint)


def evaluation_is_pure(trial: LawTrial) -> None:
    """The same motion gives the same equations."""
    system = trial.system
    first, second = (
        system.evaluate(trial.motion, np.ones(system.m), system.prescribe(trial.motion.t)) for _ in range(2)
    )
    near("forces of the same motion, asked twice", second.force, first.force, 0.0)
    near("Phi of the same motion, asked twice", second.constraint, first.constraint, 0.0)


BASICS = (shapes_are_right, evaluation_is_pure, many_are_the_sum)
"""Laws of whatever has batches."""


STATIONS, SIZE, SIDES = 5, 0.1, 8
SAME = 1e-13


def pictures_can_be_drawn(trial: LawTrial) -> None:
    """Points are finite and as many as ``cells`` count, shapes are on its nodes, places on a node are (3,)."""
    part, system = trial.part, trial.system
    picture, shapes = part.picture(system.number, STATIONS), part.shapes(SIZE)
    if picture is not None:
        drawn = picture.draw(trial.motion, trial.motion.multipliers)
        count = len(drawn["points"])
        for name, values in drawn.items():
            near(f"shape of '{name}' in its picture", np.shape(values), (count, 3), 0.0)
            if not np.isfinite(values).all():
                raise ContractError(f"'{name}' in its picture is not finite")
        for cells in picture.cells:
            if cells.points.size and not 0 <= cells.points.min() <= cells.points.max() < count:
                raise ContractError(f"cells of its picture count {count} points from 0")
    for placed in shapes:
        system.number(placed.node)
        faces = placed.shape.faces(SIDES)
        if any(points.size and points.max() >= len(faces.points) for _, points in faces.cells):
            raise ContractError(f"faces of {placed.shape} are of points that it does not have")
    places = {"offset": part.offset} if part.nodes else {}
    if isinstance(part, Element) and part.center_of_mass is not None:
        places["center_of_mass"] = part.center_of_mass
    for name, place in places.items():
        near(f"shape of {name}", np.shape(place), (3,), 0.0)
    if picture is None and not shapes:
        raise DoesNotApplyError("it has neither a picture nor shapes")


def section_forces_are_of_its_frame(trial: LawTrial) -> None:
    """As many rows as ``stations``, six numbers each, and the same wherever everything is."""
    part = trial.part
    if not isinstance(part, SectionForces):
        raise DoesNotApplyError("it has no section forces")
    rows = [trial.system.number(node) for node in part.nodes]

    def forces(motion: Motion) -> Array:
        return part.section_forces(motion.x[None, rows], motion.R[None, rows])

    here, there = forces(trial.motion), forces(moved(trial.motion, AWAY))
    near("shape of section_forces", np.shape(here), (1, len(part.stations), 6), 0.0)
    size = np.abs(here).max(initial=1e-9)
    near("section forces with everything moved rigidly", there, here, 1e-9 * size)


def signals_are_its_internal_variables(trial: LawTrial) -> None:
    """``signal_values`` has a column for each of the ``outputs``, that of the signal of its number."""
    part = trial.part
    if not isinstance(part, SignalSource):
        raise DoesNotApplyError("it puts out no signal")
    number, count = trial.system.number, len(part.outputs)
    t, u = np.array([0.0, 1.0]), np.random.default_rng(trial.seed).normal(size=(2, trial.system.k))
    values = part.signal_values(t, u, number)
    near("shape of signal_values", np.shape(values), (2,) if count == 1 else (2, count), 0.0)
    for k, one in enumerate(part):
        own = one.signal_values(t, u, number)
        near(f"its output {k}, against column {k} of signal_values", np.reshape(values, (2, -1))[:, k], own, 0.0)


def it_can_be_made_again(trial: LawTrial) -> None:
    """What is made of its ``constructor_arguments`` has the same equations: a file can hold it."""
    part, system = trial.part, trial.system
    if class_name(type(part)) is None:
        raise DoesNotApplyError("its class stands in no module, where files would find it")
    try:
        description = describe(system)
    except FemMbsError as error:
        raise ContractError(f"{error}") from error
    if "of script" in str(description):
        raise DoesNotApplyError("it was given what no file can hold")
    again = System(rebuild(description, str))
    other = again.number.parts[-1]
    near(f"internal variables of {other}, made again", again.u0, system.u0, 0.0)
    load = np.ones(system.m)
    first, second = (own.evaluate(trial.motion, load, own.prescribe(trial.motion.t)) for own in (system, again))
    near(f"forces of {other}, made again", second.force, first.force, 0.0)


def compiled_kernels_agree(trial: LawTrial) -> None:
    """What is compiled has NumPy's results to rounding, in the motion of the trial and near where it was built."""
    if not in_use():
        raise DoesNotApplyError("kernels are compiled where llvmlite is installed and FEM_MBS_FAST is not 0")
    from fem_mbs.compiled.batches import Samples
    from fem_mbs.compiled.tape import CannotRecordError

    samples, batch = Samples(trial.system), trial.system.all_batches[0]
    try:
        compiled = samples.compiled(batch)
    except CannotRecordError as reason:
        raise DoesNotApplyError(f"it stays NumPy: {reason}") from reason
    for motion in (samples.other, trial.motion):
        difference = samples.difference(batch, compiled, motion)
        if not difference <= SAME:
            raise ContractError(f"compiled kernels differ from NumPy's results by {difference:.1e} of them")


OFFERS = (
    compiled_kernels_agree,
    pictures_can_be_drawn,
    section_forces_are_of_its_frame,
    signals_are_its_internal_variables,
    it_can_be_made_again,
)
