"""Euler's method on the group, in five forms; docs/theory.md, "Euler's method in five forms".

*Euler methods on Lie group for DAEs of multibody systems* (2018), eqs. 1-13. In the implicit ones the increment ``D``
of a step is solved for as in the generalised-alpha method, with Euler's formulas ``v = D/h``, ``vdot = (v - v_n)/h`` in
place of Newmark's; what a form asks of the constraints is in ``alpha/step.py``, ``alpha/stabilized.py``, and below for
index 1, where ``d^2 Phi/dt^2 = B V' + Z(V, V) + 2 Phi_tq V + Phi_tt = 0`` stands in place of ``Phi = 0``, and for all
levels at once (eq. 6, the form ODAE), where each of the lower two gets a correction in the metric of the mass,

    v_1 = v_0 + h a - M^-1 B^T(q_0) mu,    q_1 = q_0 exp(h (v_1 - M^-1 B^T(q_0) eta)).

The symplectic one is in ``symplectic.py``. In canonical coordinates of the second kind increments are a move, then a
turn about each body axis, ``exp(D_1 e_1) ... exp(D_6 e_6)`` in place of ``exp(D)``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np

from fem_mbs.alpha.local_error import highest_derivatives
from fem_mbs.alpha.newmark import Newmark
from fem_mbs.alpha.simplified_matrices import ENTRIES
from fem_mbs.alpha.stabilized import Index2Equations
from fem_mbs.alpha.step import (
    Correction,
    Linearization,
    MatrixEntries,
    StepEquations,
    StepKinematics,
    StepResidual,
    Unknowns,
)
from fem_mbs.arrays import Array, BoolArray
from fem_mbs.contracts import Method, Nothing, RateSensitivities, State, Step, checked, choice
from fem_mbs.errors import ModelError
from fem_mbs.initial.redundant import redundant_joints
from fem_mbs.lie import so3
from fem_mbs.linear.solvers import LinearSolver
from fem_mbs.methods.comparison.symplectic import ROUNDING, SymplecticProblem, check_hamiltonian
from fem_mbs.newton import Newton, solve
from fem_mbs.system import constraints
from fem_mbs.system import matrices as tangent
from fem_mbs.system.constraints import AccelerationLevel
from fem_mbs.system.kinematics import Chart, Kinematics
from fem_mbs.system.matrices import gradient_product, leading_entries
from fem_mbs.system.pattern import flat
from fem_mbs.system.system import System


class OverdeterminedEquations(StepEquations):
    """The equations of one step in the increment, the multipliers, and the corrections ``Z`` and ``Y`` (N,).

    ``Z = h M^-1 B^T eta`` and ``Y = h M^-1 B^T mu`` are increments in body components at the start of the step:
    ``v_1 = (D + Z)/h`` and ``a = (D + Z + Y - h v_0)/h^2``. Of equations of velocities, ``Z`` obeys ``B Z = 0``.
    """

    closes_velocities: ClassVar[bool] = True
    further: ClassVar[tuple[str, ...]] = ("Z", "Y")

    def __init__(
        self, system: System, state: State, h: float, formulas: Newmark, chart: Chart, matrix: MatrixEntries
    ) -> None:
        super().__init__(system, state, h, formulas, chart, matrix)
        self.start = system.evaluate_at(state)
        """The equations at the start of the step."""
        self.follows = 1.0 * (system.orders == 2)
        """Zero where an internal variable has no velocity that could be corrected."""

    @staticmethod
    def solver(system: System) -> LinearSolver:
        return system.levels.solver

    def place(self, unknown: Unknowns) -> StepKinematics:
        """Velocities are those of ``D + Z``, accelerations those of ``D + Z + Y``."""
        Z, Y = (self.system.from_body(self.state.R, self.follows * part) for part in (unknown.Z, unknown.Y))
        return super().place(unknown._replace(Z=-np.stack([Z, Z + Y, 0.0 * Z])))

    def evaluate(self, unknown: Unknowns) -> StepResidual:
        """Those of index 3, and the constraints on velocities and accelerations."""
        residual, system = super().evaluate(unknown), self.system
        Z = gradient_product(system, self.start.gradients, unknown.Z)
        acceleration = self.h**2 * constraints.acceleration(system, residual.evaluation)
        position = np.where(system.velocity_level, Z, residual.evaluation.constraint)
        return residual._replace(closing=position, hidden=np.concatenate([residual.hidden, acceleration]))

    def size(self, residual: StepResidual) -> tuple[float, float]:
        """Relative residuals of forces and of all levels, which weigh alike as increments."""
        levels = np.concatenate([residual.closing, residual.hidden]).reshape(3, -1)
        force, _ = super().size(residual._replace(closing=levels[2], hidden=levels[2, :0]))
        return force, float(np.abs(levels * self.system.constraint_weight).max())

    def correction(self, unknown: Unknowns, residual: StepResidual, linearization: Linearization) -> Correction:
        """``(delta q, delta lambda, delta Z, delta Y)``; the equations of ``Z`` and ``Y`` are linear and always met."""
        system, squared = self.system, self.h * self.h
        n, m = system.n_free, system.m
        force = squared * system.at_free(residual.evaluation.force)
        rhs = np.concatenate([force, np.zeros(2 * n), residual.closing, residual.hidden])
        solution = linearization.factors.solve(rhs)
        d, Z, Y = (system.spread(part) for part in solution[: 3 * n].reshape(3, n))
        return Correction(d, solution[3 * n : 3 * n + m] / squared, Z, Y)

    def linearize(self, unknown: Unknowns, residual: StepResidual, first: Linearization | None = None) -> Linearization:
        system, evaluation, kinematics, squared = self.system, residual.evaluation, self.system.kinematics, self.h**2
        values, T_inv, _ = self.matrix(self, unknown, residual)
        _, dV, dA = self.derivatives(residual)
        nothing, own = np.zeros((system.n, 6, 6)), self.formulas.factors[:2, 6 * system.n :] * (system.order == 2)
        # against corrections, which come in body components of the start
        moved = self.chart.rate_derivatives(residual.place.D, residual.place.node_rates[:2], self.factors)
        turn = kinematics.body_transfer(self.state.R, evaluation.motion.R)
        held = kinematics.body_derivatives(residual.body, np.zeros_like(moved))
        accelerated = np.stack([nothing, moved[1]])
        by_Z, by_Y = ((kinematics.body_derivatives(residual.body, own) - held) @ turn for own in (moved, accelerated))
        Z = RateSensitivities(by_Z[0], own[0]), RateSensitivities(by_Z[1], own[1])
        Y = RateSensitivities(nothing, 0.0 * own[0]), RateSensitivities(by_Y[1], own[1])
        level = AccelerationLevel(system, evaluation, self.h)
        metric = leading_entries(system, self.start)
        # B Z = 0 for equations of velocities
        held_rows = [level[:, None] * B for B, level in self._with_level(self.start.gradients)]
        entries = {
            (0, 0): values,
            (0, 1): self._with_rows(tangent.rate_entries(system, evaluation, *Z, squared), held_rows),
            (0, 2): tangent.rate_entries(system, evaluation, *Y, squared),
            (1, 1): self._with_rows(metric, tangent.gradients_after(system, evaluation.gradients, Z[0]), self.h),
            (2, 2): self._with_rows(metric, level.by_rates(*Y), squared),
        }
        rows = [flat(tangent.velocity_derivatives(system, evaluation, dV, self.h))]
        rows += [squared * flat(part) for part in (level.gradients(dV, dA), level.by_rates(*Z))]
        return Linearization(system.levels.factor(entries, rows), T_inv)

    def constraint_rows(self, residual: StepResidual, dV: RateSensitivities, dA: RateSensitivities) -> list[Array]:
        """The rows of positions; equations of velocities have none."""
        return [~level[:, None] * B for B, level in self._with_level(residual.evaluation.gradients)]

    def _with_level(self, gradients: list[Array]) -> list[tuple[Array, BoolArray]]:
        slices = self.system.constraint_slices
        return [(B, self.system.velocity_level[rows]) for B, rows in zip(gradients, slices, strict=True)]

    def _with_rows(self, entries: Array, rows: list[Array], factor: float = 1.0) -> Array:
        """Entries with other rows of the constraints."""
        first, gradients = self.system.pattern.force_entries, self.system.pattern.gradient_entries
        result = entries.copy()
        result[first : first + gradients] = factor * flat(rows)
        return result


class Index1Equations(StepEquations):
    """The equations of one step in the increment and the multipliers."""

    def evaluate(self, unknown: Unknowns) -> StepResidual:
        """Equations of motion, and ``h^2`` times the constraints on accelerations."""
        residual = super().evaluate(unknown)
        return residual._replace(closing=self.h**2 * constraints.acceleration(self.system, residual.evaluation))

    def constraint_rows(self, residual: StepResidual, dV: RateSensitivities, dA: RateSensitivities) -> list[Array]:
        """The derivatives of ``h^2`` times the constraints on accelerations."""
        level = AccelerationLevel(self.system, residual.evaluation, self.h)
        return [self.h**2 * row for row in level.gradients(dV, dA)]


AXES = np.eye(3)


class SecondKindChart(Chart):
    """Increments whose rates are taken for the velocities, as on the group itself."""

    def __init__(self, kinematics: Kinematics) -> None:
        self.kinematics = kinematics

    def retract(self, x: Array, R: Array, D: Array) -> tuple[Array, Array]:
        """The move is along the world on R3xSO3, along the body on SE(3)."""
        moved = np.empty_like(x)
        for group, rows in self.kinematics.parts:
            moved[rows] = np.matvec(R[rows], D[rows, :3]) if group.coupled else D[rows, :3]
        return x + moved, R @ _turn(D)

    def derivatives(self, D: Array, rates: Array, factors: Array) -> tuple[Array, Array]:
        """The inverse of ``d(increment)/dD``: rows of the body axes, those that were turned about first turned back."""
        second, third = (so3.exp(D[:, 3 + k, None] * AXES[k]) for k in (1, 2))
        back = third.mT @ second.mT
        T = np.zeros((len(D), 6, 6))
        T[:, 3:, 3] = back[..., 0]
        T[:, 3:, 4] = third.mT[..., 1]
        T[:, 3:, 5] = AXES[2]
        T[:, :3, :3] = AXES
        for group, rows in self.kinematics.parts:
            if group.coupled:
                T[rows, :3, :3] = _turn(D[rows]).mT
        T_inv = np.linalg.inv(T).astype(float, copy=False)
        return T_inv, factors * T_inv


def _turn(D: Array) -> Array:
    """Turns about the first, the second and the third axis, one after the other."""
    first, second, third = (so3.exp(D[:, 3 + k, None] * AXES[k]) for k in range(3))
    return first @ second @ third


IMPLICIT: dict[str, type[StepEquations]] = {
    "index3": StepEquations,
    "index2": Index2Equations,
    "index1": Index1Equations,
    "overdetermined": OverdeterminedEquations,
}
FORMS = (*IMPLICIT, "symplectic")
COORDINATES = ("first", "second")
LEVELS = {
    "index3": ("position",),
    "index2": ("position", "velocity"),
    "index1": ("acceleration",),
    "overdetermined": ("position", "velocity", "acceleration"),
    "symplectic": ("position", "velocity"),
}
OPEN = 1e-3
"""Gap of a joint, against the extent of the model, that is worth a warning."""


@checked
@dataclass(frozen=True)
class LieEuler(Method):
    """Euler's method on the group, of order 1: robust, and as implicit method strongly damped.

    Parameters
    ----------
    form : {"index3", "index2", "index1", "overdetermined", "symplectic"}
        Constraints on positions; on positions and velocities by the multipliers of Gear, Gupta and Leimkuhler; on
        accelerations alone, so that joints drift open; or on all three levels, with corrections in the metric of the
        mass. The symplectic method, for bodies on SE(3) or with nodes at their mass centres, is explicit in the forces,
        and keeps momentum maps to rounding and the energy within bounds of first order.
    coordinates : {"first", "second"}
        ``q exp(h v)``, or exponentials of the components of ``h v`` one after the other (Crouch and Grossman), which
        depend on the order of the axes; the symplectic method has the first.
    newton : Newton
        Options of Newton's method.
    """

    order: ClassVar[int] = 1
    Memory: ClassVar[type] = Nothing

    form: Annotated[str, choice(FORMS)] = "index3"
    coordinates: Annotated[str, choice(COORDINATES)] = "first"
    newton: Newton = field(default_factory=Newton)

    def __post_init__(self) -> None:
        if self.form == "symplectic" and self.coordinates != "first":
            raise ModelError(
                f"LieEuler: coordinates must be 'first' for form 'symplectic', received {self.coordinates!r}: the "
                "tangent operators of the method are those of exp"
            )

    @property
    def levels(self) -> tuple[str, ...]:  # type: ignore[override]
        return LEVELS[self.form]

    def check(self, system: System) -> None:
        """Refuse what has no constant mass matrix or no momenta, of the symplectic form."""
        if self.form == "symplectic":
            check_hamiltonian(system, f"LieEuler(form='{self.form}')")

    def init(self, system: System, state: State, h: float) -> Nothing:
        """Nothing; joints that repeat each other must stay closed."""
        if self.form == "index1" and system.redundant is not None:
            names = ", ".join(map(str, redundant_joints(system)))
            raise ModelError(
                "LieEuler: form 'index1' lets joints drift open, and those that repeat each other can then no longer "
                f"be closed together ({names}); take form 'index2' or 'overdetermined'"
            )
        return Nothing()

    def step(self, system: System, state: State, h: float, memory: Nothing) -> Step:
        with np.errstate(over="ignore", invalid="ignore"):
            if self.form == "symplectic":
                problem = SymplecticProblem(system, state, h)
                found = solve(problem, problem.guess(), self.newton, tolerances=ROUNDING)
                return Step(system.accept(problem.result(*found.unknown)), memory, found.report)
            equations = self.equations(system, state, h)
            unknown = equations.predict(equations.formulas.guess, state.multipliers)
            solution = solve(equations, unknown, self.newton)
        return Step(equations.update(solution)[0], memory, solution.report)

    def equations(self, system: System, state: State, h: float) -> StepEquations:
        """The equations of a step of an implicit form."""
        order = system.orders
        # the rate of a state is no velocity that it keeps
        v = np.where(order == 2, state.rates, 0.0)
        factors = np.stack([order > 0, order == 2, order < 0]) / np.array([[h], [h * h], [1.0]])
        constants = np.stack([0.0 * v, -v / h, 0.0 * v])
        guess = h * v + np.where(order == 2, h * h, h) * highest_derivatives(system, state)
        chart = system.kinematics if self.coordinates == "first" else SecondKindChart(system.kinematics)
        formulas = Newmark(factors, constants, guess)
        # without constraints the forms are one; those of velocities have no multipliers eta
        plain = not system.m or (self.form == "index2" and bool(system.velocity_level.all()))
        kind = StepEquations if plain else IMPLICIT[self.form]
        return kind(system, state, h, formulas, chart, ENTRIES[self.newton.matrix])

    def doubt(self, system: System, state: State, h: float) -> str:
        """Of index 1, that joints have drifted open."""
        if self.form != "index1" or not system.m:
            return ""
        gaps = np.abs(constraints.positions(system, system.motion(state)) * system.constraint_weight)
        if (worst := float(gaps.max())) <= OPEN:
            return ""
        owner, equation = system.constraint_owner[int(np.argmax(gaps))]
        return (
            f"{owner}: at t = {state.t:.4g} s it has drifted open ({equation}: {worst:.2g}, lengths against the extent "
            "of the model): form 'index1' closes joints for accelerations alone; take form 'index2' or "
            "'overdetermined', or a smaller step"
        )

    def advice(self, state: State, h: float) -> str:
        """What may help; the symplectic form bears no step that is too long for a spring."""
        if self.form != "symplectic":
            return super().advice(state, h)
        return (
            f"{super().advice(state, h)}\n  form 'symplectic' is explicit in the forces: steps must be shorter than "
            "2/omega for every frequency omega (rad/s) of springs and contacts"
        )
