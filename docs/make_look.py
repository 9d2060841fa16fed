"""Write the pictures of ``look.md`` and ``README.md``: run this from the root when they have changed."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import image

DOCS = Path(__file__).parent
IMAGES = DOCS / "images"
SMALL = (480, 320)


def run(page: Path) -> dict:
    """What the blocks of a page leave behind."""
    names: dict = {}
    for block in re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S):
        exec(block, names)
    return names


def ruler() -> None:
    """The ruler of the first page at equal times, and the way of its tip."""
    names = run(DOCS.parent / "README.md")
    solution, nodes = names["solution"], names["ruler"].nodes
    x, _, z = np.stack([solution.position(node) for node in nodes], axis=1).T
    figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
    for k in range(0, len(solution.t), 10):
        axes.plot(x[:, k], z[:, k], color=plt.cm.viridis(k / len(solution.t)), lw=2)
    axes.plot(x[-1], z[-1], ":", color="0.5", lw=1)
    axes.plot(0, 0, "o", color="k")
    axes.set(aspect="equal", xlabel="x (m)", ylabel="z (m)", title="every 0.05 s, from right to left")
    figure.savefig(IMAGES / "ruler.png", dpi=110)


def main() -> None:
    """Run the pages, and draw what they draw, for print."""
    ruler()
    names = run(DOCS / "look.md")
    solution, modes = names["solution"], names["modes"]
    names["view"].save(IMAGES / "look_model.png")
    names["figure"].savefig(IMAGES / "look_curves.png", dpi=80)
    frames = list(solution.animate(duration=2, fps=3, size=SMALL))
    rows = [np.concatenate(frames[k : k + 3], axis=1) for k in (0, 3)]
    image.imsave(IMAGES / "look_film.png", np.concatenate(rows))
    shapes = [modes.plot(k, size=SMALL).pixels for k in range(3)]
    image.imsave(IMAGES / "look_modes.png", np.concatenate(shapes, axis=1))


if __name__ == "__main__":
    main()
