"""Natural frequencies and modes about a state: what is asked, and what is returned.

docs/modes.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array, diags_array

from fem_mbs.arrays import Array
from fem_mbs.contracts import PositiveInt, State, Vector3, checked
from fem_mbs.errors import LOG, ModelError
from fem_mbs.initial.redundant import dependent_elements, describe_dependent, independent
from fem_mbs.initial.singular import explain_singular
from fem_mbs.initial.state_point import pace, worst_joint
from fem_mbs.modal.eigen import Pencil, eigenmodes
from fem_mbs.modal.linear_model import LinearModel, linearize, second_order
from fem_mbs.modal.shapes import ShapesOfMotion, warn_of_meshes
from fem_mbs.model.model import Model
from fem_mbs.pictures.pictures import page
from fem_mbs.system.system import System

COUNT = 10
OPEN = 1e-4
"""Gap of a joint against the extent of the model that cannot be meant."""
DRIFT = 1e-3
"""Lengths, against the extent of the model, and angles by which a state may miss its equilibrium unnoticed."""
ROUNDING = 1e-9
"""Acceleration against the square of the pace that may be rounding, where nothing swings that it is compared with."""
RUNAWAY = 1e-6
"""Growth against frequency that is more than rounding."""
SEEN, SAME = 1e-6, 1e-9
"""Share of a mode that is seen, and relative difference of frequencies that is rounding."""
FEW = 4
"""Frequencies of one mode that are listed."""


@checked
def modes(model: Model, count: PositiveInt | None = None, state: State | None = None, *, damped: bool = False) -> Modes:
    """Lowest natural frequencies and mode shapes of a model about a state.

    Parameters
    ----------
    model : Model
        What vibrates.
    count : int, optional
        How many modes; by default 10, or all if there are fewer.
    state : State, optional
        By default the initial state. It should be at rest in equilibrium or rotate steadily; a warning is logged if
        not.
    damped : bool
        With the damping of the model. Without, gyroscopic terms stay, and so do states of elements with their own
        equations. About a state that turns, frequencies are those seen from the axes of ``modes.linear.axes``, which
        ``print`` names: those of the bodies if the equations are constant there, else others, such as resting ones.

    Raises
    ------
    ModelError
        If the model is not valid, nothing can move, there are fewer modes, or the state is not one of this model; if
        neither what turns nor what rests is alike all round, so that there are no frequencies: names one of each.
    SingularSystemError
        If nodes can move without mass; names them.
    ConvergenceError
        If the eigenvalues do not converge.

    Notes
    -----
    ``(lambda^2 M + lambda C + K) d + B^T mu = 0``, ``B d = 0`` with the matrices of :func:`linearize`. Symmetric
    equations are solved by the Lanczos method, others by Arnoldi's on twice the size, both with a shift that is
    factored once. Frequencies that rounding cannot tell from zero are zero.
    """
    linear = linearize(model, state)
    if state is not None:
        system = linear.system
        if worst := worst_joint(system, linear.gap, OPEN):
            raise ModelError(f"modes: {worst[0]} is open at the state ({worst[1]}); is it a state of another model?")
        explain_singular(system, system.evaluate_at(linear.state), f"at t = {linear.state.t:g} s")
    result = solve_modes(linear, count, damped)
    if count and count > (found := len(result.eigenvalues)):
        raise ModelError(f"modes: count = {count} is more than the {found} modes of the model")
    _warn(result)
    warn_of_meshes(result, "modes", "its frequency")
    return result


def solve_modes(linear: LinearModel, count: int | None = None, damped: bool = False) -> Modes:
    """The modes of a linear model, without a look at whether its state makes sense."""
    count = _number_of_modes(linear, count)
    system = linear.system
    # lengths in units of the extent of the model
    units = diags_array(1.0 / system.weight[system.free_rows])
    C, K = linear.C, linear.K
    if not damped:
        C, K = C - linear.dissipation[0], K - linear.dissipation[1]
    M, C, K = (csc_array(units @ part @ units) for part in (linear.M, C, K))
    rows = independent(system)
    refuse_dependent(linear)
    B, L, G = (
        csc_array((diags_array(system.constraint_weight) @ part @ units)[rows])
        for part in (linear.B, linear.L.T, linear.G)
    )
    pencil = Pencil(M, C, K, B, csc_array(L.T), G, second_order(system), system.velocity_level[rows])
    eigenvalues, x = eigenmodes(pencil, count)
    order = np.argsort(np.abs(eigenvalues), kind="stable")
    x = x[:, order]
    # the largest component is real and positive
    largest = np.take_along_axis(x, np.abs(x).argmax(axis=0)[None], axis=0)
    d = (units @ (x * (np.abs(largest) / largest))).T
    result = Modes(eigenvalues[order], linear.node_motions(d), linear.own_motions(d), linear, damped)
    fastest = np.linalg.norm(system.motion(linear.state).V[:, 3:], axis=1).max()
    if linear.varies and fastest > DRIFT * _lowest(result):
        raise ModelError(f"modes: {linear.varies}")
    return result


def refuse_dependent(linear: LinearModel) -> None:
    """Refuse motions that depend on reactions that are not unique."""
    system = linear.system
    if system.redundant is None or not system.readers:
        return
    sharing = system.redundant.sharing
    leans = abs(linear.L - linear.B.T)[:, sharing].sum(axis=1) > 0.0
    own = diags_array(linear.K.diagonal())
    acts = second_order(system) | ((abs(linear.K - own) + abs(linear.C)).sum(axis=0) > 0.0)
    if (leans & acts).any():
        raise ModelError(f"modes: {describe_dependent(system, dependent_elements(system, sharing))}")


def growing(modes: Modes) -> int:
    """How many modes grow."""
    return int((modes.eigenvalues.real > RUNAWAY * modes.angular).sum())


def _number_of_modes(linear: LinearModel, count: int | None) -> int:
    """The number asked for, or as many as there may be: what creeps, or turns freely, has two a degree of freedom."""
    system = linear.system
    # what rolls can stand in more ways than it can move
    closed = np.count_nonzero(~system.velocity_level[independent(system)])
    degrees = int((system.order == 1).sum() + second_order(system).sum() - closed)
    if degrees < 1:
        raise ModelError(
            f"modes: nothing can vibrate: {system.m} constraint equations hold all {system.n_free} free components"
        )
    return min(count or COUNT, 2 * degrees)


def _warn(modes: Modes) -> None:
    """Log what makes frequencies doubtful: a state that accelerates, motions that run away."""
    state, system = modes.linear.state, modes.linear.system
    motion = system.motion(state)
    # in steady motion, velocities turn with the axes
    turning = np.cross(np.vecmat(modes.linear.axes, motion.R[:, None]), motion.V.reshape(-1, 2, 3))
    rate = motion.A - turning.reshape(-1, 6)
    largest, lowest = float(np.abs(rate.ravel() * system.weight[: 6 * system.n]).max()), _lowest(modes)
    swings = np.isfinite(lowest)
    weight = float(np.linalg.norm(system.gravity)) / system.length
    if largest > (
        DRIFT * lowest**2 if swings else max(DRIFT * weight, ROUNDING * pace(system, system.evaluate_at(state)) ** 2)
    ):
        LOG.warning(
            "modes: the state at t = %g s is neither at rest nor in steady motion: it accelerates%s. The frequencies "
            "are those of the equations at this instant; take the state from an equilibrium, or leave out the loads "
            "and the gravity",
            state.t,
            f", and would move by {largest / lowest**2:.2g} of its extent in 1/omega of the lowest mode"
            if swings
            else "",
        )
    if count := growing(modes):
        LOG.warning("modes: %d of %d modes grow: the state is not stable", count, len(modes.eigenvalues))


def node_masses(system: System) -> Array:
    """Mass and mean rotational inertia of each node, ``(n, 2)``."""
    return system.nodes_of(system.diagonal_mass).reshape(-1, 2, 3).mean(axis=2)


def _lowest(modes: Modes) -> float:
    """The lowest angular frequency that is not zero."""
    return float(modes.angular[modes.angular > 0.0].min(initial=np.inf))


@dataclass(frozen=True, eq=False, repr=False)
class Modes(ShapesOfMotion):
    """Motions ``Re(shape exp(eigenvalue t))`` about a state, lowest frequency first; ``print`` shows a table.

    Attributes
    ----------
    eigenvalues : (count,) complex
        In rad/s, one of each conjugate pair: ``i omega`` for a vibration, 0 for a motion without stiffness, real
        for a motion that creeps back (below zero) or runs away (above).
    shapes : (count, n, 6)
        Displacement and rotation vector of every node, in the world frame at the state, scaled to the modal mass
        ``shape^H M shape = 1``. Complex where parts of the model move out of phase.
    own : (count, k)
        Changes of the internal variables of elements, likewise.
    linear : LinearModel
        The matrices and the state.
    damped : bool
        Whether the damping of the model is in them.
    """

    eigenvalues: Array
    shapes: Array
    own: Array
    linear: LinearModel
    damped: bool = True

    @property
    def angular(self) -> Array:
        """Angular frequencies ``(count,)``, the size of the eigenvalues, in rad/s."""
        return np.abs(self.eigenvalues)

    @property
    def frequencies(self) -> Array:
        """Natural frequencies ``(count,)`` in Hz; a damped mode vibrates at ``sqrt(1 - damping^2)`` times that."""
        return self.angular / (2.0 * np.pi)

    @property
    def damping(self) -> Array:
        """Damping ratios ``(count,)``: 0 without damping, 1 where nothing swings, negative where the motion grows."""
        size = self.angular
        return 0.0 - np.divide(self.eigenvalues.real, size, out=np.zeros(len(size)), where=size > 0.0)

    @checked
    def seen_from(self, angular_velocity: Vector3 = (0.0, 0.0, 0.0)) -> list[Array]:
        """Angular frequencies in rad/s with which each mode is seen from axes that turn so, by default from the ground.

        ``angular_velocity`` (3,) in rad/s, world frame. A motion round the axis of rotation has one, which differs by
        the speed of the axes, as it goes with or against it; one to and fro has two, one along the axis keeps its own.
        """
        a = self.shapes.reshape(-1, *self.linear.axes.shape)
        rates = self.linear.axes - np.asarray(angular_velocity)
        speeds = np.linalg.norm(rates, axis=2)
        e = np.divide(rates, speeds[..., None], out=np.zeros_like(rates), where=speeds[..., None] > 0.0)
        round_it = 1j * np.cross(e, a)
        across = a - np.vecdot(e, a)[..., None] * e
        parts = np.stack([across + round_it, across - round_it, 2.0 * (a - across)]) * (speeds > 0.0)[..., None]
        parts[2] += 2.0 * a * (speeds == 0.0)[..., None]
        weights = self._weights(parts)
        seen = np.abs(self.eigenvalues.imag[:, None, None] + np.array([-1.0, 1.0, 0.0])[:, None, None, None] * speeds)
        return [
            _distinct(of[weight > SEEN * weight.sum()], SAME * float(of.max(initial=0.0)))
            for of, weight in zip(seen.swapaxes(0, 1), weights.swapaxes(0, 1), strict=True)
        ]

    def _from_other_axes(self) -> list[tuple[str, str]]:
        """Of each mode from where it is seen, and its frequencies from elsewhere, after a title; none if nothing turns.

        That is from the ground, or from what turns if all modes are seen from the ground.
        """
        system, axes = self.linear.system, self.linear.axes
        motion = system.motion(self.linear.state)
        spins = np.matvec(motion.R, motion.V[:, 3:])
        fastest = max((*spins, *axes.reshape(-1, 3)), key=lambda rate: float(rate @ rate))
        if not fastest.any():
            return []
        there = np.zeros(3) if axes.any() else fastest
        others = [_listed_frequencies(seen / (2.0 * np.pi)) for seen in self.seen_from(there)]
        heaviest = self._weights(self.shapes.reshape(-1, *axes.shape)).reshape(len(self.shapes), -1).argmax(axis=1)
        speeds = np.linalg.norm(axes.reshape(-1, 3), axis=1)[heaviest]
        title = f"from axes at {np.linalg.norm(there):.6g} rad/s" if there.any() else "from the ground"
        return [("in axes at", title), *zip((f"{speed:.6g} rad/s" for speed in speeds), others, strict=True)]

    def _weights(self, motions: Array) -> Array:
        """How much mass moves in motions ``(..., n, 2, 3)`` of displacements and rotations."""
        return node_masses(self.linear.system) * np.vecdot(motions, motions).real

    def _in_words(self, mode: int) -> str:
        return f"{self.frequencies[mode]:.4g} Hz"

    def _frequency(self, mode: int) -> float:
        return float(np.abs(self.eigenvalues[mode].imag)) or 2.0 * np.pi

    def __str__(self) -> str:
        (mode, frequency, damping, *seen), *rows = self._rows()
        axes = "{:>16}   {}" * bool(seen)
        lines = [f"{mode} {frequency:>13}{damping:>12}{axes.format(*seen)}"]
        lines += [f"{row[0]:>4}{row[1]:>17}{row[2]:>12}{axes.format(*row[3:])}" for row in rows]
        return "\n".join([*lines, *self._left_out()])

    def _rows(self) -> list[tuple[str, ...]]:
        """The table of all modes, as words."""
        rows: list[tuple[str, ...]] = [("mode", "frequency", "damping")]
        rows += [
            (f"{k + 1}", f"{f:.6g} Hz", f"{z:.4f}")
            for k, (f, z) in enumerate(zip(self.frequencies, np.round(self.damping, 4) + 0.0, strict=True))
        ]
        return [(*row, *more) for row, more in zip(rows, self._from_other_axes(), strict=False)] or rows

    def _left_out(self) -> list[str]:
        """What to say of damping that the model has and these modes do not."""
        if self.damped or not any(part.count_nonzero() for part in self.linear.dissipation):
            return []
        return ["without the damping of the model; damped=True has it"]

    def __repr__(self) -> str:
        return f"Modes: {len(self.eigenvalues)} from {self.frequencies[0]:.4g} to {self.frequencies[-1]:.4g} Hz"

    def _repr_html_(self) -> str:
        return page(self._rows(), ", ".join(["Modes", *self._left_out()]), self.plot)


def _listed_frequencies(values: Array) -> str:
    """Frequencies, or between which they are where parts that turn in many ways have many."""
    told = [f"{value:.6g}" for value in values]
    return (", ".join(told) if len(told) <= FEW else f"{len(told)} from {told[0]} to {told[-1]}") + " Hz"


def _distinct(values: Array, rounding: float) -> Array:
    """Values that differ, ascending."""
    values = np.sort(np.where(values > rounding, values, 0.0))
    return values[np.diff(values, prepend=-np.inf) > rounding]
