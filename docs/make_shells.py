"""Write the pictures of the page on shells: run this from the root of the repository when they have changed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
import pyvista as pv

import fem_mbs as mbs
from fem_mbs.benchmarks import plates
from fem_mbs.elements import EdgeLoad, Shell, ShellSection

sys.path.append(str(Path(__file__).parent.parent / "tests" / "benchmarks"))
from few_coordinates import ritz_frequencies  # noqa: E402


def twisted_laminate() -> mbs.StaticSolution:
    """A strip of plies at 45 and -45 degrees, pulled."""
    section = ShellSection.laminate([(45, 1e-3), (-45, 1e-3)], E1=140e9, E2=10e9, G12=5e9, nu12=0.3, rho=1600)
    model = mbs.Model()
    strip = Shell.rectangle(model, (0, 0, 0), (1, 0, 0), (0, 0.1, 0), section, elements=(30, 4), direction=(1, 0, 0))
    for node in strip.edge("left"):
        model.fix(node)
    model.add(EdgeLoad(strip.edge("right"), (4e5, 0, 0)))
    return mbs.statics(model, loads=[1.0])


def scenes() -> Iterator[tuple[str, mbs.Solution, str, tuple[float, float, float]]]:
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
    yield "laminate, pulled", twisted_laminate(), "stress", (0.9, -0.5, 0.35)
    swing = mbs.simulate(plates.swinging_panel()[0], 0.7, 0.01, times=np.linspace(0.0, 0.7, 8))
    yield "a panel swings about two hinges", swing, "m", (0.5, -1, 0.25)
    pulled = mbs.statics(plates.pull_out(16, 12)[0], load_end=0.4, loads=[0.4])
    yield "an eighth of a cylinder, pulled out", pulled, "stress", (1, 1, 0.5)
    linear = {
        "Cook's membrane": (plates.cook(16), 1e-7, (0, 0, 1)),
        "Scordelis-Lo roof, a quarter": (plates.scordelis_lo(16), 1e-5, (1, -1, 0.6)),
        "pinched cylinder, an eighth": (
            plates.pinched_cylinder(16, R=300.0, L=600.0, h=3.0, E=3e6, nu=0.3, P=1.0),
            1e-2,
            (1, 1, 0.5),
        ),
        "twisted strip": (plates.twisted_beam(4, 0.32, (0.0, 1.0, 0.0)), 1e-4, (0.4, -1, 0.4)),
        "Raasch's hook": (plates.raasch_hook(8), 1e-4, (0.6, -1, 0.5)),
        "clamped plate, a quarter": (plates.square_plate(12, 1e-2, True), 1e-6, (-0.5, -1, 0.8)),
    }
    for title, ((model, _), load, view) in linear.items():
        yield title, mbs.statics(model, load_end=load, loads=[load]), "stress", view


def rotating(file: Path) -> None:
    """Frequencies of a plate that turns about its clamped edge."""
    fig, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
    speeds = np.linspace(0.0, 8.0, 33)
    axes.plot(speeds, [ritz_frequencies("CFFF", 4, nu=0.0, speed=speed) for speed in speeds], "C0")
    for speed in speeds[::8]:
        model, unit = plates.rotating_plate(12, speed)
        state = mbs.steady_rotation(model, (0, speed / unit, 0)).state(-1) if speed else None
        found = 2 * np.pi * unit * np.asarray(mbs.modes(model, 4, state=state).frequencies)
        axes.plot(np.full(4, speed), found, "ko", ms=4)
    axes.set(xlabel=r"$\Omega\,a^2\sqrt{\rho h/D}$", ylabel=r"$\omega\,a^2\sqrt{\rho h/D}$", ylim=(0, None))
    fig.savefig(file, dpi=100)


def paths(file: Path) -> None:
    """Loads over displacements of the cases of Sze, Liu and Lo: lines are computed, dots published."""
    pinched = plates.pinched_cylinder(40, R=100.0, L=200.0, h=1.0, E=30e3, nu=0.3, P=12_000.0)
    cases = {
        "cantilever": (plates.cantilever(16), "cantilever", {"-u": (0, 0, -1), "w": (0, 2, 1)}),
        "slit ring": (plates.slit_annulus(8, 40), "slit annular plate", {"inner": (0, 2, 1), "outer": (1, 2, 1)}),
        "hemisphere": (plates.hemisphere(20, 400.0), "hemisphere", {"outward": (0, 0, 1), "inward": (1, 1, -1)}),
        "pull-out": (
            plates.pull_out(16, 24),
            "pull-out of a cylinder",
            {"A": (0, 2, 1), "B": (1, 0, -1), "C": (2, 0, -1)},
        ),
        "pinched cylinder": (pinched, "pinched cylinder", {"A": (0, 2, -1)}),
        "roof, 12.7 mm": (plates.hinged_roof(16, plates.roof_section(12.7)), "hinged roof", {"crown": (0, 2, -1)}),
        "roof, 6.35 mm": (plates.hinged_roof(16, plates.roof_section(6.35)), "thin hinged roof", {"crown": (0, 2, -1)}),
        "roof, plies": (plates.hinged_roof(16, plates.roof_laminate()), "laminated roof", {"crown": (0, 2, -1)}),
    }
    fig, every = plt.subplots(2, 4, figsize=(13, 6), layout="constrained")
    for axes, (title, ((model, nodes), table, components)) in zip(every.flat, cases.items(), strict=True):
        load, *published = plates.points(table).T
        path = mbs.statics(model, load_end=load.max(), arc_length=True, step=0.02)
        for (name, (node, axis, sign)), dots in zip(components.items(), published, strict=True):
            (line,) = axes.plot(sign * path.displacement(nodes[node])[:, axis], path.t, label=name)
            axes.plot(dots, load, "o", ms=3, color=line.get_color())
        axes.set(title=title, xlabel="displacement", ylabel="load")
        axes.legend()
    fig.savefig(file, dpi=90)


def main() -> None:
    """Draw them beside each other."""
    plotter = pv.Plotter(off_screen=True, shape=(3, 4), window_size=(1800, 1200), border=False)
    with TemporaryDirectory() as folder:
        for k, (title, solution, field, view) in enumerate(scenes()):
            plotter.subplot(*divmod(k, 4))
            reader = pv.PVDReader(solution.to_paraview(Path(folder) / str(k)))
            for time in reader.time_values:
                reader.set_active_time_value(time)
                mesh = reader.read()[0]
                surface = mesh.extract_cells(mesh["part"] == 1)
                values = surface["stress_top"][:, 2] if field == "stress" else np.abs(surface["bending_moment"][:, 0])
                limits = (0.0, 60.0 if k == 0 else 20.0) if field == "m" else None
                plotter.add_mesh(surface, scalars=values, clim=limits, show_scalar_bar=False, cmap="viridis")
            plotter.add_text(title, font_size=11, color="black", position="upper_left")
            plotter.view_vector(view, viewup=(0, 0, 1))
            plotter.camera.zoom(1.25 if k < 5 else 0.95)
    images = Path(__file__).parent / "images"
    plotter.screenshot(images / "shells.png")
    rotating(images / "shells_rotating.png")
    paths(images / "shells_paths.png")


if __name__ == "__main__":
    main()
