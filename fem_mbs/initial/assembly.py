"""Assembly of a model whose joints are open as built: the nearest places at which they are closed.

Nearest is ``sum |x - x_0|^2/L^2 + |log(R_0^T R)|^2`` over all nodes, with the extent ``L`` of the model, and 2 s times
the strain energy of beams, whose large weight ``s`` keeps their shape. A correction solves

    [[W + s K, B^T], [B, -c]] (delta, mu) = -(g, Phi).

With ``g = 0`` it is the smallest that closes the joints, after Levenberg and Marquardt: the compliance ``c`` vanishes
with the square of the gaps, so that equations may repeat each other (Yamashita, Fukushima, *On the rate of convergence
of the Levenberg-Marquardt method*, 2001). With half the gradient ``g`` of what is to be least it leads there along
closed joints (Gauss-Newton, sequential quadratic programming).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import block_array, csc_array, diags_array
from scipy.sparse.linalg import splu

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import Constraint, Motion, Node, Public, move_node
from fem_mbs.errors import ModelError, MotionError
from fem_mbs.initial.given_velocities import SOLID, is_solid, project_velocities, solid_stiffness
from fem_mbs.initial.state_point import as_built, by_joint, largest_gap, pace, without_accelerations
from fem_mbs.lie import so3
from fem_mbs.model.description import ModelDescription
from fem_mbs.system import matrices as tangent
from fem_mbs.system.system import GAP, Evaluation, System

CLOSED = 1e-12
"""Largest gap that is left, lengths against the extent of the model."""
CLOSINGS, IMPROVEMENTS = 100, 50
"""Corrections after which to give up."""
LONGEST = 0.5
"""Largest correction, in rad and against the extent of the model."""
SHORTEST = 2.0**-10
"""Share of a correction below which none is tried."""
SETTLED = 1e-9
"""Largest correction that ends the search for the nearest place."""
NAMED = 12
"""Open equations that a message names."""
LISTED = 12
"""Nodes that a table shows."""
CONSISTENT = 1e-9
"""Rate of a gap against the pace of the model that is no violation."""


class Closing:
    """The joints of a system and what may move to close them: nodes that are not held, and places of the joints.

    A pose is the motion of the system at rest there, without weight.
    """

    def __init__(self, system: System, held: list[int]) -> None:
        self.system, self.built = system, replace(system.at_rest(), gravity=np.zeros(3))
        free = system.free.copy()
        free[held] = False
        pairs = zip(system.internal_variables, system.order, strict=True)
        places = [isinstance(owner, Constraint) and order == 2 for (owner, _), order in pairs]
        self.components: IntArray = np.flatnonzero(np.append(free.ravel(), np.array(places, np.bool_)))
        self.columns = system.equation[self.components]
        self.rows = np.flatnonzero(~system.velocity_level)
        self.units = 1.0 / system.weight[self.components]
        self.given = system.prescribe(0.0)
        stiffness = self._stiffness(self.built)
        self.weight = SOLID / (abs(stiffness).max() or 1.0) if stiffness.nnz else 0.0
        self.solid = self.weight * stiffness

    def gap(self, pose: Motion) -> float:
        """Largest gap, lengths against the extent of the model."""
        return float(np.abs(self._gaps(self._evaluate(pose))).max(initial=0.0))

    def close(self, pose: Motion) -> Motion:
        """Closed joints near a place, or a :class:`ModelError` that names those that stay open."""
        evaluation, none = self._evaluate(pose), np.zeros_like(self.units)
        for _ in range(CLOSINGS):
            size = float(np.linalg.norm(self._gaps(evaluation)))
            if size <= CLOSED:
                return pose
            d = self._correction(evaluation, size**2, none)
            if (closer := self._closer(pose, d, size)) is None:
                break
            pose, evaluation = closer
        if np.abs(self._gaps(evaluation)).max() <= GAP:
            return pose
        raise ModelError(self._open(evaluation))

    def smallest(self, pose: Motion) -> Motion:
        """Closed joints nearest to where the model is built, from closed joints."""
        size, built = self._size(pose), self.solid
        for _ in range(IMPROVEMENTS):
            # what is stretched turns as its tangent tells; what is pressed may have none that leads on
            here = self.weight * self._stiffness(pose)
            nearer = self._nearer(pose, size, here) or self._nearer(pose, size, built)
            if nearer is None:
                break
            pose, size, correction = nearer
            if correction <= SETTLED:
                break
        return pose

    def _nearer(self, pose: Motion, size: float, solid: csc_array) -> tuple[Motion, float, float] | None:
        """Closed joints nearer by a correction with this stiffness, how near, and the correction."""
        self.solid = solid
        d = self._correction(self._evaluate(pose), CLOSED, self._half_gradient(pose))
        for share in _shares(d):
            with suppress(ModelError, MotionError):
                moved = self.close(self._moved(pose, d, share))
                if (nearer := self._size(moved)) < size:
                    return moved, nearer, float(np.abs(d).max())
        return None

    def _evaluate(self, pose: Motion) -> Evaluation:
        return self.system.evaluate(pose, np.zeros(self.system.m), self.given)

    def _gaps(self, evaluation: Evaluation) -> Array:
        """Dimensionless gaps of the equations of positions."""
        return (evaluation.constraint * self.system.constraint_weight)[self.rows]

    def _moved(self, pose: Motion, d: Array, share: float) -> Motion:
        """The pose after a share of a dimensionless correction."""
        body = np.zeros(self.system.N)
        body[self.components] = share * self.units * d
        moved, turned = np.split(self.system.nodes_of(body), 2, axis=1)
        x, R = pose.x + np.matvec(pose.R, moved), pose.R @ so3.exp(turned)
        return replace(pose, x=x, R=R, u=pose.u + self.system.own_of(body))

    def _closer(self, pose: Motion, d: Array, size: float) -> tuple[Motion, Evaluation] | None:
        """The largest of halved corrections that lessens the gaps, and the equations there."""
        for share in _shares(d):
            with suppress(MotionError):
                trial = self._evaluate(moved := self._moved(pose, d, share))
                if np.linalg.norm(self._gaps(trial)) < (1.0 - 0.1 * share) * size:
                    return moved, trial
        return None

    def _correction(self, evaluation: Evaluation, compliance: float, half_gradient: Array) -> Array:
        """Dimensionless correction of the components."""
        B = tangent.gradient_matrix(self.system, evaluation.gradients)[self.rows][:, self.columns]
        B = diags_array(self.system.constraint_weight[self.rows]) @ B @ diags_array(self.units)
        soft = diags_array(np.full(len(self.rows), -max(compliance, CLOSED)))
        matrix = block_array([[diags_array(np.ones(len(self.units))) + self.solid, B.T], [B, soft]], format="csc")
        right = np.append(half_gradient, self._gaps(evaluation))
        return np.asarray(-splu(matrix).solve(right)[: len(self.units)])

    def _half_gradient(self, pose: Motion) -> Array:
        """Half the derivative of :meth:`_size` against dimensionless increments."""
        system = self.system
        moved = np.vecmat(pose.x - system.x0, pose.R) / system.length**2, so3.log(system.R0.mT @ pose.R)
        whole = np.append(np.concatenate(moved, axis=1), np.zeros(system.k))
        for batch, data, rows in zip(system.batches, self.given.elements, system.components, strict=True):
            if is_solid(batch):
                force, _ = batch.force(pose, data)
                sums = force.reshape(len(force), -1, rows.shape[1]).sum(axis=1)
                whole += self.weight * np.bincount(rows.ravel(), sums.ravel(), system.N)
        return np.asarray(whole[self.components] * self.units)

    def _size(self, pose: Motion) -> float:
        """What is to be least."""
        system = self.system
        moved, turned = pose.x - system.x0, so3.log(system.R0.mT @ pose.R)
        size = np.square(moved / system.length).sum() + np.square(turned).sum()
        strain = sum(batch.energy(pose).summed().strain for batch in system.batches if is_solid(batch))
        return float(size + 2.0 * self.weight * strain)

    def _stiffness(self, pose: Motion) -> csc_array:
        """Half the tangent of beams and bodies, dimensionless, which in body components goes along."""
        system, evaluation = self.system, self._evaluate(pose)
        units = diags_array(self.units)
        return csc_array(units @ solid_stiffness(system, evaluation.contexts)[self.columns][:, self.columns] @ units)

    def _open(self, evaluation: Evaluation) -> str:
        system = self.system
        gaps = np.zeros(system.m)
        gaps[self.rows] = np.abs(self._gaps(evaluation))
        rows = [k for k in np.argsort(-gaps, kind="stable")[:NAMED] if gaps[k] > max(GAP, 0.1 * gaps.max())]
        listed = by_joint(system, {k: f"{gaps[k] / system.constraint_weight[k]:.3g}" for k in rows})
        return (
            "assemble: the joints cannot be closed; where they are closest, these stay open: "
            f"{'; '.join(listed)} (m or rad). Look at their points, axes and drives, at lengths that do not reach, and "
            "at what model.fix and hold keep"
        )


def _shares(d: Array) -> Iterator[float]:
    """Shares of a correction to try: the largest that moves nothing too far, then halves."""
    share = float(min(1.0, LONGEST / np.abs(d).max(initial=LONGEST)))
    while share >= SHORTEST:
        yield share
        share *= 0.5


@dataclass(frozen=True, eq=False)
class Assembly(Public):
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
        return bool(np.any([self.distance, self.angle]))

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


def assemble(model: ModelDescription, hold: Iterable[Node] = ()) -> Assembly:
    """Close the joints of a model; see :meth:`Model.assemble`."""
    system, rows, held = System(model), {node: k for k, node in enumerate(model.nodes)}, list(hold)
    for node in held:
        if node not in rows:
            raise ModelError(f"Model.assemble: hold: {node} belongs to another model")
    closing = Closing(system, [rows[node] for node in held])
    start, velocities = closing.built, _velocities(model)
    before = closing.gap(start)
    pose = start if before <= CLOSED else closing.smallest(closing.close(start))
    built = [(node.position, node.rotation) for node in model.nodes]
    # of a model that is far away, positions count from one of its nodes
    moved = pose.x - start.x
    _place(model, [(x + u, R) for (x, _), u, R in zip(built, moved, pose.R, strict=True)])
    try:
        placed = System(model)
        evaluation = without_accelerations(placed, as_built(placed))
        rate = largest_gap(placed, tangent.velocity_residual(placed, evaluation))
        if rate > CONSISTENT * pace(placed, evaluation):
            project_velocities(model)
    except Exception:
        _place(model, built)
        raise
    changed = np.linalg.norm(moved, axis=1), np.linalg.norm(so3.log(start.R.mT @ pose.R), axis=1)
    rates = np.linalg.norm(_velocities(model) - velocities, axis=2)
    return Assembly(list(model.nodes), *changed, before, closing.gap(pose), *rates)


def _place(model: ModelDescription, places: Iterable[tuple[Array, Array]]) -> None:
    for node, (x, R) in zip(model.nodes, places, strict=True):
        move_node(node, x.copy(), R.copy())


def _velocities(model: ModelDescription) -> Array:
    return np.array([[node.velocity for node in model.nodes], [node.angular_velocity for node in model.nodes]])
