"""A campaign of random mechanisms: is every run right, or refused, or said to be doubtful?

``python tests/campaign.py 300`` runs 300 mechanisms with the default method and prints a table; ``--formulations``,
``--groups``, ``--rho-inf`` and ``--first`` (seed) choose others, ``--accuracy`` compares estimated errors with true
ones.

A run is judged by two things. Its **energy**, less the work of loads and drives, may fall but not rise: by more than
half of what the motion exchanges is wrong, whatever the step. And its **trajectory**, against a much finer run, as far
as that can be known: up to where two fine runs by different methods part, since many of these mechanisms are chaotic.
"""

from __future__ import annotations

import argparse
import logging
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

import numpy as np
from mechanisms import GROUPS, Mechanism, mechanism

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.lie import so3
from fem_mbs.system.matrices import velocity_residual

RHO_INF = (0.0, 0.3, 0.6, 0.8, 0.9, 0.99, 1.0)
TURNS = (0.01, 0.03, 0.1, 0.3, 0.6, 1.0, 1.5)
"""Turn of the fastest body in a step, rad, as it is guessed before the run."""
FLEXIBLE = 0.1
"""Shorter steps for beams, as they bend by what bodies turn."""
STEPS = (40, 80, 120)
FINER = 3
WATCHED = 20
"""Steps over which trajectories are compared."""
RIGHT, REFUSED, UNSTABLE, OFF = "right", "refused", "unstable", "off"
GAIN = 0.5
"""Energy that may appear from nowhere, over the largest that the motion exchanges."""
ASTRAY = 0.5
"""Deviation from the reference over the largest displacement."""
MINOR = 0.01
APART = 0.05
"""Deviation of two references, over the largest displacement, from which on they are none."""


@dataclass(frozen=True)
class Case:
    """What is run, all of it from the seed."""

    seed: int
    rho_inf: float
    turn: float
    steps: int
    group: str

    def __str__(self) -> str:
        return f"{self.made()}, rho_inf {self.rho_inf:.3g}, {self.steps} steps of {self.h:.3g} s ({self.turn:g} rad)"

    def made(self, group: str | None = None) -> Mechanism:
        """The mechanism."""
        return mechanism(self.seed, group or self.group)

    @property
    def h(self) -> float:
        """The step in s."""
        return self.turn / max(self.made().rate, 0.5)


@dataclass(frozen=True)
class Verdict:
    """What became of a run."""

    case: Case
    what: str
    gain: float = 0.0
    """Largest energy that appeared, over that of the motion."""
    error: float = 0.0
    """Largest deviation over the largest displacement, as far as it is known."""
    estimate: float | None = None
    turn: float = 0.0
    """Largest turn of a node in a step, rad."""
    seconds: float = 0.0
    text: str = ""

    @property
    def outcome(self) -> str:
        """With or without a warning."""
        return f"{self.what}, warned" if self.text and self.what != REFUSED else self.what


def case(seed: int, group: str | None = None, rho_inf: float | None = None) -> Case:
    """The case of a seed."""
    rng = np.random.default_rng([seed, 1])
    turn = float(rng.choice(TURNS))
    if "beam" in mechanism(seed).bodies:
        turn *= FLEXIBLE
    drawn = Case(
        seed,
        float(rng.choice(RHO_INF) if rng.random() < 0.8 else rng.random()),
        turn,
        int(rng.choice(STEPS)),
        str(rng.choice(GROUPS)),
    )
    return Case(seed, drawn.rho_inf if rho_inf is None else rho_inf, drawn.turn, drawn.steps, group or drawn.group)


@dataclass(frozen=True)
class Reference:
    """Nodes at the watched steps, and what the motion is about."""

    x: Array
    R: Array
    energy: float
    """Largest kinetic energy and range of the potential ones, J."""
    motion: Array
    """Largest displacement in m and rotation in rad."""


