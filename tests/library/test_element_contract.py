"""The laws that every element of the catalogue obeys, and what they say to those who break them."""

from __future__ import annotations

import numpy as np
import pytest
from catalogue import ELEMENTS, build
from motions import random_motion, residual

from fem_mbs import System
from fem_mbs.compiled import in_use
from fem_mbs.testing import ELEMENT_LAWS, ElementTrial, check_element
from fem_mbs.testing.differences import hold

EVERY = {"shapes_are_right", "evaluation_is_pure", "matrices_are_derivatives", "many_are_the_sum"}
"""Laws that are one for every element."""


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ELEMENTS)
def test_laws(name: str, seed: int) -> None:
    report = check_element(ELEMENTS[name], [seed])
    assert set(report) >= EVERY
    assert {*report, *report.does_not_apply} == set(ELEMENT_LAWS)


@pytest.mark.parametrize("law", [law for law in ELEMENT_LAWS if in_use() or law != "compiled_kernels_agree"])
def test_every_law_is_one_for_some_element(law: str) -> None:
    assert any(len(hold(law, {law: ELEMENT_LAWS[law]}, ElementTrial.of(make, 0))) for make in ELEMENTS.values())


def test_whole_model_is_the_sum_of_its_elements() -> None:
    """Batches of many elements of a kind do what each does alone."""
    model, parts = build(*ELEMENTS.values())
    whole = System(model)
    motion = random_motion(whole, 3)
    total = residual(whole, motion)
    expected = np.zeros_like(total)
    for entry, part in zip(ELEMENTS.values(), parts, strict=True):
        alone, rows = System(build(entry)[0]), whole.number.own(part)
        own = random_motion(alone, 3)
        own.u, own.udot, own.uddot = motion.u[rows], motion.udot[rows], motion.uddot[rows]
        expected += residual(alone, own)
    np.testing.assert_allclose(total, expected, rtol=0, atol=1e-13 * np.abs(total).max())
