"""What elements say of compression under which their mesh cannot follow the sheet."""

from __future__ import annotations

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.elements import EdgeLoad, Shell, ShellSection
from fem_mbs.elements.shells.batch import SHARE, compression

E, NU = 2e9, 0.3


def beyond(
    section: ShellSection, forces: list[tuple[float, ...]], curvature: tuple[float, ...], a: float
) -> np.ndarray:
    n = len(forces)
    law = np.broadcast_to(section.stiffness[:6, :6], (n, 6, 6))
    return compression(np.array(forces), np.tile(curvature, (n, 1)), law, np.tile(a * np.eye(2), (n, 1, 1)))


@pytest.mark.parametrize("offset", [0.0, 0.3])
def test_a_flat_element_carries_half_of_its_buckling_load(offset: float) -> None:
    """In any direction, wherever the nodes are; tension beside it changes nothing."""
    h, a = 0.01, 0.2
    section = ShellSection.isotropic(h, E=E, nu=NU, rho=1000.0).with_offset(offset)
    N = SHARE * np.pi**2 * E * h**3 / (12 * (1 - NU**2)) / a**2
    forces = [(-N, 0.0, 0.0), (5 * N, -N, 0.0), (-N / 2, -N / 2, N / 2), (0.0, 0.0, N), (-N, -N, 0.0)]
    np.testing.assert_allclose(beyond(section, forces, (0.0, 0.0, 0.0), a), 1.0)
    assert (beyond(section, [(N, 2 * N, 0.0)], (0.0, 0.0, 0.0), a) < 0.0).all()


def test_a_cylinder_carries_its_classical_load() -> None:
    """Where waves of that are longer than elements, along its axis, but not round it."""
    h, R, a = 1e-3, 1.0, 0.2
    section = ShellSection.isotropic(h, E=E, nu=NU, rho=1000.0)
    N = SHARE * E * h**2 / (R * np.sqrt(3 * (1 - NU**2)))
    along, around = beyond(section, [(0.0, -N, 0.0), (-N, 0.0, 0.0)], (1 / R, 0.0, 0.0), a)
    assert along == pytest.approx(1.0)
    assert around == pytest.approx(N / (SHARE * np.pi**2 * section.stiffness[3, 3] / a**2))


@pytest.mark.parametrize("seed", range(3))
def test_it_does_not_depend_on_the_axes(seed: int) -> None:
    """Forces, curvatures and edges in axes turned by any angle."""
    rng = np.random.default_rng(seed)
    section = ShellSection.isotropic(1e-3, E=E, nu=NU, rho=1000.0)
    N, K, sides = -np.eye(2) + 0.5 * rng.normal(size=(2, 2)), rng.normal(size=(2, 2)), 0.2 * rng.normal(size=(2, 2))
    found = []
    for a in (0.0, *rng.uniform(0, 2 * np.pi, 3)):
        Q = np.array([[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]])
        n, k = (Q @ (own + own.T) @ Q.T for own in (N, K))
        force, curvature = np.array([[n[0, 0], n[1, 1], n[0, 1]]]), np.array([[k[0, 0], k[1, 1], 2 * k[0, 1]]])
        found.append(compression(force, curvature, section.stiffness[None, :6, :6], (sides @ Q.T)[None])[0])
    np.testing.assert_allclose(found, found[0], rtol=1e-9)


def clamped(h: float, elements: int) -> tuple[mbs.Model, Shell]:
    """Pulled from a clamped edge, beside which it is compressed across: 0.03 of the pull."""
    model = mbs.Model(gravity=(0, 0, 0))
    section = ShellSection.isotropic(h, E=E, nu=NU, rho=1000.0)
    sheet = Shell.rectangle(
        model, (0, 0, 0), (1, 0, 0), (0, 1, 0), section, elements=(elements, elements), name="sheet"
    )
    for node in sheet.edge("left"):
        model.fix(node)
    model.add(EdgeLoad(sheet.edge("right"), (0.002 * E * h, 0, 0)))
    return model, sheet


@pytest.mark.ci
def test_thin_sheets_on_coarse_meshes_are_named_once(caplog: pytest.LogCaptureFixture) -> None:
    for run in (mbs.statics, lambda model: mbs.simulate(model, 0.02, 5e-4)):
        run(clamped(1e-3, 4)[0])
        texts = [text for text in caplog.messages if "compressed" in text]
        assert len(texts) == 1
        assert "Shell 'sheet': element" in texts[0]
        assert "smaller elements" in texts[0]
        caplog.clear()


@pytest.mark.slow
def test_modes_with_waves_of_few_elements_are_told(caplog: pytest.LogCaptureFixture) -> None:
    """A square plate has one half wave each way; a tube under its axial load has many, which a coarse mesh cannot."""
    model, n = mbs.Model(gravity=(0, 0, 0)), 5
    section = ShellSection.isotropic(0.01, E=E, nu=NU, rho=1000.0)
    plate = Shell.rectangle(model, (0, 0, 0), (1, 0, 0), (0, 1, 0), section, elements=(n, n))
    for node in {node for edge in ("left", "right", "top", "bottom") for node in plate.edge(edge)}:
        model.fix(node, translation=(node in plate.edge("left"), node is plate.nodes[0], True), rotation=False)
    model.add(EdgeLoad(plate.edge("right"), (-1.0, 0, 0)))
    D = section.stiffness[3, 3]
    assert mbs.buckling(model, 1).factors[0] == pytest.approx(4 * np.pi**2 * D, rel=0.04)
    assert "waves" not in caplog.text
    mbs.modes(model, 6)
    assert "modes: mode 4 has waves of" in caplog.text
    caplog.clear()
    model = mbs.Model(gravity=(0, 0, 0))

    def around(u: float, v: float) -> tuple[float, float, float]:
        return np.cos(2 * np.pi * u), np.sin(2 * np.pi * u), 2 * v

    tank = Shell.surface(model, around, section, elements=(16, 6), closed=(True, False), name="tank")
    for node in tank.edge("bottom"):
        model.fix(node)
    model.add(EdgeLoad(tank.edge("top"), (0, 0, -1.0)))
    mbs.buckling(model)
    assert "in Shell 'tank'" in caplog.text


@pytest.mark.ci
def test_thick_ones_and_fine_meshes_are_not(caplog: pytest.LogCaptureFixture) -> None:
    for h, elements in ((0.02, 4), (4e-3, 12)):
        mbs.simulate(clamped(h, elements)[0], 4e-3, 1e-3)
    assert "compressed" not in caplog.text
