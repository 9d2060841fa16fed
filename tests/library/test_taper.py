"""Tapered beams against exact solutions: statics of bars and cantilevers, Kirchhoff's wedge and cone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from catalogue import COUPLED, PLAIN
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import iv, jv

import fem_mbs as mbs
from fem_mbs.contracts import Motion
from fem_mbs.elements import Beam, BeamSection, Force, beams_from_mesh
from fem_mbs.elements.beams.section import linear

THICK, THIN = (BeamSection.circle(radius, 1.0, 0.3, 1.0) for radius in (0.1, 0.04))


def between(s: float) -> BeamSection:
    return BeamSection.circle(0.1 - 0.06 * s, 1.0, 0.3, 1.0)


@pytest.mark.parametrize(("order", "elements", "error"), [(1, 40, 1e-3), (2, 8, 1e-4), (3, 4, 1e-4)])
@pytest.mark.parametrize("section", [(THICK, THIN), between], ids=["pair", "function"])
def test_tapered_bar_and_cantilever(order: int, elements: int, error: float, section: Any) -> None:
    """``FL/(pi E r_0 r_1)`` along; across, the integrals of ``(L - s)^2/EI`` and ``1/GA``."""
    u = []
    for direction in ((0, 1e-8, 0), (0, 0, 1e-13)):
        model = mbs.Model()
        beam = Beam.line(model, (0, 0, 0), (0, 2, 0), section, elements, order=order)
        model.fix(beam.nodes[0])
        model.add(Force(beam.nodes[-1], direction))
        u.append(mbs.statics(model).displacement(beam.nodes[-1])[-1] @ direction / np.square(direction).sum())
    np.testing.assert_allclose(u[0], 2 / (np.pi * 0.1 * 0.04), rtol=error)

    def compliance(s: float) -> float:
        stiffness = np.diag(between(s).stiffness)
        return float(2 * (2 * (1 - s)) ** 2 / stiffness[4] + 2 / stiffness[2])

    np.testing.assert_allclose(u[1], quad(compliance, 0, 1)[0], rtol=error)


TIP = 1e-3
"""Thickness of the tip; a sharp one has no section."""
KIRCHHOFF: dict[str, tuple[Callable[[float], BeamSection], int, tuple[float, float]]] = {
    "wedge": (lambda s: BeamSection.rectangle(1e-2, 1e-2 * max(1 - s, TIP), 1.0, 0.3, 1.0), 1, (5.315, 15.207)),
    "cone": (lambda s: BeamSection.circle(5e-3 * max(1 - s, TIP), 1.0, 0.3, 1.0), 2, (8.719, 21.146)),
}


@pytest.mark.parametrize("name", KIRCHHOFF)
def test_frequencies_of_kirchhoffs_wedge_and_cone(name: str) -> None:
    """Clamped at the base: ``J_n(b) I_(n+1)(b) + I_n(b) J_(n+1)(b) = 0``, frequencies ``b^2/4``, n = 1 and 2.

    Kirchhoff, *Sitzungsberichte Berlin* (1879); the table is in Blevins, *Formulas for Natural Frequency* (1979), 8-18.
    The base is a hundredth of the length thick, whose shear and rotary inertia lower the frequencies by up to 0.1 %.
    """
    section, n, table = KIRCHHOFF[name]
    equation = lambda b: jv(n, b) * iv(n + 1, b) + iv(n, b) * jv(n + 1, b)  # noqa: E731
    roots = [brentq(equation, 2 * np.sqrt(0.95 * value), 2 * np.sqrt(1.05 * value)) ** 2 / 4 for value in table]
    np.testing.assert_allclose(roots, table, rtol=1e-4)
    model = mbs.Model()
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), section, 6, order=3)
    model.fix(beam.nodes[0])
    found = mbs.modes(model, 8)
    base = section(0.0)
    unit = np.sqrt(base.stiffness[4, 4] / base.mass)
    shapes = np.abs(found.displacement(beam.nodes[-1]))
    across = found.angular[shapes[:, 2] > shapes[:, :2].max(axis=1)] / unit
    for root in roots:
        assert np.abs(across / root - 1).min() < 2e-3, (across, root)


MADE = {
    "by numbers": (PLAIN, BeamSection(10.0, 4.0, 1.0, (2.0, 3.0), 0.5, (0.1, 0.05, 0.05))),
    "rectangle": tuple(BeamSection.rectangle(b, h, 2.0, 0.3, 3.0) for b, h in ((1.0, 2.0), (0.5, 1.0))),
    "tube": tuple(BeamSection.tube(r, r - 0.1, 2.0, 0.3, 3.0) for r in (1.0, 0.5)),
    "shifted, damped": tuple(
        BeamSection.circle(r, 2.0, 0.3, 3.0).shifted(r, 0).with_damping(0.1).turned(r) for r in (1.0, 0.5)
    ),
    "general": (COUPLED, BeamSection.general(2 * COUPLED.stiffness, np.eye(6))),
}


@pytest.mark.parametrize("name", MADE)
def test_a_pair_goes_linearly_in_what_it_was_made_of(name: str) -> None:
    start, end = MADE[name]
    section = linear(start, end, "test")
    for s, given in ((0.0, start), (1.0, end)):
        for value in ("stiffness", "mass", "inertia", "damping", "center", "outline"):
            np.testing.assert_allclose(getattr(section(s), value), getattr(given, value), rtol=1e-12, atol=1e-15)
    middle = section(0.5)
    if name == "rectangle":
        np.testing.assert_allclose(middle.stiffness, BeamSection.rectangle(0.75, 1.5, 2.0, 0.3, 3.0).stiffness)
    if name == "by numbers":
        np.testing.assert_allclose(middle.stiffness, 0.5 * (start.stiffness + end.stiffness))


def test_tapered_members_of_a_mesh_and_their_picture() -> None:
    import meshio

    model = mbs.Model()
    frame = beams_from_mesh(model, meshio.Mesh([(0, 0, 0), (0, 0, 2)], [("line", [(0, 1)])]), (THICK, THIN))
    model.fix(frame.nodes[0])
    system = mbs.System(model)
    (beam,) = frame.beams
    picture = beam.picture(system.number, 5)
    still = np.zeros((system.n, 6))
    motion = Motion(0.0, system.x0, system.R0, still, still, np.zeros(3))
    points = picture.draw(motion, np.zeros(0))["points"].reshape(5, -1, 3)
    radius = np.linalg.norm(points[:, 1:, :2], axis=-1)
    np.testing.assert_allclose(radius, np.linspace(0.1, 0.04, 5)[:, None] + 0 * radius, rtol=1e-12)


BAD = {
    "another kind": ((THICK, PLAIN), "made by .circle and .BeamSection"),
    "three": ((THICK, THIN, THIN), "section must be one section, or a pair"),
    "no section": ((THICK, 3.0), "section of the end must be a BeamSection"),
    "function that fails": (lambda s: 1 / 0, "section at the arc length 0 failed: ZeroDivisionError"),
    "function of nothing": (lambda s: None, "section at the arc length 0 must be a BeamSection, received None"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_tapers_are_refused_and_leave_the_model_as_it_is(name: str) -> None:
    section, words = BAD[name]
    model = mbs.Model()
    with pytest.raises(mbs.ModelError, match=words):
        Beam.line(model, (0, 0, 0), (1, 0, 0), section)  # type: ignore[arg-type]
    assert len(model.nodes) == 1
