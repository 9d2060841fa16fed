"""What is wrong with a batch that does not return what the contract says, in words for its author."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import ConstraintBatch, ElementBatch, Motion, Rates
from fem_mbs.errors import ModelError

if TYPE_CHECKING:
    from fem_mbs.system.system import Evaluation, Prescribed, System


def check_batch(batch: ElementBatch | ConstraintBatch, n: int, k: int, m: int) -> None:
    """Refuse a batch whose nodes, owners, variables do not fit, for ``n`` nodes, ``k`` variables, ``m`` multipliers."""
    label = type(batch).__name__
    cells = np.shape(batch.nodes)[0]
    reads = batch.reads if isinstance(batch, ElementBatch) else None
    held: tuple[tuple[str, Any, int], ...] = ("nodes", batch.nodes, n), ("own", batch.own, k), ("reads", reads, m)
    for name, rows, count in held:
        if rows is None and name != "nodes":
            continue
        if np.ndim(rows) != 2 or len(rows) != cells or not np.issubdtype(np.asarray(rows).dtype, np.integer):
            raise ModelError(
                f"{label}: {name} must be whole numbers of the shape ({cells}, ...), one row a cell, received "
                f"shape {np.shape(rows)}"
            )
        if rows.size and not 0 <= rows.min() <= rows.max() < count:
            raise ModelError(f"{label}: {name} must be rows from 0 to {count - 1}; take them from number(...)")
    if len(batch.owners) != cells and not (isinstance(batch, ElementBatch) and batch.unilateral):
        raise ModelError(f"{label}: owners has {len(batch.owners)} entries for {cells} cells; each cell has one owner")
    if isinstance(batch, ConstraintBatch):
        named = sum(len(owner.equations) for owner in batch.owners)
        for name in ("cell", "length", "velocity"):
            values = getattr(batch, name)
            if not (values is None and name == "velocity") and np.shape(values) != (named,):
                raise ModelError(
                    f"{label}: {name} must have one entry for each of the {named} equations that its owners name, "
                    f"received shape {np.shape(values)}"
                )


def check_shapes(system: System, motion: Motion, prescribed: Prescribed) -> None:
    """Refuse forces, gradients and matrices of a wrong shape."""
    for batch, data, rows in zip(system.batches, prescribed.elements, system.components, strict=True):
        force, context = batch.force(motion, data)
        check_shape(batch, "force", force, _force_shape(batch, rows))
        for name in ("stiffness", "damping", "mass"):
            matrix = getattr(batch, name)(context)
            if matrix is not None or name == "stiffness":
                check_shape(batch, name, matrix, (*rows.shape, rows.shape[1]))
        if batch.reads is not None:
            check_shape(batch, "by_multipliers", batch.by_multipliers(context), (*rows.shape, batch.reads.shape[1]))
    blocks = (own.shape for own in system.bending_components)
    joined = zip(system.constraint_batches, prescribed.constraints, system.gradient_components, blocks, strict=True)
    for joints, data, rows, (r, c) in joined:
        phi, gradient, context = joints.evaluate(motion, data)
        check_shape(joints, "evaluate: Phi", phi, rows.shape[:1])
        check_shape(joints, "evaluate: B", gradient, rows.shape)
        b, cells = rows.shape[1], len(joints.nodes)
        if type(joints).second is not ConstraintBatch.second:
            check_shape(joints, "second", joints.second(context), (*rows.shape, b))
        check_shape(joints, "stiffness", joints.stiffness(context, np.zeros(len(rows))), (r, c, c))
        check_shape(joints, "rate_gradient", joints.rate_gradient(context, np.zeros((cells, b))), rows.shape)
        for name, value in zip(Rates._fields, joints.rates(context) or (), strict=False):
            check_shape(joints, f"rates: {name}", value, rows.shape if name == "gradient" else rows.shape[:1])


def not_finite(system: System, evaluation: Evaluation) -> str:
    """Which internal variable, element or joint is not a finite number, in words; empty if all are."""
    motion = evaluation.motion
    for (owner, variable), value in zip(system.internal_variables, motion.u, strict=True):
        if not np.isfinite(value):
            return f"{owner}: its internal variable '{variable.name}' has become {value} at t = {motion.t:.6g} s"
    prescribed = system.prescribe(motion.t)
    for batch, data in zip(system.batches, prescribed.elements, strict=True):
        force = batch.force(motion, data)[0]
        if not np.isfinite(force).all():
            cell = int(np.flatnonzero(~np.isfinite(force.reshape(len(force), -1)).all(axis=1))[0])
            return f"{batch.owners[cell]}: {_not_finite(force[cell], motion.t)}"
    for joints, data in zip(system.constraint_batches, prescribed.constraints, strict=True):
        phi, gradient, _ = joints.evaluate(motion, data)
        bad = ~(np.isfinite(phi) & np.isfinite(gradient).all(axis=1))
        if bad.any():
            return f"{joints.owners[joints.cell[bad][0]]}: {_not_finite(np.append(phi[bad], gradient[bad]), motion.t)}"
    return ""


def _not_finite(values: Array, t: float) -> str:
    flat = values.ravel()
    return (
        f"its forces are not finite numbers at t = {t:.6g} s ({flat[~np.isfinite(flat)][0]}); look for a division by "
        "zero or for points that coincide"
    )


def _force_shape(batch: ElementBatch, rows: IntArray) -> tuple[int, ...]:
    return rows.shape if batch.terms == 1 else (len(rows), batch.terms, rows.shape[1])


def check_shape(
    batch: ElementBatch | ConstraintBatch, what: str, value: ArrayLike | None, expected: tuple[int, ...]
) -> None:
    """Refuse what a batch says if it has not the shape that is expected."""
    received = None if value is None else np.shape(value)
    if received != expected:
        own = "" if batch.own is None else f" and {batch.own.shape[1]} internal variables"
        raise ModelError(
            f"{type(batch).__name__}.{what} must have the shape {expected}, received {received}: there are "
            f"{len(batch.nodes)} cells with {batch.nodes.shape[1]} nodes{own} each, of {batch.owners[0]} and its kind"
        )
