"""A step along a path of equilibria in which contacts may touch, with Coulomb friction.

Friction at rest depends on how the load has come. In each step along the path the laws are those of ``fem_mbs/contact``
about what slips within the step,

    P_N = max(0, P_N - r gap(q)),    P_T = proj(P_T - r G_T D) on the disc of radius mu P_N,

with the increments ``D`` of the nodes from the last equilibrium: what sticks stays where it stuck last, what slides has
its friction against the slip of the step (Euler's implicit rule, exact while a slip keeps its direction; Wriggers,
*Computational Contact Mechanics*, 2006, ch. 5). Newton's method with a problem of complementarity in each iteration
finds what pushes, sticks and slides, as in a step over time (``contact/equations.py``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contact.complementarity import Laws, least_squares, projected, push
from fem_mbs.contact.contacts import MeasuredContacts
from fem_mbs.contact.equations import relative_force
from fem_mbs.contact.many import dense
from fem_mbs.contact.touching import Touching
from fem_mbs.contracts import RateSensitivities
from fem_mbs.linear.solvers import Factors
from fem_mbs.newton import NotConvergedError
from fem_mbs.static.equations import Direction, Equations, PathUnknown, Point, StepProblem
from fem_mbs.system import matrices as tangent
from fem_mbs.system.matrices import solve_with_constraints
from fem_mbs.system.system import Evaluation

SOFT = 1e-6
"""What is added to a singular matrix of 1s to find out what contacts do."""
SWEEPS, ROUNDS, EXACT, ROUNDING = 20, 12, 1e-12, 1e-6
"""Of Gauss-Seidel, and iterations of Newton's method, for what contacts do; what is left of rates, and may be."""
AWAY = 10.0
"""Increments, over the extent of the model or in rad, that lead away."""
SMALL = 1e-3
"""Of forces against which residuals are seen, over the largest of the path."""
LEAST = 1e-6
"""Gaps and slips, over the extent of the model, against which what the laws miss is seen."""


class ContactPathResidual(NamedTuple):
    """Where a step leads, the equations there with the forces of contacts, and the contacts."""

    point: Point
    evaluation: Evaluation
    at: MeasuredContacts
    P: Array
    """``(k, 3)``."""
    G: Array
    """``(3k, N)``."""
    rates: Array
    """Gaps, and slips in the step, ``(k, 3)``."""


class ContactPathLinearization(NamedTuple):
    """The factorised stiffness, tangent operators, and what contacts do."""

    factors: Factors
    T_inv: Array
    E: Array
    """Derivatives of gaps and slips, ``(3k, N)``."""
    moves: Array
    """Increments that follow the forces of contacts, ``(N, 3k)``."""
    reacts: Array
    """The same of the multipliers, ``(m, 3k)``."""


