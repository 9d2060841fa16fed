"""Explicit Runge-Kutta methods: their coefficients (Butcher's tableaus), how long their steps may be, and on the group.

Hairer, Norsett, Wanner, *Solving Ordinary Differential Equations I*, 1993, table II.1.2 (RK4) and II.5.2 (DOPRI5);
Bogacki, Shampine, *A 3(2) pair of Runge-Kutta formulas*, 1989 (ODE23); Butcher, *On Runge-Kutta processes of high
order*, 1964 (RK6, seven stages: RK67 of Holzinger, Arnold, Gerstmayr 2024).

A step multiplies a motion ``e^(s t)`` by the polynomial ``R(h s) = 1 + h s b.(I + h s A + ...) 1`` of its tableau
(Hairer, Wanner, *Solving Ordinary Differential Equations II*, IV.2). The fastest small motions near a state say how
long a step may be.

On the group (Munthe-Kaas), stage ``i`` is an increment ``D_i = h sum a_ij K_j`` from the start of the step, ``q_i = q_0
exp(D_i)``, and the rates of the increment follow from the velocities there, ``K_i = T^-1(D_i) v_i`` (Munthe-Kaas 1998;
Holzinger, Arnold, Gerstmayr 2024, *Evaluation and implementation of Lie group integration methods*, eq. 25 and
Algorithm 3). Accelerations come from the equations of motion together with the constraints differentiated twice (index
1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, ComplexArray
from fem_mbs.contracts import Limit, Method, Report, State, Step, checked, choice, whole_number
from fem_mbs.errors import ModelError, MotionError
from fem_mbs.initial.consistent_start import Accelerations, accelerations, projected
from fem_mbs.initial.state_point import StatePoint, place_of
from fem_mbs.system.system import System

S = 5.0**0.5


class Tableau(NamedTuple):
    """Coefficients of an explicit method of ``s`` stages.

    Attributes
    ----------
    order : int
        Order ``p`` of the errors in the step.
    A : ndarray
        ``a_ij`` (s, s), lower triangular: weights of the stages before each stage.
    b : ndarray
        Weights (s,) of the stages in the result.
    estimate : ndarray or None
        Weights ``b_i - b^_i`` (s,) of the stages in the estimate of the local error, the difference from a second
        result of order ``p - 1``; None without one.
    """

    order: int
    A: Array
    b: Array
    estimate: Array | None = None

    @property
    def first_same_as_last(self) -> bool:
        """Whether the last stage is the result, so that it serves as the first of the next step."""
        return np.array_equal(self.A[-1], self.b)


def _tableau(order: int, rows: list[list[float]], b: list[float], second: list[float] | None = None) -> Tableau:
    """From the rows of stages before each stage, the weights, and those of a second result."""
    A = np.zeros((len(b), len(b)))
    for i, row in enumerate(rows):
        A[i, : len(row)] = row
    weights = np.array(b)
    return Tableau(order, A, weights, None if second is None else weights - second)


TABLEAUS = {
    "RK4": _tableau(4, [[], [1 / 2], [0, 1 / 2], [0, 0, 1]], [1 / 6, 1 / 3, 1 / 3, 1 / 6]),
    "DOPRI5": _tableau(
        5,
        [
            [],
            [1 / 5],
            [3 / 40, 9 / 40],
            [44 / 45, -56 / 15, 32 / 9],
            [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
            [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
            [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
        ],
        [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0],
        [5179 / 57600, 0, 7571 / 16695, 393 / 640, -92097 / 339200, 187 / 2100, 1 / 40],
    ),
    "ODE23": _tableau(
        3, [[], [1 / 2], [0, 3 / 4], [2 / 9, 1 / 3, 4 / 9]], [2 / 9, 1 / 3, 4 / 9, 0], [7 / 24, 1 / 4, 1 / 3, 1 / 8]
    ),
    "RK6": _tableau(
        6,
        [
            [],
            [1 / 2 - S / 10],
            [-S / 10, 1 / 2 + S / 5],
            [7 * S / 20 - 3 / 4, S / 4 - 1 / 4, 3 / 2 - 7 * S / 10],
            [1 / 12 - S / 60, 0, 1 / 6, 7 * S / 60 + 1 / 4],
            [S / 60 + 1 / 12, 0, 3 / 4 - 5 * S / 12, 1 / 6, 3 * S / 10 - 1 / 2],
            [1 / 6, 0, 25 * S / 12 - 55 / 12, -7 * S / 12 - 25 / 12, 5 - 2 * S, 5 / 2 + S / 2],
        ],
        [1 / 12, 0, 0, 0, 5 / 12, 5 / 12, 1 / 12],
    ),
}
"""By name."""
WITH_ESTIMATE = [name for name, tableau in TABLEAUS.items() if tableau.estimate is not None]
"""Those that estimate their error."""


VECTORS = 12
"""Of Arnoldi's method: its largest value is right to a few per cent, which costs as much as a few steps."""
SMALL = 1e-6
"""Small motions that derivatives are taken from, against the extent of the model and 1 rad."""
GROWTH = 1e-3
"""Growth in a step from which on a motion is unstable: some methods of high order never damp."""
RADII = np.arange(1, 600) / 100.0


