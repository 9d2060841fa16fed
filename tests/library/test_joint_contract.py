"""The laws that every joint of the catalogue obeys."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from catalogue import JOINTS, build
from motions import random_motion

from fem_mbs import System
from fem_mbs.compiled import in_use
from fem_mbs.system import constraints
from fem_mbs.system.matrices import velocity_residual
from fem_mbs.testing import JOINT_LAWS, JointTrial, check_joint
from fem_mbs.testing.differences import hold


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", JOINTS)
def test_laws(name: str, seed: int) -> None:
    report = check_joint(JOINTS[name], [seed])
    assert set(report) >= {"shapes_are_right", "it_is_closed_as_built", "second_is_the_derivative_of_the_gradient"}
    assert {*report, *report.does_not_apply} == set(JOINT_LAWS)


OFFERED_BY_NONE = {"section_forces_are_of_its_frame", "signals_are_its_internal_variables"}
"""Laws of parts that joints from outside may offer."""


@pytest.mark.parametrize(
    "law", [law for law in JOINT_LAWS if law not in OFFERED_BY_NONE and (in_use() or law != "compiled_kernels_agree")]
)
def test_every_law_is_one_for_some_joint(law: str) -> None:
    assert any(len(hold(law, {law: JOINT_LAWS[law]}, JointTrial.of(make, 0))) for make in JOINTS.values())


def test_many_joints_together_do_what_each_does_alone() -> None:
    model, parts = build(*JOINTS.values())
    system = System(model)
    motion = random_motion(system, 2)
    multipliers = np.random.default_rng(3).normal(size=system.m)
    whole = system.evaluate(motion, multipliers, system.prescribe(motion.t))
    rate = velocity_residual(system, whole)
    acceleration = constraints.acceleration_residual(system, whole)
    force = np.zeros_like(whole.force)
    for joint, entry in zip(parts, JOINTS.values(), strict=True):
        rows = system.constraint_rows(joint).rows
        alone = System(build(entry)[0])
        own = system.number.own(joint)
        here = replace(motion, u=motion.u[own], udot=motion.udot[own], uddot=motion.uddot[own])
        part = alone.evaluate(here, multipliers[rows], alone.prescribe(motion.t))
        force[np.append(np.arange(6 * system.n), 6 * system.n + own)] += part.force
        np.testing.assert_allclose(whole.constraint[rows], part.constraint, rtol=0, atol=1e-15)
        np.testing.assert_allclose(rate[rows], velocity_residual(alone, part), rtol=0, atol=1e-13)
        np.testing.assert_allclose(
            acceleration[rows], constraints.acceleration_residual(alone, part), rtol=0, atol=1e-12
        )
    np.testing.assert_allclose(whole.force, force, rtol=0, atol=1e-13)