class ContactPathProblem(StepProblem):
    """The equations of rest near an equilibrium, in which some contacts may touch.

    Where nothing but contacts holds a part, the stiffness is singular. With ``kappa G^T G d`` on both sides,
    ``p = P + kappa G d``, the equations of an iteration are

        (K - P H + kappa G^T G) d = -r + G^T p,    P = p - kappa G d,    xi = xi_0 + E d .

    With a ``shift`` 1/h^2 the mass holds back, as in a step in time of length ``h`` from rest by Euler's implicit rule:
    ``M D/h^2`` is added to the forces.
    """

    def __init__(self, equations: Equations, base: Point, touching: Touching, kappa: float, shift: float) -> None:
        super().__init__(equations, base, None, mixed=True)
        self.touching, self.kappa, self.shift = touching, kappa, shift

    def evaluate(self, unknown: PathUnknown) -> ContactPathResidual:  # type: ignore[override]
        """The equations of rest, and the laws of contact."""
        D, multipliers, load = unknown.increment
        if not np.abs(D * self.equations.system.weight).max() < AWAY:
            raise NotConvergedError("the iteration leads away")
        joints, P = np.split(multipliers, [self.equations.system.m])
        point = self.base.moved(D, joints, load)
        evaluation = self.equations.accelerated(point, self.shift * self.equations.system.nodes_of(D))
        F = SMALL * self.kappa * self.equations.system.length
        scale = max(evaluation.scale[0], F), max(evaluation.scale[1], F * self.equations.system.length)
        evaluation = evaluation._replace(scale=scale)
        at = self.touching.at(replace(evaluation.motion, V=self.equations.system.nodes_of(D)))
        G, P = dense(at.gradients), P.reshape(-1, 3)
        force = evaluation.force - P.ravel() @ G
        relative = relative_force(self.equations.system, evaluation, force)
        evaluation = evaluation._replace(force=force, relative=relative)
        return ContactPathResidual(point, evaluation, at, P, G, np.column_stack([at.gap, at.rates()[:, 1:]]))

    def size(self, trial: Any) -> tuple[float, float]:
        """Relative residuals; what the laws miss counts as a force, gaps that are closed as constraints."""
        (force, gap), (missed, closed) = self.equations.system.relative_residual(trial.evaluation), self.missed(trial)
        return max(force, missed), max(gap, closed)

    def missed(self, trial: Any) -> tuple[float, float]:
        """By how much forces of contacts, and gaps that are closed, miss the laws of contact, relative."""
        system, evaluation, P = self.equations.system, trial.evaluation, trial.P
        r = np.full(len(P), evaluation.scale[0] / system.length)
        missed = np.abs(P - projected(P, trial.rates, self.touching.friction, r, r)).max(initial=0.0)
        closed = np.abs(trial.rates[P[:, 0] > r * trial.rates[:, 0], 0]).max(initial=0.0)
        return float(missed / evaluation.scale[0]), float(closed / system.length)

    def linearize(self, unknown: PathUnknown, trial: Any, first: Any = None) -> Any:
        """Stiffness in body increments, with that of the forces of contact and of ``kappa``, and what forces do."""
        equations, system, factor = self.equations, self.equations.system, self.equations.force_factor
        values = equations.entries(equations.with_stresses(trial.evaluation, unknown.stresses), factor)
        if self.shift:
            forces = slice(system.pattern.force_entries)
            values[forces] += self.shift * tangent.mass_entries(system, trial.evaluation, factor)[forces]
        solver = self.touching.solver
        values = np.concatenate([values, factor * (trial.at.stiffness(trial.P) + self.kappa * trial.at.squares())])
        factors = solver.factorized(values)
        T_inv = self.inverse_tangent(unknown)
        E = dense(trial.at.rate_gradients(RateSensitivities(T_inv), 1.0)[0])
        right = np.zeros((system.size, len(E)))
        right[: system.n_free] = factor * trial.G.T[system.free_index]
        moved, moves = factors.solve(right), np.zeros((system.N, len(E)))
        moves[system.free_index] = moved[: system.n_free]
        return ContactPathLinearization(factors, T_inv, E, moves, moved[system.n_free :] / factor)

    def correction(self, unknown: PathUnknown, trial: Any, linearization: Any) -> Direction:
        """Increments, and changes of multipliers and forces of contacts: what contacts do first."""
        system, factor, lin, G = self.equations.system, self.equations.force_factor, linearization, trial.G
        P, force = trial.P.ravel(), factor * trial.evaluation.force
        d, multipliers = solve_with_constraints(system, lin.factors, force, trial.evaluation.constraint)
        d, multipliers = d + lin.moves @ P, multipliers + factor * (lin.reacts @ P)  # without these forces
        forces = np.eye(len(G)) - self.kappa * (G @ lin.moves), self.kappa * (G @ d)
        rates = lin.E @ lin.moves, trial.rates.ravel() - lin.E @ d
        p = obeying(forces, rates, self.touching.friction, trial.P, trial.rates, small=LEAST * system.length)
        change = np.append(lin.reacts @ p - multipliers / factor, forces[0] @ p + forces[1] - P)
        return Direction(lin.moves @ p - d, change, 0.0)

    def length(self, correction: Direction) -> float:
        """Largest increment, weighted, and largest change of a force of contact over what the loads are."""
        changes = np.abs(correction.multipliers[self.equations.system.m :]).max(initial=0.0)
        return max(super().length(correction), float(changes) / (self.kappa * self.equations.system.length))


def obeying(
    forces: tuple[Array, Array], rates: tuple[Array, Array], friction: Array, P: Array, xi: Array, *, small: float
) -> Array:
    """``p`` (3k,) with which forces ``A p + b`` and rates ``G p + c`` of contacts obey their laws.

    Newton's method on the laws, from the branches of forces ``P`` and rates ``xi`` (k, 3). If these lead nowhere, from
    what a problem of complementarity finds with a little added to ``A``, which is singular where nothing but contacts
    holds a part.
    """
    (A, b), (G, c) = forces, rates
    k, best, least = len(P), P.ravel(), np.inf
    if not k:
        return best
    if not all(np.isfinite(part).all() for part in (A, b, G, c)):
        raise NotConvergedError("the iteration leads away")
    laws = Laws(G, c.reshape(-1, 3), friction)
    size = max(laws.size, small)
    for again in (False, True):
        p = P.ravel()
        if again:
            soft = np.linalg.pinv(A + SOFT * np.eye(len(A)), rcond=SOFT**2)
            mobility = G @ soft
            P = push(mobility, (c - mobility @ b).reshape(-1, 3), friction, guess=P, sweeps=SWEEPS).P
            p = soft @ (P.ravel() - b)
            P, xi = (A @ p + b).reshape(-1, 3), (G @ p + c).reshape(-1, 3)
        for _ in range(ROUNDS):
            _, own, K = laws.branches(P, xi)
            rows = (own @ A.reshape(k, 3, -1) + K @ G.reshape(k, 3, -1)).reshape(len(A), -1)
            right = own @ (A @ p + b).reshape(k, 3, 1) + K @ (G @ p + c).reshape(k, 3, 1)
            p = p - least_squares(rows, right.ravel())
            P, xi = (A @ p + b).reshape(-1, 3), (G @ p + c).reshape(-1, 3)
            off = P - projected(P, xi, friction, laws.r_N, laws.r_T)
            error = float((np.abs(off) / np.column_stack([laws.r_N, laws.r_T, laws.r_T])).max(initial=0.0))
            if error < least:
                best, least = p, error
            if error <= EXACT * size or not error < np.inf:
                break
        if least <= EXACT * size:
            break
    if not least <= ROUNDING * size:
        raise NotConvergedError("no forces of contacts obey their laws")
    return best
