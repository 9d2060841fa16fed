"""Controllers that are computed at instants: samples of their inputs, outputs that are held in between.

At ``t_k = begin + k period`` a controller reads its inputs ``u_k``, its outputs become ``y_k`` a delay later and keep
their value, and its states go on to ``x_k+1``. States and outputs are of kind "history", which a jump changes
(docs/theory.md, "Jumps").
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import (
    ControlElement,
    ElementBatch,
    Inputs,
    InternalVariable,
    Motion,
    NotNegative,
    Numbering,
    PositiveInt,
    Seconds,
    Wires,
    array,
    checked,
    function,
    sources,
)
from fem_mbs.elements.control.block import asked
from fem_mbs.elements.control.linear import check_matrices, initial_values, named_outputs, named_states, of_scipy
from fem_mbs.errors import ModelError

NEAR = 1e-9
"""An instant that is nearer than this share of a period is now."""

Update = Annotated[Callable[..., Any], partial(function, of=" of t, x, u")]


@checked
class SampledController(ControlElement):
    """A controller that takes samples, with outputs that are held (zero-order hold).

    Parameters
    ----------
    inputs : signal or list of signals
        What it reads, ``u`` (m,).
    period : float
        Time between samples in s, the first one at t = ``begin``.
    output : function of t, x, u
        Outputs ``(p,)``, or a number, of the states ``x`` (n,) and the sample ``u``.
    update : function of t, x, u, optional
        States ``(n,)`` of the next sample; none for a controller without states.
    initial : (n,)
        States of the first sample.
    outputs : int
        How many, ``p``.
    initial_output : (p,), optional
        Outputs before the first sample has an effect; zero by default.
    delay : float
        Time in s that the computation takes, a period at most: outputs follow samples so much later.
    begin : float
        Time of the first sample in s.

    Notes
    -----
    Steps end at samples and where outputs change, and start anew there. A sample sees what was just before: of
    controllers that read each other, each sees the last outputs of the others. In statics the outputs stay at
    ``initial_output``.
    """

    offset: float  # type: ignore[assignment]  # of time; it is on no node

    def __init__(
        self,
        inputs: Inputs,
        period: Seconds,
        output: Update,
        *,
        update: Update | None = None,
        initial: ArrayLike = (),
        outputs: PositiveInt = 1,
        initial_output: ArrayLike | None = None,
        delay: NotNegative = 0.0,
        begin: NotNegative = 0.0,
    ) -> None:
        label = type(self).__name__
        x0, y0 = initial_values(initial, label), np.zeros(outputs)
        if initial_output is not None:
            y0 = array(initial_output, f"{label}: initial_output", (outputs,), *([()] if outputs == 1 else [])).reshape(
                -1
            )
        if (update is None) != (len(x0) == 0):
            raise ModelError(
                f"{label}: update gives the next states and initial the first ones; received {len(x0)} initial values "
                f"{'without' if update is None else 'with'} update"
            )
        if delay > period:
            raise ModelError(f"{label}: delay must be one period of {period:g} s at most, received {delay:g} s")
        self.inputs, self.period, self.delay, self.begin = inputs, period, delay, begin
        self.output, self.update = output, update
        n, p = len(x0), outputs
        self.internal_variables = (
            *named_states(x0, 1.0, "history"),
            *named_outputs(p, "history", y0),
            *(InternalVariable(f"next {own.name}", "history", own.initial) for own in named_outputs(p, "history", y0)),
            InternalVariable("samples", "history"),
            InternalVariable("changes", "history"),
        )
        self.outputs = tuple(range(n, n + p))

    def batch_key(self) -> Hashable:
        """Controllers of one size share a batch."""
        return len(self.internal_variables), len(self.outputs), len(self.inputs), len(sources(self.inputs))


@checked
class SampledStateSpace(SampledController):
    """``x_k+1 = A x_k + B u_k``, ``y_k = C x_k + D u_k``, with outputs that are held.

    Parameters
    ----------
    inputs : signal or list of signals
        What it reads, ``m`` signals.
    period : float, optional
        Time between samples in s; that of the system of ``scipy.signal`` by default.
    A, B, C, D : (n, n), (n, m), (p, n), (p, m)
        The matrices; ``D`` is zero by default. In place of ``A`` alone, a system of ``scipy.signal`` that is discrete
        in time.
    initial, initial_output, delay, begin
        As in :class:`SampledController`.
    """

    def __init__(
        self,
        inputs: Inputs,
        period: Seconds | None,
        A: Any,  # noqa: N803
        B: Any = None,  # noqa: N803
        C: Any = None,  # noqa: N803
        D: Any = None,  # noqa: N803
        *,
        initial: ArrayLike | None = None,
        initial_output: ArrayLike | None = None,
        delay: NotNegative = 0.0,
        begin: NotNegative = 0.0,
    ) -> None:
        label, dt = type(self).__name__, None
        if B is None and C is None and D is None:
            (A, B, C, D), dt = of_scipy(A, label, sampled=True)  # noqa: N806
        period = dt if period is None else period
        if period is None or (dt is not None and abs(dt - period) > NEAR * period):
            raise ModelError(
                f"{label}: period must be given in s, the same as dt of the system of scipy.signal, received {period} "
                f"and {dt}"
            )
        a, b, c, d = check_matrices(A, B, C, D, len(inputs), label)
        super().__init__(
            inputs,
            period,
            partial(_linear, c, d),
            update=partial(_linear, a, b),
            initial=np.zeros(len(a)) if initial is None else array(initial, f"{label}: initial", (len(a),)),
            outputs=len(c),
            initial_output=initial_output,
            delay=delay,
            begin=begin,
        )


def _linear(x_part: Array, u_part: Array, t: float, x: Array, u: Array) -> Array:
    return np.asarray(x_part @ x + u_part @ u)


class SampledBatch(ElementBatch, of=SampledController):
    """Sampled controllers, which are asked one after the other, at samples alone."""

    own: IntArray

    def __init__(self, controllers: Sequence[SampledController], number: Numbering) -> None:
        self.owners = self._controllers = controllers
        self.nodes = np.zeros((len(controllers), 0), np.intp)
        self._wires = wires = Wires(controllers, [own.inputs for own in controllers], number)
        own = np.array([number.own(own) for own in controllers], np.intp)
        self.own = np.concatenate([own, wires.rows], axis=1)
        self._p = len(controllers[0].outputs)
        self._n = own.shape[1] - 2 * self._p - 2
        self._period, self._delay, self._begin = np.array([[c.period, c.delay, c.begin] for c in controllers]).T
        self._samples, self._changes = own[:, -2], own[:, -1]

    def at(self, t: float) -> Array:
        """What functions of time put in, ``(n, m)``."""
        return self._wires.at(t)

    def force(self, motion: Motion, prescribed: Array) -> tuple[Array, tuple[float, Array, Array]]:
        """Nothing: what others read is held."""
        z = motion.u[self.own]
        return np.zeros_like(z), (motion.t, z, self._wires.values(motion.u, prescribed))

    def stiffness(self, context: Any) -> Array:
        """Nothing."""
        return np.zeros((*self.own.shape, self.own.shape[1]))

    def accept(self, context: tuple[float, Array, Array]) -> Array:
        """What is held stays."""
        return context[1]

    def next_jump(self, t: float, u: Array) -> float:
        """The next sample, or the next change of outputs."""
        samples, changes = u[self._samples], u[self._changes]
        next_ = self._begin + samples * self._period
        ready = self._begin + changes * self._period + self._delay
        return float(np.minimum(next_, np.where(changes < samples, ready, np.inf)).min())

    def jump(self, context: tuple[float, Array, Array]) -> Array:
        """Outputs that are ready change, then samples are taken."""
        t, z, inputs = context
        z = z.copy()
        for row, controller in enumerate(self._controllers):
            self._advance(controller, t, z[row], inputs[row])
        return z

    def _advance(self, controller: SampledController, t: float, z: Array, u: Array) -> None:
        """Take one controller to an instant, in place."""
        n, p, near = self._n, self._p, NEAR * controller.period
        held, ready, count = slice(n, n + p), slice(n + p, n + 2 * p), n + 2 * p
        elapsed = t - controller.begin + near

        def change() -> None:
            if z[count + 1] < z[count] and elapsed >= z[count + 1] * controller.period + controller.delay:
                z[held], z[count + 1] = z[ready], z[count]

        change()
        if elapsed >= z[count] * controller.period:
            x = z[:n].copy()
            z[ready] = asked(controller, controller.output, "output", (t, x, u), p)
            if controller.update is not None:
                z[:n] = asked(controller, controller.update, "update", (t, x, u), n)
            # a run that begins later takes the sample before its start at its start
            z[count + 1] = np.floor(elapsed / controller.period)
            z[count] = z[count + 1] + 1.0
            change()
