"""No silent wrong result: random mechanisms of all classes, with nothing chosen but the step."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import assemblies
import pytest
from assemblies import GROUPS, assembly
from assembly_campaign import OFF, judged, table

from fem_mbs import elements

SEEDS = (8, pytest.param(2, marks=pytest.mark.slow), pytest.param(10, marks=pytest.mark.slow))
"""Of small cost; the last has ropes and a controller."""
CLASSES = {name for name in elements.__all__ if inspect.isclass(getattr(elements, name))}
PICTURES, BASES = {"Ball", "Box", "Bush", "Capsule", "Cylinder", "Plane", "Surface"}, {"TimeLaw"}
MADE = {"BeamMesh", "Signal"}
"""What functions and sums make."""


@pytest.mark.ci
@pytest.mark.parametrize("seed", SEEDS)
def test_no_silent_wrong_result(seed: int) -> None:
    """Right, refused, or said to be doubtful."""
    verdict = judged(seed)
    assert verdict.outcome != OFF, str(verdict)


def test_every_public_class_may_be_drawn() -> None:
    """The generator names each."""
    tree = ast.parse(Path(assemblies.__file__).read_text(encoding="utf-8"))
    owned = (own for own in ast.walk(tree) if isinstance(own, ast.Attribute) and isinstance(own.value, ast.Name))
    named = {own.attr for own in owned if own.value.id == "library"}
    assert not CLASSES - PICTURES - BASES - MADE - named


@pytest.mark.slow
def test_every_public_class_is_drawn() -> None:
    """Within 600 mechanisms, which cost little as they do not run."""
    missing = CLASSES - PICTURES - BASES
    for seed in range(600):
        missing -= set(assembly(seed, GROUPS[seed % len(GROUPS)]).parts)
        if not missing:
            return
    assert not missing


@pytest.mark.slow
@pytest.mark.parametrize("first", range(5000, 5040, 10))
def test_campaign(first: int) -> None:
    """Others than those of docs/campaign.md, in parts that end; tables are printed (``-s``)."""
    verdicts = [judged(seed) for seed in range(first, first + 10)]
    print(f"\n{table(verdicts)}")
    silent = [str(verdict) for verdict in verdicts if verdict.outcome == OFF]
    assert not silent, "\n".join(silent)
