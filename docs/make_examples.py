"""Write the figures and the scenes of ``examples``: ``python docs/make_examples.py suspension ...``.

Run this from the root of the repository when they have changed; pyvista draws the scenes.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from shutil import copy
from tempfile import TemporaryDirectory

import pyvista as pv

IMAGES = Path(__file__).resolve().parent / "images"
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
UP = (0, 0, 1)
SCENES = {  # which share of the run, and the camera: from where it looks at what
    "slider_crank_engine": (0.54, [(0.25, -0.42, 0.22), (0, 0, 0.095), UP]),
    "crank_of_solids": (0.55, [(0.15, -0.42, 0.1), (-0.03, 0, -0.015), UP]),
    "rotor_in_housing": (0.0, [(2.6, -2.3, 0.9), (0.75, 0, -0.2), UP]),
    "suspension": (0.175, [(1.5, 1.1, 0.6), (0, 0.55, 0.38), UP]),
    "differential": (0.02, [(-1.7, 1.9, 1.6), (0.6, 0.0, 0.15), UP]),
    "squeezer": (0.0, [(-0.045, -0.03, 0.17), (-0.035, 0.026, 0), (0, 1, 0)]),
    "planetary_gear": (0.2, [(0.11, -0.16, 0.24), (0, 0, -0.005), UP]),
    "robot": (1.0, [(2.1, -1.6, 1.5), (0.2, 0.1, 0.62), UP]),
    "wind_turbine": (0.8, [(190, -130, 50), (0, 0, 0), UP]),
    "tower_crane": (0.5, [(55, -80, 40), (18, 0, 23), UP]),
    "flyball_governor": (0.02, [(0.9, -2.8, 1.1), (0, 0, 0.5), UP]),
    "rocking_block": (0.36, [(1.2, -3.2, 1.3), (0, 0, 0.5), UP]),
    "slider_crank_with_play": (0.8, [(0.12, -0.75, 0.0), (0.12, 0, 0.0), UP]),
    "winding_drum": (1.0, [(0.35, -1.1, 0.25), (0.02, 0, -0.1), UP]),
    "solar_array": (0.31, [(3.1, -3.4, 1.8), (0.75, 0, 0.2), UP]),
}
FIGURES = (
    "identify_stiffness",
    "lightest_four_bar",
    "size_beam",
    "two_disc_rotor",
    "rotating_blade",
    "tune_blade",
    "tune_controller",
    "woodpecker",
    "billiard_break",
    "chain_on_floor",
)
"""Examples without a scene."""
PARTS = {1: "steelblue", 5: "seagreen", 6: "darkorange", 7: "lightsteelblue"}


def draw(name: str, collection: Path) -> None:
    """A frame of the run as a picture."""
    share, camera = SCENES[name]
    reader = pv.PVDReader(collection)
    reader.set_active_time_point(round(share * (reader.number_time_points - 1)))
    mesh = reader.read()[0]
    plotter = pv.Plotter(off_screen=True, window_size=(900, 600))
    for part, color in PARTS.items():
        cells = mesh.extract_cells(mesh["part"] == part)
        if cells.n_cells:
            plotter.add_mesh(cells, color=color, line_width=4)
    plotter.camera_position = camera
    plotter.screenshot(IMAGES / f"{name}_paraview.png")


def main() -> None:
    """Draw those named on the command line, or all."""
    sys.path.append(str(EXAMPLES))
    for name in sys.argv[1:] or (*SCENES, *FIGURES):
        with TemporaryDirectory() as folder:
            os.chdir(folder)
            import_module(name).main(["--plot", "--paraview"])
            if name in SCENES:
                draw(name, Path(folder) / "out" / f"{name}.pvd")
            copy(Path(folder) / "out" / f"{name}.png", IMAGES)
            os.chdir(EXAMPLES)


if __name__ == "__main__":
    main()
