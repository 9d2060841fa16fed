"""Linear blocks with limits: ``x' = A x + B u + F (y - w)``, ``w = C x + D u``, ``y = w`` cut off at limits.

Every block of the library that has an equation of its own kind is one of these: state spaces, transfer functions, PID
controllers, limits, junctions. ``F`` tells the states by how much the output was cut off (docs/theory.md, "Control").
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.elements.control.signal import ControlElement, Signal, Wires, sources
from fem_mbs.errors import ModelError
from fem_mbs.model import ElementBatch, Motion, Numbering, Unknown

NO_LIMITS = (-np.inf, np.inf)


class Matrices(NamedTuple):
    """The matrices of a block with ``m`` inputs, ``n`` states and ``p`` outputs."""

    A: Array
    B: Array
    C: Array
    D: Array
    F: Array
    """By how much states follow what is cut off, ``(n, p)``."""


class LinearBlock(ControlElement):
    """Base of blocks that are linear within limits.

    Attributes
    ----------
    inputs : tuple of Signal
        What goes in.
    matrices : Matrices
        Its equations.
    limits : (2,), optional
        Lower and upper limit of the outputs.
    """

    inputs: tuple[Signal, ...]
    matrices: Matrices
    limits: tuple[float, float] | None

    def _set_up(
        self,
        inputs: tuple[Signal, ...],
        matrices: Matrices,
        states: Sequence[Unknown],
        size: float = 1.0,
        limits: tuple[float, float] | None = None,
    ) -> None:
        """Everything, once it is checked; gains may make outputs larger than ``size``, and their rounding with them."""
        self.inputs, self.matrices = inputs, matrices
        through = np.abs(matrices.D) @ [own.size for own in inputs] if inputs else np.zeros(len(matrices.D))
        self.unknowns = (*states, *named_outputs(len(matrices.D), sizes=np.maximum(through, size)))
        self.outputs = tuple(range(len(states), len(self.unknowns)))
        self.limits = limits

    def batch_key(self) -> Hashable:
        """Blocks of one size share a batch."""
        return len(self.unknowns), len(self.outputs), len(self.inputs), len(sources(self.inputs))

    @classmethod
    def batch(cls, elements: Sequence[LinearBlock], number: Numbering) -> ElementBatch:
        """All linear blocks of one size, whatever they are called."""
        return LinearBatch(elements, number)


class LinearBatch(ElementBatch):
    """Linear blocks as arrays; ``z`` are states, outputs and all that the inputs read, ``s`` in all."""

    own: IntArray

    def __init__(self, blocks: Sequence[LinearBlock], number: Numbering) -> None:
        self.owners = blocks
        for block in blocks:
            if not block.inputs:
                raise ModelError(f"{block} has no input; connect it to a signal by its method connect")
        self.nodes = np.zeros((len(blocks), 0), np.intp)
        self._wires = wires = Wires(blocks, [block.inputs for block in blocks], number)
        own = np.array([number.own(block) for block in blocks], np.intp)
        self.own = np.concatenate([own, wires.rows], axis=1)
        count, s = self.own.shape
        p = len(blocks[0].outputs)
        n = own.shape[1] - p
        self._states, self._outputs = slice(0, n), slice(n, n + p)
        A, B, C, D, F = (np.array(part) for part in zip(*(block.matrices for block in blocks), strict=True))
        self._lower, self._upper = np.array([own.limits or NO_LIMITS for own in blocks]).T[..., None]
        self._limited = bool(np.isfinite([self._lower, self._upper]).any())
        # rows: minus the rates of states, then w, of which outputs are not a part
        self._K = np.zeros((count, s, s))
        self._K[:, :n] = -np.concatenate([A - F @ C, F, (B - F @ D) @ wires.W], axis=-1)
        self._K[:, self._outputs] = -np.concatenate([C, np.zeros((count, p, p)), D @ wires.W], axis=-1)
        self._by_law = np.zeros((count, s, B.shape[-1]))
        self._by_law[:, :n], self._by_law[:, self._outputs] = F @ D - B, -D
        self._rate = np.zeros((count, s, s))
        self._rate[:, range(n), range(n)] = 1.0
        self.terms = s + 2

    def at(self, t: float) -> Array:
        """What functions of time put in, ``(n, s)``."""
        own: Array = np.matvec(self._by_law, self._wires.at(t))
        return own

    def next_jump(self, t: float, u: Array) -> float:
        """When an input jumps next."""
        return self._wires.next_jump(t)

    def force(self, motion: Motion, prescribed: Array) -> tuple[Array, BoolArray | None]:
        """The terms of the equations: one of each unknown, that of laws, and outputs or rates."""
        count, s = self.own.shape
        z, out = motion.u[self.own], self._outputs
        terms = np.empty((count, s + 2, s))
        terms[:, :s] = self._K.mT * z[:, :, None]
        terms[:, s] = prescribed
        terms[:, s + 1] = 0.0
        terms[:, s + 1, self._states] = motion.udot[self.own[:, self._states]]
        within = None
        if self._limited:
            w = -terms[:, : s + 1, out].sum(axis=1)
            within = (w >= self._lower) & (w <= self._upper)
            cut = np.where(within, 0.0, np.clip(w, self._lower, self._upper))
            terms[:, : s + 1, out] *= within[:, None]
            terms[:, s, out] -= cut
        terms[:, s + 1, out] = z[:, out]
        return terms, within

    def stiffness(self, context: BoolArray | None) -> Array:
        """Constant within limits; outputs that are cut off follow nothing."""
        K = self._K.copy()
        if context is not None:
            K[:, self._outputs] *= context[:, :, None]
        diagonal = np.einsum("nii->ni", K)
        diagonal[:, self._outputs] += 1.0
        return K

    def damping(self, context: Any) -> Array:
        """The rates of states."""
        return self._rate


def named_states(initial: Array, size: float, kind: str = "state") -> list[Unknown]:
    """Unknowns of states, which have numbers."""
    return [Unknown(f"state {k + 1}", kind, float(own), size=size) for k, own in enumerate(initial)]


def named_outputs(
    p: int, kind: str = "algebraic", initial: Array | None = None, sizes: Array | None = None
) -> list[Unknown]:
    """Unknowns of outputs."""
    names = ["output"] if p == 1 else [f"output {k + 1}" for k in range(p)]
    start = np.zeros(p) if initial is None else initial
    large = np.ones(p) if sizes is None else sizes
    return [Unknown(*own) for own in zip(names, [kind] * p, start.tolist(), [0.0] * p, large.tolist(), strict=True)]
