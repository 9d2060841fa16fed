"""Frames of one line a member against the stiffness method of linear theory, written here from flexibilities."""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import meshio
import numpy as np
import pytest
from catalogue import COUPLED

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.contracts import Motion
from fem_mbs.elements import Beam, BeamMesh, BeamSection, DistributedLoad, Force, Moment, beams_from_mesh
from fem_mbs.lie import so3


class Member(NamedTuple):
    """A member between two joints: section axes, length, flexibility ``(s) -> (6, 6)``, force and moment per length."""

    joints: tuple[int, int]
    axes: Array
    length: float
    flexibility: Any
    force: Array
    moment: Array


def stiffness(member: Member) -> tuple[Array, Array]:
    """Stiffness ``(12, 12)`` and loads of a clamped member (12,) in world axes, exact for what 12 points integrate."""
    L, turn = member.length, np.kron(np.eye(2), member.axes)
    points, weights = np.polynomial.legendre.leggauss(12)
    q, m = member.axes.T @ member.force, member.axes.T @ member.moment
    F, u = np.zeros((6, 6)), np.zeros(6)
    for s, w in zip(0.5 * L * (1 + points), 0.5 * L * weights, strict=True):
        rest, lever = L - s, np.eye(6)
        lever[3:, :3] = so3.skew(np.array([rest, 0, 0]))
        loaded = np.concatenate([rest * q, np.cross([rest**2 / 2, 0, 0], q) + rest * m])
        C = member.flexibility(s / L)
        F += w * lever.T @ C @ lever
        u += w * lever.T @ C @ loaded
    end = np.linalg.inv(F)
    # the end B moves against A by G (v_A, v_B)
    to_A = np.eye(6)
    to_A[:3, 3:] = -so3.skew(np.array([L, 0, 0]))
    G = turn @ np.hstack([-to_A, np.eye(6)]) @ np.kron(np.eye(2), turn.T)
    K = G.T @ (turn @ end @ turn.T) @ G
    forces = G.T @ (turn @ end @ u)
    resultant = np.concatenate([L * q, np.cross([L**2 / 2, 0, 0], q) + L * m])
    forces[:6] += turn @ resultant
    return K, forces


def displacements(count: int, members: list[Member], clamped: list[int], loads: dict[int, Array]) -> Array:
    """Displacements and rotations ``(count, 6)`` of the joints."""
    K, f = np.zeros((6 * count, 6 * count)), np.zeros(6 * count)
    for member in members:
        rows = np.concatenate([6 * joint + np.arange(6) for joint in member.joints])
        own, forces = stiffness(member)
        K[np.ix_(rows, rows)] += own
        f[rows] += forces
    for joint, load in loads.items():
        f[6 * joint : 6 * joint + 6] += load
    free = np.setdiff1d(np.arange(6 * count), [6 * joint + k for joint in clamped for k in range(6)])
    u = np.zeros(6 * count)
    size = np.sqrt(np.diag(K)[free])
    u[free] = np.linalg.solve(K[np.ix_(free, free)] / np.outer(size, size), f[free] / size) / size
    return u.reshape(count, 6)


SMALL = 1e-7
"""Size of the loads: what linear theory leaves out is a share of about this."""


def section_of(kind: int, slenderness: float, length: float) -> BeamSection:
    """Stubby or slender, of any shape."""
    size = length / slenderness
    if kind == 0:
        return BeamSection.rectangle(size, 2.0 * size, 1e3, 0.3, 1.0)
    if kind == 1:
        return BeamSection.circle(size, 1e3, 0.3, 1.0).shifted(0.2 * size, -0.3 * size)
    units = size * np.array([1, 1, 1, size, size, size])
    scaled = 10.0 * COUPLED.stiffness * np.outer(units, units)
    return BeamSection.general(scaled, np.diag([1.0, 1, 1, size**2, size**2, size**2]) * size**2)


