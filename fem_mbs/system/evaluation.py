"""The equations at one motion, as arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

from fem_mbs.arrays import Array
from fem_mbs.model import Motion


class Evaluation(NamedTuple):
    """The equations at one motion: what Newton tests and what matrices are built from."""

    motion: Motion
    multipliers: Array
    force: Array
    """Residual ``M vdot + g + B^T lambda`` in body components, then of own unknowns, ``(N,)``."""
    constraint: Array
    """``Phi`` (m,); zero for equations of velocities."""
    scale: tuple[float, float]
    """Largest single force and largest single moment that went into ``force``."""
    own_scale: Array
    """Largest term of the equation of each own unknown, ``(k,)``."""
    relative: float
    """Largest residual of the free components against these."""
    contexts: list[Any]
    gradients: list[Array]
    constraint_contexts: list[Any]
    phi: list[Array]
    """What constraint batches returned: ``Phi``, or ``-b`` of equations of velocities."""


class Prescribed(NamedTuple):
    """What depends on time alone, evaluated once a step."""

    elements: list[Any]
    constraints: list[Any]
