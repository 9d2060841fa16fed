"""No silent wrong result: random mechanisms of all classes, with nothing chosen but the step."""

from __future__ import annotations

import pytest
from assembly_campaign import OFF, judged, table

QUICK = (1, 2, 12)
"""A few of small cost."""


@pytest.mark.parametrize("seed", QUICK)
def test_no_silent_wrong_result(seed: int) -> None:
    """Right, refused, or said to be doubtful."""
    verdict = judged(seed)
    assert verdict.outcome != OFF, str(verdict)


@pytest.mark.slow
def test_campaign() -> None:
    """The same for a thousand; the table is printed (``-s``)."""
    verdicts = [judged(seed) for seed in range(1000)]
    print(f"\n{table(verdicts)}")
    silent = [str(verdict) for verdict in verdicts if verdict.outcome == OFF]
    assert not silent, "\n".join(silent)
