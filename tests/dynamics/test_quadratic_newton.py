"""Newton's method converges quadratically in the steps of a large flexible motion: the tangent is exact."""

from __future__ import annotations

from itertools import pairwise

import pytest

import fem_mbs as mbs
from fem_mbs.elements import Beam, BeamSection, Force


def right_angle_cantilever(group: str, interpolation: str) -> mbs.Model:
    """Simo and Vu-Quoc (1988): two legs of length 10, a force out of plane at the elbow, 50 at t = 1, 0 from t = 2."""
    model = mbs.Model(group)
    section = BeamSection(1e6, 1e6, 1e3, 1e3, 1.0, (20, 10, 10))
    first = Beam.line(model, (0, 0, 0), (10, 0, 0), section, 5, start_node=model.ground, interpolation=interpolation)
    elbow = first.nodes[-1]
    Beam.line(model, (10, 0, 0), (10, 10, 0), section, 5, start_node=elbow, interpolation=interpolation)
    model.add(Force(elbow, lambda t: (0, 0, 50 * max(0.0, min(t, 2 - t)))))
    return model


@pytest.mark.parametrize("interpolation", ["SE3", "R3xSO3"])
@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
def test_residuals_fall_quadratically_in_every_step(group: str, interpolation: str) -> None:
    """``e_next <= 0.005 e^2`` for e from 0.035 down to 1e-3; below that the next residual is rounding, about 1e-10.

    One per cent of an inexact tangent would leave ``e_next = 0.01 e``, at least sixty times the bound.
    """
    method = mbs.GeneralizedAlpha.hht(0.05, newton=mbs.Newton(force_tolerance=1e-13))
    system = mbs.System(right_angle_cantilever(group, interpolation))
    state, checked = mbs.start(system, method), 0
    memory = method.init(system, state, 0.2)
    for _ in range(40):
        # without the predictor, whose guess is too good to show much
        state, memory, report, _ = method.step(system, state, 0.2, memory._replace(predictor=None))
        for e, following in pairwise(report.history):
            if 1e-3 < e < 0.035:
                checked += 1
                assert following <= 0.005 * e * e
    assert checked >= 15