@lru_cache(maxsize=4)
def reference(seed: int, h: float, steps: int) -> Reference | None:
    """A fine run, as far as another one agrees; None if there is none."""
    watched = min(steps, WATCHED)
    fine: list[mbs.Solution] = []
    for group in ("R3xSO3", "SE3"):
        try:
            method = mbs.GeneralizedAlpha(0.7, formulation="index2")
            fine.append(mbs.simulate(mechanism(seed, group).model, watched * h, h / FINER, method))
        except mbs.FemMbsError as error:
            if error.solution is None or len(error.solution.t) < 2 * FINER:
                return None
            fine.append(error.solution)
    other, best = (at_steps(solution, h, watched) for solution in fine)
    count = min(len(other[0]), len(best[0]))
    motion = distance(best, (best[0][:1], best[1][:1]))[:, :count]
    apart = distance((other[0][:count], other[1][:count]), (best[0][:count], best[1][:count]))
    off = share(apart, np.maximum.accumulate(motion, axis=1), fine[0].system.length) > APART
    known = int(np.argmax(off)) or count
    energy = fine[1].energy
    scale = max(np.ptp(energy.gravity), np.ptp(energy.strain), np.ptp(energy.kinetic), energy.kinetic.max())
    return Reference(best[0][:known], best[1][:known], float(scale), motion[:, :known].max(axis=1, initial=0.0))


def share(error: Array, motion: Array, length: float) -> Array:
    """The larger of the errors in m and in rad ``(2, ...)``, each over the motion of its kind.

    A kind that hardly takes part, less than a hundredth of the other with lengths over the extent of the model, counts
    as if it did so much.
    """
    scale = np.array([length, 1.0]).reshape(2, *[1] * (motion.ndim - 1))
    moved = motion / scale
    least = MINOR * np.minimum(moved.max(axis=0), 1.0)
    return np.asarray((error / scale / np.maximum(np.maximum(moved, least), 1e-9)).max(axis=0))


def at_steps(solution: mbs.Solution, h: float, count: int) -> tuple[Array, Array]:
    """Positions and rotations at the nominal steps, in between where the run was cut elsewhere."""
    times = h * np.arange(count + 1)
    times = times[times <= solution.t[-1] + 1e-6 * h]
    rows = np.searchsorted(solution.t, times - 1e-6 * h)
    x, R = solution.x[rows], solution.R[rows]
    for k in np.flatnonzero(solution.t[rows] > times + 1e-6 * h).tolist():
        state = solution(float(times[k]))
        x[k], R[k] = state.x, state.R
    return x, R


def distance(one: tuple[Array, Array], other: tuple[Array, Array]) -> Array:
    """Largest deviations of a node in m and rad at each time, ``(2, nt)``."""
    lengths = np.linalg.norm(one[0] - other[0], axis=-1)
    angles = np.linalg.norm(so3.log(np.swapaxes(other[1], -1, -2) @ one[1]), axis=-1)
    return np.stack([lengths.max(axis=-1), angles.max(axis=-1)])


def gained(solution: mbs.Solution, made: Mechanism) -> Array:
    """Energy less that of the start and the work of loads and drives, ``(nt,)``."""
    work = np.zeros(len(solution.t))
    for node, force in made.loads:
        work += solution.displacement(node) @ force
    if "drive" in made.joints:
        power = np.array([_drive_power(solution, k) for k in range(len(solution.t))])
        work[1:] += np.cumsum(0.5 * np.diff(solution.t) * (power[1:] + power[:-1]))
    total = solution.energy.total
    return np.asarray(total - total[0] - work)


def _drive_power(solution: mbs.Solution, k: int) -> float:
    """``lambda . Phi_t``: as ``B v + Phi_t = 0``, this is the power of the reactions."""
    system, state = solution.system, solution.state(k)
    still = system.motion(replace(state, v=0.0 * state.v))
    evaluation = system.evaluate(still, state.multipliers, system.prescribe(state.t))
    return float(state.multipliers @ velocity_residual(system, evaluation))


NO_DOUBT = (
    "were repeated",
    "were taken in",
    "The motion is unique",
    "steps are too long for its reaction",
    "steps are too long for dampers",
)
"""In warnings that say nothing of the result: of steps that were repeated or cut, of reactions alone."""


