"""Runs of random mechanisms of all classes, judged: right, refused, or said to be doubtful?

``python tests/assembly_campaign.py 300`` runs 300 of them with the default method and prints a table and every silent
one; ``--first`` is the first seed. A run is judged by Radau IIA at half the step. Where the two part, so is Radau by
itself at a quarter of the step, with nodes on other groups: up to where it parts from that, the result is known. Radau
knows no impacts: mechanisms with ropes and contacts without stiffness are judged by their own method, at a quarter and
an eighth of the step.
"""

from __future__ import annotations

import argparse
import logging
import time
import warnings
from collections import Counter
from dataclasses import dataclass

import numpy as np
from assemblies import GROUPS, Assembly, assembly
from campaign import APART, Heard, at_steps, distance, share

import fem_mbs as mbs
from fem_mbs.arrays import Array

TURNS = (0.02, 0.1, 0.3, 0.7, 1.5)
"""Of the fastest oscillation or turn in a step, rad."""
STEPS = 20
AGREED = 0.01
"""Deviation from Radau over the motion up to which no third run is needed."""
WRONG = 0.25
"""Error over the motion from which on a warning is right."""
LIMITS = ((0.05, 5.0), (WRONG, 2.0))
"""Errors over the motion, and how many times what was estimated they are from which on a run has to warn."""
MOST, MOST_OF_RADAU = 200, 250
"""Steps after which a run is ended, if it was cut into so many."""
PATIENCE = 10.0
"""CPU time in s after which a run is ended: of one mechanism in twenty, which would take as long as all others."""
SOON = 4
"""Steps that have to be known, if the run was not ended before."""
STILL = 1e-9
"""Motion in m and rad that is none."""
RIGHT, OFF, REFUSED, UNKNOWN = "right", "off", "refused", "not known"


@dataclass(frozen=True)
class Verdict:
    """What became of the run of a seed."""

    seed: int
    what: str
    made: Assembly
    step: float
    warned: bool = False
    error: float = 0.0
    estimate: float = 0.0
    known: float = 0.0
    text: str = ""

    @property
    def outcome(self) -> str:
        """With or without a warning."""
        return f"{self.what}, warned" if self.warned else self.what

    def __str__(self) -> str:
        size = f"error {self.error:.3g}, estimate {self.estimate:.3g} up to {self.known:.3g} s, h = {self.step:.3g} s"
        return f"seed {self.seed}: {self.outcome}; {size}; {self.made}; {self.text[:300]}"


class Budget:
    """Ends a run after its last affordable step."""

    def __init__(self, most: int) -> None:
        self.rest, self.until = most, time.process_time() + PATIENCE

    def __call__(self, state: mbs.State) -> bool:
        self.rest -= 1
        return self.rest < 0 or time.process_time() > self.until


