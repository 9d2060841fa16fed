"""Equilibria, their frequencies and buckling loads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.elements import Beam, BeamSection, Force, Moment


def cantilever(EI: float = 2.0, length: float = 1.0, moment: float = 4.0, load: float = 0.0) -> mbs.Model:  # noqa: N803
    """Bent to an arc by a moment at its end, or pressed."""
    model = mbs.Model("SE3")
    section = BeamSection(EA=1e3, GA=1e3, GJ=5.0, EI=(EI, 3.0 * EI), mass=0.4, inertia=(2e-3, 1e-3, 1e-3))
    beam = Beam.line(model, (0, 0, 0), (length, 0, 0), section, elements=10, name="beam")
    model.fix(beam.nodes[0])
    model.add(Moment(beam.nodes[-1], (0, -moment, 0)))
    model.add(Force(beam.nodes[-1], (-load, 0, 0)))
    return model


def tip(solution: Any) -> Any:
    """Of the beam, in its plane."""
    return solution.position(solution.model["beam"].nodes[-1])[-1, [0, 2]]


def test_an_arc() -> None:
    """Closed form of the tip under an end moment: M, EI and L; the elements are exact there."""
    found = mbs.sensitivities(cantilever, {"moment": 4.0, "EI": 2.0, "length": 1.0}, of=mbs.statics)
    np.testing.assert_allclose(tip(found.solution), [0.4546487134, 0.7080734183], atol=1e-9)
    derivatives = found.of(tip)
    np.testing.assert_allclose(derivatives["moment"], [-0.2176988875, 0.0503060021], atol=1e-8)
    np.testing.assert_allclose(derivatives["EI"], [0.4353977750, -0.1006120043], atol=1e-8)
    np.testing.assert_allclose(derivatives["length"], [-0.4161468365, 0.9092974268], atol=1e-7)


def test_frequencies_about_what_is_bent() -> None:
    """Against differences of whole analyses over a longer step: the change of the equilibrium counts."""
    values = {"EI": 2.0, "moment": 1.0}
    found = mbs.sensitivities(cantilever, values, of=mbs.statics)
    mine = found.of(lambda s: mbs.modes(s.model, 2, s.state(-1)).frequencies)

    def frequencies(**changed: float) -> Any:
        model = cantilever(**{**values, **changed})
        tight = mbs.Newton(force_tolerance=1e-12, max_iterations=30)
        return mbs.modes(model, 2, mbs.statics(model, newton=tight).state(-1)).frequencies

    for name, value in values.items():
        step = 1e-3 * value
        expected = (frequencies(**{name: value + step}) - frequencies(**{name: value - step})) / (2.0 * step)
        np.testing.assert_allclose(mine[name], expected, rtol=1e-4, atol=1e-6)


def test_buckling() -> None:
    """Euler's load grows with the stiffness, and falls with the square of the length, but for what shortens before."""
    values = {"EI": 2.0, "length": 1.0}

    def pressed(**given: float) -> mbs.Model:
        return cantilever(moment=0.0, load=1.0, **given)

    found = mbs.sensitivities(pressed, values, of=mbs.statics, load_end=0.1)
    load = mbs.buckling(found.solution.model, initial=found.solution.state(-1)).factors[0]
    rates = found.of(lambda s: mbs.buckling(s.model, initial=s.state(-1)).factors, relative=True)
    assert abs(load / (np.pi**2 * 2.0 / 4.0) - 1.0) < 0.02
    assert abs(rates["EI"][0] / load - 1.0) < 0.02 and abs(rates["length"][0] / load + 2.0) < 0.04


def test_refused() -> None:
    """By name."""
    with pytest.raises(mbs.ModelError, match="of must be mbs.statics"):
        mbs.sensitivities(cantilever, {"EI": 2.0}, of=mbs.modes)
    with pytest.raises(mbs.ModelError, match="needs t_end and step"):
        mbs.sensitivities(cantilever, {"EI": 2.0})
    with pytest.raises(mbs.ModelError, match="has no argument 'load_end' for a run"):
        mbs.sensitivities(cantilever, {"EI": 2.0}, 0.1, 0.01, load_end=2.0)
