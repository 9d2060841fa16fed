"""Loads per length: their resultant, their work, and what they do to cantilevers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from catalogue import COUPLED, PLAIN, build
from motions import fitted_order, random_motion, residual, resultant
from scipy.sparse.linalg import spsolve

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.elements import Beam, DistributedLoad, Force, Moment
from fem_mbs.lie import so3
from fem_mbs.testing import Stage

LENGTH = 2.0
interpolations = pytest.mark.parametrize("interpolation", ["SE3", "R3xSO3"])


def small_motions(model: mbs.Model) -> Array:
    """Motions of the nodes under small loads: one linear solve about the position as built, at rest."""
    system = mbs.System(model)
    still = np.zeros((system.n, 6))
    linear = mbs.linearize(model, mbs.State(0.0, system.x0, system.R0, still, still, np.zeros(0)))
    return linear.node_motions(spsolve(linear.K, -linear.force))


@interpolations
def test_weight_is_a_distributed_load(interpolation: str) -> None:
    """On a curved beam in any motion, to the last digit: that of a section with its mass centre on the line."""
    gravity, forces = np.array([1.0, 2.0, -9.0]), []
    for weight in (True, False):
        model = mbs.Model(gravity=gravity if weight else (0, 0, 0))
        rng = np.random.default_rng(0)
        angles = np.linspace(0.0, 1.5, 6)
        places = np.stack([np.sin(angles), 1 - np.cos(angles), 0.2 * angles], axis=1)
        nodes = [model.add_node(place, so3.exp(rng.normal(size=3))) for place in places]
        beam = model.add(Beam(nodes, PLAIN, interpolation=interpolation, start=(-0.1, 0.1, 0.2)))
        if not weight:
            model.add(DistributedLoad(beam, PLAIN.mass * gravity))
        system = mbs.System(model)
        forces.append(residual(system, random_motion(system, 2)))
    np.testing.assert_allclose(forces[1], forces[0], rtol=0, atol=1e-13 * np.abs(forces[0]).max())


VALUES: dict[str, tuple[Any, Any]] = {
    "uniform": ((2.0, 1.0, -3.0), lambda t: (t, 0.5, 2.0)),
    "linear": (lambda t: [(2.0, k * t, -3) for k in range(3)], [(2.0, 1, -3), (0, 2, 1), (1, 1, 1)]),
}


@pytest.mark.parametrize("frame", ["world", "body"])
@pytest.mark.parametrize("values", VALUES)
def test_resultant(values: str, frame: str) -> None:
    """Force, and moment about the origin, of the load between the ends of the elements as they stand.

    The integrals are those of linear functions along straight lines (Simpson's rule is exact).
    """

    def loaded(n: Stage) -> DistributedLoad:
        beam = Beam(n.line, PLAIN, start=n.point((0.1, -0.3, 0.2)), end=n.point((1.4, 0.5, -0.9)))
        return DistributedLoad(beam, VALUES[values][0], moment=VALUES[values][1], frame=frame)

    model, (load,) = build(loaded)
    system = mbs.System(model)
    motion = random_motion(system, 1)
    rows = [system.number(node) for node in load.nodes]
    x, R = motion.x[rows], motion.R[rows]
    values = [np.asarray(value(motion.t) if callable(value) else value) for value in load.values]
    total = np.zeros(6)
    for k, length in enumerate(load.beam.length):
        ends = [x[k + e] + R[k + e] @ load.beam.offsets[k, e] for e in range(2)]
        turn = [R[k + e] @ load.beam.frames[k, e] if load.follows else np.eye(3) for e in range(2)]
        force, moment = ([turn[e] @ np.broadcast_to(v, (3, 3))[k + e] for e in range(2)] for v in values)
        for s, weight in ((0.0, 1 / 6), (0.5, 4 / 6), (1.0, 1 / 6)):
            f, m, p = ((1 - s) * part[0] + s * part[1] for part in (force, moment, ends))
            total += length * weight * np.concatenate([f, np.cross(p, f) + m])
    np.testing.assert_allclose(-resultant(motion, residual(system, motion)), total, rtol=0, atol=1e-12)


@interpolations
@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
def test_uniform_load_on_a_cantilever(interpolation: str, group: str) -> None:
    """The end sinks by ``q L^4/8EI + q L^2/2GA`` on any mesh: nodal forces without moments are exact there.

    The slope ``q L^3/6EI`` is of second order.
    """
    q, (GA, EI) = 0.3, np.diag(PLAIN.stiffness)[[2, 4]]
    counts, slopes = np.array([2, 4, 8]), []
    for count in counts:
        model = mbs.Model(group)
        beam = Beam.line(model, (0, 0, 0), (LENGTH, 0, 0), PLAIN, count, interpolation=interpolation)
        model.fix(beam.nodes[0])
        model.add(DistributedLoad(beam, (0, 0, q)))
        motion = small_motions(model)[-1]
        np.testing.assert_allclose(motion[2], q * LENGTH**4 / (8 * EI) + q * LENGTH**2 / (2 * GA), rtol=1e-12)
        slopes.append(-motion[4])
    errors = np.abs(np.array(slopes) - q * LENGTH**3 / (6 * EI))
    assert abs(fitted_order(1 / counts, errors) - 2.0) < 0.1


@interpolations
def test_linear_load_on_a_cantilever(interpolation: str) -> None:
    """Zero at the end, ``q`` at the root: ``q L^4/30EI + q L^2/6GA``, of second order."""
    q, (GA, EI) = 0.3, np.diag(PLAIN.stiffness)[[2, 4]]
    counts, errors = np.array([4, 8, 16]), []
    for count in counts:
        model = mbs.Model()
        beam = Beam.line(model, (0, 0, 0), (LENGTH, 0, 0), PLAIN, count, interpolation=interpolation)
        model.fix(beam.nodes[0])
        model.add(DistributedLoad(beam, np.outer(np.linspace(q, 0, count + 1), [0, 0, 1])))
        motion = small_motions(model)[-1]
        errors.append(abs(motion[2] - q * LENGTH**4 / (30 * EI) - q * LENGTH**2 / (6 * GA)))
    assert errors[-1] < 2e-3 * q * LENGTH**4 / (30 * EI)
    assert abs(fitted_order(1 / counts, np.array(errors)) - 2.0) < 0.1


def test_uniform_moment_twists_a_shaft() -> None:
    """``m L^2/2GJ`` at the end, exact on any mesh."""
    model = mbs.Model()
    beam = Beam.line(model, (0, 0, 0), (LENGTH, 0, 0), PLAIN, 3)
    model.fix(beam.nodes[0])
    model.add(DistributedLoad(beam, (0, 0, 0), moment=(0.4, 0, 0), frame="body"))
    twist = mbs.statics(model).rotation_vector(beam.nodes[-1])[-1]
    np.testing.assert_allclose(twist, [0.4 * LENGTH**2 / (2 * 3.0), 0, 0], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("frame", ["world", "body"])
def test_constant_loads_grow_with_the_load_factor_and_functions_do_not(frame: str) -> None:
    force, moment = np.array([1.0, 2, 3]), np.array([0.3, 0.2, 0.1])
    parts = []
    for own, factor in (((force, moment), 0.25), ((0.25 * force, moment), 1.0)):
        model = mbs.Model()
        beam = Beam.line(model, (0, 0, 0), (LENGTH, 0, 0), COUPLED, 3, y_axis=(0, 1, 1))
        model.add(DistributedLoad(beam, own[0], moment=lambda t, m=own[1]: m, frame=frame))
        system = mbs.System(model)
        motion = random_motion(system, 0)
        parts.append(system.evaluate(motion, np.zeros(0), system.prescribe(motion.t, factor)).force)
    np.testing.assert_allclose(parts[0], parts[1], rtol=0, atol=1e-13)


def test_functions_of_time_may_give_one_value_or_one_a_node() -> None:
    model = mbs.Model()
    beam = Beam.line(model, (0, 0, 0), (LENGTH, 0, 0), PLAIN, 2)
    one = DistributedLoad(beam, lambda t: (t, 0, 0))
    each = DistributedLoad(beam, lambda t: [(t, 0, 0)] * 3)
    batch = DistributedLoad.batch([one, each], lambda node: model.nodes.index(node))
    density = batch.at(0.5).reshape(2, 2, 2, 2, 3)
    np.testing.assert_array_equal(density[0], density[1])
    np.testing.assert_array_equal(density[0, :, :, 0], np.broadcast_to([0.5, 0, 0], (2, 2, 3)))


def test_a_uniform_load_is_forces_on_the_nodes() -> None:
    """A dead uniform load on equal elements is its share at inner nodes, and half of it at the ends."""
    force, moment = np.array([1.0, 2, 3]), np.array([0.3, 0.2, 0.1])
    forces = []
    for distributed in (True, False):
        model = mbs.Model()
        beam = Beam.line(model, (0, 0, 0), (LENGTH, 0, 0), PLAIN, 4)
        if distributed:
            model.add(DistributedLoad(beam, force, moment=moment))
        else:
            for node, share in zip(beam.nodes, [0.25, 0.5, 0.5, 0.5, 0.25], strict=True):
                model.add(Force(node, share * force))
                model.add(Moment(node, share * moment))
        system = mbs.System(model)
        forces.append(residual(system, random_motion(system, 3)))
    np.testing.assert_allclose(forces[1], forces[0], rtol=0, atol=1e-12)


def test_bad_loads_are_refused_by_name() -> None:
    model = mbs.Model()
    beam = Beam.line(model, (0, 0, 0), (LENGTH, 0, 0), PLAIN, 2, name="spar")
    with pytest.raises(mbs.ModelError, match="DistributedLoad: beam must be a Beam or a Shell, received node"):
        DistributedLoad(beam.nodes[0], (0, 0, 1))  # type: ignore[arg-type]
    with pytest.raises(mbs.ModelError, match="on Beam 'spar': force must be three finite numbers, or three"):
        DistributedLoad(beam, 3.0)
    with pytest.raises(mbs.ModelError, match=r"each of the 3 nodes, received .* of shape \(2, 3\)"):
        DistributedLoad(beam, np.ones((2, 3)))
    with pytest.raises(mbs.ModelError, match="Beam 'spar': moment must be finite"):
        DistributedLoad(beam, (0, 0, 1), moment=(0, np.nan, 0))
    with pytest.raises(mbs.ModelError, match="frame must be one of 'world', 'body', received 'section'"):
        DistributedLoad(beam, (0, 0, 1), frame="section")
    model.add(DistributedLoad(beam, lambda t: t), name="gust")
    with pytest.raises(mbs.MotionError, match="'gust': .* must return 3 finite numbers, or 3 times as many, received"):
        mbs.System(model).prescribe(0.5)
