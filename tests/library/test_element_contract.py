"""The laws that every element of the catalogue obeys, and what they say to those who break them."""

from __future__ import annotations

import numpy as np
import pytest
from catalogue import ELEMENTS, build
from motions import random_motion, residual

from fem_mbs import System
from fem_mbs.testing import ELEMENT_LAWS, ElementTrial


@pytest.mark.parametrize("law", ELEMENT_LAWS)
@pytest.mark.parametrize("name", ELEMENTS)
def test_laws(name: str, law: str) -> None:
    for seed in (0, 1):
        trial = ElementTrial.of(ELEMENTS[name], seed)
        if ELEMENT_LAWS[law].of(trial.element):
            ELEMENT_LAWS[law].check(trial)


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
