"""Truss: a bar with axial force alone, and its mass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Energy, Motion, NodeLike, Numbering, Picture, SectionForces, Vector3, checked
from fem_mbs.elements.beams.inertia import Inertia, InertiaContext
from fem_mbs.elements.beams.section import BeamSection
from fem_mbs.elements.beams.two_node import CONSISTENT_MASS
from fem_mbs.elements.forces.coordinate_law import Acting, Law
from fem_mbs.elements.forces.line import LineBatch, LineElement, bar

Context = tuple[Acting, InertiaContext]


@checked
class Truss(LineElement, SectionForces):
    """A straight bar between two points, hinged there, stress-free as built.

    Parameters
    ----------
    a, b : Node
        Any two nodes. Where nothing but trusses, point masses and forces act on a node, its rotation is held.
    section : BeamSection
        Its cross-section, of which the axial stiffness, its damping and the mass count.
    point_a, point_b : (3,), optional
        Points of a and of b, world frame, as built; the nodes themselves by default.

    Notes
    -----
    The pull is ``EA (l/L - 1)`` at the length ``l``, in motions of any size. The mass is consistent with straight bars:
    ``mL/6`` times 2 on each end and 1 between them.
    """

    _instead = ""

    def __init__(
        self,
        a: NodeLike,
        b: NodeLike,
        section: BeamSection,
        *,
        point_a: Vector3 | None = None,
        point_b: Vector3 | None = None,
    ) -> None:
        super().__init__(a, b, point_a, point_b)
        self.section = section
        self.EA = 1.0 / float(np.linalg.inv(section.stiffness)[0, 0])
        """Axial stiffness of a section that bears no other force."""
        self.damping = float(section.damping[0, 0] / section.stiffness[0, 0]) * self.EA

    def picture(self, number: Numbering, stations: int) -> Picture:
        return bar(self.nodes, self.offsets, number)

    def section_forces(self, x: Array, R: Array) -> Array:
        """Section forces ``(..., 1, 6)`` of nodes at ``x`` (..., 2, 3), ``R`` (..., 2, 3, 3): axial force, then zeros.

        Those of damping are left out, as in a beam.
        """
        ends = x + np.matvec(R, np.array(self.offsets))
        length = np.linalg.norm(ends[..., 1, :] - ends[..., 0, :], axis=-1)
        forces = np.zeros((*length.shape, 1, 6))
        forces[..., 0, 0] = self.EA * (length / self.built - 1.0)
        return forces


class TrussBatch(LineBatch, of=Truss):
    """Trusses as arrays: a law along the line, and two mass points that are coupled."""

    def __init__(self, trusses: Sequence[Truss], number: Numbering) -> None:
        super().__init__(trusses, number)
        values = [[truss.built, truss.EA, truss.damping, truss.section.mass] for truss in trusses]
        self.built, self.EA, self.D, mass = np.array(values).T
        masses = (mass * self.built)[:, None, None] * CONSISTENT_MASS
        ends = np.array([truss.offsets for truss in trusses])
        self._inertia = Inertia(self.nodes, masses, ends, np.zeros((*self.nodes.shape, 3, 3)))

    def law(self, length: Array, speed: Array, state: Array, prescribed: Any) -> Law:
        """``N = EA (l/L - 1) + D l'/L``."""
        pull = self.EA * (length / self.built - 1.0) + self.D * speed / self.built
        return Law.without_states(pull, self.EA / self.built, self.D / self.built)

    def force(self, motion: Motion, prescribed: Any) -> tuple[Array, Context]:  # type: ignore[override]
        pull, line = super().force(motion, prescribed)
        inertia, context = self._inertia.force(motion)
        return pull + inertia.reshape(pull.shape), (line, context)

    def stiffness(self, context: Context) -> Array:  # type: ignore[override]
        return super().stiffness(context[0]) + self._inertia.stiffness(context[1])

    def stressed(self, context: Context, d: Array) -> Context:  # type: ignore[override]
        return super().stressed(context[0], d), context[1]

    def damping(self, context: Context) -> Array:  # type: ignore[override]
        return super().damping(context[0]) + self._inertia.damping(context[1])

    def gyroscopic(self, context: Context) -> Array:
        return self._inertia.damping(context[1])

    def mass(self, context: Context) -> Array:
        return self._inertia.mass(context[1])

    def energy(self, motion: Motion) -> Energy:
        stretch = self.values(motion) - self.built
        stored = 0.5 * self.EA / self.built * stretch**2
        return Energy(self._inertia.kinetic_energy(motion), stored, self._inertia.gravity_energy(motion))
