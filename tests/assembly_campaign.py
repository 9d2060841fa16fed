"""Runs of random mechanisms of all classes, judged: right, refused, or said to be doubtful?

``python tests/assembly_campaign.py 300`` runs 300 of them with the default method and prints a table and every silent
one; ``--first`` is the first seed. A run is judged by two others that share little with it: Radau IIA at half the step,
and the index-2 form on the other group at a sixth. Up to where these two part, the result is known.
"""

from __future__ import annotations

import argparse
import logging
import time
import warnings
from collections import Counter
from dataclasses import dataclass

import numpy as np
from assemblies import Assembly, assembly
from campaign import APART, Heard, at_steps, distance, share

import fem_mbs as mbs
from fem_mbs.arrays import Array

GROUPS = ("R3xSO3", "SE3")
TURNS = (0.02, 0.1, 0.3, 0.7, 1.5)
"""Of the fastest oscillation or turn in a step, rad."""
STEPS = 40
WRONG = 0.25
"""Error over the motion from which on a run has to warn."""
MUTE = 10.0
"""Error over what was estimated that is wrong, too, if it is more than ``SEEN`` of the motion."""
SEEN = 0.05
SOON = 8
"""Steps whose motion is the least that errors are compared with."""
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


def judged(seed: int) -> Verdict:
    """Run the mechanism of a seed with the default method, and say what became of it."""
    rng = np.random.default_rng([seed, 8])
    group, other = rng.permutation(GROUPS)
    made = assembly(seed, str(group))
    h = float(rng.choice(TURNS)) / made.rate
    heard, logger = Heard(), logging.getLogger("fem_mbs")
    logger.addHandler(heard)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            solution = mbs.simulate(made.model, STEPS * h, h)
    except mbs.FemMbsError as error:
        return Verdict(seed, REFUSED, made, h, text=str(error).partition("\n")[0])
    finally:
        logger.removeHandler(heard)
    radau = _fine(assembly(seed, str(group)), h, h / 2.0, mbs.RadauIIA())
    index2 = _fine(assembly(seed, str(other)), h, h / 6.0, mbs.GeneralizedAlpha(0.7, formulation="index2"))
    own = at_steps(solution, h, STEPS)
    count = min(len(states[0]) for states in (own, radau, index2))
    start = own[0][:1], own[1][:1]
    if count < SOON:
        return Verdict(seed, UNKNOWN, made, h, bool(heard.said), text="; ".join(heard.said))
    motion = np.maximum.accumulate(distance(_cut(radau, count), start), axis=1)
    motion = np.maximum(motion, motion[:, [SOON - 1]])
    apart = share(distance(_cut(radau, count), _cut(index2, count)), motion, solution.system.length)
    known = int(np.argmax(apart > APART)) or count
    if known < SOON // 2 or motion[:, known - 1].max() < 1e-9:
        return Verdict(seed, UNKNOWN, made, h, bool(heard.said), known=known * h, text="; ".join(heard.said))
    off = distance(_cut(own, known), _cut(radau, known)).max(axis=1)
    error = float(share(off, motion[:, known - 1], solution.system.length))
    told = solution.stats.error
    estimate = told.relative if told else 0.0
    doubt = 2.0 * float(apart[:known].max())
    wrong = error > WRONG or error > max(SEEN, doubt) and error > MUTE * estimate
    said = "; ".join(heard.said)
    return Verdict(seed, OFF if wrong else RIGHT, made, h, bool(said), error, estimate, known * h, said)


def _fine(made: Assembly, h: float, step: float, method: mbs.Method) -> tuple[Array, Array]:
    """Nodes at the steps ``h``, as far as a fine run comes."""
    try:
        solution = mbs.simulate(made.model, STEPS * h, step, method)
    except mbs.FemMbsError as error:
        if error.solution is None:
            return np.empty((0, len(made.model.nodes), 3)), np.empty((0, len(made.model.nodes), 3, 3))
        solution = error.solution
    return at_steps(solution, h, STEPS)


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
