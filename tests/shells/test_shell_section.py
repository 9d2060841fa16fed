"""Sections: classical lamination, offsets, damping; resultants, stresses of plies."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.elements import EdgeLoad, GeneralJoint, Pressure, Shell, ShellSection
from fem_mbs.errors import ModelError
from fem_mbs.lie import so3

E1, E2, G12, NU = 140e9, 10e9, 5e9, 0.3
MATERIAL = dict(E1=E1, E2=E2, G12=G12, nu12=NU, rho=1600.0)


def strip(section: ShellSection, elements: int = 8, **options: object) -> tuple[mbs.Model, Shell]:
    """One by 0.1, clamped on the left but free to contract across."""
    model = mbs.Model(gravity=(0, 0, 0))
    shell = Shell.rectangle(
        model,
        (0, 0, 0),
        (1, 0, 0),
        (0, 0.1, 0),
        section,
        elements=(elements, 2),
        direction=(1, 0, 0),
        name="strip",
        **options,
    )
    for node in shell.edge("left"):
        model.fix(node, translation=(True, node is shell.node(0, 1), True), rotation=(False, True, True))
    return model, shell


def test_isotropic_is_the_laminate_of_one_material() -> None:
    E, nu, h, rho = 2.1e11, 0.3, 0.01, 7850.0
    one = ShellSection.isotropic(h, E, nu, rho)
    other = ShellSection.laminate(
        [(30, h / 4), (-70, h / 2), (0, h / 4)], E1=E, E2=E, G12=E / 2 / (1 + nu), nu12=nu, rho=rho
    )
    np.testing.assert_allclose(other.stiffness, one.stiffness, atol=1e-9 * one.stiffness.max())
    assert one.stiffness[0, 0] == pytest.approx(E * h / (1 - nu**2))
    assert one.stiffness[3, 3] == pytest.approx(E * h**3 / 12 / (1 - nu**2))
    assert one.stiffness[6, 6] == pytest.approx(5 / 6 * E / 2.6 * h)
    assert (one.mass, one.inertia) == (pytest.approx(rho * h), pytest.approx(rho * h**3 / 12))
    assert one.is_isotropic and other.is_isotropic and not ShellSection.laminate([(0, h)], **MATERIAL).is_isotropic


def test_classical_lamination() -> None:
    """Jones, Mechanics of Composite Materials: cross-ply and angle-ply, by hand."""
    t, q = 1e-3, 1 - NU**2 * E2 / E1
    Q11, Q22, Q12 = E1 / q, E2 / q, NU * E2 / q
    cross = ShellSection.laminate([(0, t), (90, t)], **MATERIAL).stiffness
    assert cross[0, 0] == pytest.approx((Q11 + Q22) * t)
    assert cross[0, 1] == pytest.approx(2 * Q12 * t)
    # the stiff ply along 1 is below: B11 < 0
    assert cross[0, 3] == pytest.approx(-(Q11 - Q22) * t**2 / 2)
    assert cross[1, 4] == pytest.approx((Q11 - Q22) * t**2 / 2)
    assert cross[3, 3] == pytest.approx((Q11 + Q22) * t**3 / 3)
    angle = ShellSection.laminate([(45, t), (-45, t)], **MATERIAL).stiffness
    Q16 = (Q11 - Q22) / 4
    assert angle[0, 5] == pytest.approx(-Q16 * t**2)
    assert angle[0, 2] == pytest.approx(0.0, abs=1e-9 * Q11 * t)


@pytest.mark.one
@pytest.mark.parametrize("plies", [[(0, 1e-3), (90, 1e-3)], [(45, 1e-3), (-45, 1e-3)]], ids=["curl", "twist"])
def test_a_pulled_strip_curls_or_twists_as_lamination_says(plies: list[tuple[float, float]]) -> None:
    section = ShellSection.laminate(plies, **MATERIAL)
    model, shell = strip(section, 20)
    force = 1.0
    model.add(EdgeLoad(shell.edge("right"), (force, 0, 0)))
    solution = mbs.statics(model)
    compliance = np.linalg.inv(section.stiffness[:6, :6])
    expected = force * compliance[:, 0]
    found = solution.shell_forces(shell)[-1]
    # away from the clamped end
    middle = found.reshape(20, 2, 8)[10].mean(axis=0)
    np.testing.assert_allclose(middle[:6], [force, 0, 0, 0, 0, 0], atol=0.02 * force)
    turn = solution.rotation_vector(shell.node(15, 1))[-1] - solution.rotation_vector(shell.node(5, 1))[-1]
    # kappa_11 is minus the slope's change about y, kappa_12 half of the twist on both sides
    assert turn[1] / 0.5 == pytest.approx(expected[3], rel=0.02, abs=1e-9)
    assert turn[0] / 0.5 == pytest.approx(-expected[5] / 2, rel=0.02, abs=1e-9)


def test_an_offset_moves_the_material_and_not_the_nodes() -> None:
    """Bent by a moment, the middle of the thickness keeps its length: nodes beside it come closer."""
    offset, moment = 0.02, 1e-3
    section = ShellSection.isotropic(0.01, E=1e6, nu=0.0, rho=1.0).with_offset(offset)
    model, shell = strip(section)
    model.add(EdgeLoad(shell.edge("right"), (0, 0, 0), moment=(0, moment, 0)))
    solution = mbs.statics(model)
    tip = shell.node(-1, 1)
    angle = moment / (1e6 * 0.01**3 / 12)
    assert solution.rotation_vector(tip)[-1, 1] == pytest.approx(angle, rel=1e-6)
    assert solution.displacement(tip)[-1, 0] == pytest.approx(-offset * angle + np.sin(angle) / angle - 1, rel=0.02)
    np.testing.assert_allclose(solution.shell_stress(shell)[-1, :, 0], 6 * moment / 0.01**2, rtol=1e-6)
    np.testing.assert_allclose(solution.shell_stress(shell, "bottom")[-1, :, 0], -6 * moment / 0.01**2, rtol=1e-6)


@pytest.mark.ci
@pytest.mark.parametrize("offset", [0.2, -0.2])
def test_an_offset_shell_is_that_through_its_middle(offset: float) -> None:
    """On a ring, too: area, mass, hoop stiffness and curvature are those of the material, pressure is on the nodes."""
    section, found = ShellSection.isotropic(0.02, E=70e9, nu=0.3, rho=2700.0), []
    for R, own in ((1.0, section.with_offset(offset)), (1.0 + offset, section)):
        model = mbs.Model()
        points = partial(_on_a_tube, R)
        ring = Shell.surface(model, points, own, (12, 1), closed=(True, False))
        frequencies = mbs.modes(model, 9).angular[6:]
        model.add(Pressure(ring, 1e5))
        held = {"translation": (False, True, True), "rotation": (False, False, False)}
        axes = so3.exp(np.arange(12)[:, None] * np.array([0.0, 0.0, np.pi / 6]))
        for k, node in enumerate(ring.edge("bottom")[:-1]):
            model.add(GeneralJoint(model.ground, node, axes=axes[k], **held))
        widened = mbs.statics(model).displacement(ring.node(0, 0))[-1, 0]
        assert ring.area.sum() == pytest.approx(2 * np.pi * R * 0.3, rel=3e-3)
        assert widened == pytest.approx(1e5 * R * (1.0 + offset) / (70e9 * 0.02), rel=0.05)
        found.append([*frequencies, widened / R])
    np.testing.assert_allclose(found[0], found[1], rtol=3e-4)
    with pytest.raises(ModelError, match="an offset of the section that is less than the radius"):
        Shell.surface(mbs.Model(), points, section.with_offset(-1.5), (12, 1), closed=(True, False))


def _on_a_tube(R: float, u: float, v: float) -> tuple[float, float, float]:
    return R * np.cos(2 * np.pi * u), R * np.sin(2 * np.pi * u), 0.3 * v


def test_stresses_of_plies_in_their_axes() -> None:
    section = ShellSection.laminate([(0, 1e-3), (90, 1e-3), (0, 1e-3)], **MATERIAL)
    model, shell = strip(section)
    model.add(EdgeLoad(shell.edge("right"), (1e3, 0, 0)))
    solution = mbs.statics(model)
    strain = np.linalg.inv(section.stiffness[:3, :3])[:, 0] * 1e3
    q = 1 - NU**2 * E2 / E1
    Q = np.array([[E1, NU * E2, 0], [NU * E2, E2, 0], [0, 0, q * G12]]) / q
    s11, s22, s12 = np.moveaxis(stress := solution.shell_stress(shell, "bottom", ply=1), -1, 0)
    tensor = np.moveaxis([[s11, s12], [s12, s22]], (0, 1), (-2, -1))
    mises = np.sqrt(s11**2 - s11 * s22 + s22**2 + 3 * s12**2)
    expected = np.concatenate([np.linalg.eigvalsh(tensor)[..., ::-1], mises[..., None]], axis=-1)
    told = solution.shell_principal_stress(shell, "bottom", ply=1)
    np.testing.assert_allclose(told, expected, atol=1e-12 * np.abs(stress).max())
    middle = solution.shell_stress(shell, ply=1)[-1, 2:4].mean(axis=0)
    expected = Q @ strain[[1, 0, 2]]
    np.testing.assert_allclose(middle, expected, atol=0.02 * np.abs(expected).max())
    top = solution.shell_stress(shell)[-1, 2:4].mean(axis=0)
    np.testing.assert_allclose(top, Q @ strain, atol=0.02 * np.abs(Q @ strain).max())
    with pytest.raises(ModelError, match="has no ply 3; it has 3, counted from 0"):
        solution.shell_stress(shell, ply=3)


def test_stresses_over_the_thickness_are_the_forces() -> None:
    """Of one ply off the axes of elements, in which both are: the mean is ``n/h``, half the difference ``6 m/h^2``."""
    model, h = mbs.Model(), 1e-3
    section = ShellSection.laminate([(30, h)], **MATERIAL)
    shell = Shell.rectangle(model, (0, 0, 0), (1, 0, 0), (0, 0.1, 0), section, elements=(2, 1), direction=(1, 0.3, 0))
    model.fix(shell.edge("left"))
    model.add(EdgeLoad(shell.edge("right"), (3.0, 1.0, 1e-5)))
    solution = mbs.statics(model)
    n, m = (solution.shell_forces(shell)[-1, :, k : k + 3] for k in (0, 3))
    top, bottom = (solution.shell_stress(shell, side)[-1] for side in ("top", "bottom"))
    np.testing.assert_allclose(0.5 * h * (top + bottom), n, atol=1e-9 * np.abs(n).max())
    np.testing.assert_allclose(h**2 / 12.0 * (top - bottom), m, atol=1e-9 * np.abs(m).max())


def test_what_no_section_is() -> None:
    A = np.diag([3.0, 3.0, 1.0])
    general = ShellSection.general(A, 0.0 * A, A / 12, np.eye(2), mass=2.0)
    assert general.thickness == pytest.approx(1.0) and general.inertia == pytest.approx(2 / 12)
    model, shell = strip(general)
    model.add(EdgeLoad(shell.edge("right"), (1e-3, 0, 0)))
    with pytest.raises(ModelError, match="made by ShellSection.general, of which no stresses are known"):
        mbs.statics(model).shell_stress("strip")
    with pytest.raises(ModelError, match="must be positive definite"):
        ShellSection.general(-A, A, A, np.eye(2), mass=1.0)
    with pytest.raises(ModelError, match="must be a symmetric 3x3 matrix, received"):
        ShellSection.general(A + np.eye(3, k=1), A, A, np.eye(2), mass=1.0)
    with pytest.raises(ModelError, match=r"at least one pair \(angle, thickness > 0\)"):
        ShellSection.laminate([(0, 0)], **MATERIAL)
    with pytest.raises(ModelError, match="nu12 must be less than"):
        ShellSection.laminate([(0, 1)], E1=1.0, E2=1.0, G12=1.0, nu12=1.5, rho=1.0)


def test_shells_have_channels() -> None:
    """Resultants and stresses by element and name, as beams have their section forces."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    sheet = ShellSection.isotropic(0.002, E=210e9, nu=0.3, rho=7850.0)
    plate = Shell.rectangle(model, (0, 0, 0), (1, 0, 0), (0, 0.5, 0), sheet, elements=(2, 2), name="plate")
    for node in plate.edge("left"):
        model.fix(node)
    solution = mbs.statics(model, load_end=1e-3)
    forces, stress = solution.shell_forces(plate), solution.shell_stress(plate)
    np.testing.assert_array_equal(solution.channel("plate.shell_forces.2.m12"), forces[:, 2, 5])
    np.testing.assert_array_equal(solution.channel("plate.shell_forces.3"), forces[:, 3])
    np.testing.assert_array_equal(solution.channel("plate.shell_stress.1.22"), stress[:, 1, 1])
