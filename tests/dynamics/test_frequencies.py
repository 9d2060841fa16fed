"""Natural frequencies of a cantilever converge to those of Timoshenko's beam with order 2 in the mesh."""

from __future__ import annotations

import numpy as np
import pytest
from motions import fitted_order, mass_matrix, stiffness_matrix
from scipy.linalg import eigh, expm
from scipy.optimize import brentq

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.contracts import Motion
from fem_mbs.elements import Beam, BeamSection
from fem_mbs.lie import so3

L, MU, J_X, J_Y, J_Z = 2.0, 3.0, 0.05, 0.02, 0.03
SECTION = BeamSection(EA=5e5, GA=(9e4, 7e4), GJ=2e3, EI=(4e3, 6e3), mass=MU, inertia=(J_X, J_Y, J_Z))
ELEMENTS = np.array([4, 8, 16])


def bending(EI: float, GA: float, j: float, guess: float) -> float:
    """First bending frequency: ``w' = theta + Q/GA``, ``theta' = M/EI``, ``Q' = -mu omega^2 w``,
    ``M' = -Q - j omega^2 theta`` with clamped and free ends."""

    def free_end(omega: float) -> float:
        A = np.zeros((4, 4))
        A[0, 1], A[0, 2], A[1, 3], A[2, 0], A[3, 1:3] = 1, 1 / GA, 1 / EI, -MU * omega**2, [-j * omega**2, -1]
        return float(np.linalg.det(expm(A * L)[2:, 2:]))

    return brentq(free_end, 0.7 * guess, 1.1 * guess, xtol=1e-10)


EULER = 1.8751040687**2 / L**2
EXACT = {
    "axial": np.pi / (2 * L) * np.sqrt(5e5 / MU),
    "torsion": np.pi / (2 * L) * np.sqrt(2e3 / J_X),
    # deflection along z bends about y, deflection along y bends about z
    "bending about y": bending(4e3, 7e4, J_Y, EULER * np.sqrt(4e3 / MU)),
    "bending about z": bending(6e3, 9e4, J_Z, EULER * np.sqrt(6e3 / MU)),
}


def frequencies(elements: int, interpolation: str, group: str) -> dict[str, float]:
    """Lowest frequency of each kind, told by where its mode moves the tip in the section's axes."""
    model = mbs.Model(group)
    axes = so3.exp(np.array([0.4, -0.7, 0.3]))
    beam = Beam.line(
        model,
        (0, 0, 0),
        L * axes[:, 0],
        SECTION,
        elements,
        start_node=model.ground,
        y_axis=axes[:, 1],
        interpolation=interpolation,
    )
    system = mbs.System(model)
    zero = np.zeros((system.n, 6))
    rest = Motion(0.0, system.x0, system.R0, zero, zero, system.gravity)
    squares, modes = eigh(stiffness_matrix(system, rest), mass_matrix(system, rest))
    tips = modes[-6:].reshape(2, 3, -1)
    moved: Array = np.concatenate([tips[0].T @ axes, tips[1].T @ axes], axis=1)
    kinds = {"axial": 0, "torsion": 3, "bending about y": 2, "bending about z": 1}
    shape = np.abs(moved) / np.abs(moved).max(axis=1, keepdims=True)
    assert beam.nodes[-1] is system.nodes[-1]
    return {kind: float(np.sqrt(squares[np.flatnonzero(shape[:, c] > 0.5)[0]])) for kind, c in kinds.items()}


@pytest.mark.parametrize("interpolation", ["SE3", "R3xSO3"])
def test_order_two_in_the_mesh(interpolation: str) -> None:
    found = [frequencies(n, interpolation, "SE3") for n in ELEMENTS]
    for kind, exact in EXACT.items():
        errors = np.array([abs(f[kind] / exact - 1) for f in found])
        assert abs(fitted_order(1 / ELEMENTS, errors) - 2.0) < 0.1, kind
        assert errors[-1] < 2e-3, kind


def test_frequencies_do_not_depend_on_the_group() -> None:
    one, two = (frequencies(4, "SE3", group) for group in ("SE3", "R3xSO3"))
    for kind in EXACT:
        np.testing.assert_allclose(two[kind], one[kind], rtol=1e-9)


@pytest.mark.ci
def test_a_run_vibrates_at_the_frequency_of_its_matrices() -> None:
    """Tip of a cantilever plucked by its velocity: the time between passages of zero, order 2 in the step."""
    model = mbs.Model("SE3")
    nodes = [model.ground]
    for s in np.linspace(0.0, L, 5)[1:]:
        nodes.append(
            model.add_node((s, 0, 0), velocity=(0, 0, 1e-4 * (s / L) ** 2), angular_velocity=(0, -2e-4 * s / L**2, 0))
        )
    model.add(Beam(nodes, SECTION, (0, 1, 0)))
    period = 2 * np.pi / frequencies(4, "SE3", "SE3")["bending about y"]
    solution = mbs.simulate(model, 4.2 * period, period / 100, mbs.GeneralizedAlpha(0.6, newton=mbs.Newton(1e-11)))
    w = solution.displacement(nodes[-1])[:, 2]
    k = np.flatnonzero(w[1:-1] * w[2:] < 0) + 1
    crossings = solution.t[k] + period / 100 * w[k] / (w[k] - w[k + 1])
    # the generalised-alpha method lengthens periods by (omega h)^2/12 and more: 3.3e-4 at least here
    np.testing.assert_allclose(np.diff(crossings[::2]).mean(), period, rtol=3e-3)