def random_frame(seed: int, order: int) -> tuple[Array, Array]:
    """Displacements of the joints of a random frame from its mesh, and by the stiffness method."""
    rng = np.random.default_rng(seed)
    count = 6
    points = 3.0 * rng.normal(size=(count, 3))
    pairs = [*((k, int(rng.integers(k))) for k in range(1, count)), *combinations(range(count), 2)][: count + 2]
    lines = list(dict.fromkeys(tuple(sorted(pair)) for pair in pairs))
    lengths = [float(np.linalg.norm(points[b] - points[a])) for a, b in lines]
    slender = 10 ** rng.uniform(0.3, 2.3, size=len(lines))
    sections = {k: section_of(int(rng.integers(3)), *pair) for k, pair in enumerate(zip(slender, lengths, strict=True))}
    mesh = meshio.Mesh(points, [("line", lines)], cell_data={"own": [np.arange(len(lines))]})
    weight = 1e-3 * SMALL * rng.normal(size=3)
    model = mbs.Model(("R3xSO3", "SE3")[seed % 2], weight)
    frame = beams_from_mesh(model, mesh, sections, by="own", order=order)
    for joint in (0, 1):
        model.fix(frame.nodes[joint])
    # loads that the weakest member could carry
    soft = min(
        section.stiffness[4:, 4:].diagonal().min() / length**2
        for section, length in zip(sections.values(), lengths, strict=True)
    )
    loads = {k: SMALL * soft * rng.normal(size=6) for k in (3, 5)}
    for joint, load in loads.items():
        model.add(Force(frame.nodes[joint], load[:3]))
        model.add(Moment(frame.nodes[joint], load[3:]))
    members = []
    for k, (section, length) in enumerate(zip(sections.values(), lengths, strict=True)):
        (beam,) = frame.groups[k]
        q = SMALL * soft / length * rng.normal(size=3)
        model.add(DistributedLoad(beam, q))
        flexibility = np.linalg.inv(section.stiffness)
        a, b = lines[k]
        joints = (a, b) if beam.nodes[0] is frame.nodes[a] else (b, a)
        axes, pull = beam.frames[0, 0], section.mass * weight
        couple = np.cross(axes @ section.center, pull)
        members.append(Member(joints, axes, length, lambda s, C=flexibility: C, q + pull, couple))
    solution = mbs.statics(model)
    found = [np.append(solution.displacement(n)[-1], solution.rotation_vector(n)[-1]) for n in frame.nodes.values()]
    return np.array(found), displacements(count, members, [0, 1], loads)


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_random_frames_of_one_line_a_member_are_exact_at_their_joints(seed: int, order: int) -> None:
    """Joint loads, uniform loads, weight; stubby and slender, coupled and eccentric members, either group."""
    found, expected = random_frame(seed, order)
    for part in (slice(0, 3), slice(3, 6)):
        error = np.abs(found[:, part] - expected[:, part]).max() / np.abs(expected[:, part]).max()
        assert error < 1e-6, error


PORTAL = meshio.Mesh([(0, 0, 0), (0, 0, 3), (3, 0, 3), (3, 0, 0)], [("line", [(0, 1), (1, 2), (2, 3)])])
BAR = BeamSection(EA=1e11, GA=1e11, GJ=1e4, EI=1e4, mass=1.0, inertia=(1e-3, 1e-3, 1e-3))


def portal(**options: Any) -> tuple[mbs.Model, BeamMesh]:
    """Two columns and a girder of 3 m, clamped at their feet."""
    model = mbs.Model()
    frame = beams_from_mesh(model, PORTAL, BAR, **options)
    for foot in (0, 3):
        model.fix(frame.nodes[foot])
    return model, frame


@pytest.mark.parametrize(
    ("options", "deviation"),
    [({}, 1e-5), ({"order": 2}, 1e-5), ({"order": 1, "elements": 32}, 1e-3), ({"order": 1, "elements": 8}, 2e-2)],
)
def test_portal_frame_sways(options: dict[str, int], deviation: float) -> None:
    """Slender members of equal EI and length h: ``F h^3/EI (3 k + 2)/(12 (6 k + 1))`` with ``k = 1`` (Kleinlogel)."""
    model, frame = portal(**options)
    model.add(Force(frame.nodes[1], (1.0, 0, 0)))
    solution = mbs.statics(model)
    hand = 27 / 1e4 * 5 / (12 * 7)
    np.testing.assert_allclose(solution.displacement(frame.nodes[1])[-1, 0], hand, rtol=deviation)
    foot, corner = (solution.section_forces(frame.beams[0])[-1, row, 4] for row in (0, -1))
    if options.get("order") != 1:  # 4/14 and 3/14 of the moment F h
        np.testing.assert_allclose(sorted(np.abs([foot, corner])), [9 / 14, 12 / 14], rtol=1e-4)


