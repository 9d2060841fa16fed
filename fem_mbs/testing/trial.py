"""An element or a joint in a large random motion, and its equations as dense arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import Constraint, ConstraintBatch, Element, ElementBatch, Motion
from fem_mbs.errors import FemMbsError
from fem_mbs.linear.solvers import sums
from fem_mbs.system.batch_checks import check_shapes
from fem_mbs.system.system import System
from fem_mbs.testing.differences import ContractError, near
from fem_mbs.testing.stage import HOME, Make, RigidMotion, build, random_motion

if TYPE_CHECKING:
    from typing_extensions import Self

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
        return self.system.number.parts[-1]  # type: ignore[no-any-return]

    @property
    def name(self) -> str:
        """The class that is held to the law."""
        return type(self.system.all_batches[0]).__name__

    def sizes(self) -> Array:
        """What counts as large of each component ``(N,)``: 1 for nodes, the size of internal variables."""
        own = np.array([variable.size for _, variable in self.system.internal_variables], float)
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
        rows: IntArray = self.system.constraint_components[0][0]
        return rows

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


def shapes_are_right(trial: LawTrial) -> str | None:
    """Forces, gradients and matrices have the shapes that nodes and internal variables ask for."""
    try:
        check_shapes(trial.system, trial.motion, trial.system.prescribe(trial.motion.t))
    except FemMbsError as error:
        raise ContractError(str(error)) from error
    return None


def evaluation_is_pure(trial: LawTrial) -> str | None:
    """The same motion gives the same equations, and nothing of the motion is changed."""
    kept = {name: np.copy(getattr(trial.motion, name)) for name in ("x", "R", "V", "A", "u", "udot", "uddot")}
    system = trial.system
    first, second = (
        system.evaluate(trial.motion, np.ones(system.m), system.prescribe(trial.motion.t)) for _ in range(2)
    )
    near(f"{trial.name}: forces of the same motion, asked twice", second.force, first.force, 0.0)
    near(f"{trial.name}: Phi of the same motion, asked twice", second.constraint, first.constraint, 0.0)
    for name, value in kept.items():
        if not np.array_equal(getattr(trial.motion, name), value):
            raise ContractError(f"{trial.name} changes motion.{name}; work on a copy")
    return None
