"""Implicit Euler on the group.

``q_n+1 = q_n exp(h v_n+1)``, ``M (v_n+1 - v_n) + h g + h B^T lambda = 0``, ``Phi(q_n+1) = 0`` (*Lie group Euler methods
for DAEs*, the form DAE3-IEL). The increment ``D = h v_n+1`` is solved for as in the generalised-alpha method, with
Euler's formulas ``v = D/h``, ``vdot = (v - v_n)/h`` in place of Newmark's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np

from fem_mbs.integrate.chart import GroupChart
from fem_mbs.integrate.index3 import Index3Problem
from fem_mbs.integrate.local_error import lead, rate
from fem_mbs.integrate.method import Method, Nothing, Step
from fem_mbs.integrate.newmark import Newmark
from fem_mbs.model import checked, choice
from fem_mbs.solve import Newton, newton_solve
from fem_mbs.system import State, System

FORMS = ("index3",)


@checked
@dataclass(frozen=True)
class LieEuler(Method):
    """The implicit Euler method on the group, of order 1: robust, and strongly damped.

    Parameters
    ----------
    form : {"index3"}
        Constraints on position level.
    newton : Newton
        Options of Newton's method.
    """

    order: ClassVar[int] = 1
    Memory: ClassVar[type] = Nothing

    form: Annotated[str, choice(FORMS)] = "index3"
    newton: Newton = field(default_factory=Newton)

    def init(self, system: System, state: State, h: float) -> Nothing:
        """Nothing."""
        return Nothing()

    def step(self, system: System, state: State, h: float, memory: Nothing) -> Step:
        """One step, by Newton's method."""
        order = np.append(np.full(6 * system.n, 2), system.order)
        # the rate of a state is no velocity that it keeps
        v = np.where(order == 2, rate(state), 0.0)
        factors = np.stack([order > 0, order == 2, order < 0]) / np.array([[h], [h * h], [1.0]])
        constants = np.stack([0.0 * v, -v / h, 0.0 * v])
        guess = h * v + np.where(order == 2, h * h, h) * lead(system, state)
        formulas = Newmark(factors, constants, guess)
        problem = Index3Problem(system, state, h, formulas, GroupChart(system.kinematics), self.newton.matrix)
        with np.errstate(over="ignore", invalid="ignore"):
            found = newton_solve(problem, problem.guess(guess, state.multipliers), self.newton)
        return Step(system.accept(problem.result(found)[0]), memory, found.report)
