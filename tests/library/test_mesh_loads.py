"""Loads on the mesh of a flexible body, what is kept of it, and bodies in a row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from meshes import brick, chain

import fem_mbs as mbs
from fem_mbs.contracts import Motion, so3
from fem_mbs.elements import FlexibleBody, Interface, MeshLoad, Reduction

SIZES = (0.4, 0.05, 0.1)
ENDS = {
    "a": Interface.average([[0.0, 0.0, 0.0], [0.0, 0.05, 0.1]]),
    "b": Interface.average([[0.4, 0.0, 0.0], [0.4, 0.05, 0.1]]),
}
SOFT = {
    "a": Interface.average(lambda p: p[:, 0] == 0.0),
    "b": Interface.rigid([[8.0, 0.0, 0.0], [8.0, 2.0, 2.0]]),
}
EVERY = [[-1.0, -1.0, -1.0], [9.0, 9.0, 9.0]]


def bar(kind: str, **more: object) -> Reduction:
    skfem, meshio = pytest.importorskip("skfem"), pytest.importorskip("meshio")
    grid = [np.linspace(0, size, n + 1) for size, n in zip(SIZES, (4, 1, 2), strict=True)]
    own = (skfem.MeshTet if kind == "tetra" else skfem.MeshHex).init_tensor(*grid)
    if kind == "tetra":
        return Reduction.solid(meshio.Mesh(own.p.T, [(kind, own.t.T)]), 70e9, 0.3, 2700.0, ENDS, **more)
    from skfem.io.meshio import to_meshio

    return Reduction.solid(to_meshio(own), 70e9, 0.3, 2700.0, ENDS, **more)


def soft(loads: dict[str, object] | None = None, **more: object) -> Reduction:
    points, K, M = brick((4, 2, 2), (8.0, 2.0, 2.0), 2e3, 1.0)
    return Reduction(points, K, M, SOFT, modes=2, loads=loads, **more)


def forces(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(len(brick((4, 2, 2), (8.0, 2.0, 2.0), 2e3, 1.0)[0]), 3))


@pytest.mark.one
@pytest.mark.parametrize("kind", ["tetra", "hexahedron"])
def test_a_body_under_water_is_pressed_alike(kind: str) -> None:
    """``-p`` in all directions, everywhere, and shorter by ``p (1 - 2 nu)/E``: exact with the mode of the load."""
    own = bar(kind, modes=0, loads={"water": EVERY}, recover={"axis": lambda p: np.abs(p[:, 1] - 0.025) < 1e-9})
    model = mbs.Model("SE3")
    body = model.add(FlexibleBody.place(model, own))
    model.fix(body.node("a"))
    model.add(MeshLoad(body, "water", 1e6))
    solution = mbs.statics(model)
    for where in ("skin", "axis"):
        stress = solution.stress(body, where)[-1]
        assert stress == pytest.approx(np.broadcast_to([-1e6] * 3 + [0] * 3, stress.shape), abs=1e-2)
    strain = 1e6 * 0.4 / 70e9
    ends = solution.point(body, "b")[-1]
    assert ends[:, 0] == pytest.approx(0.4 * (1.0 - strain), rel=1e-9)
    assert np.ptp(ends[:, 2]) == pytest.approx(0.1 * (1.0 - strain), rel=1e-9)
    assert solution.point(body, (0.4, 0.0, 0.0))[-1, 0] == pytest.approx(0.4 * (1.0 - strain), rel=1e-9)


@pytest.mark.one
@pytest.mark.parametrize("kind", ["tetra", "hexahedron"])
def test_a_pressure_on_an_end_is_a_force(kind: str) -> None:
    """``sigma = -p`` along, in all of the bar; units of the mesh change nothing."""
    own = bar(kind, modes=0, loads={"end": [[0.4, 0.0, 0.0], [0.4, 0.05, 0.1]]})
    assert own.loaded["end"][0] == pytest.approx([-0.005, 0.0, 0.0], abs=1e-12)
    model = mbs.Model("SE3")
    body = model.add(FlexibleBody.place(model, own))
    model.fix(body.node("a"))
    model.add(MeshLoad(body, "end", 1e6))
    stress = mbs.statics(model).stress(body, (0.3, 0.0, 0.05))[-1]
    assert stress == pytest.approx([-1e6, 0, 0, 0, 0, 0], abs=2e4)


def test_a_bilinear_face_is_pressed_exactly() -> None:
    """On a closed mesh of skew cells a pressure has no resultant and no moment."""
    skfem, to_meshio = pytest.importorskip("skfem"), pytest.importorskip("skfem.io.meshio").to_meshio
    own = skfem.MeshHex.init_tensor(*[np.linspace(0, 1, 3)] * 3)
    moved = own.p + np.random.default_rng(1).uniform(-0.1, 0.1, own.p.shape)
    ends = {"a": Interface.average(lambda p: p[:, 0] < 0.15)}
    red = Reduction.solid(to_meshio(skfem.MeshHex(moved, own.t)), 1e9, 0.3, 1e3, ends, modes=0, loads={"w": EVERY})
    assert red.loaded["w"][0] == pytest.approx(0.0, abs=1e-12)
    assert 2.0 * so3.axial(red.loaded["w"][1:4].T) == pytest.approx(0.0, abs=1e-12)


def test_its_stiffness_is_the_derivative_of_its_forces() -> None:
    """By central differences of a deformed body."""
    model = mbs.Model("SE3")
    body = model.add(FlexibleBody.place(model, soft({"gusts": forces()})))
    load = model.add(MeshLoad(body, "gusts", 3.0))
    system = mbs.System(model)
    batch = next(own for own in system.batches if own.owners[0] is load)
    rng, m = np.random.default_rng(4), body.reduction.modes
    d = 0.2 * rng.normal(size=12 + m)

    def moved(change: np.ndarray) -> np.ndarray:
        x, R, u = np.array([n.position for n in body.nodes]), np.eye(3), d[12:] + change[12:]
        turns = so3.exp(d[:12].reshape(2, 6)[:, 3:]) @ so3.exp(change[:12].reshape(2, 6)[:, 3:])
        first = so3.exp(d[:12].reshape(2, 6)[:, 3:])
        x = x + d[:12].reshape(2, 6)[:, :3] + np.matvec(first, change[:12].reshape(2, 6)[:, :3])
        still = np.zeros((3, 6))
        places = np.concatenate([[[0.0, 0, 0]], x])[-len(batch.nodes[0]) - 1 :]
        own = Motion(0.0, places, np.concatenate([R[None], turns]), still, still, np.zeros(3), u, 0 * u, 0 * u)
        return batch.force(own, batch.at(0.0))

    K = batch.stiffness(moved(np.zeros_like(d))[1])[0]
    step = 1e-5
    expected = np.array([moved(e)[0][0] - moved(-e)[0][0] for e in step * np.eye(len(d))]).T / (2.0 * step)
    assert K == pytest.approx(expected, abs=1e-7 * np.abs(expected).max())


@pytest.mark.ci
def test_a_free_body_is_thrown_by_its_load() -> None:
    """Newton and Euler for the body as a whole: a load that follows it turns with it."""
    p = np.zeros_like(forces())
    points = brick((4, 2, 2), (8.0, 2.0, 2.0), 2e3, 1.0)[0]
    p[np.argmax(points @ (1.0, 1.0, 1.0))] = (0.0, 0.0, 1.0)
    own = soft({"jet": p})
    model = mbs.Model("SE3")
    body = model.add(FlexibleBody.place(model, own))
    model.add(MeshLoad(body, "jet", lambda t: 0.5 * t))
    solution = mbs.simulate(model, 1.0, 0.02)
    # m v' = R F, integrated with the frames of the run; the mass centre of a free body feels no elasticity
    x, R = solution.frame(body)
    force = 0.5 * solution.t[:, None] * R[:, :, 2]
    speed = np.concatenate([[[0, 0, 0]], np.cumsum(0.01 * (force[1:] + force[:-1]), axis=0)]) / own.mass
    moved = np.concatenate([[[0, 0, 0]], np.cumsum(0.01 * (speed[1:] + speed[:-1]), axis=0)])
    assert x - x[0] == pytest.approx(moved, abs=2e-3 * np.abs(moved).max())
    assert np.abs(moved).max() > 1e-3


def test_a_file_keeps_sets_and_loads(tmp_path: Path) -> None:
    own = soft({"gusts": forces()}, recover={"middle": lambda p: p[:, 0] == 4.0})
    own.save(tmp_path / "soft")
    again = Reduction.load(tmp_path / "soft.npz")
    assert again.sets == own.sets == ("skin", "a", "b", "middle")
    assert again.loads == ("gusts",)
    assert (again.loaded["gusts"] == own.loaded["gusts"]).all()


def test_a_load_on_the_mesh_is_the_answer_of_the_whole_mesh() -> None:
    """Statics of the body held at an interface against a solution of the mesh, at all nodes that are kept."""
    points, K, M = brick((4, 2, 2), (8.0, 2.0, 2.0), 2e3, 1.0)
    p = 1e-4 * forces(2)
    held = np.flatnonzero(np.repeat(points[:, 0] == 0.0, 3))
    free = np.setdiff1d(np.arange(len(points) * 3), held)
    u = np.zeros(points.size)
    u[free] = np.linalg.solve(K.toarray()[np.ix_(free, free)], p.ravel()[free])
    own = Reduction(
        *(points, K, M, {"a": Interface.rigid(lambda x: x[:, 0] == 0.0)}),
        modes=0,
        loads={"p": p},
        recover={"all": EVERY},
    )
    model = mbs.Model("SE3")
    body = model.add(FlexibleBody.place(model, own))
    model.fix(body.node("a"))
    model.add(MeshLoad(body, "p"))
    found = mbs.statics(model).point(body, "all")[-1] - points
    assert found == pytest.approx(u.reshape(-1, 3), abs=1e-3 * np.abs(u).max())


def test_equal_parts_in_a_row_are_the_whole() -> None:
    """One node between two; the first bending frequency of a free rod, ``4.730041^2``, of two Guyan halves and more."""
    n = 24
    mesh, dofs = chain(n, 0.25)
    part = Reduction(*mesh, {"a": Interface.rigid([0]), "b": Interface.rigid([n])}, modes=2, dofs=dofs)
    model = mbs.Model("SE3")
    for own in FlexibleBody.chain(model, [part] * 4, (1.0, 2.0, 3.0), angular_velocity=(0.0, 0.0, 2.0)):
        model.add(own)
    assert len(model.nodes) == 5 + 1
    tip = model.nodes[-1]
    assert tip.position == pytest.approx([2.0, 2.0, 3.0])
    assert tip.velocity == pytest.approx([0.0, 2.0, 0.0])
    still = mbs.Model("SE3")
    for own in FlexibleBody.chain(still, [part] * 4):
        still.add(own)
    found = mbs.modes(still, 12)
    assert found.angular[found.angular > 1.0][0] == pytest.approx(4.730041**2, rel=1e-3)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda s, b: s.point(b, "c"), "keeps no set 'c' but skin, a, b; name it in recover="),
        (lambda s, b: s.point(b, (4.0, 1.0, 1.0)), "keeps no point of the mesh near"),
        (lambda s, b: s.stress(b, "a"), "knows no stresses"),
        (lambda s, b: s.point(b, 3), "three numbers"),
    ],
)
def test_bad_questions_are_refused(ask: object, message: str) -> None:
    model = mbs.Model("SE3")
    body = model.add(FlexibleBody.place(model, soft()))
    solution = mbs.simulate(model, 0.01, 0.01)
    with pytest.raises(mbs.ModelError, match=message):
        ask(solution, body)  # type: ignore[operator]


def test_bad_loads_are_refused() -> None:
    model = mbs.Model("SE3")
    body = model.add(FlexibleBody.place(model, soft()))
    with pytest.raises(mbs.ModelError, match="has no load 'wind' but none; its reduction takes them as loads="):
        MeshLoad(body, "wind", 1.0)
    with pytest.raises(mbs.ModelError, match=r"loads\['p'\] must be a force for each of the 45 nodes"):
        soft({"p": "top"})
    with pytest.raises(mbs.ModelError, match=r"loads\['p'\] has no forces"):
        soft({"p": np.zeros((45, 3))})
    with pytest.raises(mbs.ModelError, match=r"recover\['far'\] has no nodes"):
        soft(recover={"far": [[9.0, 9.0, 9.0], [10.0, 10.0, 10.0]]})
    with pytest.raises(mbs.ModelError, match="the mesh has no set 'edge'"):
        soft(recover=["edge"])
