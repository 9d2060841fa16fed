"""Explicit Runge-Kutta on the group (Munthe-Kaas), for models without constraints.

Stage ``i`` is an increment ``D_i = h sum a_ij K_j`` from the start of the step, ``q_i = q_0 exp(D_i)``, and the rates
of the increment follow from the velocities there, ``K_i = T^-1(D_i) v_i`` (Munthe-Kaas 1998; Holzinger, Arnold,
Gerstmayr, *Evaluation and implementation of Lie group integration methods*, Algorithm 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.errors import MotionError
from fem_mbs.integrate.method import Method, Nothing, Step, unconstrained
from fem_mbs.model import checked, choice
from fem_mbs.solve import Place, Report, accelerations, place_of
from fem_mbs.system import State, System

TABLEAUS = {"RK4": (4, [[], [0.5], [0.0, 0.5], [0.0, 0.0, 1.0]], [1 / 6, 1 / 3, 1 / 3, 1 / 6])}
"""Order, weights ``a_ij`` of the stages before each stage, and weights ``b_i`` of all (Butcher's tableau)."""


@checked
@dataclass(frozen=True)
class RungeKuttaMuntheKaas(Method):
    """An explicit Runge-Kutta method on the group; the step has to resolve whatever is stiff.

    Parameters
    ----------
    tableau : {"RK4"}
        The classical method of order 4.
    """

    Memory: ClassVar[type] = Nothing

    tableau: Annotated[str, choice(TABLEAUS)] = "RK4"

    @property
    def order(self) -> int:  # type: ignore[override]
        """That of the tableau."""
        return TABLEAUS[self.tableau][0]

    def check(self, system: System) -> None:
        """Refuse joints and algebraic unknowns."""
        unconstrained(self, system)

    def init(self, system: System, state: State, h: float) -> Nothing:
        """Nothing."""
        return Nothing()

    def step(self, system: System, state: State, h: float, memory: Nothing) -> Step:
        """The stages, and the accelerations at the end."""
        # an unstable step overflows
        with np.errstate(over="ignore", invalid="ignore"):
            new, evaluations = self._stages(system, state, h)
        if not all(np.isfinite(part).all() for part in (new.x, new.R, new.v, new.vdot, new.u)):
            raise MotionError(
                f"{type(self).__name__}: the step has no finite result; an explicit method needs shorter ones"
            )
        return Step(system.accept(new), memory, Report(evaluations=evaluations, factorizations=evaluations))

    def _stages(self, system: System, state: State, h: float) -> tuple[State, int]:
        """The state at the end, and how often the equations were evaluated."""
        _, stages, weights = TABLEAUS[self.tableau]
        K, L = np.zeros((2, len(stages), system.N))  # rates of increments, and of velocities
        for i, a in enumerate(stages):
            D = h * np.dot(a, K[:i])
            place = _ahead(system, state, sum(a) * h, D, h * np.dot(a, L[:i]))
            vdot, _, _, udot, uddot = accelerations(system, place)
            K[i] = np.append(np.matvec(system.kinematics.inverse_tangent(system.nodes_of(D)), place.v), udot)
            L[i] = np.append(vdot, uddot)
        end = _ahead(system, state, h, h * np.dot(weights, K), h * np.dot(weights, L))
        vdot, multipliers, u, udot, uddot = accelerations(system, end)
        new = State(end.t, end.x, end.R, end.v, vdot, multipliers, u, udot, uddot)
        return new, len(stages) + 1


def _ahead(system: System, state: State, h: float, D: Array, dv: Array) -> Place:
    """The place an increment away from a state, a time later and with other velocities."""
    t, x, R, v, u, udot = place_of(state)
    x, R = system.kinematics.retract(x, R, system.nodes_of(D))
    return Place(t + h, x, R, v + system.nodes_of(dv), u + system.own_of(D), udot + system.own_of(dv))
