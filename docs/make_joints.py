"""Write the picture of what joints look like: run this from the root of the repository when they have changed."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyvista as pv

import fem_mbs as mbs
from fem_mbs.elements import (
    CylindricalJoint,
    FixedJoint,
    PlanarJoint,
    PointOnLineJoint,
    PointOnPlaneJoint,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
    UniversalJoint,
)

AXIS, ACROSS = (0.6, 0.0, 0.8), (0.0, 1.0, 0.0)
JOINTS = {
    "fixed": (FixedJoint,),
    "revolute": (RevoluteJoint, AXIS),
    "universal": (UniversalJoint, AXIS, ACROSS),
    "spherical": (SphericalJoint,),
    "prismatic": (PrismaticJoint, AXIS),
    "cylindrical": (CylindricalJoint, AXIS),
    "point on line": (PointOnLineJoint, AXIS),
    "planar": (PlanarJoint, AXIS),
    "point on plane": (PointOnPlaneJoint, AXIS),
}
ROW = 5


def main() -> None:
    """Draw them in two rows."""
    model = mbs.Model()
    for k, (kind, *axes) in enumerate(JOINTS.values()):
        node = model.add_node((1.5 * (k % ROW), -1.8 * (k // ROW), 0))
        model.add(RigidBody(node, 1.0, (1, 1, 1)))
        model.add(kind(model.ground, node, *axes))
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