def judged(seed: int) -> Verdict:
    """Run the mechanism of a seed with the default method, and say what became of it."""
    rng = np.random.default_rng([seed, 8])
    group, other, _ = rng.permutation(GROUPS)
    made = assembly(seed, str(group))
    h = float(rng.choice(TURNS)) / made.rate
    try:
        mbs.project_velocities(made.model)
    except mbs.FemMbsError as error:
        return Verdict(seed, REFUSED, made, h, text=str(error).partition("\n")[0])
    heard, logger = Heard(), logging.getLogger("fem_mbs")
    logger.addHandler(heard)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            solution = mbs.simulate(made.model, STEPS * h, h, callback=Budget(MOST))
    except mbs.FemMbsError as error:
        return Verdict(seed, REFUSED, made, h, text=str(error).partition("\n")[0])
    finally:
        logger.removeHandler(heard)
    said = "; ".join(heard.said)
    own, length = at_steps(solution, h, STEPS), solution.system.length
    reached = len(own[0]) - 1
    if not reached:
        return Verdict(seed, UNKNOWN, made, h, bool(said), text=said)
    radau = _fine(assembly(seed, str(group)), h, 2, reached)
    estimate = solution.stats.error.relative if solution.stats.error.estimated else 0.0
    known = min(len(own[0]), len(radau[0]))
    enough = min(SOON, reached)
    motion = distance(_cut(radau, known), _cut(radau, 1))
    moves, error = motion.max(initial=0.0) > STILL, _error(own, radau, motion, length)
    if moves and known > enough and error < AGREED:
        return Verdict(seed, RIGHT, made, h, bool(said), error, estimate, known * h, said)
    finer = _fine(assembly(seed, str(other)), h, 4, max(known - 1, 1))
    known = min(known, len(finer[0]))
    while known and _error(finer, radau, motion[:, :known], length) > APART:
        known -= 1
    if known <= enough or not moves:
        return Verdict(seed, UNKNOWN, made, h, bool(said), known=known * h, text=said)
    error, doubt = (_error(one, radau, motion[:, :known], length) for one in (own, finer))
    # that a warned run has the error it was estimated with is no excuse, and no false alarm
    limits = ((WRONG, 0.0),) if said else LIMITS
    wrong = any(error > max(size, 2.0 * doubt) and error > times * estimate for size, times in limits)
    return Verdict(seed, OFF if wrong else RIGHT, made, h, bool(said), error, estimate, known * h, said)


def _error(one: tuple[Array, Array], other: tuple[Array, Array], motion: Array, length: float) -> float:
    """Largest deviation over the largest motion, of as many steps as there are motions."""
    count = min(len(one[0]), motion.shape[1])
    off = distance(_cut(one, count), _cut(other, count)).max(axis=1, initial=0.0)
    return float(share(off, motion.max(axis=1, initial=0.0), length))


def _fine(made: Assembly, h: float, parts: int, count: int) -> tuple[Array, Array]:
    """Nodes at so many steps ``h``, as far as a fine run with so many parts of a step comes."""
    mbs.project_velocities(made.model)
    method, parts = (mbs.NonsmoothAlpha(), 2 * parts) if made.impacts else (mbs.RadauIIA(), parts)
    try:
        solution = mbs.simulate(made.model, count * h, h / parts, method, callback=Budget(MOST_OF_RADAU))
    except mbs.FemMbsError as error:
        if error.solution is None:
            return np.empty((0, len(made.model.nodes), 3)), np.empty((0, len(made.model.nodes), 3, 3))
        solution = error.solution
    return at_steps(solution, h, count)


def _cut(states: tuple[Array, Array], count: int) -> tuple[Array, Array]:
    return states[0][:count], states[1][:count]


def table(verdicts: list[Verdict]) -> str:
    """Counts for each class that took part."""
    kinds = (RIGHT, f"{RIGHT}, warned", REFUSED, f"{OFF}, warned", OFF, UNKNOWN, f"{UNKNOWN}, warned")
    rows: Counter[tuple[str, str]] = Counter()
    for verdict in verdicts:
        for name in {"all", *verdict.made.parts}:
            rows[name, verdict.outcome] += 1
    names = sorted({name for name, _ in rows} - {"all"})
    lines = ["| class | runs | " + " | ".join(kinds) + " |", "|---" * (2 + len(kinds)) + "|"]
    for name in [*names, "all"]:
        counts = [rows[name, kind] for kind in kinds]
        lines.append(f"| {name} | {sum(counts)} | " + " | ".join(map(str, counts)) + " |")
    return "\n".join(lines)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    logging.getLogger("fem_mbs").propagate = False
    begun = time.perf_counter()
    verdicts = []
    for seed in range(options.first, options.first + options.count):
        verdicts.append(judged(seed))
        if verdicts[-1].what in (OFF, REFUSED, UNKNOWN):
            print(verdicts[-1], flush=True)
    print(f"{time.perf_counter() - begun:.0f} s\n\n{table(verdicts)}")


if __name__ == "__main__":
    main()