class Heard(logging.Handler):
    """Collects warnings of the program that doubt a result."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if not any(words in text for words in NO_DOUBT):
            self.said.append(text)


Run = Callable[[Mechanism, float, float, float], mbs.Solution]
"""Runs a mechanism up to a time with a step and ``rho_inf``."""


def run_default(made: Mechanism, t_end: float, h: float, rho_inf: float) -> mbs.Solution:
    """With the default method."""
    return mbs.simulate(made.model, t_end, h, mbs.GeneralizedAlpha(rho_inf))


def run_formulation(formulation: str) -> Run:
    """With a formulation."""

    def run(made: Mechanism, t_end: float, h: float, rho_inf: float) -> mbs.Solution:
        return mbs.simulate(made.model, t_end, h, mbs.GeneralizedAlpha(rho_inf, formulation=formulation))

    return run


def judged(case: Case, run: Run = run_default) -> Verdict:
    """Run a case and say what became of it."""
    made, h = case.made(), case.h
    logger, heard = logging.getLogger("fem_mbs"), Heard()
    logger.addHandler(heard)
    begun = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            solution = run(made, case.steps * h, h, case.rho_inf)
    except mbs.FemMbsError as error:
        return Verdict(case, REFUSED, text=str(error).partition("\n")[0])
    finally:
        logger.removeHandler(heard)
    seconds = time.perf_counter() - begun
    exact = reference(case.seed, h, case.steps)
    spin = float(np.linalg.norm(solution.v[:, :, 3:], axis=-1).max())
    with np.errstate(over="ignore", invalid="ignore"):
        excess = float(np.nanmax(np.nan_to_num(gained(solution, made), nan=np.inf)))
    energy = max(exact.energy if exact else 0.0, 1e-9)
    gain, error = excess / energy, 0.0
    if exact is None:
        gain = excess / max(float(solution.energy.kinetic.max()), 1e-9)
    else:
        own = at_steps(solution, h, len(exact.x) - 1)
        error = float(share(distance(own, (exact.x, exact.R)).max(axis=1), exact.motion, solution.system.length))
    estimate = solution.stats.error.relative if solution.stats.error.estimated else None
    what = RIGHT
    if gain > GAIN:
        what = UNSTABLE
    elif error > ASTRAY:
        what = OFF
    return Verdict(case, what, gain, error, estimate, spin * h, seconds, "; ".join(heard.said))


def compared(case: Case, run: Run = run_default) -> tuple[float, float, bool] | None:
    """True and estimated error, over the motion, at the end of what is known of a trajectory, and whether it warns."""
    made, exact = case.made(), reference(case.seed, case.h, case.steps)
    if exact is None or len(exact.x) < 4 or exact.motion.max() < 1e-6:
        return None
    try:
        solution = run(made, (len(exact.x) - 1) * case.h, case.h, case.rho_inf)
    except mbs.FemMbsError:
        return None
    told, own = solution.stats.error, at_steps(solution, case.h, len(exact.x) - 1)
    if told is None:
        return None
    error = distance(own, (exact.x, exact.R)).max(axis=1)
    estimate = np.array([told.length, told.angle])
    true, estimated = (float(share(e, exact.motion, told.extent)) for e in (error, estimate))
    return true, estimated, bool(told.warning)


def quantiles(pairs: list[tuple[float, float, bool]]) -> str:
    """Distribution of estimated over true errors, and right and wrong warnings, by the size of the true ones."""
    lines = ["| true error over motion | runs | 5 % | median | 95 % | warned |", "|---" * 6 + "|"]
    bounds = (1e-7, 1e-3, 1e-2, 0.1, 0.25, np.inf)
    for low, high in zip(bounds, bounds[1:], strict=False):
        own = [pair for pair in pairs if low <= pair[0] < high]
        if own:
            low_q, middle, high_q = np.quantile([pair[1] / pair[0] for pair in own], (0.05, 0.5, 0.95))
            values = f"{len(own)} | {low_q:.2f} | {middle:.2f} | {high_q:.2f} | {sum(pair[2] for pair in own)}"
            lines.append(f"| {low:g} to {high:g} | {values} |")
    return "\n".join(lines)


def draw(pairs: dict[str, list[tuple[float, float, bool]]], path: str) -> None:
    """Estimated over true errors as a picture."""
    from matplotlib import pyplot

    figure, panel = pyplot.subplots(figsize=(6.0, 5.0), layout="constrained")
    limits = np.array([1e-7, 5.0])
    panel.fill_between(limits, limits / 3.0, limits * 3.0, color="0.9", label="a factor of 3")
    panel.axhline(0.25, color="0.5", lw=0.8, ls="--", label="warns above")
    for k, (name, found) in enumerate(pairs.items()):
        true, estimated, _ = np.array(found).T
        panel.loglog(true, np.maximum(estimated, limits[0]), "ox"[k % 2], ms=4, mfc="none", label=name)
    panel.set(xlim=limits, ylim=limits, xlabel="true error over motion", ylabel="estimated error over motion")
    panel.legend()
    figure.savefig(path, dpi=150)


def step_class(turn: float) -> str:
    """How fine a step is."""
    return "fine" if turn <= 0.03 else "middle" if turn <= 0.3 else "coarse"


def table(verdicts: list[Verdict]) -> str:
    """Counts per group, damping and step."""
    rows = Counter((v.case.group, _damping(v.case.rho_inf), step_class(v.case.turn), v.outcome) for v in verdicts)
    keys = sorted({key[:3] for key in rows})
    kinds = (RIGHT, f"{RIGHT}, warned", REFUSED, f"{UNSTABLE}, warned", f"{OFF}, warned", UNSTABLE, OFF)
    lines = ["| group | rho_inf | steps | runs | " + " | ".join(kinds) + " |", "|---" * (4 + len(kinds)) + "|"]
    for key in keys:
        counts = [rows[(*key, kind)] for kind in kinds]
        lines.append(f"| {' | '.join(key)} | {sum(counts)} | " + " | ".join(map(str, counts)) + " |")
    totals = [sum(v.outcome == kind for v in verdicts) for kind in kinds]
    lines.append(f"| all | | | {len(verdicts)} | " + " | ".join(map(str, totals)) + " |")
    return "\n".join(lines)


def _damping(rho_inf: float) -> str:
    return "0 to 0.7" if rho_inf < 0.7 else "0.7 to 0.95" if rho_inf < 0.95 else "0.95 to 1"


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--formulations", nargs="*", default=["default"])
    parser.add_argument("--groups", nargs="*", default=[None])
    parser.add_argument("--rho-inf", type=float)
    parser.add_argument("--accuracy", action="store_true", help="compare estimated errors with true ones")
    parser.add_argument("--draw", metavar="FILE", help="draw them, too")
    options = parser.parse_args()
    logging.getLogger("fem_mbs").propagate = False
    begun = time.perf_counter()
    runs = {f: run_default if f == "default" else run_formulation(f) for f in options.formulations}
    verdicts: dict[str, list[Verdict]] = {f: [] for f in runs}
    pairs: dict[str, list[tuple[float, float, bool]]] = {f: [] for f in runs}
    for seed in range(options.first, options.first + options.count):
        for group, (name, run) in product(options.groups, runs.items()):
            own = case(seed, group, options.rho_inf)
            if options.accuracy:
                pairs[name] += filter(None, [compared(own, run)])
            else:
                verdicts[name].append(judged(own, run))
    print(f"{time.perf_counter() - begun:.0f} s")
    if options.draw:
        draw(pairs, options.draw)
    for name, found in verdicts.items():
        print(f"\n{name}\n{quantiles(pairs[name]) if options.accuracy else table(found)}")
        for v in found:
            if v.outcome in (UNSTABLE, OFF):
                print(f"  {v.what}: {v.case}; gain {v.gain:.3g}, error {v.error:.3g}, turn {v.turn:.2g}")


if __name__ == "__main__":
    main()