def test_a_line_of_order_1_cannot_bend_in_an_s() -> None:
    model, frame = portal(order=1)
    model.add(Force(frame.nodes[1], (1.0, 0, 0)))
    assert mbs.statics(model).displacement(frame.nodes[1])[-1, 0] < 1e-4 * 27 / 1e4


def test_moments_of_a_uniform_load_are_exact_along_a_member_of_order_3() -> None:
    """Clamped at both ends: ``-q L^2/12`` there and ``q L^2/24`` in the middle, at the very stations that are given."""
    model = mbs.Model()
    beam = Beam.line(model, (0, 0, 0), (2, 0, 0), BAR, elements=1, order=3)
    model.fix(beam.nodes[0])
    model.fix(beam.nodes[-1])
    q = 1e-3
    model.add(DistributedLoad(beam, (0, 0, -q)))
    solution = mbs.statics(model)
    s = 2 * beam.stations
    np.testing.assert_allclose(s, [0, 1 - 1 / np.sqrt(5), 1 + 1 / np.sqrt(5), 2], atol=1e-12)
    forces = solution.section_forces(beam)[-1]
    np.testing.assert_allclose(forces[:, 4], -q * (s * (2 - s) / 2 - 4 / 12), atol=1e-6 * q)
    np.testing.assert_allclose(forces[:, 2], q * (s - 1), atol=1e-6 * q)
    sag = solution.displacement(beam.nodes[1])[-1, 2]
    np.testing.assert_allclose(sag, -q / (24 * 1e4) * (s[1] * (2 - s[1])) ** 2, rtol=1e-4)


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("slenderness", [1e1, 1e2, 1e3, 1e4, 1e5, 1e6])
def test_no_locking_at_any_slenderness(order: int, slenderness: float) -> None:
    """One element, clamped, under a uniform load: the end is where Timoshenko's beam has it, up to rounding.

    The stiffness of an element is that of stretching and of bending, whose ratio is the slenderness squared.
    """
    side = 1 / slenderness
    section = BeamSection.rectangle(side, side, 1.0, 0.25, 1.0)
    model = mbs.Model()
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), section, elements=1, order=order)
    system = mbs.System(model)
    still = np.zeros((system.n, 6))
    (batch,) = system.batches
    _, context = batch.force(Motion(0.0, system.x0, system.R0, still, still, np.zeros(3)), None)
    K = batch.stiffness(context)[0, 6:, 6:]
    load = np.zeros((order, 6))
    load[:, 2] = beam.shared[0].sum(axis=0)[1:] * section.stiffness[4, 4]
    units = 1 / np.sqrt(np.diag(K))
    u = units * np.linalg.solve(K * np.outer(units, units), units * load.ravel())
    exact = 1 / 8 + section.stiffness[4, 4] / section.stiffness[2, 2] / 2
    np.testing.assert_allclose(u.reshape(order, 6)[-1, 2], exact, rtol=1e-11 + 1e-14 * slenderness**2)


def test_members_of_a_mesh_have_nodes_inside_that_are_named() -> None:
    _, frame = portal(name="hall")
    assert [node.name for node in frame.beams[1].nodes] == ["hall[1]", "hall beam 1[1]", "hall beam 1[2]", "hall[2]"]
    _, frame = portal(order=2, elements=2)
    x = [node.position[2] for node in frame.beams[0].nodes]
    np.testing.assert_allclose(x, [0, 0.75, 1.5, 2.25, 3], atol=1e-12)


def test_nodes_inside_lines_along_an_arc_are_on_the_arc() -> None:
    angle = np.linspace(0, 1.2, 4)
    arc = np.stack([np.sin(angle), 1 - np.cos(angle), 0 * angle], axis=1)
    mesh = meshio.Mesh(arc, [("line", [(0, 1), (1, 2), (2, 3)])])
    (beam,) = beams_from_mesh(mbs.Model(), mesh, BAR, y_axis=(0, 0, 1)).beams
    x = np.array([node.position for node in beam.nodes])
    np.testing.assert_allclose(np.linalg.norm(x - [0, 1, 0], axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(beam.length, 0.4, rtol=1e-12)
