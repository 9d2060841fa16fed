"""No silent wrong result: random mechanisms with whatever step, damping and group, and nothing else chosen."""

from __future__ import annotations

import numpy as np
import pytest
from campaign import OFF, UNSTABLE, case, compared, judged, table
from mechanisms import GROUPS, mechanism

import fem_mbs as mbs

QUICK = (3, 16, 19, 24, 27, 62)
"""A few of small cost: chains, trees, loops, drives, from fine to coarse, stable and not."""


def test_mechanisms_are_the_same_on_all_groups() -> None:
    """Same bodies, places and velocities; a start is consistent."""
    for seed in range(8):
        one, *others = (mechanism(seed, group) for group in GROUPS)
        first = mbs.simulate(one.model, 1e-4, 1e-4)
        for other in others:
            start = mbs.simulate(other.model, 1e-4, 1e-4)
            assert np.allclose(start.energy.total[0], first.energy.total[0], rtol=1e-9, atol=1e-9)
            assert np.allclose(start.x[0], first.x[0], atol=1e-12)


@pytest.mark.one
@pytest.mark.parametrize("seed", QUICK)
def test_no_silent_wrong_result(seed: int) -> None:
    """Right, refused, or said to be doubtful."""
    verdict = judged(case(seed))
    assert verdict.outcome not in (UNSTABLE, OFF), f"{verdict.case}: gain {verdict.gain}, error {verdict.error}"


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 1000, 50))
def test_campaign(first: int) -> None:
    """The same for a thousand mechanisms, in parts that end; tables are printed (``-s``)."""
    verdicts = [judged(case(seed)) for seed in range(first, first + 50)]
    print(f"\n{table(verdicts)}")
    silent = [verdict for verdict in verdicts if verdict.outcome in (UNSTABLE, OFF)]
    assert not silent, "\n".join(f"{v.outcome}: {v.case}, gain {v.gain:.3g}, error {v.error:.3g}" for v in silent)


@pytest.mark.slow
def test_estimates_are_of_the_right_size() -> None:
    """Nine of ten small errors within a factor of 4, half of them within 2.

    Large ones are hardly ever missed, and small ones hardly ever doubted: one of a hundred, of a step of 1 rad.
    """
    found = [pair for seed in range(200) if (pair := compared(case(seed))) is not None]
    small = np.array([estimated / true for true, estimated, _ in found if 1e-6 < true < 0.1])
    assert np.quantile(small, 0.05) > 0.25 and np.quantile(small, 0.95) < 4.0 and 0.5 < np.median(small) < 2.0
    assert np.mean([warned for true, _, warned in found if true > 0.5]) > 0.9
    assert np.mean([warned for true, _, warned in found if true < 0.03]) < 0.02
