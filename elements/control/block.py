"""Blocks that a user writes: ``x' = f(t, x, u)``, ``y = g(t, x, u)``."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import (
    LARGEST,
    ControlElement,
    ElementBatch,
    Inputs,
    Motion,
    Numbering,
    Positive,
    PositiveInt,
    Wires,
    checked,
    function,
    real,
    shown,
    sources,
)
from fem_mbs.elements.control.linear import initial_values, named_outputs, named_states
from fem_mbs.errors import LawError, ModelError

STEP = 6e-6
"""Differences over this share of an argument, and of one, are exact to about ten digits."""

Function = Annotated[Callable[..., Any], partial(function, of=" of t, x, u")]


@checked
class Block(ControlElement):
    """A block whose equations are functions: ``x' = f(t, x, u)``, ``y = g(t, x, u)``.

    Parameters
    ----------
    inputs : signal or list of signals
        What goes in, ``u`` (m,).
    f : function of t, x, u, optional
        Rates ``(n,)`` of the states; none for a block without states.
    g : function of t, x, u, optional
        Outputs, ``(p,)`` or a number; the states themselves by default.
    initial : (n,)
        States ``x`` at t = 0.
    outputs : int, optional
        How many, ``p``; 1 by default with ``g``.
    jacobian : function of t, x, u, optional
        Returns the derivatives ``(f_x, f_u, g_x, g_u)``, in place of differences.
    nominal : float
        A value of the states that counts as large: tolerances of variable steps are relative to it.
    """

    def __init__(
        self,
        inputs: Inputs,
        f: Function | None = None,
        g: Function | None = None,
        *,
        initial: ArrayLike = (),
        outputs: PositiveInt | None = None,
        jacobian: Function | None = None,
        nominal: Positive = 1.0,
    ) -> None:
        x0 = initial_values(initial, "Block")
        n = len(x0)
        if (f is None) != (n == 0):
            raise ModelError(
                f"Block: f gives the rates of the states and initial where they begin; received {n} initial values "
                f"{'without' if f is None else 'with'} f"
            )
        if g is None and f is None:
            raise ModelError("Block: g must be given where there are no states; it returns the outputs")
        if g is None and outputs not in (None, n):
            raise ModelError(f"Block: without g its {n} states are its outputs, received outputs = {outputs}")
        self.inputs, self.f, self.g, self.jacobian = inputs, f, g, jacobian
        p = n if g is None else outputs or 1
        self.internal_variables = (*named_states(x0, nominal), *named_outputs(p))
        self.outputs = tuple(range(n, n + p))

    def batch_key(self) -> Hashable:
        """Blocks of one size share a batch."""
        return len(self.internal_variables), len(self.outputs), len(self.inputs), len(sources(self.inputs))


class Arguments(NamedTuple):
    """Where functions are asked: time, states ``(n, nx)`` and inputs ``(n, m)``."""

    t: float
    x: Array
    u: Array


class BlockBatch(ElementBatch, of=Block):
    """Blocks are asked one after the other."""

    own: IntArray
    terms = 2

    def __init__(self, blocks: Sequence[Block], number: Numbering) -> None:
        self.owners = self._blocks = blocks
        self.nodes = np.zeros((len(blocks), 0), np.intp)
        self._wires = wires = Wires(blocks, [block.inputs for block in blocks], number)
        own = np.array([number.own(block) for block in blocks], np.intp)
        self._p = len(blocks[0].outputs)
        self._n = own.shape[1] - self._p
        self.own = np.concatenate([own, wires.rows], axis=1)
        self._rate = np.zeros((len(blocks), self.own.shape[1], self.own.shape[1]))
        self._rate[:, range(self._n), range(self._n)] = 1.0

    def at(self, t: float) -> Array:
        """What functions of time put in, ``(n, m)``."""
        return self._wires.at(t)

    def next_jump(self, t: float, u: Array) -> float:
        """When an input jumps next."""
        return self._wires.next_jump(t)

    def force(self, motion: Motion, prescribed: Array) -> tuple[Array, Arguments]:
        """``x' - f`` and ``y - g``."""
        z, n, p = motion.u[self.own], self._n, self._p
        point = Arguments(motion.t, z[:, :n], self._wires.values(motion.u, prescribed))
        terms = np.zeros((len(z), 2, z.shape[1]))
        terms[:, 0, :n] = motion.udot[self.own[:, :n]]
        terms[:, 0, n : n + p] = z[:, n : n + p]
        asked = zip(self._blocks, point.x, point.u, strict=True)
        terms[:, 1, : n + p] = [-_values(block, point.t, x, u) for block, x, u in asked]
        return terms, point

    def stiffness(self, context: Arguments) -> Array:
        """Derivatives, by differences where they are not given."""
        n, p = self._n, self._p
        asked = zip(self._blocks, context.x, context.u, strict=True)
        slopes = np.array([_slopes(block, context.t, x, u) for block, x, u in asked])
        K = np.zeros_like(self._rate)
        K[:, : n + p, :n] = -slopes[..., :n]
        K[:, : n + p, n + p :] = -slopes[..., n:] @ self._wires.W
        K[:, range(n, n + p), range(n, n + p)] += 1.0
        return K

    def damping(self, context: Any) -> Array:
        """The rates of states."""
        return self._rate


