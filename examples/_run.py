"""The command line that scripts share: run, compare, and draw when asked."""

from __future__ import annotations

import argparse
import math
from pathlib import Path


def command(argv, script, run, compare, figure, every=1):
    """Print what ``compare`` makes of what ``run`` returns, and write into the folder ``out`` what is asked for.

    The first that ``run`` returns is the solution; ``compare`` and ``figure`` take all of it. Files bear the name of
    the file ``script``, and a frame of ParaView stands for ``every`` steps. Returns the numbers: names with what is
    computed and what it should be.
    """
    name = Path(script).stem
    parser = argparse.ArgumentParser(description=run.__globals__["__doc__"].splitlines()[0])
    parser.add_argument("--plot", action="store_true", help=f"write out/{name}.png")
    parser.add_argument("--paraview", action="store_true", help=f"write out/{name}.pvd")
    options = parser.parse_args(argv)

    solution, *parts = run()
    print(solution)
    numbers = compare(solution, *parts)
    width = max(map(len, numbers)) + 2
    print(f"{'':{width}}{'computed':>14}{'reference':>14}")
    for what, (computed, reference) in numbers.items():
        print(f"{what:{width}}{computed:14.6g}{reference:14.6g}")

    Path("out").mkdir(exist_ok=True)
    if options.plot:
        figure(solution, *parts, f"out/{name}.png")
    if options.paraview:
        solution.to_paraview(f"out/{name}", every=every)
    return numbers


def reproduce(argv, script, compare, print_study, figures, write, expected="reference"):
    """Print what ``compare()`` returns, and on demand a study, figures and files for ParaView, of a paper's script.

    ``print_study()`` prints, ``figures(folder)`` draws ``reproduced_*.png``, ``write(path)`` writes for ParaView;
    ``expected`` heads the numbers that ours stand beside, nan where there are none.
    """
    name = Path(script).stem
    parser = argparse.ArgumentParser(description=compare.__globals__["__doc__"].splitlines()[0])
    parser.add_argument("--study", action="store_true", help="print what follows from many runs: errors, orders")
    parser.add_argument("--plot", action="store_true", help="write the figures, out/reproduced_*.png")
    parser.add_argument("--paraview", action="store_true", help=f"write out/{name}.pvd")
    options = parser.parse_args(argv)

    numbers = compare()
    width = max(map(len, numbers)) + 2
    print(f"{'':{width}}{'computed':>12}{expected:>12}")
    for what, (computed, reference) in numbers.items():
        print(f"{what:{width}}{computed:12.5g}" + ("" if math.isnan(reference) else f"{reference:12.5g}"))
    if options.study:
        print_study()

    Path("out").mkdir(exist_ok=True)
    if options.plot:
        figures("out")
    if options.paraview:
        write(f"out/{name}")
    return numbers


def draw_panels(file, draw, rows, columns, width, height=2.9):
    """Draw a figure of panels of ``width`` by ``height`` inches; ``draw`` draws into a list of them."""
    import matplotlib.pyplot as plt

    fig, panels = plt.subplots(rows, columns, figsize=(width * columns, height * rows), layout="constrained")
    draw(panels.ravel())
    for panel in panels.flat:
        panel.grid(alpha=0.3)
        panel.title.set_fontsize(9)
        panel.set_xlabel(panel.get_xlabel() or "t (s)")
        panel.set_visible(panel.has_data())
        if panel.get_legend_handles_labels()[0]:
            plt.setp((panel.get_legend() or panel.legend()).get_texts(), fontsize=7)
    fig.savefig(file, dpi=100)
    plt.close(fig)


def main_of(script, run, compare, figure, every=1):
    """The function ``main`` of a script, of the arguments of a command line; see :func:`command`."""
    return lambda argv=None: command(argv, script, run, compare, figure, every)


def panels(file, *given):
    """Draw panels side by side, each a label of x, a label of y, and curves: a name, x, y and perhaps a style."""
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, len(given), figsize=(4.4 * len(given), 4), layout="constrained", squeeze=False)
    for panel, (x_label, y_label, *curves) in zip(axes[0], given, strict=True):
        for name, *curve in curves:
            panel.plot(*curve, label=name)
        panel.set(xlabel=x_label, ylabel=y_label)
        panel.margins(x=0.02)
        panel.grid(alpha=0.3)
        if any(name for name, *_ in curves):
            panel.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, frameon=False, fontsize="small")
    fig.savefig(file, dpi=120)