def growth(tableau: Tableau, z: ComplexArray) -> Array:
    """By how much a step multiplies motions ``e^(s t)`` with ``z = h s``, ``|R(z)|``."""
    powers, weights = [1.0], np.ones_like(tableau.b)
    for _ in tableau.b:
        powers.append(float(tableau.b @ weights))
        weights = tableau.A @ weights
    return np.abs(np.polynomial.polynomial.polyval(z, powers))


def fastest(change: Callable[[Array], Array], size: int) -> complex:
    """Of the values of a linear map of vectors (size,) that do not grow, about the largest (Arnoldi's method)."""
    Q = np.zeros((VECTORS + 1, size))
    H = np.zeros((VECTORS + 1, VECTORS))
    start = np.random.default_rng(0).normal(size=size)
    Q[0] = start / np.linalg.norm(start)
    for k in range(VECTORS):
        w = change(Q[k])
        if not np.isfinite(w).all():
            return 0.0
        for _ in range(2):  # once more for what rounding leaves
            shares = Q[: k + 1] @ w
            H[: k + 1, k] += shares
            w -= shares @ Q[: k + 1]
        length = np.linalg.norm(w)
        if length <= 1e-10 * np.abs(H).max():
            break
        H[k + 1, k], Q[k + 1] = length, w / length
    values = np.linalg.eigvals(H[: k + 1, : k + 1])
    values = np.minimum(values.real, 0.0) + 1j * values.imag
    return complex(values[np.argmax(np.abs(values))])


def stable_step(tableau: Tableau, z: complex, h: float) -> float:
    """Longest step for the motion to which ``z = h s`` belongs."""
    if not abs(z) > 0.0:
        return np.inf
    ray: ComplexArray = RADII * np.complex128(z / abs(z))
    grows = growth(tableau, ray) > 1.0 + GROWTH
    return h * float(RADII[np.argmax(grows)]) / abs(z) if grows.any() else np.inf


