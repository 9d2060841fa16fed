"""Loads at which an equilibrium branches: linear buckling.

docs/statics.md, "Buckling".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eig
from scipy.sparse import csc_array, diags_array
from scipy.sparse.linalg import LinearOperator, eigs, splu

from fem_mbs.arrays import Array
from fem_mbs.contact.as_joints import as_joints
from fem_mbs.contracts import PositiveInt, State, checked, number
from fem_mbs.errors import LOG, ConvergenceError, FemMbsError, ModelError
from fem_mbs.initial.state_point import check_system, refuse_contacts
from fem_mbs.modal.eigen import arpack
from fem_mbs.modal.linear_model import LinearModel, linearize
from fem_mbs.modal.shapes import ShapesOfMotion, warn_of_meshes
from fem_mbs.model.model import Model
from fem_mbs.newton import Newton
from fem_mbs.solution.history import constant, proportional
from fem_mbs.static.equations import Equations, Loading, Point, StepProblem
from fem_mbs.static.start import start
from fem_mbs.system.states import from_user
from fem_mbs.system.system import System

DENSE_SIZE = 200
"""Unknowns up to which everything is dense."""
PROBE, SHARE = 1e-3, 0.1
"""Load step of the first difference, by the largest motion in it, and of the second, by the lowest factor."""
UNMOVED = 1e-14
"""Motion by a unit of load, against the extent of the model, below which it is rounding, as of a straight rigid bar."""
NOISE = 1e-8
"""Factors further away than the nearest by the inverse of this are rounding."""
FARTHEST = 1e6
"""Motion, against the extent of the model, before which whatever buckles has buckled: factors beyond are rounding."""
REAL = 1e-6
"""Imaginary part of a factor, and unsymmetric one of a rate, against their sizes, that are rounding."""
DOUBTED, UNKNOWN = 1.5, 10.0
"""Conditions of a factor from which on a finer mesh may give another one, and from which on it is one of the mesh."""
BESIDE, COMPLIANCE = 1e-7, 1e-10
"""How far beside a factor its left null vector is sought, and how soft joints are there: they may repeat each other."""
UNLOADED = 1e-11
"""Rate of forces against the largest, which is one of rounding: no load grows with the factor."""
SPARE = 4
AHEAD, CHANGED = 0.2, 0.005
"""Share of the way to the nearest load from where it is sought again, and by how much it may differ then."""


@dataclass(frozen=True, eq=False, repr=False)
class Buckling(ShapesOfMotion):
    """Loads at which a model buckles, nearest first, and its shapes; ``print`` shows a table.

    Attributes
    ----------
    factors : (count,)
        Load factors, above that of the state.
    shapes : (count, n, 6)
        Displacement and rotation vector of every node, in the world frame, against the state; the largest displacement
        over the extent of the model, or the largest angle in rad, is 1.
    """

    _internal = "own linear"

    factors: Array
    shapes: Array
    own: Array
    linear: LinearModel

    def _in_words(self, mode: int) -> str:
        return f"load factor {self.factors[mode]:.4g}"

    def __repr__(self) -> str:
        return f"Buckling: {len(self.factors)} load factors, the nearest {self.factors[0]:.4g}"

    def __str__(self) -> str:
        return "\n".join(["mode   load factor", *(f"{k + 1:4d}{f:14.6g}" for k, f in enumerate(self.factors))])


@checked
def buckling(model: Model, count: PositiveInt = 1, *, initial: State | None = None, ramp: bool = True) -> Buckling:
    """Load factors at which a model buckles, from its stiffness at one state and the rate at which the load changes it.

    Parameters
    ----------
    model : Model
        With the loads whose factors are sought: as in :func:`statics`, constant loads and gravity are multiplied by
        the load factor, functions of time are taken at the load factor.
    count : int
        How many factors; fewer are returned if there are fewer.
    initial : State, optional
        Equilibrium from which to look, such as a state of :func:`statics`; by default the model as built. The nearer
        it is to buckling, the better the factor, where the model deforms much before. Contacts that push there are
        joints, with their tangents if they have friction; open ones are not there.
    ramp : bool
        False: constant loads and gravity act in full at any load factor, as in :func:`statics`.

    Raises
    ------
    ModelError
        If an argument is not valid, or no load in this sense makes the model buckle.
    SingularSystemError
        If the model can move without resistance; names the motion.

    Notes
    -----
    ``(A_0 + (lambda - lambda_0) A_1) z = 0`` with ``A = [[K, B^T], [B, 0]]``, where ``A_1`` has what stresses,
    multipliers and loads add to the stiffness when the load grows, at the configuration of the state.
    """
    system, first = System(model), 0.0 if initial is None else number(initial.t, "buckling: initial: t")
    check_system(system, "buckling")
    whole, seen = system, initial
    if initial is None:
        refuse_contacts(system, "buckling", "give initial=, a state of statics: what is closed there is a joint")
    else:
        system, initial = as_joints(system, from_user(system, initial, "buckling: initial"), "buckling")
    if system.n_free <= system.m:
        raise ModelError(
            f"buckling: nothing can deform: {system.m} constraint equations hold all {system.n_free} free components"
        )
    near = None if initial is None else Point.of(initial)
    equations = Equations(system, Loading(proportional if ramp else constant, first, first + 1.0), near)
    point = start(equations, initial, ramp, Newton(), "buckling")
    stiffness = _Stiffness(equations, point)
    distances, z = stiffness.singular(count, SHARE * stiffness.nearest())
    linear = linearize(model, system.to_user(point.state()) if system is whole else seen)
    result = Buckling(first + distances, *shaped(linear, z[: system.n_free]), linear)
    warn_of_meshes(result, "buckling", "its load factor")
    stiffness.warn_of_path(distances[0])
    stiffness.warn_of_condition(distances[0], z[:, 0])
    return result


def shaped(linear: LinearModel, free: Array) -> tuple[Array, Array]:
    """Motions of nodes and of internal variables of free components ``(n_free, count)``, the largest of each 1."""
    shapes, system = linear.node_motions(free.T), linear.system
    size = np.abs(shapes.reshape(len(shapes), -1) * system.weight[: 6 * system.n]).max(axis=1)
    if not (size > 0.0).all():
        raise ModelError(
            "buckling: only unknowns of elements would give way, and nothing that moves; look at the loads"
        )
    return shapes / size[:, None, None], linear.own_motions(free.T) / size[:, None]


def pencil(system: System, state: State, nearest: float, ramp: bool) -> list[csc_array]:
    """Stiffness at an equilibrium, and its rate against the load, where it buckles at a load ``nearest`` further on."""
    point = Point.of(state)
    equations = Equations(system, Loading(proportional if ramp else constant, point.load, point.load + 1.0), point)
    equations.force_factor = 1.0
    stiffness = _Stiffness(equations, point)
    return [equations.matrix(equations.evaluate(point)), stiffness.rate(SHARE * nearest)]


class _Stiffness:
    """``[[K, B^T], [B, 0]]`` at an equilibrium, and what the load makes of it."""

    def __init__(self, equations: Equations, point: Point) -> None:
        self.equations, self.point, evaluation = equations, point, equations.evaluate(point)
        rate, n = equations.load_derivative(point), equations.system.n_free
        if not rate[n:].any() and not np.abs(rate[:n]).max() > UNLOADED * equations.force_factor * max(
            evaluation.scale
        ):
            raise ModelError("buckling: the loads do not deform the model; give it loads that a factor can multiply")
        self.solve, self.matrix = equations.factor(evaluation), equations.matrix(evaluation)
        self.change = equations.response(self.solve, rate, 1.0)
        """Of the equilibrium with the load."""
        self.motion = float(np.abs(self.change[: equations.system.N] * equations.system.weight).max())
        self.probe = PROBE / max(self.motion, UNMOVED)

    def nearest(self) -> float:
        """The distance to the nearest load, by a first difference."""
        try:
            distances, _ = self.singular(1, self.probe)
        except ConvergenceError as failure:  # as of shafts in tension, many of whose factors are alike and far away
            raise ConvergenceError(
                f"{failure}. A model in tension may not buckle at all{self.turned_round()}"
            ) from failure
        return float(distances[0])

    def warn_of_path(self, distance: float) -> None:
        """Log where an equilibrium on the way to the nearest load sees it elsewhere."""
        problem, way = StepProblem(self.equations, self.point, None, mixed=True), AHEAD * distance
        here, there = self.point.load + distance, self.point.load + way
        try:
            reached = problem.solve(self.equations.evaluate(self.point), Newton(), way * self.change)[1]
            seen = way + _Stiffness(self.equations, reached.point).nearest()
        except FemMbsError as failure:
            told = f"at {there:.4g}, on the way there, none was found: {failure}"
        else:
            if abs(seen - distance) <= CHANGED * distance:
                return
            told = f"from an equilibrium at {there:.4g}, on the way there, it is {self.point.load + seen:.6g}"
        LOG.warning(
            "buckling: the nearest load factor is %.6g, but %s. The model deforms much before, which linear buckling "
            "does not follow: give initial=, a state of mbs.statics nearer to it, or follow the path with arc_length%s",
            *(here, told, self.turned_round()),
        )

    def turned_round(self) -> str:
        """At which load factor the model buckles under loads that are turned round, in words."""
        try:
            distances, _ = self.singular(1, -self.probe)
        except FemMbsError:
            return ""
        return f"; turned round, the loads do so at a load factor of {self.point.load - distances[0]:.4g}"

    def singular(self, count: int, h: float) -> tuple[Array, Array]:
        """Distances in load to where it is singular, and null vectors ``(size, count)``.

        ``h`` is of the difference; below zero, of loads that are turned round.
        """
        rate = self.rate(h) * np.sign(h)
        n = rate.shape[0]
        if n <= DENSE_SIZE or count + SPARE >= n - 1:
            theta, z = eig(-self.solve(rate.toarray()))
        else:
            operator = LinearOperator((n, n), lambda x: -self.solve(rate @ x), dtype=float)
            theta, z = arpack(eigs, operator, count + SPARE, f"buckling: {count} factors", which="LR")
        least = max(NOISE * np.abs(theta).max(), self.motion / FARTHEST)
        keep = (np.abs(theta.imag) <= REAL * np.abs(theta)) & (theta.real > least)
        keep[keep] = [self.condition(rate, 1.0 / theta[k].real, z[:, k].real) < UNKNOWN for k in np.flatnonzero(keep)]
        if not keep.any():
            raise ModelError(
                f"buckling: these loads do not make the model buckle{self.turned_round() if h > 0.0 else ''}. Loads "
                "that follow may make it flutter, which mbs.modes at states of mbs.statics shows"
            )
        theta, z = theta[keep].real, z[:, keep].real
        order = np.argsort(-theta)[:count]
        return 1.0 / theta[order], z[:, order]

    def warn_of_condition(self, distance: float, z: Array) -> None:
        """Where the nearest factor may be one of the mesh."""
        condition = self.condition(self.rate(SHARE * distance), distance, z)
        if condition > DOUBTED:
            LOG.warning(
                "buckling: the loads follow, and the nearest load factor changes %.1f times as much with the mesh as "
                "that of a model with an energy: compare a finer one. It may flutter before: mbs.modes at states of "
                "mbs.statics",
                condition,
            )

    def condition(self, rate: csc_array, distance: float, z: Array) -> float:
        """By how much a factor answers to small changes of the equations, against those with an energy.

        With its left null vector ``y`` it is ``|y| |z| / |y A_0 z|``, lengths by energy. Under loads that follow, what
        is on one side may bend what is on the other and not be bent by it, as of a cantilever pushed at its end: that
        is a triangular matrix, which has no factor, and to which a mesh gives any.
        """
        if abs(rate - rate.T).max() <= REAL * abs(rate).max():
            return 1.0
        n, joints = len(z), self.equations.system.m
        soft = diags_array(np.repeat([0.0, COMPLIANCE], [n - joints, joints]))
        try:
            lu = splu(csc_array(self.matrix + (1.0 + BESIDE) * distance * rate - soft))
        except RuntimeError:  # singular beside the factor, too
            return np.inf
        y = lu.solve(lu.solve(z, "T"), "T")
        return float(np.sqrt(abs((z @ self.matrix @ z) * (y @ self.matrix @ y))) / abs(y @ self.matrix @ z))

    def rate(self, h: float) -> csc_array:
        """Derivative against the load at one configuration: stresses, multipliers and loads stand in it linearly."""
        values = [self._values(change) for change in (0.0, h)]
        return self.equations.system.solver.matrix((values[1] - values[0]) / h)

    def _values(self, change: float) -> Array:
        """Stored values where the load has changed, but not yet the configuration."""
        equations, system, point = self.equations, self.equations.system, self.point
        multipliers = point.multipliers + change * self.change[system.N : -1]
        evaluation = equations.evaluate(point._replace(multipliers=multipliers, load=point.load + change))
        triples = zip(system.batches, evaluation.contexts, system.components, strict=True)
        contexts = [batch.stressed(context, change * self.change[rows]) for batch, context, rows in triples]
        return equations.stored(evaluation._replace(contexts=contexts))