def _values(block: Block, t: float, x: Array, u: Array) -> Array:
    """``(f, g)``."""
    n, p = len(x), len(block.outputs)
    f = np.empty(0) if block.f is None else asked(block, block.f, "f", (t, x, u), n)
    return np.append(f, x if block.g is None else asked(block, block.g, "g", (t, x, u), p))


def _slopes(block: Block, t: float, x: Array, u: Array) -> Array:
    """Derivatives ``(n + p, n + m)`` of ``(f, g)`` against ``(x, u)``."""
    n = len(x)
    if block.jacobian is not None:
        return _given(block, t, x, u)
    z = np.concatenate([x, u])
    columns = []
    for k, h in enumerate(STEP * (1.0 + np.abs(z))):
        ahead, back = z.copy(), z.copy()
        ahead[k] += h
        back[k] -= h
        change = _values(block, t, ahead[:n], ahead[n:]) - _values(block, t, back[:n], back[n:])
        columns.append(change / (ahead[k] - back[k]))
    return np.stack(columns, axis=-1)


def _given(block: Block, t: float, x: Array, u: Array) -> Array:
    """The derivatives that a block has itself."""
    n, m, p = len(x), len(u), len(block.outputs)
    shapes = (n, n), (n, m), (p, n), (p, m)
    try:
        parts = [np.asarray(own, float) for own in block.jacobian(t, x, u)]  # type: ignore[misc]
        a, b, c, d = (own.reshape(shape) for own, shape in zip(parts, shapes, strict=True))
    except Exception as error:
        raise LawError(
            f"{block}: its jacobian must return f_x, f_u, g_x, g_u of the shapes {', '.join(map(str, shapes))}; at t = "
            f"{t:.6g} s: {error!r}"
        ) from error
    return np.block([[a, b], [c, d]])


def asked(block: Any, law: Callable[..., Any], name: str, arguments: tuple[float, Array, Array], size: int) -> Array:
    """``size`` finite numbers that a function of a block returns."""
    t, x, u = arguments
    try:
        given = law(t, x.copy(), u.copy())
    except Exception as error:
        raise LawError(f"{block}: its function {name} failed at t = {t:.6g} s: {error!r}") from error
    value = real(given)
    if (
        value is None
        or value.shape not in ((size,), *([()] if size == 1 else []))
        or not (np.abs(value) <= LARGEST).all()
    ):
        wanted = "one finite number" if size == 1 else f"{size} finite numbers"
        raise LawError(
            f"{block}: its function {name} must return {wanted}, received {shown(given)} at t = {t:.6g} s, x = {x}, "
            f"u = {u}"
        )
    return value.reshape(size)
