"""From one state to the next: steps that are tried, given up and repeated."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.errors import ConvergenceError, FemMbsError, LawError
from fem_mbs.integrate.change_step import change_step
from fem_mbs.integrate.generalized_alpha import GeneralizedAlpha
from fem_mbs.integrate.index3 import Trial
from fem_mbs.integrate.local_error import defect
from fem_mbs.integrate.step import prepare, step
from fem_mbs.solve import FAILURES, NotConvergedError, Report, explain_failure, initial_state
from fem_mbs.system import State, System

LOG = logging.getLogger("fem_mbs")
MAX_HALVINGS = 8
SAME = 1e-6
"""Steps that differ by less, relatively, are the same."""

Accepted = tuple[State, Report[Trial]]


class March:
    """A run under way: its state, the step that led there and what was given up on the way."""

    def __init__(self, system: System, method: GeneralizedAlpha, h: float, initial: State | None = None) -> None:
        self.system, self.method, self.h = system, method, h
        self._consistent = initial_state(system, initial)
        self.state = prepare(system, self._consistent, h, method)
        self.steps = self.failed = self.rejected = 0
        self._report: Report[Trial] | None = None
        self._older: list[State] = []

    def attempt(self, h: float) -> Accepted:
        """The state a step ahead; nothing is accepted yet."""
        try:
            return step(self.system, self._adapted(h), h, self.method, self._report)
        except FAILURES as failure:
            self.failed += 1
            LOG.info("step of %g s from t = %g s failed: %s", h, self.state.t, failure)
            raise

    def _adapted(self, h: float) -> State:
        """The state as a start of a step of ``h``."""
        ratio = h / self.h
        if abs(ratio - 1.0) < SAME:
            return self.state
        if self._report is None:
            return prepare(self.system, self._consistent, h, self.method)
        last = defect(self.system, self._older[0], self.state, self.method, self._report)
        return change_step(self.system, self.state, ratio, self.method, last, self._report)

    def defect(self, state: State, report: Report[Trial]) -> Array:
        """What Newmark's formulas leave of a step that was tried."""
        return defect(self.system, self._older[-1] if self._older else self.state, state, self.method, report)

    def accept(self, state: State, report: Report[Trial]) -> Accepted:
        """Go on from a state."""
        self._older = [*self._older[-1:], self.state]
        self._report = report
        self.state, self.h = state, report.problem.h
        self.steps += 1
        return state, report

    def give_up(self, h: float, failure: FemMbsError, shortened: str = "") -> FemMbsError:
        """The error that says why there is no step of ``h``; ``shortened`` tells how it was tried."""
        t = self.state.t + h
        why = explain_failure(self.system, self.state, failure)
        if isinstance(failure, NotConvergedError):
            why += _stability(self.state, self.h, self.method)
        text = f"no solution at t = {t:.6g} s: {why}\n  reached t = {self.state.t:.6g} s in {self.steps} steps"
        text += f"{shortened}; the error has the steps as its solution"
        if isinstance(failure, NotConvergedError):
            return ConvergenceError(text, t, failure.report.history if failure.report else ())
        return type(failure)(text)


def fixed_steps(march: March, times: Iterable[float]) -> Iterator[Accepted]:
    """Step from time to time; where a step fails, it is halved until the next of the times."""
    for t in times:
        nominal = t - march.state.t
        halvings = 0
        while (rest := t - march.state.t) > 1e-9 * nominal:
            h = min(rest, nominal * 0.5**halvings)
            try:
                state, report = march.attempt(h)
            except FAILURES as failure:
                if halvings == MAX_HALVINGS or isinstance(failure, LawError):
                    tried = f"; the step was halved {halvings} times, down to {h:.3g} s" if halvings else ""
                    raise march.give_up(h, failure, tried) from failure.__cause__
                halvings += 1
                continue
            if abs(state.t - t) <= 1e-9 * nominal:
                state.t = t
            yield march.accept(state, report)


def _stability(state: State, h: float, method: GeneralizedAlpha) -> str:
    """Advice where bodies turn further in a step than the method bears; empty otherwise."""
    turn = h * float(np.linalg.norm(state.v[:, 3:], axis=1).max())
    if turn <= 1.0 - method.rho_inf:
        return ""
    return (
        f"\n  a node turns by {turn:.2g} rad a step; with rho_inf = {method.rho_inf:g}, joints and stiff beams may "
        f"become unstable above about {1.0 - method.rho_inf:.2g} rad: try a smaller step, a smaller rho_inf, "
        "formulation='index2', or group='SE3'"
    )
