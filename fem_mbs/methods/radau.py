"""Three-stage Radau IIA on the group: a method of order 5 for stiff and constrained models, and its local error.

Hairer, Wanner, *Solving Ordinary Differential Equations II* (1996), IV.5 (Table 5.6), IV.8 and VII.4. Stage values
``z`` after the start have the rates ``W z/h`` with ``W = A^-1``, whose eigenvectors part a linear system of all stages
into one real and two conjugate complex ones. Unknowns are the increments ``D_i`` (N,) from the start of the step to the
stages, and multipliers (m,) there. What is collocated are the increments, in the chart at the start, and the
velocities,

    v_i = T(D_i) sum_j W_ij D_j/h,   vdot_i = sum_j W_ij (v_j - v_0)/h,   r_i = 0,   B_i v_i + Phi_t = 0.

With body increments ``d_i`` of the stages, body velocities change by ``d' + [v, d]``, on either group: the equations of
all stages become ``K + C dV + M dA`` of one place, with the eigenvalues of ``W/h`` in place of the time derivative
(docs/theory.md, "Radau IIA on the group").

At the end of a step joints are closed, and accelerations and multipliers obey the hidden constraints. The stages obey
the constraints on velocities. Positions leave theirs by an error of the order of the step's own, which is taken out as
in projected Runge-Kutta methods (Hairer, Wanner II, VII.2), along what forces of the joints do to the structure within
the step, so that nothing stiff is set in motion. Multipliers and accelerations of the last stage are of order 3 where
joints act; the hidden constraints give them the order of positions and velocities.

The local error is that of an embedded formula of order 3 (eqs. 8.17-8.19), for equations of second order: the
difference of both formulas in positions and in velocities is filtered by the real matrix of the stages,
``(w/h)^2 M + (w/h) C + K`` beside the constraints. What stiffness and joints hold back drops out.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np

from fem_mbs.alpha.local_error import highest_derivatives
from fem_mbs.arrays import Array
from fem_mbs.contracts import Method, Motion, RateSensitivities, Report, State, Step, checked
from fem_mbs.errors import ModelError
from fem_mbs.lie import se3, so3
from fem_mbs.linear.solvers import Factors
from fem_mbs.newton import Newton, NotConvergedError
from fem_mbs.system import constraints
from fem_mbs.system import matrices as tangent
from fem_mbs.system.matrices import (
    gradient_product,
    leading_matrix,
    rate_product,
    solve_with_constraints,
    velocity_residual,
)
from fem_mbs.system.pattern import flat
from fem_mbs.system.system import Evaluation, System

ROOT = 6.0**0.5
NODES = np.array([0.4 - 0.1 * ROOT, 0.4 + 0.1 * ROOT, 1.0])
"""Instants of the stages, over the step; the last one is its end."""
WEIGHTS = np.array(
    [
        [(88.0 - 7.0 * ROOT) / 360.0, (296.0 - 169.0 * ROOT) / 1800.0, (-2.0 + 3.0 * ROOT) / 225.0],
        [(296.0 + 169.0 * ROOT) / 1800.0, (88.0 + 7.0 * ROOT) / 360.0, (-2.0 - 3.0 * ROOT) / 225.0],
        [(16.0 - ROOT) / 36.0, (16.0 + ROOT) / 36.0, 1.0 / 9.0],
    ]
)
"""``A``: stage values from stage rates."""
RATES = np.linalg.inv(WEIGHTS)
"""``W``."""
_values, _vectors = np.linalg.eig(RATES)
_order = [int(np.argmin(np.abs(_values.imag))), int(np.argmax(_values.imag))]
REAL, COMPLEX = float(_values[_order[0]].real), complex(_values[_order[1]])
"""Eigenvalues of ``W``, of the conjugate ones that with the positive imaginary part."""
RIGHT, LEFT = _vectors[:, _order], np.linalg.inv(_vectors)[_order]
"""Their right eigenvectors (columns) and left ones (rows)."""
ERROR = np.array([-13.0 - 7.0 * ROOT, -13.0 + 7.0 * ROOT, -1.0]) / (3.0 * REAL)
"""Weights of stage values in the difference from the embedded formula, beside ``h/REAL`` of the rate at the start."""


@lru_cache(maxsize=64)
def ahead(ratio: float) -> Array:
    """Weights ``(3, 5)`` of the stages of a step that is ``ratio`` times as long as the last one.

    They extrapolate the polynomial through the values at the start and at the stages of the last step, which has the
    given derivative, times that step, at its end.
    """
    places = np.append(0.0, NODES) - 1.0
    powers = np.arange(5)
    conditions = np.vstack([places[:, None] ** powers, powers == 1])
    return np.asarray((ratio * NODES[:, None]) ** powers @ np.linalg.inv(conditions))


@lru_cache(maxsize=64)
def following(ratio: float) -> Array:
    """The same weights ``(3, 3)`` for the polynomial through the stages alone."""
    powers = np.arange(3)
    return np.asarray((1.0 + ratio * NODES[:, None]) ** powers @ np.linalg.inv(NODES[:, None] ** powers))


CORRECTIONS = 10
"""Corrections after which joints do not close."""
ROUNDING = 1e-15
"""Gaps below this are left, lengths over the extent of the model; of others one correction leaves next to nothing."""


def last_stage(problem: Radau, stages: Stages) -> State:
    """The state at the last stage."""
    system, n = problem.system, problem.system.n
    x, R, rates = problem.place(stages.D)
    own = problem.own(2, stages.D[2], rates[:, 2])
    v, vdot = (system.nodes_of(part) for part in rates[:, 2])
    return State(problem.state.t + problem.h, x[2 * n :], R[2 * n :], v, vdot, stages.multipliers[2], *own)


def closed(problem: Radau, state: State, factors: Factors, tolerance: float) -> State:
    """The state with joints closed on positions and velocities, to a tolerance."""
    system, h, prescribed = problem.system, problem.h, problem.prescribed[2]
    per_rate, none = REAL / h, np.zeros(system.N)
    for k in range(CORRECTIONS):
        joints = system.joints(system.motion(state), prescribed)
        velocity = h * velocity_residual(system, joints)
        gaps = np.abs(np.stack([joints.constraint, velocity]) * system.constraint_weight).max()
        if gaps <= (tolerance if k else ROUNDING):
            return state
        d, multipliers = solve_with_constraints(system, factors, none, REAL * joints.constraint)
        w, _ = solve_with_constraints(system, factors, none, velocity)
        d, w = system.from_body(state.R, d) * problem.second, system.from_body(state.R, w) * problem.second
        x, R = system.kinematics.retract(state.x, state.R, -system.nodes_of(d))
        state = replace(
            state,
            x=x,
            R=R,
            v=state.v - per_rate * system.nodes_of(w),
            vdot=state.vdot - per_rate**2 * system.nodes_of(d),
            multipliers=state.multipliers - multipliers / h**2,
            u=state.u - system.own_of(d),
            udot=state.udot - per_rate * system.own_of(w),
            uddot=state.uddot - per_rate**2 * system.own_of(d),
        )
    raise NotConvergedError(f"joints stay open by {gaps:.1e} at the end of a step")


def settled(problem: Radau, state: State, factors: Factors) -> State:
    """The state with accelerations and multipliers that obey the equations of motion and the hidden constraints.

    Of the first, what Newton's method has left is taken out with the matrix of the stages: that of the masses alone
    would make large accelerations of small errors of what is stiff.
    """
    system, h, order = problem.system, problem.h, problem.order
    motion = system.motion(state)
    evaluation = system.evaluate(motion, state.multipliers, problem.prescribed[2])
    change, multipliers = solve_with_constraints(system, factors, -h * h * evaluation.force, np.zeros(system.m))
    change, multipliers = (REAL / h) ** order.clip(0) * change, multipliers / h**2
    if system.m:
        accelerations = np.append(motion.A, state.uddot) + change * problem.second
        missed = constraints.acceleration_residual(system, evaluation)
        missed += gradient_product(system, evaluation.gradients, accelerations)
        matrix = system.solver.factor(leading_matrix(system, evaluation))
        more, forces = solve_with_constraints(system, matrix, np.zeros(system.N), -missed)
        change, multipliers = change + more, multipliers + forces
    vdot = system.kinematics.vdot(state.R, motion.V, motion.A + system.nodes_of(change))
    own, order = system.own_of(change), system.order
    return replace(
        state,
        vdot=np.where(system.free, vdot, 0.0),
        multipliers=state.multipliers + multipliers,
        u=state.u + np.where(order == 0, own, 0.0),
        udot=state.udot + np.where(order == 1, own, 0.0),
        uddot=state.uddot + np.where(order == 2, own, 0.0),
    )


MIDDLE = 1
"""The stage whose derivatives serve all."""


class Stages(NamedTuple):
    """Increments ``(3, N)`` and multipliers ``(3, m)``."""

    D: Array
    multipliers: Array


class StageResiduals(NamedTuple):
    """The equations at the stages."""

    R: Array
    """``(3 n, 3, 3)``."""
    rates: Array
    """First and second rates on the group and of internal variables, ``(2, 3, N)``."""
    evaluations: list[Evaluation]
    residual: Array
    """``h^2 r`` of free components and ``h (B v + Phi_t)``, ``(3, size)``."""


class StageLinearization(NamedTuple):
    """Factorised matrices for the real and the complex eigenvalue."""

    real: Factors
    complex: Factors


class Radau:
    """The equations of one step."""

    def __init__(self, system: System, state: State, h: float) -> None:
        self.system, self.state, self.h = system, state, h
        self.t = state.t + h * NODES
        self.prescribed = [system.prescribe(float(t)) for t in self.t]
        self.kinematics = system.stacked(3)
        self._x, self._R = np.tile(state.x, (3, 1)), np.tile(state.R, (3, 1, 1))
        self.begin = state.rates
        self.order = system.orders
        self.moving, self.second = self.order > 0, self.order == 2
        """Components with a rate, and with an acceleration, ``(N,)``."""

    def nodes_of(self, values: Array) -> Array:
        """The part ``(3 n, 6)`` of stage values ``(3, N)`` that belongs to nodes."""
        return values[:, : 6 * self.system.n].reshape(-1, 6)

    def with_own(self, nodes: Array, values: Array) -> Array:
        """Stage values ``(3, N)`` of nodes ``(3 n, 6)``, and those of internal variables as in ``values`` (3, N)."""
        parts = nodes.reshape(3, -1)
        return np.concatenate([parts, values[:, 6 * self.system.n :]], axis=1) if self.system.k else parts

    def slopes(self, rates: Array) -> Array:
        """Derivatives (3, N) of the polynomial through the rates at the start and at the stages."""
        return (RATES / self.h) @ (rates - self.begin)

    def place(self, D: Array) -> tuple[Array, Array, Array]:
        """Positions, rotations, and rates of first and second order, of all stages."""
        nodes = self.nodes_of(D)
        x, R = self.kinematics.retract(self._x, self._R, nodes)
        first = (RATES / self.h) @ D
        first = self.moving * self.with_own(np.matvec(self.kinematics.tangent(nodes), self.nodes_of(first)), first)
        return x, R, np.stack([first, self.slopes(first)])

    def evaluate(self, stages: Stages) -> StageResiduals:
        """The equations at all stages."""
        system, n = self.system, self.system.n
        x, R, rates = self.place(stages.D)
        body = self.kinematics.motion(R, np.stack([self.nodes_of(part) for part in rates]))
        x, R, (V, A) = x.reshape(3, n, 3), R.reshape(3, n, 3, 3), body.reshape(2, 3, n, 6)
        residual, evaluations = np.empty((3, system.size)), []
        for i in range(3):
            own = self.own(i, stages.D[i], rates[:, i])
            motion = Motion(float(self.t[i]), x[i], R[i], V[i], A[i], system.gravity, *own)
            evaluation = system.evaluate(motion, stages.multipliers[i], self.prescribed[i])
            residual[i, : system.n_free] = self.h**2 * system.at_free(evaluation.force)
            if system.m:
                residual[i, system.n_free :] = self.h * velocity_residual(system, evaluation)
            evaluations.append(evaluation)
        return StageResiduals(R.reshape(-1, 3, 3), rates, evaluations, residual)

    def own(self, i: int, D: Array, rates: Array) -> tuple[Array, Array, Array]:
        """Internal variables and their rates at stage ``i``."""
        system, first = self.system, 6 * self.system.n
        if not system.k:
            return self.state.u, self.state.udot, self.state.uddot
        return (
            self.system.ahead(self.state, self.h * NODES[i]) + D[first:],
            rates[0, first:],
            (self.second * rates[1])[first:],
        )

    def linearize(self, trial: StageResiduals) -> StageLinearization:
        """Factorised ``[[h^2 (K + C dV + M dA), B^T], [w B + h (B v)', 0]]`` for both eigenvalues ``w`` of ``W``.

        ``dV = w/h + V``, ``dA = (w/h + X) dV`` with the brackets ``V`` and ``X`` of the body velocity: polynomials in
        ``w/h``, of which the entries are computed once.
        """
        system, evaluation, h = self.system, trial.evaluations[MIDDLE], self.h
        V, carried = evaluation.motion.V, np.zeros((system.n, 6, 6))  # A = V' + carried V/2
        carried[:, :3, :3], carried[:, :3, 3:] = so3.skew(V[:, 3:]), -so3.skew(V[:, :3])
        turning = se3.bracket(V)
        one = np.broadcast_to(np.eye(6), turning.shape)
        own = slice(6 * system.n, None)
        none, moving, second = np.zeros(system.k), self.moving[own].astype(float), self.second[own].astype(float)
        held = tangent.entries(
            system, evaluation, RateSensitivities(turning, none), RateSensitivities(carried @ turning, none), h * h
        )
        once = tangent.rate_entries(
            system, evaluation, RateSensitivities(one, moving), RateSensitivities(turning + carried, none), h
        )
        twice = tangent.rate_entries(system, evaluation, None, RateSensitivities(one, second))
        forces = system.pattern.force_entries
        rows = slice(forces, forces + system.pattern.gradient_entries)
        turned = np.zeros(system.pattern.gradient_entries)
        if system.m and system.redundant is None:  # combinations that vanish would turn, too
            dV = RateSensitivities(turning, none)
            turned = flat(tangent.velocity_derivatives(system, evaluation, dV, h))

        def factor(w: float | complex) -> Factors:
            values = held.astype(type(w))
            values[:forces] += w * once[:forces] + w * w * twice[:forces]
            values[rows] = w * held[rows] + turned
            stored = system.solver.stored(values.real)
            if np.iscomplexobj(values):
                stored = stored + 1j * system.solver.stored(values.imag)
            return system.solver.factor(stored)

        return StageLinearization(factor(REAL), factor(COMPLEX))

    def correction(self, stages: Stages, trial: StageResiduals, linearization: StageLinearization) -> Stages:
        """Changes of the increments and of the multipliers, to be subtracted."""
        system = self.system
        parted = LEFT @ trial.residual
        y = linearization.real.solve(np.ascontiguousarray(parted[0].real))
        z = linearization.complex.solve(parted[1])
        solution = np.outer(RIGHT[:, 0].real, y) + 2.0 * np.outer(RIGHT[:, 1], z).real
        d = np.zeros((3, system.N))
        d[:, system.free_rows] = solution[:, : system.n_free]
        nodes = self.kinematics.from_body(trial.R, self.nodes_of(d))
        nodes = np.matvec(self.kinematics.inverse_tangent(self.nodes_of(stages.D)), nodes)
        return Stages(self.with_own(nodes, d), solution[:, system.n_free :] / self.h**2)


def embedded_error(problem: Radau, stages: Stages, trial: StageResiduals, factors: Factors) -> Array:
    """Difference (N,) of the configurations of both formulas, in body components."""
    system, h = problem.system, problem.h
    D = h / REAL * problem.begin + ERROR @ stages.D
    v = h / REAL * highest_derivatives(system, problem.state) + ERROR @ (trial.rates[0] - problem.begin)
    last = trial.evaluations[2]
    D, v = system.to_body(last.motion.R, D), system.to_body(last.motion.R, v)
    dV, dA = REAL * h * D * problem.moving, (REAL**2 * D + REAL * h * v) * problem.second
    force = rate_product(system, last, dV, dA)
    error, _ = solve_with_constraints(system, factors, force, np.zeros(system.m))
    return error * problem.moving


SHARE = 1e-6
"""What Newton's method may leave of the error of an extrapolated guess, which falls like that of the step."""
STALLED = 1e-10
"""Corrections below this that do not fall any more are rounding."""
SLOW = 0.5
"""Contraction at which steps that follow a tolerance do not become longer."""
RENEWED = 0.7
"""Contraction from which on a matrix is made once more, where the iteration then is."""
GROWTH = 2.0
"""Newton's method has failed where a correction is so much longer than the last one."""
LEAST = 0.02
"""No smaller contraction is counted on: a first correction, of the error of the guess, leaves less than later ones."""


class RadauMemory(NamedTuple):
    """What the method goes on with."""

    h: float = 0.0
    """The last step, 0 at a start."""
    contraction: float = 1.0
    """What a correction of Newton's method left of the one before."""
    rates: Array | None = None
    """Rates at its start and at its stages, ``(4, N)``."""
    slope: Array | None = None
    """Derivative (N,) of these at its end."""
    multipliers: Array | None = None
    """Those of its stages, ``(3, m)``."""


StageSolution = tuple[Stages, StageResiduals, StageLinearization, Report, float]
"""What Newton's method has found, the equations before the last correction, and what a correction left."""


@checked
@dataclass(frozen=True)
class RadauIIA(Method):
    """Three-stage Radau IIA on the group, of order 5 and stiffly accurate, with joints closed on both levels.

    For accurate results: a step costs about four of the generalised-alpha method, and is worth it from relative errors
    of about 1e-4 down (docs/high_order.md). It damps what a step does not resolve.

    Parameters
    ----------
    newton : Newton
        Options of Newton's method, of which ``max_iterations``, ``correction_tolerance`` and ``constraint_tolerance``
        are used. The matrix is that of Hairer and Wanner (1996), IV.8: one place for all stages, kept over a step.
    allowed : float, optional
        Local error that a step control allows; it is set by the control.
    """

    order: ClassVar[int] = 5
    error_order: ClassVar[int] = 4
    Memory: ClassVar[type] = RadauMemory

    newton: Newton = Newton(max_iterations=20)
    allowed: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        newton = self.newton
        if newton.matrix != "exact" or newton.modified or newton.line_search:
            raise ModelError(
                f"RadauIIA: newton has one matrix for all stages and takes whole corrections; received {newton}; leave "
                "matrix, modified and line_search as they are by default"
            )

    def within(self, allowed: float) -> RadauIIA:
        """With steps that are also short enough for Newton's method."""
        return replace(self, allowed=allowed)

    def init(self, system: System, state: State, h: float) -> RadauMemory:
        return RadauMemory()

    def step(self, system: System, state: State, h: float, memory: RadauMemory) -> Step:
        problem = Radau(system, state, h)
        # a diverging iteration overflows before it is stopped
        with np.errstate(over="ignore", invalid="ignore"):
            stages, trial, matrix, report, contraction = self._solve(
                problem, _guess(problem, memory), memory.rates is not None, memory.contraction
            )
        factors = matrix.real
        rates = problem.place(stages.D)[2][0]
        new = last_stage(problem, stages)
        if system.m:
            new = closed(problem, new, factors, self.newton.constraint_tolerance)
        new = system.accept(settled(problem, new, factors))
        error = float(np.abs(embedded_error(problem, stages, trial, factors) * system.weight_at(state.u, new.u)).max())
        if self.allowed is not None and report.iterations > 1:  # a single correction tells no contraction
            error = max(error, self.allowed * min(contraction / SLOW, 1.0) ** self.error_order)
        slope = np.where(problem.second, highest_derivatives(system, new), problem.slopes(rates)[2])
        memory = RadauMemory(h, contraction, np.vstack([problem.begin, rates]), slope, stages.multipliers)
        return Step(new, memory, report, error)

    def _solve(self, problem: Radau, stages: Stages, extrapolated: bool, contraction: float) -> StageSolution:
        """Simplified Newton iterations, which end as in Hairer, Wanner II, IV.8: by what the contraction will leave.

        ``contraction`` is that of the last step.
        """
        options, weight, report = self.newton, problem.system.weight_at(problem.state.u), Report()
        needed, last, matrix = LEAST * options.correction_tolerance, np.inf, None
        while True:
            trial = problem.evaluate(stages)
            report.evaluations += len(NODES)
            if matrix is None:
                matrix = problem.linearize(trial)
                report.factorizations += 2
            correction = problem.correction(stages, trial, matrix)
            stages = Stages(stages.D - correction.D, stages.multipliers - correction.multipliers)
            report.iterations += 1
            size = float(np.abs(correction.D * weight).max())
            report.history.append(size)
            if report.iterations > 1:
                contraction = max(size / last, LEAST)
            elif extrapolated:
                needed = max(needed, SHARE * size)
            done = size <= options.correction_tolerance or contraction * size <= (1.0 - contraction) * needed
            if done or STALLED >= size > 0.5 * last:
                return stages, trial, matrix, report, min(contraction, 1.0)
            first = report.factorizations == 2
            grows = not size < (np.inf if first else GROWTH * last)
            if grows or report.iterations == options.max_iterations:
                raise NotConvergedError(
                    f"Newton's method for the stages does not converge: the last of {report.iterations} corrections "
                    f"is {size:.1e}",
                    report,
                )
            if first and contraction > RENEWED and report.iterations > 1:
                matrix = None
            last = size


def _guess(problem: Radau, memory: RadauMemory) -> Stages:
    """Stages of the rates that go on as in the last step, or of constant acceleration."""
    system, h = problem.system, problem.h
    if memory.rates is None or memory.slope is None or memory.multipliers is None:
        slope = highest_derivatives(system, problem.state) * problem.second
        rates = problem.begin + h * NODES[:, None] * slope
        multipliers = np.tile(problem.state.multipliers, (3, 1))
    else:
        rates = ahead(h / memory.h) @ np.vstack([memory.rates, memory.h * memory.slope])
        multipliers = following(h / memory.h) @ memory.multipliers
    rates = rates * problem.moving
    D = h * WEIGHTS @ rates
    for _ in range(2):
        T_inv = problem.kinematics.inverse_tangent(problem.nodes_of(D))
        first = problem.with_own(np.matvec(T_inv, problem.nodes_of(rates)), rates)
        D = h * WEIGHTS @ first
    return Stages(D, multipliers)