class ExplicitRungeKutta(Method):
    """A method of the stages of a tableau, which it has by name."""

    tableau: Any
    """Name of the tableau."""

    @property
    def coefficients(self) -> Tableau:
        """The coefficients that are used."""
        return TABLEAUS[self.tableau]

    @property
    def order(self) -> int:  # type: ignore[override]
        """That of the tableau."""
        return self.coefficients.order

    @property
    def error_order(self) -> int | None:  # type: ignore[override]
        """That of the tableau: its second result is one order worse, and local errors are one better."""
        return None if self.coefficients.estimate is None else self.order

    def limit(self, system: System, state: State, h: float) -> Limit:
        """From the equations of a step on the group, linearised at its start."""
        units = np.concatenate([1.0 / system.weight, 1.0 / (h * system.weight)])
        units[~np.tile(np.append(system.free.ravel(), system.order > 0), 2)] = 0.0
        here = np.concatenate([state.v.ravel(), state.udot, state.vdot.ravel(), state.uddot])
        scale = np.append(h * system.weight, h * h * system.weight)

        def change(d: Array) -> Array:
            D, dv = np.split(SMALL * units * d, 2)
            place = moved(system, state, 0.0, D, dv)
            found = accelerations(system, place)
            velocities = np.matvec(system.kinematics.inverse_tangent(system.nodes_of(D)), place.v)
            there = np.concatenate([velocities.ravel(), found.udot, found.vdot.ravel(), found.uddot])
            return np.where(units > 0.0, scale * (there - here) / SMALL, 0.0)

        z = fastest(change, 2 * system.N)
        speeds, accelerated = (np.abs(system.weight * half).max() for half in np.split(here, 2))
        moving = float(max(speeds, accelerated**0.5))
        return Limit(stable_step(self.coefficients, z, h), abs(z) / h, moving)

    def _state(self, place: StatePoint, found: Accelerations) -> State:
        """The state at the end of a step, if the step has not overflowed."""
        state = State(place.t, place.x, place.R, place.v, *found)
        if not all(np.isfinite(part).all() for part in (state.x, state.R, state.v, state.vdot, state.u)):
            raise MotionError(f"{self}: the step has no finite result; an explicit method needs shorter ones")
        return state

    def _error(self, weight: Array, h: float, K: Array, L: Array, speed: float) -> float | None:
        """By rates ``(s, N)``: the difference of two results, of velocities over the largest speed so far."""
        if (estimate := self.coefficients.estimate) is None:
            return None
        of_place, of_velocity = (float(np.abs(h * weight * (estimate @ rates)).max()) for rates in (K, L))
        return max(of_place, of_velocity / speed if speed else 0.0)


def moved(system: System, state: State, h: float, D: Array, dv: Array) -> StatePoint:
    """The place an increment ``D`` (N,) away from a state, a time later and with velocities that differ by ``dv``."""
    t, x, R, v, u, udot = place_of(state)
    x, R = system.kinematics.retract(x, R, system.nodes_of(D))
    return StatePoint(t + h, x, R, v + system.nodes_of(dv), u + system.own_of(D), udot + system.own_of(dv))


def fastest_so_far(system: System, speed: float, *states: State) -> float:
    """The largest speed so far, against which errors of velocities count: not of states, which have no velocities.

    In extents of the model, rad and sizes of coordinates a second.
    """
    return max(speed, *(float(np.abs((system.weight * state.rates)[system.orders == 2]).max()) for state in states))


class StageEquations(NamedTuple):
    """What the stages of a step are of, from a state, in coordinates of a method."""

    system: System
    ahead: Callable[[float, Array, Array], StatePoint]
    """The place a time later, an increment and changes of velocities away."""
    rates: Callable[[Array, StatePoint | State, Accelerations | State], tuple[Array, Array]]
    """Of the increment and of velocities, at an increment and its place with accelerations."""
    closes: bool = False
    """Whether joints are closed at the end."""


def stages(
    tableau: Tableau, equations: StageEquations, h: float, first: tuple[Array, Array]
) -> tuple[tuple[Array, Array], tuple[Array, StatePoint, Accelerations], Report]:
    """Those of a step with the rates ``first`` at its start; the end is the first one of the next step.

    Returns rates ``(s, N)`` of the increment and of velocities, and at the end the increment, the place, accelerations.
    """
    s, system = len(tableau.b), equations.system
    count, (K, L) = s - tableau.first_same_as_last, np.zeros((2, s, system.N))
    K[0], L[0] = first
    for i, weights in enumerate([*tableau.A[1:count], tableau.b], 1):
        D = h * (weights @ K)
        place = equations.ahead(h * float(weights.sum()), D, h * (weights @ L))
        if equations.closes and i == count:
            place = projected(system, place)
        found = accelerations(system, place)
        if i < s:
            K[i], L[i] = equations.rates(D, place, found)
    return (K, L), (D, place, found), Report(evaluations=count, factorizations=count)


class Speed(NamedTuple):
    """What a method goes on with: the largest speed so far, against which errors of velocities count."""

    largest: float
    """In extents of the model, rad and sizes of coordinates a second."""


