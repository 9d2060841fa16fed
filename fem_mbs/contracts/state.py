"""The state of a system at one instant."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from fem_mbs.arrays import Array
from fem_mbs.contracts.motion import none
from fem_mbs.contracts.public import Public

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
