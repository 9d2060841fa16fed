"""How nodes and internal variables move: what an element sees, on whatever group, and the state that users hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts.public import Public


def none() -> Array:
    """No internal variables."""
    return np.empty(0)


@dataclass(slots=True)
class Motion:
    """Motion of all nodes and internal variables at one instant.

    Attributes
    ----------
    t : float
        Time in s.
    x : (n, 3)
        Positions, world frame; from a point of the model, the ground included, where the world's origin is far away.
    R : (n, 3, 3)
        Rotations, body to world.
    V : (n, 6)
        Velocity of the node point, then angular velocity, both in the body frame.
    A : (n, 6)
        Acceleration of the node point, then angular acceleration, both in the body frame.
    gravity : (3,)
        Acceleration of gravity, world frame.
    u, udot, uddot : (k,)
        Internal variables of elements and joints, and their time derivatives as far as they have any.
    multipliers : (m,)
        Multipliers of all joints, for elements that depend on them (``ElementBatch.reads``).
    momentum : Motion or None
        Within a step of the default formulation, the motion with the velocities of the equation of momentum: ``V`` and
        ``udot`` are then the rates of the configuration, which forces other than those of inertia go by
        (docs/theory.md, "Constraints on velocities"); inertia forces and joints by ``motion.momentum or motion``.
    """

    t: float
    x: Array
    R: Array
    V: Array
    A: Array
    gravity: Array
    u: Array = field(default_factory=none)
    udot: Array = field(default_factory=none)
    uddot: Array = field(default_factory=none)
    multipliers: Array = field(default_factory=none)
    momentum: Motion | None = None


class RateSensitivities(NamedTuple):
    """How rates follow increments: ``nodes`` (n, 6, 6) of body velocities or accelerations, ``own`` (k,) of variables.

    The lower left blocks of ``nodes`` are zero: angular velocities depend on rotation increments alone.
    """

    nodes: Array
    own: Array = np.empty(0)

    def after(self, matrix: Array, nodes: IntArray, own: IntArray | None = None) -> Array:
        """``matrix`` (n, r, 6p + s) times the derivatives of ``nodes`` (n, p) and internal variables ``own`` (n, s)."""
        n, p = nodes.shape
        blocks = matrix[..., : 6 * p].reshape(n, matrix.shape[-2], p, 6).swapaxes(1, 2) @ self.nodes[nodes]
        result = blocks.swapaxes(1, 2).reshape(n, matrix.shape[-2], 6 * p)
        if own is None:
            return result
        return np.concatenate([result, matrix[..., 6 * p :] * self.own[own][:, None]], axis=-1)


ARRAYS = ("x", "R", "v", "vdot", "multipliers", "u", "udot", "uddot")
"""The arrays of a state."""


class Source(NamedTuple):
    """What a state belongs to: names of nodes with their groups, of internal variables and of constraint equations."""

    nodes: tuple[str, ...]
    internal_variables: tuple[str, ...]
    equations: tuple[str, ...]


@dataclass(frozen=True, slots=True, repr=False)
class State(Public):
    """State of a system of ``n`` nodes, ``k`` internal variables of elements and ``m`` constraint equations.

    Attributes
    ----------
    t : float
        Time in s.
    x : (n, 3)
        Positions, world frame.
    R : (n, 3, 3)
        Rotations, body to world.
    v : (n, 6)
        Left-trivialised velocities, translation first: world frame on R3xSO3, body frame on SE(3); the angular
        velocity is in the body frame on both.
    vdot : (n, 6)
        Their time derivatives.
    multipliers : (m,)
        Lagrange multipliers, with ``M vdot + g + B^T multipliers = 0``.
    u, udot, uddot : (k,)
        Internal variables and their time derivatives; zero beyond the order of their equation.
    source : Source or None
        What model it is a state of, where a run made it.
    """

    t: float
    x: Array
    R: Array
    v: Array
    vdot: Array
    multipliers: Array
    u: Array = field(default_factory=none)
    udot: Array = field(default_factory=none)
    uddot: Array = field(default_factory=none)
    source: Source | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        own = f", {len(self.u)} internal variables" if len(self.u) else ""
        return f"State at t = {self.t:g} s: {len(self.x)} nodes, {len(self.multipliers)} multipliers{own}"

    def at(self, t: float) -> State:
        """The same at another time."""
        return State(t, self.x, self.R, self.v, self.vdot, self.multipliers, self.u, self.udot, self.uddot, self.source)
