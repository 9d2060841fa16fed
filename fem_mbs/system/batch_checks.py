"""What is wrong with a batch that does not return what the contract says, in words for its author."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from fem_mbs.arrays import Array, ArrayLike
from fem_mbs.contracts import Batch, ConstraintBatch, ElementBatch, Energy, Motion, Numbering, Rates, real, shown
from fem_mbs.contracts.arguments import article
from fem_mbs.errors import ModelError, of_library

if TYPE_CHECKING:
    from fem_mbs.system.system import Evaluation, Prescribed, System

Kind = TypeVar("Kind", bound=Batch)


def batch_of(parts: Sequence[Any], number: Numbering, kind: type[Kind]) -> Kind:
    """The batch of elements or joints of a class."""
    batch, owner = type(parts[0]).batch(parts, number), type(parts[0]).__name__
    if not isinstance(batch, kind):
        raise ModelError(f"{owner}.batch must return {article(kind.__name__)}, received {shown(batch)}")
    try:
        for name in ("nodes", "owners"):
            getattr(batch, name)
    except AttributeError:
        raise ModelError(
            f"{type(batch).__name__} of {parts[0]} has no nodes or no owners; its __init__ has to call "
            "super().__init__(components, number), or to set both"
        ) from None
    return batch


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
    """Refuse forces, gradients, matrices and energies that are not what the contract says, or that change the motion.

    Of one motion: what comes in a step is looked at where it does not fit. Matrices are those of authors alone, as the
    library's own have laws in its tests.
    """
    for name in (field.name for field in fields(Motion)):
        if isinstance(values := getattr(motion, name), np.ndarray):
            setattr(motion, name, values.view())
            getattr(motion, name).flags.writeable = False
    for batch, data, rows in zip(system.batches, prescribed.elements, system.components, strict=True):
        force, context = several(batch, "force", batch.force(motion, data), "forces", "context")
        check_shape(batch, "force", force, rows.shape if batch.terms == 1 else (len(rows), batch.terms, rows.shape[1]))
        energies_of(batch, motion)
        for name in () if of_library(type(batch)) else ("stiffness", "damping", "mass"):
            matrix = getattr(batch, name)(context)
            if matrix is not None or name == "stiffness":
                check_shape(batch, name, matrix, (*rows.shape, rows.shape[1]))
        if batch.reads is not None and not of_library(type(batch)):
            check_shape(batch, "by_multipliers", batch.by_multipliers(context), (*rows.shape, batch.reads.shape[1]))
        if real(jump := batch.next_jump(motion.t, motion.u)) is None or np.ndim(jump) or np.isnan(jump):
            raise ModelError(f"{_of(batch, 'next_jump')} must be a time in s or infinity, received {shown(jump)}")
    blocks = (own.shape for own in system.bending_components)
    joined = zip(system.constraint_batches, prescribed.constraints, system.gradient_components, blocks, strict=True)
    for joints, data, rows, (r, c) in joined:
        phi, gradient, context = several(joints, "evaluate", joints.evaluate(motion, data), "Phi", "B", "context")
        check_shape(joints, "evaluate: Phi", phi, rows.shape[:1])
        check_shape(joints, "evaluate: B", gradient, rows.shape)
        if of_library(type(joints)):
            continue
        b, cells = rows.shape[1], len(joints.nodes)
        if type(joints).second is not ConstraintBatch.second:
            check_shape(joints, "second", joints.second(context), (*rows.shape, b))
        check_shape(joints, "stiffness", joints.stiffness(context, np.zeros(len(rows))), (r, c, c))
        check_shape(joints, "rate_gradient", joints.rate_gradient(context, np.zeros((cells, b))), rows.shape)
        for name, value in zip(Rates._fields, joints.rates(context) or (), strict=False):
            check_shape(joints, f"rates: {name}", value, rows.shape if name == "gradient" else rows.shape[:1])


def several(batch: ElementBatch | ConstraintBatch, what: str, result: Any, *names: str) -> Any:
    """What a method returns, several things of these names."""
    if not isinstance(result, tuple) or len(result) != len(names):
        raise ModelError(f"{_of(batch, what)} must be ({', '.join(names)}), received {shown(result)}")
    return result


def energies_of(batch: ElementBatch, motion: Motion) -> Energy:
    """The energies of a batch: one number a cell, or one for all of none."""
    result = batch.energy(motion)
    if not isinstance(result, Energy):
        raise ModelError(f"{_of(batch, 'energy')} must be an Energy, received {shown(result)}")
    for name, values in zip(Energy._fields, result, strict=True):
        if not isinstance(values, int | float):
            check_shape(batch, f"energy: {name}", values, (len(batch.nodes),))
        if not np.isfinite(values).all():
            raise ModelError(f"{_of(batch, f'energy: {name}')} must be finite numbers, received {shown(values)}")
    return result


def not_finite(system: System, evaluation: Evaluation) -> str:
    """Which internal variable, element or joint is not a finite number, in words; empty if all are."""
    motion = evaluation.motion
    for (owner, variable), value in zip(system.internal_variables, motion.u, strict=True):
        if not np.isfinite(value):
            return f"{owner}: its internal variable '{variable.name}' has become {value} at t = {motion.t:.6g} s"
    prescribed = system.prescribe(motion.t)
    for batch, data in zip(system.batches, prescribed.elements, strict=True):
        force, context = batch.force(motion, data)
        matrices = ((name, getattr(batch, name)(context)) for name in ("stiffness", "damping", "mass"))
        for name, values in (("forces", force), *((name, own) for name, own in matrices if own is not None)):
            if not np.isfinite(values).all():
                cell = int(np.flatnonzero(~np.isfinite(values.reshape(len(values), -1)).all(axis=1))[0])
                return f"{batch.owners[cell]}: {_not_finite(name, values[cell], motion.t)}"
    for joints, data in zip(system.constraint_batches, prescribed.constraints, strict=True):
        phi, gradient, _ = joints.evaluate(motion, data)
        bad = ~(np.isfinite(phi) & np.isfinite(gradient).all(axis=1))
        if bad.any():
            values = np.append(phi[bad], gradient[bad])
            return f"{joints.owners[joints.cell[bad][0]]}: {_not_finite('forces', values, motion.t)}"
    return ""


def _not_finite(what: str, values: Array, t: float) -> str:
    flat = values.ravel()
    return (
        f"its {what} {'are' if what == 'forces' else 'is'} not finite numbers at t = {t:.6g} s "
        f"({flat[~np.isfinite(flat)][0]}); look for a division by zero or for points that coincide"
    )


def _of(batch: ElementBatch | ConstraintBatch, what: str) -> str:
    """How a message calls what a method of a batch returns."""
    return f"{type(batch).__name__}.{what} of {batch.owners[0]} and its kind"


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
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iuf":
        raise ModelError(f"{_of(batch, what)} must be an array of real numbers, received {shown(value)}")
