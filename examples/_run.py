"""The command line that scripts share: run, compare, and draw when asked."""

from __future__ import annotations

import argparse
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
