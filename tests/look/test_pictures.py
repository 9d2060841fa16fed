"""Pictures, looked at: whether the right colours are where they belong, and move as the model does."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import imageio.v3 as iio
import numpy as np
import pytest
from matplotlib.colors import rgb_to_hsv
from PIL import Image

import fem_mbs as mbs
from fem_mbs import errors
from fem_mbs.arrays import Array
from fem_mbs.elements import (
    Ball,
    Beam,
    BeamSection,
    Force,
    Moment,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
    SpringDamper,
)
from fem_mbs.pictures.drawing import PyvistaCanvas, toward

SIZE = (240, 160)
HUES = {
    "load": (0.91, 0.96),
    "joint": (0.06, 0.12),
    "spring": (0.36, 0.46),
    "beam": (0.54, 0.62),
    "moment": (0.72, 0.8),
}
STEEL = {"E": 2.1e11, "nu": 0.3, "rho": 7850.0}


def colored(pixels: Array, what: str) -> Array:
    """Pixels of the colour of something, True or False."""
    hue, saturation, value = np.moveaxis(rgb_to_hsv(pixels / 255.0), -1, 0)
    if what == "body":
        found = (saturation < 0.15) & (value > 0.35) & (value < 0.93)
    else:
        first, last = HUES[what]
        found = (hue >= first) & (hue <= last) & (saturation > 0.4)
    # the title and the axes in the corner
    found[:16, : found.shape[1] // 2] = found[-45:, :45] = False
    return found


def middle(pixels: Array, what: str) -> Array:
    """Where the middle of a colour is: rows down, columns to the right."""
    return np.argwhere(colored(pixels, what)).mean(axis=0)


@cache
def crane() -> mbs.Model:
    """Something of everything."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    section = BeamSection.rectangle(width=0.1, height=0.1, **STEEL)
    arm = Beam.line(model, (0, 0, 0), (2, 0, 0), section, elements=4, name="arm")
    model.add(RevoluteJoint(model.ground, arm.nodes[0], (0, 1, 0)), name="hinge")
    load = model.add_node((2, 0, -0.6), name="load")
    model.add(RigidBody(load, 20.0, (1, 1, 1), shape=Ball(0.25)))
    model.add(SphericalJoint(arm.nodes[-1], load))
    model.add(SpringDamper(model.ground, arm.nodes[2], 1e4, 100.0, point_a=(0, 0, 1.0)))
    model.add(Force(load, (-500, 0, 0)))
    model.add(Moment(arm.nodes[1], lambda t: (0, -100 * t, 0)))
    return model


@cache
def falling() -> mbs.Solution:
    """A ball that falls, and is thrown to the right."""
    model = mbs.Model(gravity=(0, 0, -10.0))
    ball = model.add_node((0, 0, 0), velocity=(2, 0, 0), name="ball")
    model.add(RigidBody(ball, 1.0, (0.1, 0.1, 0.1), shape=Ball(0.3)))
    return mbs.simulate(model, 1.0, 0.05)


def test_a_model_before_it_runs(tmp_path: Path) -> None:
    view = crane().plot(tmp_path / "new" / "crane.png", size=SIZE)
    pixels = view.pixels
    assert pixels.shape == (160, 240, 3)
    assert 0.5 < (pixels.min(axis=2) > 250).mean() < 0.97
    least = {"beam": 300, "body": 300, "joint": 15, "spring": 25, "load": 8, "moment": 8}
    counts = {what: int(colored(pixels, what).sum()) for what in least}
    assert all(counts[what] >= least[what] for what in least), counts
    assert middle(pixels, "body")[0] > middle(pixels, "beam")[0] > middle(pixels, "spring")[0], "upside down"
    assert middle(pixels, "body")[1] > middle(pixels, "spring")[1], "left is right"
    written = np.asarray(Image.open(tmp_path / "new" / "crane.png"))[..., :3]
    np.testing.assert_array_equal(written, pixels)
    assert Image.open(io.BytesIO(view._repr_png_())).size == SIZE


def test_nodes_alone_are_drawn() -> None:
    model = mbs.Model()
    with pytest.raises(mbs.ModelError, match="the model is empty; add nodes"):
        model.plot()
    for x in range(3):
        model.add_node((x, 0, 0))
    model.fix("node 1")
    pixels = model.plot(size=SIZE).pixels
    assert 0.5 < (pixels.min(axis=2) > 250).mean() < 0.995