@checked
@dataclass(frozen=True)
class RungeKuttaMuntheKaas(ExplicitRungeKutta):
    """An explicit Runge-Kutta method on the group; the step has to resolve whatever is stiff.

    Joints are differentiated twice, and after each step positions and velocities are brought back to what they allow.
    The error of a step that :class:`VariableStep` asks for is the difference of two results, ``h sum (b_i - b^_i) K_i``
    of configurations and that of velocities over the largest speed so far.

    Parameters
    ----------
    tableau : {"RK4", "DOPRI5", "ODE23", "RK6"}
        The classical method of order 4; Dormand and Prince's of order 5; Bogacki and Shampine's of order 3; Butcher's
        of order 6 with seven stages. DOPRI5 and ODE23 estimate their errors.
    projection : bool
        Whether joints are closed after each step. Without, positions and velocities drift from them with the order of
        the tableau.
    commutators : int, optional
        Lie brackets after which the series of ``T^-1`` ends, for comparison: ``order - 2`` keep the order. By default
        it is exact.
    """

    Memory: ClassVar[type] = Speed
    deadband: ClassVar[float] = 1.0

    tableau: Annotated[str, choice(TABLEAUS)] = "RK4"
    projection: bool = True
    commutators: Annotated[int, partial(whole_number, least=0)] | None = None

    @property
    def levels(self) -> tuple[str, ...]:  # type: ignore[override]
        """Accelerations obey the joints at every stage; the rest is projected."""
        return ("position", "velocity", "acceleration") if self.projection else ("acceleration",)

    def init(self, system: System, state: State, h: float) -> Speed:
        if system.redundant is not None and not self.projection:
            raise ModelError(
                f"{self} lets joints drift apart, and of joints that repeat each other they would do so in different "
                f"ways; take projection=True. {system.redundant.text}"
            )
        return Speed(0.0)

    def step(self, system: System, state: State, h: float, memory: Speed) -> Step:
        """The stages, and the accelerations at the end, which are those of the first stage of the next step."""

        def rates(D: Array, place: StatePoint | State, found: Accelerations | State) -> tuple[Array, Array]:
            nodes = self._inverse_tangent_product(system, system.nodes_of(D), place.v)
            return np.append(nodes, found.udot), np.append(found.vdot, found.uddot)

        first, closes = (state.rates, np.append(state.vdot, state.uddot)), self.projection and system.m > 0
        equations = StageEquations(system, partial(moved, system, state), rates, closes)
        # an unstable step overflows
        with np.errstate(over="ignore", invalid="ignore"):
            (K, L), (_, place, found), report = stages(self.coefficients, equations, h, first)
        new = self._state(place, found)
        speed, weight = fastest_so_far(system, memory.largest, state, new), system.weight_at(state.u, new.u)
        return Step(system.accept(new), Speed(speed), report, self._error(weight, h, K, L, speed))

    def between(self, system: System, first: State, second: State, share: float) -> State:
        """By a step of the share: all of the order of the tableau, joints closed."""
        if not 0.0 < share < 1.0:
            return second if share else first
        return self.step(system, first, share * (second.t - first.t), Speed(0.0)).state

    def _inverse_tangent_product(self, system: System, D: Array, v: Array) -> Array:
        """``T^-1(D) v``, or the sum of as many terms ``B_k/k! [D, [D, ... v]]`` as are wanted."""
        if self.commutators is None:
            return np.matvec(system.kinematics.inverse_tangent(D), v)
        from scipy.special import bernoulli, factorial  # which take long to import

        result, term = v.copy(), v
        orders = np.arange(self.commutators + 1)
        # left-trivialised velocities have the other sign, which odd numbers but the first do not notice
        shares = (-1.0) ** orders * bernoulli(self.commutators) / factorial(orders)
        for share in shares[1:]:
            last, term = term, np.zeros_like(v)
            system.kinematics.add_bracket(term, 1.0, D, last)
            result += share * term
        return result

    def __str__(self) -> str:
        return f"{type(self).__name__} with the tableau {self.tableau}"
