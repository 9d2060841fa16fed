"""Write the picture of what joints look like: run this from the root of the repository when they have changed."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyvista as pv

import fem_mbs as mbs
from fem_mbs.elements import RigidBody
from fem_mbs.elements.joints.relative import ROTATIONS, TRANSLATIONS, RelativeJoint, axes_about

JOINTS = {
    "fixed": "",
    "revolute": "rz",
    "universal": "rx ry",
    "spherical": "rx ry rz",
    "prismatic": "tz",
    "cylindrical": "tz rz",
    "point on line": "tz rx ry rz",
    "planar": "tx ty rz",
    "point on plane": "tx ty rx ry rz",
}
"""The free motions: t for translation, r for rotation."""
ROW = 5


class Joint(RelativeJoint):
    """A joint that frees some motions."""

    def __init__(self, a: mbs.Node, b: mbs.Node, free: str) -> None:
        names = {f"{name[0]}{name[-1]}": name for name in (*TRANSLATIONS, *ROTATIONS)}
        self.closes = tuple(name for short, name in names.items() if short not in free.split())
        super().__init__(a, b, None, axes_about(np.array([0.6, 0.0, 0.8])))


def main() -> None:
    """Draw them in two rows."""
    model = mbs.Model()
    for k, free in enumerate(JOINTS.values()):
        node = model.add_node((1.5 * (k % ROW), -1.8 * (k // ROW), 0))
        model.add(RigidBody(node, 1.0, (1, 1, 1)))
        model.add(Joint(model.ground, node, free))
    with TemporaryDirectory() as folder:
        mesh = pv.PVDReader(mbs.simulate(model, 0.01, 0.01).to_paraview(Path(folder) / "joints")).read()[0]
    plotter = pv.Plotter(off_screen=True, window_size=(1000, 460))
    plotter.add_mesh(mesh.extract_cells(mesh["part"] == 6), color="darkorange")
    places = [node.position - (0, 0.95, 0) for node in model.nodes[1:]]
    plotter.add_point_labels(
        np.array(places), list(JOINTS), shape=None, font_size=20, show_points=False, justification_horizontal="center"
    )
    plotter.camera_position = [(3, -6, 7), (3, -1.1, 0), (0, 0, 1)]
    plotter.enable_parallel_projection()
    plotter.camera.zoom(1.25)
    plotter.screenshot(Path(__file__).parent / "images" / "joints_paraview.png")


if __name__ == "__main__":
    main()