@pytest.mark.parametrize(("extent", "axis"), [
    ((1, 0.03, 0.01), 1), ((0.02, 1, 0.01), 0), ((0.02, 0.03, 1), 1), ((1, 1, 0.01), 2), ((1, 0.1, 0), 2)
])  # fmt: skip
def test_what_is_slender_is_seen_with_z_up(extent: tuple[float, float, float], axis: int) -> None:
    """What is flat is seen from its side, unless it moves along that."""
    box = np.array([[0, 0, 0], extent])
    assert np.flatnonzero(toward(box, np.zeros(3))).tolist() == [axis]
    assert np.flatnonzero(toward(box, np.eye(3)[axis])).tolist() != [axis]


def test_modes_are_seen_where_they_move() -> None:
    """Of a portal frame, out of its plane, and of a column, both ways: most of the largest displacement is across."""
    section = BeamSection.rectangle(width=0.05, height=0.05, **STEEL)
    portal, column = mbs.Model(), mbs.Model()
    leg = Beam.line(portal, (0, 0, 0), (0, 0, 2), section, elements=2)
    beam = Beam.line(portal, (0, 0, 2), (2, 0, 2), section, elements=2, start_node=leg.nodes[-1])
    other = Beam.line(portal, (2, 0, 2), (2, 0, 0), section, elements=2, start_node=beam.nodes[-1])
    for node in (leg.nodes[0], other.nodes[-1]):
        portal.fix(node)
    column.fix(Beam.line(column, (0, 0, 0), (0, 0, 1), section, elements=4).nodes[0])
    for model in (portal, column):
        modes = mbs.modes(model, count=2)
        for k in range(2):
            canvas = PyvistaCanvas(modes.plot(k)._drawing, modes.plot(k)._frames, SIZE)
            position, focus, _ = canvas.plotter.camera_position
            canvas.close()
            eye = (np.array(position) - focus) / np.linalg.norm(np.array(position) - focus)
            moved = modes.shapes[k, :, :3][np.abs(modes.shapes[k, :, :3]).max(axis=1).argmax()].real
            assert abs(eye @ moved) < 0.8 * np.linalg.norm(moved)


def test_a_film_moves_as_the_run_does() -> None:
    """The ball is where the run has it, by one scale for both directions, as seen from the side."""
    solution = falling()
    with pytest.raises(mbs.ModelError, match="duration times fps must be at most 100000, received 2 s of 1e"):
        solution.animate(duration=2, fps=1e30)
    film = solution.animate(duration=2, fps=2, size=SIZE)
    assert len(film) == 4
    seen = np.array([middle(pixels, "body") for pixels in film])
    t = np.linspace(0, 1, 4)
    place = np.stack([5 * t**2, 2 * t], axis=-1)  # down, to the right
    scale = np.linalg.norm(seen[-1] - seen[0]) / np.linalg.norm(place[-1])
    assert scale > 20
    np.testing.assert_allclose((seen - seen[0]) / scale, place, atol=0.2)


@pytest.mark.slow
def test_films_are_files_that_others_read(tmp_path: Path) -> None:
    solution = falling()
    for name in ("fall.gif", "fall.mp4"):
        film = solution.animate(tmp_path / name, duration=2, fps=2, size=SIZE)
        frames = iio.imread(tmp_path / name)
        assert frames.shape == (4, 160, 240, 3)
        for pixels, written in zip(film, frames, strict=True):
            np.testing.assert_allclose(middle(written, "body"), middle(pixels, "body"), atol=4.0)
    assert '<video controls loop autoplay muted width="240" src="data:video/mp4;base64,' in film._repr_html_()
    with pytest.raises(mbs.ModelError, match=r"must end with .mp4 or .gif, received"):
        film.save(tmp_path / "fall.avi")
    solution.animate(tmp_path / "fast.gif", duration=1, fps=60, size=SIZE)
    assert sum(iio.immeta(tmp_path / "fast.gif", index=k)["duration"] for k in range(60)) == 1000


def test_a_state_in_between() -> None:
    early, late = (falling().plot(t=t, size=SIZE) for t in (0.0, 0.5))
    assert colored(early.pixels, "body").any() and colored(late.pixels, "body").any()
    with pytest.raises(mbs.ModelError, match="outside the run"):
        falling().plot(t=2.0)


