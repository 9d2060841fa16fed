"""Figures of the pages on flexible bodies and rotors, measured once more.

``python tests/performance/bodies.py NAME ...`` prints those of ``modes``, ``mesh``, ``thrown``, ``turned``, ``spun``,
``bent``, ``columns`` and ``rotors``, of all by default; some take minutes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.linalg import eigh

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.elements import Beam, BeamSection, FlexibleBody, Interface, Moment, Reduction, RevoluteJoint

sys.path[:0] = [str(Path(__file__).parents[1] / own) for own in ("", "dynamics", "statics")]

from meshes import brick  # noqa: E402
from test_buckling import COLUMNS, reduced_column  # noqa: E402
from test_flexible_body import blade, block, centers, mean_velocity, spinning  # noqa: E402
from test_rotors import friswell  # noqa: E402

SPIN, MOVES = (1.0, 3.0, 2.0), (0.5, 0.0, 0.0)


def modes() -> None:
    """A brick, six free frequencies of the reduced body against those of the whole mesh, by how many modes are kept."""
    _, K, M = brick((6, 2, 2), (8.0, 2.0, 2.0), 2e3, 1.0)
    whole = np.sqrt(eigh(K.toarray(), M.toarray(), eigvals_only=True)[6:12]) / (2.0 * np.pi)
    for method in ("craig-bampton", "free"):
        for count in (0, 6, 12, 24, 48):
            own = block(method, max(count, 6 * (method == "free")))
            errors = ", ".join(f"{error:.1e}" for error in own.frequencies[:6] / whole - 1.0)
            print(f"{method}, {own.modes} modes: {errors}")


def mesh() -> None:
    """A bar of solids, its first bending frequency against a finer mesh, by cells along it."""
    import meshio
    import skfem

    found = []
    for n in (4, 8, 16, 32):
        grid = skfem.MeshTet.init_tensor(*(np.linspace(0, s, k + 1) for s, k in ((1.0, n), (0.05, 1), (0.1, 2))))
        ends = {"a": Interface.average(lambda p: p[:, 0] < 1e-9), "b": Interface.average(lambda p: p[:, 0] > 1 - 1e-9)}
        cells = meshio.Mesh(grid.p.T, [("tetra", grid.t.T)])
        found.append(Reduction.solid(cells, 70e9, 0.3, 2700.0, ends, modes=8, method="free").frequencies[0])
    print(f"quadratic tetrahedra, 4, 8, 16 and 32 along a bar: {np.array(found)} Hz")
    print(f"order {np.diff(np.log2(np.abs(np.diff(found))))}")


def thrown() -> None:
    """10 000 steps of a rod: energy, momentum and angular momentum; on SE(3) steps of 10, 5 and 2.5 ms."""
    own = blade(1, 3)
    for group, steps, h in (("R3xSO3", 10_000, 0.01), *(("SE3", round(100 / h), h) for h in (0.01, 0.005, 0.0025))):
        model = mbs.Model(group)
        body = model.add(FlexibleBody.place(model, own, velocity=MOVES, angular_velocity=SPIN))
        solution = mbs.simulate(model, steps * h, h, mbs.GeneralizedAlpha(1.0))
        total, (begin, end) = solution.energy.total, centers(solution, body)
        apart = np.abs(end - begin - solution.t[-1] * mean_velocity(own)).max()
        momenta = np.array([momentum(solution, body, k) for k in (0, -1)])
        lost, sizes = np.linalg.norm(momenta[1] - momenta[0], axis=1), np.linalg.norm(momenta, axis=2)
        print(
            f"{group}, {len(solution.t) - 1} steps of {h:g} s: energy {total[0]:.3f} J, kept within "
            f"{np.abs(total - total[0]).max():.1e}, its mean to {abs(total.mean() - total[0]):.1e}; momentum "
            f"{sizes[0, 0]:.2f}, off by {lost[0]:.1e}, its length by {abs(sizes[1, 0] - sizes[0, 0]):.1e}; angular "
            f"{sizes[0, 1]:.2f}, off by {lost[1]:.1e}; the mass centre {apart:.1e} m beside its line"
        )


def momentum(solution: mbs.Solution, body: FlexibleBody, k: int) -> Array:
    """Momentum, and angular momentum about the mass centre, ``(2, 3)``, of a state: what unit motions would gain."""
    system, state = solution.system, solution.state(k)
    batch = next(own for own in system.batches if body in own.owners)
    motion = system.motion(state)
    _, context = batch.force(motion, None)
    mass = batch.mass(context)[0]
    v = np.concatenate([motion.V[batch.nodes[0]].ravel(), motion.udot[batch.own[0]]])
    x = motion.x[batch.nodes[0]]
    result, total = np.zeros((2, 3)), mass @ v
    for row, R in enumerate(motion.R[batch.nodes[0]]):
        force, moment = (R @ total[6 * row + part : 6 * row + part + 3] for part in (0, 3))
        result += force, moment + np.cross(x[row], force)
    center = centers(solution, body)[0 if k == 0 else 1]
    result[1] -= np.cross(center, result[0])
    return result


def turned() -> None:
    """Lag and flap of a slender blade that turns, by bodies in a row, and of one with stiffening."""
    for parts, count in ((1, 4), (2, 4), (4, 2)):
        found = spinning(6.0, parts=parts, modes=count).angular[:2]
        print(f"{parts} bodies with {count} modes, 6 rad/s: {found}")
    for speed, flap in ((3.0, 4.79728), (6.0, 7.36037), (10.0, 11.20233)):
        root, both, without = (
            spinning(speed, modes=6, **own).angular[:2]
            for own in ({"stiffens": True, "tip": False}, {"stiffens": True}, {})
        )
        exact = np.array([np.sqrt(flap**2 - speed**2), flap])
        print(f"{speed:g} rad/s: root {root}, root and tip {both}, without {without}, exact {exact}")


def spun() -> None:
    """A blade that is spun up to 6 rad/s in 4 s: two reduced bodies against a beam of 40 elements."""

    def angle(t: float) -> float:
        return 1.5 * (0.5 * t**2 + (4 / (2 * np.pi)) ** 2 * (np.cos(0.5 * np.pi * t) - 1.0)) if t < 4 else 6 * (t - 2)

    paths = []
    for beam in (True, False):
        model = mbs.Model("SE3")
        if beam:
            section = BeamSection(1e6, 1e6, 1e3, 1.0, mass=1.0, inertia=(1e-6, 1e-6, 1e-6))
            parts = Beam.line(model, (0, 0, 0), (1, 0, 0), section, 40, y_axis=(0, 1, 0))
            first, last = parts.nodes[0], parts.nodes[-1]
        else:
            bodies = FlexibleBody.chain(model, [blade(2, 2)] * 2)
            model.add(bodies)
            first, last = bodies[0].nodes[0], bodies[-1].nodes[-1]
        model.add(RevoluteJoint(model.ground, first, (0, 0, 1), drive=angle))
        solution = mbs.simulate(model, 5.0, 0.005 if beam else 0.02)
        times = np.linspace(0.0, 5.0, 251)
        rows = np.abs(solution.t[:, None] - times).argmin(axis=0)
        seen = np.array([[np.cos(angle(t)), np.sin(angle(t))] for t in times])
        tip = solution.position(last)[rows, :2]
        paths.append(np.stack([np.vecdot(seen, tip) - 1.0, np.vecdot(seen[:, ::-1] * [-1, 1], tip)], axis=1))
    apart = np.abs(paths[1] - paths[0]).max(axis=0)
    smallest = [path[:, 1].min() for path in paths]
    print(f"smallest deflection {smallest[1]:.5f}, of the beam {smallest[0]:.5f}")
    print(f"apart across {apart[1]:.1e}, along {apart[0]:.1e}")


def bent() -> None:
    """A cantilever under a tip moment of 1.5 EI/L against a circle, by bodies in a row."""
    exact = np.array([np.sin(1.5) / 1.5, (1.0 - np.cos(1.5)) / 1.5, 0.0])
    for stiffens in (True, False):
        for parts in (1, 2, 4):
            model = mbs.Model("SE3")
            bodies = FlexibleBody.chain(model, [blade(parts, 2, stiffens)] * parts)
            model.add(bodies)
            model.fix(bodies[0].nodes[0])
            model.add(Moment(tip := bodies[-1].nodes[1], (0, 0, 1.5)))
            apart = np.abs(mbs.statics(model).position(tip)[-1] - exact).max()
            print(f"{parts} bodies, stiffening {stiffens}: {apart:.1e} beside the circle")


def columns() -> None:
    """Factors of buckling of columns, without and with stiffening within bodies."""
    for ends in ("clamped and free", "hinged", "clamped", "own weight"):
        found = []
        for parts, stiffens in ((1, False), (4, False), (1, True), (4, True)):
            try:
                factor = mbs.buckling(reduced_column(ends, parts, stiffens)).factors[0]
                found.append(f"{factor:.5g}")
            except mbs.ModelError:
                found.append("none")
        print(
            f"{ends}: 1 and 4 bodies, 1 and 4 with stiffening {', '.join(found)}, exact {COLUMNS.get(ends, 7.8373):.5g}"
        )


def rotors() -> None:
    """Two discs on a shaft, Friswell et al. 2010, example 5.9.2, from the ground, by elements of order 3."""
    speeds = np.array([0.0, 4000.0]) * 2 * np.pi / 60
    for elements in (6, 12):
        found = np.sort(mbs.campbell(friswell(3, elements), speeds, count=6).angular, axis=1)
        print(f"{elements} elements: {found[0, :6]} at rest, {found[1, :6]} rad/s at 4000 rev/min")


FIGURES: tuple[Callable[[], None], ...] = (modes, mesh, thrown, turned, spun, bent, columns, rotors)


def main() -> None:
    wanted = sys.argv[1:] or [own.__name__ for own in FIGURES]
    for own in FIGURES:
        if own.__name__ in wanted:
            begun = time.process_time()
            print(f"-- {own.__doc__}")
            own()
            print(f"   {time.process_time() - begun:.1f} s of CPU")


if __name__ == "__main__":
    main()
