"""The command line that scripts share: run, compare, and draw when asked."""

from __future__ import annotations

import argparse
import ast
import math
from pathlib import Path


def command(argv, script, compare, figures, write, study=None):
    """Print what ``compare()`` returns, and on demand a study, figures and files for ParaView.

    ``study()`` prints what follows from many runs, ``figures(folder)`` draws, ``write(path)`` writes files for ParaView
    that bear the name of the file ``script``. Returns the numbers: names with what is computed and what it should be,
    nan where nothing is said.
    """
    path = Path(script)
    parser = argparse.ArgumentParser(description=ast.get_docstring(ast.parse(path.read_text("utf-8"))).splitlines()[0])
    if study:
        parser.add_argument("--study", action="store_true", help="print what follows from many runs")
    parser.add_argument("--plot", action="store_true", help="write figures into the folder out")
    parser.add_argument("--paraview", action="store_true", help="write files for ParaView into the folder out")
    options = parser.parse_args(argv)

    numbers = compare()
    width = max(map(len, numbers)) + 2
    print(f"{'':{width}}{'computed':>14}{'reference':>14}")
    for what, (computed, reference) in numbers.items():
        print(f"{what:{width}}{computed:14.6g}" + ("" if math.isnan(reference) else f"{reference:14.6g}"))
    if study and options.study:
        study()

    Path("out").mkdir(exist_ok=True)
    if options.plot:
        figures("out")
    if options.paraview:
        write(f"out/{path.stem}")
    return numbers


def command_of(script, compare, figures, write, study=None):
    """The function ``main`` of a script, of the arguments of a command line; see :func:`command`."""
    return lambda argv=None: command(argv, script, compare, figures, write, study)


def main_of(script, run, compare, figure, every=1):
    """The function ``main`` of a script with one run.

    The first that ``run()`` returns is the solution, of which a frame for ParaView stands for ``every`` steps;
    ``compare`` and ``figure`` take all of it, ``figure`` the file to write as well.
    """

    def main(argv=None):
        parts = []

        def compared():
            parts.extend(run())
            print(parts[0])
            return compare(*parts)

        def figures(folder):
            figure(*parts, f"{folder}/{Path(script).stem}.png")

        return command(argv, script, compared, figures, lambda path: parts[0].to_paraview(path, every=every))

    return main


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
