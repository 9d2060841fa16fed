"""The laws that every element of the catalogue obeys, and what they say to those who break them."""

from __future__ import annotations

import numpy as np
import pytest
from catalogue import ELEMENTS, build, flexible_body
from motions import random_motion, residual
from scipy.optimize import bisect

from fem_mbs import System
from fem_mbs.arrays import Array
from fem_mbs.compiled import in_use
from fem_mbs.contracts import Motion
from fem_mbs.contracts.element import SmallChange
from fem_mbs.testing import ELEMENT_LAWS, ElementTrial, check_element
from fem_mbs.testing.differences import hold
from fem_mbs.testing.stage import neighbour

EVERY = {"shapes_are_right", "evaluation_is_pure", "matrices_are_derivatives", "many_are_the_sum"}
"""Laws that are one for every element."""


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ELEMENTS)
def test_laws(name: str, seed: int) -> None:
    report = check_element(ELEMENTS[name], [seed])
    assert set(report) >= EVERY
    assert {*report, *report.does_not_apply} == set(ELEMENT_LAWS)


@pytest.mark.ci(every_case=True)
@pytest.mark.parametrize("law", [law for law in ELEMENT_LAWS if in_use() or law != "compiled_kernels_agree"])
def test_every_law_is_one_for_some_element(law: str) -> None:
    assert any(len(hold(law, {law: ELEMENT_LAWS[law]}, ElementTrial.of(make, 0))) for make in ELEMENTS.values())


def until_it_turns(trial: ElementTrial, motion: Motion, way: Array, most: float) -> float:
    """The share of a change of motion at which a law goes over a kink; infinite if it does not up to the largest."""

    def side(share: float) -> list[float]:
        return trial.batch.branches(trial.force(changed(motion, share * way))[1]).ravel().tolist()

    first, shares = side(0.0), most * 0.7 ** np.arange(12)[::-1]
    end = next((share for share in shares if side(share) != first), np.inf)
    return end if np.isinf(end) else bisect(lambda share: 0.5 - (side(share) == first), 0.0, end, xtol=1e-12)


def changed(motion: Motion, d: Array) -> Motion:
    """With increments, and velocities as far as a step takes them."""
    return neighbour(motion, d, PER_INCREMENT * d, 0.0 * d)


PER_INCREMENT = 100.0
PLAIN = ("stop of a hinge", "speed motor at its limit", "position motor at its limit", "spring that slips")
"""Laws whose kinks are seen by how far they are, and by nothing else."""
BENT = ("friction in a slider", "friction in a hinge", "bristles in a slider", "bristles in a hinge")


@pytest.mark.parametrize("name", [*PLAIN, *BENT, "PID with limits"])
def test_kinks_are_seen_before_they_are_passed(name: str) -> None:
    """What leads half as far again as a kink crosses it; what leads a fifth as far does not, unless the law is bent."""
    trial, found = ElementTrial.of(ELEMENTS[name], 0), 0
    most = {"PID with limits": 2.0, "spring that slips": 0.3}.get(name, 0.07)  # further, velocities bend the way
    for way in np.random.default_rng(1).normal(size=(100, trial.system.N)):
        if (far := until_it_turns(trial, trial.motion, way, most)) > most:
            continue
        near = changed(trial.motion, (far - 1e-3) * way)
        context, share = trial.force(near)[1], until_it_turns(trial, near, way, 0.01) * way[trial.rows]
        none = np.zeros(trial.system.m)
        crosses = [
            trial.batch.crosses(context, SmallChange(s * share, none, PER_INCREMENT, 1e-8, (1e3, 1e3)))
            for s in (1.5, 0.2)
        ]
        assert crosses == [True, name in BENT and crosses[1]]
        if (found := found + 1) == 3:
            return
    raise AssertionError(f"{found} ways lead to a kink")


@pytest.mark.ci
def test_whole_model_is_the_sum_of_its_elements() -> None:
    """Batches of many elements of a kind do what each does alone, unlike flexible bodies among them."""
    makes = [*ELEMENTS.values(), lambda stage: flexible_body(stage, names="ac")]
    model, parts = build(*makes)
    whole = System(model)
    motion = random_motion(whole, 3)
    total = residual(whole, motion)
    expected = np.zeros_like(total)
    for entry, part in zip(makes, parts, strict=True):
        alone, rows = System(build(entry)[0]), whole.number.own(part)
        own = random_motion(alone, 3)
        own.u, own.udot, own.uddot = motion.u[rows], motion.udot[rows], motion.uddot[rows]
        expected += residual(alone, own)
    np.testing.assert_allclose(total, expected, rtol=0, atol=1e-13 * np.abs(total).max())
