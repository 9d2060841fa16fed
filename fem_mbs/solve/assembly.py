"""Assembly of a model whose joints are open as built: what it does to the model, and what it says of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.errors import ModelError
from fem_mbs.lie import so3
from fem_mbs.model import Model, Node
from fem_mbs.solve.closing import CLOSED, Closing, built_pose
from fem_mbs.solve.place import as_built, without_accelerations
from fem_mbs.solve.projection import project_velocities
from fem_mbs.system import System, constraints

LISTED = 12
"""Nodes that a table shows."""
CONSISTENT = 1e-9
"""Rate of a gap against the largest speed that is no violation."""


@dataclass(frozen=True, eq=False)
class Assembly:
    """What :meth:`Model.assemble` has moved; ``print`` shows a table.

    Attributes
    ----------
    nodes : list of Node
        All nodes of the model.
    distance : (n,)
        How far each has moved, m.
    angle : (n,)
        How far each has turned, rad.
    gap_before, gap : float
        Largest gap of the joints before and after, lengths against the extent of the model.
    velocity, angular_velocity : (n,)
        By how much the initial velocities have changed, m/s and rad/s.
    """

    nodes: list[Node]
    distance: Array
    angle: Array
    gap_before: float
    gap: float
    velocity: Array
    angular_velocity: Array

    @property
    def moved(self) -> bool:
        """Whether any node has moved or turned."""
        return bool((self.distance > 0.0).any() or (self.angle > 0.0).any())

    def __str__(self) -> str:
        changes = np.stack([self.distance, self.angle, self.velocity, self.angular_velocity], axis=1)
        rows = np.flatnonzero((changes > 0.0).any(axis=1))
        if not len(rows):
            return f"All joints were closed (largest gap {self.gap:.1e}); nothing was moved."
        lines = [
            f"Joints closed: largest gap {self.gap_before:.2e} before, {self.gap:.1e} now; {len(rows)} of "
            f"{len(self.nodes)} nodes changed.",
            f"{'':24}{'moved, m':>12}{'turned, rad':>13}{'velocity, m/s':>15}{'rad/s':>11}",
        ]
        order = rows[np.argsort(-changes[rows, :2].max(axis=1), kind="stable")]
        lines += [
            f"{str(self.nodes[k])[:23]:24}{x:12.4g}{angle:13.4g}{v:15.4g}{omega:11.4g}"
            for k, (x, angle, v, omega) in zip(order[:LISTED], changes[order[:LISTED]], strict=True)
        ]
        if len(rows) > LISTED:
            lines.append(f"and {len(rows) - LISTED} more, which moved less")
        return "\n".join(lines)


def assemble(model: Model, hold: Iterable[Node] = ()) -> Assembly:
    """Close the joints of a model; see :meth:`Model.assemble`."""
    system = System(model)
    closing = Closing(system, _held(model, hold))
    start, velocities = built_pose(system), _velocities(model)
    before = closing.gap(start)
    pose = start if before <= CLOSED else closing.smallest(closing.close(start))
    built = [(node.position, node.rotation) for node in model.nodes]
    # of a model that is far away, positions count from one of its nodes
    moved = pose.x - start.x
    _place(model, [(x + u, R) for (x, _), u, R in zip(built, moved, pose.R, strict=True)])
    try:
        if _inconsistent(System(model)):
            project_velocities(model)
    except Exception:
        _place(model, built)
        raise
    changed = np.linalg.norm(moved, axis=1), np.linalg.norm(so3.log(start.R.mT @ pose.R), axis=1)
    rates = np.linalg.norm(_velocities(model) - velocities, axis=2)
    return Assembly(list(model.nodes), *changed, before, closing.gap(pose), *rates)


def _place(model: Model, places: Iterable[tuple[Array, Array]]) -> None:
    for node, (x, R) in zip(model.nodes, places, strict=True):
        node.place(x.copy(), R.copy())


def _held(model: Model, hold: Iterable[Node]) -> list[int]:
    rows = {node: k for k, node in enumerate(model.nodes)}
    for node in (nodes := list(hold)):
        if node not in rows:
            raise ModelError(f"Model.assemble: hold: {node} belongs to another model")
    return [rows[node] for node in nodes]


def _velocities(model: Model) -> Array:
    return np.array([[node.velocity for node in model.nodes], [node.angular_velocity for node in model.nodes]])


def _inconsistent(system: System) -> bool:
    """Whether initial velocities violate a joint or a drive."""
    evaluation = without_accelerations(system, as_built(system))
    rate = np.abs(constraints.velocity_residual(system, evaluation) * system.constraint_weight).max(initial=0.0)
    speed = np.abs(constraints.body_velocity(evaluation.motion) * system.weight).max(initial=0.0)
    return bool(rate > CONSISTENT * max(1.0, speed))
