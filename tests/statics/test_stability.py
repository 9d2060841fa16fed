"""Stability of equilibria: signs of pivots against eigenvalues of the stiffness on the motions that joints allow."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.linalg import eigvalsh, null_space

import fem_mbs as mbs
from fem_mbs.benchmarks.beams import bend, following, frame, helix, lee
from fem_mbs.elements import Beam, BeamSection, Force, GeneralJoint, RevoluteJoint, RigidBody
from fem_mbs.static.equations import Equations, Loading, Point


def falling(solution: mbs.StaticSolution) -> list[int]:
    """Negative eigenvalues, lengths in units of the extent of the model."""
    system, counts = solution.system, []
    equations = Equations(system, Loading(solution.history.instant, 0.0, 1.0))
    units = 1 / system.weight[system.free_rows]
    for place in zip(solution.x, solution.R, solution.u, solution.multipliers_all, solution.t, strict=True):
        entries = equations.entries(equations.evaluate(Point(*place)))
        matrix, n = system.solver.matrix(system.solver.stored(entries)).toarray(), system.n_free
        allowed = null_space(matrix[n:, :n] * units) if system.m else np.eye(n)
        K = allowed.T @ (units[:, None] * matrix[:n, :n] * units) @ allowed
        values = eigvalsh(K + K.T)
        counts.append(int((values < -1e-13 * np.abs(values).max()).sum()))
    return counts


def narrow_lee() -> mbs.Model:
    """Lee's frame, free to tip over sideways."""
    model, beams = lee((5, 1, 4))
    section = BeamSection(EA=4.32e7, GA=2.16e7, GJ=7.2e6, EI=(1.44e7, 1e6), mass=1, inertia=(1, 1, 1))
    for beam in beams:
        beam.section = section
    return model


def pendulums(up: bool) -> mbs.Model:
    """Three rigid links, which hang or stand."""
    model = mbs.Model(gravity=(0, 0, 9.81 if up else -9.81))
    last = model.ground
    for k in range(3):
        node = model.add_node((0, 0, -(k + 0.5)))
        model.add(RigidBody(node, 1.0, (0.1, 0.1, 0.1)))
        model.add(RevoluteJoint(last, node, (0, 1, 0), point=(0, 0, -k)))
        last = node
    return model


CASES = {
    "Lee's frame": lambda: mbs.statics(lee((5, 1, 4))[0], 19.5, arc_length=True),
    "Lee's frame that tips over": lambda: mbs.statics(narrow_lee(), 19.5, arc_length=True),
    "frame": lambda: mbs.statics(frame()[0], 4.0),
    "bend": lambda: mbs.statics(bend(8)[0]),
    "hanging": lambda: mbs.statics(pendulums(False), 0, ramp=False),
    "standing": lambda: mbs.statics(pendulums(True), 0, ramp=False),
}
MOST = {"Lee's frame": 1, "Lee's frame that tips over": 7, "frame": 2, "bend": 0, "hanging": 0, "standing": 3}


@pytest.mark.parametrize("name", CASES)
def test_unstable_motions_are_counted(name: str) -> None:
    solution = CASES[name]()
    np.testing.assert_array_equal(solution.unstable, falling(solution))
    assert solution.unstable.max() == MOST[name]
    assert len(solution.unstable) == len(solution.t)


@pytest.mark.parametrize("section", ["flat", "round"])
def test_a_load_that_follows_says_where_the_path_branches(section: str, caplog: pytest.LogCaptureFixture) -> None:
    """On hinges or ball joints, the end of a column turns with the load, which the guide bears: Euler's load."""
    flat, whole = BeamSection.rectangle(0.01, 0.005, 2e11, 0.3, 7800), BeamSection.circle(0.01, 2e11, 0.3, 7800)
    of_beam = flat if section == "flat" else whole
    model = mbs.Model()
    column = Beam.line(model, (0, 0, 0), (1, 0, 0), of_beam, elements=6, order=2)
    model.add(GeneralJoint(model.ground, column.nodes[0], True, (True, False, False)))
    model.add(GeneralJoint(model.ground, column.nodes[-1], (False, True, True), False))
    model.add(
        Force(
            column.nodes[-1], (-(np.pi**2) * min(of_beam.stiffness[4, 4], of_beam.stiffness[5, 5]), 0, 0), frame="body"
        )
    )
    mbs.statics(model, 0.9)
    assert not caplog.records
    solution = mbs.statics(model, 1.2)
    (record,) = caplog.records
    first, last = (
        float(own) for own in re.findall(r"factors ([\d.]+) and ([\d.]+) the stiffness is singular", record.message)[0]
    )
    assert first - 0.01 < 1.0 < last + 0.01 and last - first < 0.02 and (solution.unstable[1:] == -1).all()


@pytest.mark.one
@pytest.mark.parametrize("case", [following, lambda: helix(20)])
def test_stiffness_says_nothing_where_loads_follow(case) -> None:
    """Nor where a moment keeps its direction: it has no energy."""
    solution = mbs.statics(case()[0], 0.5)
    assert solution.unstable[0] == 0 and (solution.unstable[1:] == -1).all()


@pytest.mark.parametrize("slenderness", [1e1, 1e3])
def test_column_becomes_unstable_at_the_critical_load(slenderness: float) -> None:
    """Just below, just above, and above the second one about the other axis."""
    model = mbs.Model()
    section = BeamSection(slenderness**2, slenderness**2, 1, (1.0, 1.5), mass=1, inertia=(1, 1, 1))
    mast = Beam.line(model, (0, 0, 0), (0, 0, 1), section, 20)
    model.fix(mast.nodes[0])
    model.add(Force(mast.nodes[-1], (0, 0, -1)))
    first, second = mbs.buckling(model, 2).factors
    near = mbs.statics(model, 0.95 * first)
    first = mbs.buckling(model, 1, initial=near.state(-1)).factors[0]
    solution = mbs.statics(model, 1.1 * second, loads=[0.99 * first, 1.01 * first, 1.1 * second])
    assert solution.unstable.tolist() == [0, 1, 2]
