"""Classical coordinates of nodes: world positions, and Tait-Bryan angles or Euler parameters; and where they end.

Holzinger, Arnold, Gerstmayr (2024), section 2.1: with ``q = (x, c)`` the velocities on R3xSO3 are ``v = H(q) q'``,
``H = diag(I, G)``, whatever group the nodes of the model carry. Rotations that are held stay as they are; their
coordinates count from there, so that no singularity concerns them. Why runs in Euler parameters become unstable and
steps of angles near ``b = +-90`` degrees are refused: docs/theory.md, "Classical formulations".

And explicit Runge-Kutta methods in Tait-Bryan angles, for models without constraints (eq. 32 and Algorithm 2 there):
angles ``c`` are integrated with their rates ``c'`` (classical formulation 2), or with angular velocities, from which
the rates follow as ``c' = G^-1 Omega`` (classical formulation 1).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from fem_mbs.alpha.local_error import ASTRAY, most_turn
from fem_mbs.arrays import Array, BoolArray
from fem_mbs.contracts import State, Step, checked, choice, unconstrained
from fem_mbs.errors import ConvergenceError, LawError, ModelError
from fem_mbs.initial.consistent_start import Accelerations
from fem_mbs.initial.state_point import StatePoint
from fem_mbs.lie.parametrization import RotationCoordinates, TaitBryan, Tangents
from fem_mbs.methods.comparison.updated_lagrangian import LocalChart
from fem_mbs.methods.runge_kutta import TABLEAUS, ExplicitRungeKutta, StageEquations, fastest_so_far, stages
from fem_mbs.newton import FAILURES
from fem_mbs.system.kinematics import R3xSO3
from fem_mbs.system.system import System


def check_norm(system: System, t: float, rho_inf: float, before: Array, after: Sequence[Array]) -> None:
    """Refuse a step to ``t`` after which Euler parameters (n, 4) have rates that leave the unit sphere.

    ``after`` are these with their first and second rates.
    """
    c, dc, ddc = after
    missed = np.abs(np.vecdot(c, dc))
    # a body that turns back is at rest for an instant
    size = max(np.vecdot(dc, dc).max() ** 0.5, np.vecdot(ddc, ddc).max() ** 0.25)
    if missed.max() <= ASTRAY * size:
        return
    worst = int(np.argmax(missed))
    turn = 2.0 * float(np.linalg.norm((c - before)[worst]))
    raise ConvergenceError(
        f"{system.nodes[worst]}: at t = {t:.6g} s the rates of its Euler parameters leave the unit sphere by "
        f"{100.0 * missed[worst] / size:.0f} % of the largest: their norm, a constraint of index 3, is unstable. The "
        f"node turned by {turn:.2g} rad in the step, and with rho_inf = {rho_inf:g} it becomes so above about "
        f"{2.0 * most_turn(rho_inf):.2g} rad. Try a smaller step, a smaller rho_inf, or a method on the group such as "
        "GeneralizedAlpha; the error has the steps so far as its solution",
        t,
    )


def held(system: System) -> BoolArray:
    """True for nodes ``(n,)`` whose rotations are held."""
    return ~system.free[:, 3]


def rotations_of(system: System, kind: type[RotationCoordinates], R: Array) -> Array:
    """Coordinates ``(n, l)`` of the rotations of all nodes."""
    return np.where(held(system)[:, None], kind.zero, kind.coordinates(R))


def to_world(system: System, R: Array, v: Array, vdot: Array) -> Array:
    """Velocities and accelerations ``(2, n, 6)`` on R3xSO3 from those on the groups of the system."""
    return R3xSO3.from_body(R, system.kinematics.motion(R, np.stack([v, vdot])))


def from_world(system: System, R: Array, lifted: Array) -> tuple[Array, Array]:
    """Velocities and accelerations ``(n, 6)`` on the groups of the system from those on R3xSO3."""
    V, A = R3xSO3.motion(R, lifted)
    return system.kinematics.from_body(R, V), system.kinematics.vdot(R, V, A)


class ClassicalChart(LocalChart):
    """Increments of classical coordinates from those of rotations ``start`` (n, l), ``D`` (n, 3 + l)."""

    def __init__(self, system: System, kind: type[RotationCoordinates], start: Array) -> None:
        self.kinematics, self.kind, self.start = R3xSO3(), kind, start
        self.held, self.width = held(system), 3 + kind.size

    def rotations(self, D: Array) -> Array:
        """Coordinates of the rotations ``(n, l)``."""
        return self.start + D[:, 3:]

    def closed(self, D: Array) -> Array:
        """The increment next to ``D`` whose rotations obey the constraint of their coordinates."""
        return np.append(D[:, :3], self.kind.closed(self.rotations(D)) - self.start, 1)

    def retract(self, x: Array, R: Array, D: Array) -> tuple[Array, Array]:
        turned = self.kind.rotation(self.rotations(D))
        return x + D[:, :3], np.where(self.held[:, None, None], R, turned)

    def derivatives(self, D: Array, rates: Array, factors: Array) -> tuple[Array, Array]:
        """With ``H^-1``, or the inverse along the constraint of the coordinates."""
        own = self._tangents(D, *rates)
        H_inv = self.inverse(D)
        by_position = np.stack([own.by_position, own.rate_by_position])
        return H_inv, (self._along_rates(own, factors) + by_position) @ H_inv

    def lower(self, lifted: Array, D: Array | None = None) -> Array:
        """First and second rates ``(2, n, 3 + l)`` from velocities and accelerations, the inverse of :meth:`lift`.

        At the start of a step, if not at an increment ``D`` from there.
        """
        D = np.zeros((len(self.start), self.width)) if D is None else D
        c, H_inv = self.rotations(D), self.inverse(D)
        first = np.matvec(H_inv, lifted[0])
        dc = first[:, 3:]
        acceleration = lifted[1].copy()
        acceleration[:, 3:] -= np.matvec(self.kind.tangents(c, dc, dc).rate, dc)
        second = np.matvec(H_inv, acceleration)
        second[:, 3:] += self.kind.bend(c, dc)
        return np.stack([first, second])

    def matrix(self, D: Array) -> Array:
        """``H`` (n, 6, 3 + l), eqs. 6, 7 of Holzinger, Arnold, Gerstmayr (2024)."""
        H = np.zeros((len(D), 6, self.width))
        H[:, :3, :3] = np.eye(3)
        H[:, 3:, 3:] = self.kind.jacobian(self.rotations(D))
        return H

    def inverse(self, D: Array) -> Array:
        """``H^-1`` (n, 3 + l, 6)."""
        H_inv = np.zeros((len(D), self.width, 6))
        H_inv[:, :3, :3] = np.eye(3)
        H_inv[:, 3:, 3:] = self.kind.rates(self.rotations(D))
        return H_inv

    def _tangents(self, D: Array, dD: Array, ddD: Array) -> Tangents:
        whole = Tangents(*np.zeros((4, len(D), 6, self.width)))
        whole.T[:, :3, :3] = np.eye(3)
        own = self.kind.tangents(self.rotations(D), dD[:, 3:], ddD[:, 3:])
        for matrix, block in zip(whole, own, strict=True):
            matrix[:, 3:, 3:] = block
        return whole


SMALLEST = 1e-6
"""Smallest ``cos b`` at the start of a run; rates of the angles are angular velocities over that."""
UNRESOLVED = 0.03
"""Error of an angle in a step, in rad, from which on errors do not fall with the order of the method."""
FAR, NEAR = np.cos(np.radians([30.0, 60.0])).tolist()
"""``cos b`` below which errors of angles are looked at, and below which failures are put down to the singularity."""
REMEDY = (
    "Try a smaller step, axes of the bodies and of the world that keep b small, Euler parameters, or a method on the "
    "group such as GeneralizedAlpha; the error has the steps so far as its solution"
)


def check_start(system: System, c: Array) -> None:
    """Refuse angles ``(n, 3)`` whose rates do not exist."""
    cosine = _cosine(system, c)
    worst = int(np.argmin(cosine))
    if cosine[worst] < SMALLEST:
        raise ModelError(
            f"{system.nodes[worst]}: its Tait-Bryan angle b is {_degrees(c[worst, 1])}, and rates of the angles do not "
            "exist at b = +-90 degrees, where R = Rx(a) Ry(b) Rz(c) is singular. Try axes of the body and of the world "
            "that keep b small, Euler parameters, or a method on the group such as GeneralizedAlpha"
        )


def check_step(system: System, t: float, h: float, angles: tuple[Array, Array], change: Array) -> None:
    """Refuse a step between angles ``(n, 3)`` that does not resolve the ``change`` of their second derivatives."""
    before, c = angles
    cosine = np.stack([_cosine(system, before), _cosine(system, c)])
    errors = np.where(cosine.min(axis=0) < FAR, h * h / 12.0 * np.abs(change).max(axis=1), 0.0)
    errors[cosine[0] * cosine[1] < 0.0] = np.inf
    worst = int(np.argmax(errors))
    if errors[worst] <= UNRESOLVED:
        return
    turned = np.abs(c - before)[worst]
    raise ConvergenceError(
        f"{system.nodes[worst]}: its Tait-Bryan angle b goes from {_degrees(before[worst, 1])} to "
        f"{_degrees(c[worst, 1])} in the step of {h:.3g} s to t = {t:.6g} s, and a and c turn by {turned[0]:.2g} and "
        f"{turned[2]:.2g} rad: so near the singularity at b = +-90 degrees the step does not resolve them. {REMEDY}",
        t,
    )


@contextmanager
def blamed(system: System, t: float, h: float, c: Array) -> Iterator[None]:
    """Put a failure of a step of ``h`` to ``t`` down to the singularity, where angles ``(n, 3)`` are near it."""
    try:
        yield
    except FAILURES as failure:
        cosine = _cosine(system, c)
        worst = int(np.argmin(cosine))
        if cosine[worst] > NEAR or isinstance(failure, LawError):
            raise
        raise ConvergenceError(
            f"{system.nodes[worst]}: its Tait-Bryan angle b is {_degrees(c[worst, 1])}, and from there a step of "
            f"{h:.3g} s to t = {t:.6g} s has no solution ({failure}); angles are singular at +-90 degrees. {REMEDY}",
            t,
        ) from failure


def _cosine(system: System, c: Array) -> Array:
    """``cos b`` of the nodes, 1 where their rotation is held."""
    return np.where(held(system), 1.0, np.cos(c[:, 1]))


def _degrees(angle: float) -> str:
    return f"{np.degrees(angle):.4g} degrees"


FORMULATIONS = ("rates", "velocities")


class Angles(NamedTuple):
    """What the method goes on with, beside the state."""

    c: Array
    """Angles ``(n, 3)`` of the nodes."""
    speed: float
    """The largest so far, in extents of the model, rad and sizes of internal variables a second."""


@checked
@dataclass(frozen=True)
class ClassicalRungeKutta(ExplicitRungeKutta):
    """An explicit Runge-Kutta method in Tait-Bryan angles, for comparison with :class:`RungeKuttaMuntheKaas`.

    For models without constraints. The rotation of a node is ``Rx(a) Ry(b) Rz(c)``; angles cannot pass ``b = +-90``
    degrees, and near them need short steps: a run whose steps are too long ends with a :class:`ConvergenceError`
    (Holzinger, Arnold, Gerstmayr 2024; docs/theory.md, "Classical formulations").

    Parameters
    ----------
    tableau : {"RK4", "DOPRI5", "ODE23", "RK6"}
        As in :class:`RungeKuttaMuntheKaas`.
    formulation : {"rates", "velocities"}
        What is integrated beside the angles: their rates, or angular velocities in the body frame.
    """

    Memory: ClassVar[type] = Angles
    invariant: ClassVar[bool] = False

    tableau: Annotated[str, choice(TABLEAUS)] = "RK4"
    formulation: Annotated[str, choice(FORMULATIONS)] = "rates"

    def check(self, system: System) -> None:
        """Refuse joints and algebraic variables."""
        unconstrained(self, system)

    def init(self, system: System, state: State, h: float) -> Angles:
        c = rotations_of(system, TaitBryan, state.R)
        check_start(system, c)
        return Angles(c, 0.0)

    def step(self, system: System, state: State, h: float, memory: Angles) -> Step:
        chart, by_rates = ClassicalChart(system, TaitBryan, memory.c), self.formulation == "rates"

        def ahead(t: float, D: Array, dw: Array) -> StatePoint:
            nodes, w = system.nodes_of(D), start + dw
            x, R = chart.retract(state.x, state.R, nodes)
            v = system.nodes_of(w)
            v = np.matvec(chart.matrix(nodes), v) if by_rates else v
            v, _ = from_world(system, R, np.stack([v, v]))
            return StatePoint(state.t + t, x, R, v, state.u + system.own_of(D), system.own_of(w))

        def lowered(D: Array, place: StatePoint | State, vdot: Array) -> tuple[Array, Array]:
            """Velocities and accelerations on R3xSO3, and rates of the coordinates, ``(2, n, 6)`` each."""
            lifted = to_world(system, place.R, place.v, vdot)
            return lifted, chart.lower(lifted, system.nodes_of(D))

        def rates(D: Array, place: StatePoint | State, found: Accelerations | State) -> tuple[Array, Array]:
            lifted, own = lowered(D, place, found.vdot)
            return np.append(own[0], found.udot), np.append(own[1] if by_rates else lifted[1], found.uddot)

        none = np.zeros(system.N)
        lifted, own = lowered(none, state, state.vdot)
        start = np.append(own[0] if by_rates else lifted[0], state.udot)
        # an unstable step overflows
        with np.errstate(over="ignore", invalid="ignore"), blamed(system, state.t + h, h, memory.c):
            equations = StageEquations(system, ahead, rates)
            (K, L), (D, place, found), report = stages(self.coefficients, equations, h, rates(none, state, state))
            c, (_, last) = chart.rotations(system.nodes_of(D)), lowered(D, place, found.vdot)
        new = self._state(place, found)
        check_step(system, new.t, h, (memory.c, c), (last - own)[1, :, 3:])
        speed = fastest_so_far(system, memory.speed, state, new)
        H = chart.matrix(np.zeros((system.n, 6)))
        turned = [np.stack([system.with_own(np.matvec(H, system.nodes_of(k)), k) for k in own]) for own in (K, L)]
        weight = system.weight_at(state.u, new.u)
        error = self._error(weight, h, turned[0], turned[1] if by_rates else L, speed)
        return Step(system.accept(new), Angles(c, speed), report, error)