@pytest.mark.slow
def test_modes_and_paths_are_pictures_too() -> None:
    from matplotlib import pyplot

    model = mbs.Model()
    section = BeamSection.rectangle(width=0.05, height=0.02, **STEEL)
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), section, elements=6, name="tongue")
    model.fix(beam.nodes[0])
    model.add(Force(beam.nodes[-1], (0, 0, -4000.0)))
    modes = mbs.modes(model, count=1)
    up = modes.plot(0, size=SIZE).pixels
    frames = list(modes.animate(0, duration=1, fps=4, size=SIZE))
    heights = [middle(pixels, "beam")[0] for pixels in frames]
    assert abs(heights[1] - heights[3]) > 4 and abs(heights[0] - heights[2]) < 2, heights
    assert colored(up, "beam").sum() > 100
    path = mbs.statics(model)
    heights = [middle(pixels, "beam")[0] for pixels in path.animate(duration=1, fps=3, size=SIZE)]
    assert heights[0] + 1 < heights[1] < heights[2] - 1, heights
    figure = path.plot("tongue[6].displacement.z")
    assert figure.axes[0].get_xlabel() == "load factor"
    np.testing.assert_array_equal(figure.axes[0].lines[0].get_xdata(), path.t)
    pyplot.close("all")


def test_curves_of_channels(tmp_path: Path) -> None:
    from matplotlib import pyplot

    solution = falling()
    figure = solution.plot(["ball.position", "ball.velocity.z"], "energy.total", file=tmp_path / "out" / "curves.png")
    assert [axes.get_ylabel() for axes in figure.axes] == [
        "ball.position\n(m)",
        "ball.velocity.z\n(m/s)",
        "energy.total\n(J)",
    ]
    assert [len(axes.lines) for axes in figure.axes] == [3, 1, 1] and figure.axes[-1].get_xlabel() == "t (s)"
    np.testing.assert_array_equal(figure.axes[0].lines[2].get_ydata(), solution.position("ball")[:, 2])
    pixels = np.asarray(Image.open(tmp_path / "out" / "curves.png"))[..., :3]
    assert colored(pixels, "beam").sum() > 100  # the first of matplotlib's colours
    with pytest.raises(mbs.ModelError, match="ball"):
        solution.plot("bal.position")
    model = mbs.Model()
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), BeamSection.circle(0.01, **STEEL), elements=8, name="arm")
    model.fix(beam.nodes[0])
    model.add(Force(beam.nodes[-1], (0, 0, -1.0)))
    path = mbs.statics(model)
    axes = path.plot("arm.section_forces").axes[1]  # all elements of a component between two lines
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        f"arm.section_forces.{name}, all 8" for name in ("torsion", "bending_y", "bending_z")
    ]
    bent = path.section_forces(beam)[-1, :, 4]
    drawn = axes.collections[1].get_paths()[0].vertices
    assert (drawn[:, 1].min(), drawn[:, 1].max()) == pytest.approx((min(bent.min(), 0), max(bent.max(), 0)))
    pyplot.close("all")


@pytest.mark.slow
def test_notebooks_show_a_table_and_the_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    for shown in (crane(), falling()):
        page = shown._repr_html_()
        assert page.count("<tr>") >= 4 and 'src="data:image/png;base64,' in page
    assert "mode" in mbs.modes(crane(), count=1)._repr_html_()
    monkeypatch.setattr("fem_mbs.pictures.pictures.View._repr_png_", lambda self: 1 / 0)
    assert "<table>" in crane()._repr_html_()


CELLS = (
    """
import fem_mbs as mbs
from fem_mbs.elements import RigidBody
model = mbs.Model(gravity=(0, 0, -10))
model.add(RigidBody(model.add_node((0, 0, 0), name="ball"), 1.0, (0.1, 0.1, 0.1)))
solution = mbs.simulate(model, 0.1, 0.05)""",
    'solution.plot("ball.position")',
    'solution.plot("ball.position")\nfigure = solution.plot("ball.velocity")',
    "figure",
    "solution",
)


@pytest.mark.slow
def test_a_notebook_shows_each_figure_once() -> None:
    import nbclient
    import nbformat

    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    nbclient.NotebookClient(book, kernel_name="python3", timeout=120).execute()
    shown = [[kind for output in cell.outputs for kind in output.get("data", {})] for cell in book.cells]
    assert [kinds.count("image/png") for kinds in shown] == [0, 1, 2, 1, 0], shown
    assert 'src="data:image/png' in book.cells[-1].outputs[0].data["text/html"]
    assert not [output for cell in book.cells for output in cell.outputs if output.output_type == "stream"]


