"""Write the picture of the page on shells: run this from the root of the repository when they have changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyvista as pv

import fem_mbs as mbs
from fem_mbs.benchmarks import plates
from fem_mbs.elements import EdgeLoad, Shell, ShellSection


def twisted_laminate() -> mbs.StaticSolution:
    """A strip of plies at 45 and -45 degrees, pulled."""
    section = ShellSection.laminate([(45, 1e-3), (-45, 1e-3)], E1=140e9, E2=10e9, G12=5e9, nu12=0.3, rho=1600)
    model = mbs.Model()
    strip = Shell.rectangle(model, (0, 0, 0), (1, 0, 0), (0, 0.1, 0), section, (30, 4), direction=(1, 0, 0))
    for node in strip.edge("left"):
        model.fix(node)
    model.add(EdgeLoad(strip.edge("right"), (4e5, 0, 0)))
    return mbs.statics(model, loads=[1.0])


def scenes() -> Iterator[tuple[str, mbs.StaticSolution, str, tuple[float, float, float]]]:
    """What is shown, by which field, and from where."""
    yield (
        "rolled up by a moment",
        mbs.statics(plates.roll_up(16)[0], loads=[0.25, 0.5, 0.75, 1.0]),
        "m",
        (0.3, -1, 0.25),
    )
    lifted = mbs.statics(plates.slit_annulus(6, 30)[0], loads=[1.0])
    yield "slit ring, lifted", lifted, "stress", (-1, -1, 0.5)
    yield (
        "hemisphere, pulled and pushed",
        mbs.statics(plates.hemisphere(16, 400.0)[0], loads=[1.0]),
        "stress",
        (1, 1, 0.5),
    )
    yield "laminate, pulled", twisted_laminate(), "stress", (0.9, -0.5, 0.4)


def main() -> None:
    """Draw them beside each other."""
    plotter = pv.Plotter(off_screen=True, shape=(2, 2), window_size=(1100, 800), border=False)
    with TemporaryDirectory() as folder:
        for k, (title, solution, field, view) in enumerate(scenes()):
            plotter.subplot(*divmod(k, 2))
            reader = pv.PVDReader(solution.to_paraview(Path(folder) / str(k)))
            for time in reader.time_values:
                reader.set_active_time_value(time)
                mesh = reader.read()[0]
                surface = mesh.extract_cells(mesh["part"] == 1)
                values = surface["stress_top"][:, 2] if field == "stress" else np.abs(surface["bending_moment"][:, 0])
                limits = (0.0, max(float(values.max()), 60.0)) if field == "m" else None
                plotter.add_mesh(surface, scalars=values, clim=limits, show_scalar_bar=False, cmap="viridis")
            plotter.add_text(title, font_size=11, color="black", position="upper_left")
            plotter.view_vector(view, viewup=(0, 0, 1))
            plotter.camera.zoom(1.25)
    plotter.screenshot(Path(__file__).parent / "images" / "shells.png")


if __name__ == "__main__":
    main()