@pytest.mark.slow
def test_nothing_is_printed_without_a_screen(tmp_path: Path) -> None:
    script = tmp_path / "picture.py"
    script.write_text(CELLS[0] + "\nmodel.plot('ball.png').show()", encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "MPLBACKEND")}
    run = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert (tmp_path / "ball.png").stat().st_size > 1000 and not run.stdout
    if sys.platform.startswith("linux"):
        assert run.stderr.splitlines() == [
            "there is no screen to show a picture on; view.save('model.png') writes it to a file"
        ]


def test_a_picture_is_filled_and_has_supports_and_links() -> None:
    """A light bob on a long arm, and a column, side by side: the ball, the arm between, and a cube at the foot."""
    model = mbs.Model()
    bob = model.add_node((3, 0, 0), name="bob")
    model.add(RigidBody(bob, 1.0, (1e-6, 1e-6, 1e-6)))
    model.add(RevoluteJoint(model.ground, bob, (0, 1, 0), point=(0, 0, 0)))
    section = BeamSection.rectangle(width=0.02, height=0.02, **STEEL)
    model.fix(Beam.line(model, (3, 0, -1.5), (3, 0, -0.5), section, elements=4).nodes[0])
    pixels = model.plot(size=SIZE).pixels
    ink = np.argwhere(pixels.min(axis=2) < 200)
    ink = ink[(ink[:, 0] < 115) | (ink[:, 1] > 45)]  # not the axes in the corner
    assert np.ptp(ink[:, 1]) > 0.75 * SIZE[0]
    joints, bodies = (np.argwhere(colored(pixels, what)) for what in ("joint", "body"))
    left, right = joints[joints[:, 1] < 120], joints[joints[:, 1] > 120]
    assert len(left) >= 8 and len(right) >= 8 and right[:, 0].mean() > left[:, 0].mean() + 40
    assert np.abs(bodies[:, 1, None] - np.arange(60, 200)).min(axis=0).max() <= 2, "no line from the hinge to the bob"


def test_a_picture_ends_where_the_model_does() -> None:
    """A triangle across the line of sight, far from the corners of its box, fills the picture, and is in its middle."""
    model = mbs.Model()
    across, up = np.array([1.0, 0.75, 0.0]), np.array([-0.36, 0.48, 1.25])
    feet = [model.add_node(place, name=str(k)) for k, place in enumerate((across, -across, up))]
    for k in range(3):
        model.add(Beam([feet[k - 1], feet[k]], BeamSection.circle(0.02, **STEEL)))
    ink = np.argwhere(colored(model.plot(size=SIZE).pixels, "beam"))
    assert np.ptp(ink[:, 1]) > 0.68 * SIZE[0]
    assert np.abs(ink.min(axis=0) + ink.max(axis=0) - SIZE[::-1]).max() < 20


@pytest.mark.one
@pytest.mark.parametrize("name", ["crane", "crane.xyz"])
def test_endings_that_say_nothing_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(mbs.ModelError, match=r"cannot write '.*crane(.xyz)?': .*; endings such as .png say what"):
        crane().plot(tmp_path / name)
    with pytest.raises(mbs.ModelError, match="cannot write '.': it names no file"):
        falling().plot("ball.position", file="")


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(errors, "import_module", missing)
    with pytest.raises(mbs.MissingPackageError, match=r"pip install 'fem_mbs\[look\]'"):
        crane().plot().pixels  # noqa: B018
    with pytest.raises(mbs.MissingPackageError, match=r"pip install 'fem_mbs\[plot\]'"):
        falling().plot("ball.position")


def test_curves_have_no_instant() -> None:
    with pytest.raises(mbs.ModelError, match="t = 0.5 s is of a picture"):
        falling().plot("ball.position", t=0.5)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"zzz": 1}, "has no argument 'zzz'"),
        ({"size": 300}, "size must be a width and a height in pixels, received 300"),
        ({"size": (300, 0)}, "size must be"),
        ({"size": (300, 10**6)}, "size must be at most 10000 pixels along each side"),
    ],
)
def test_options_that_there_are_not_are_refused(options: dict[str, Any], told: str) -> None:
    for plot in (crane().plot, falling().plot, falling().animate):
        with pytest.raises(mbs.ModelError, match=told):
            plot(**options)


def test_pictures_change_nothing() -> None:
    before = falling().history.x.copy()
    falling().plot(size=SIZE).pixels  # noqa: B018
    np.testing.assert_array_equal(falling().history.x, before)
