"""Write the pictures of ``look.md``: run this from the root of the repository when they have changed."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from matplotlib import image

DOCS = Path(__file__).parent
IMAGES = DOCS / "images"
SMALL = (480, 320)


def main() -> None:
    """Run the page, and draw what it draws, for print."""
    blocks = re.findall(r"^```python\n(.*?)^```", (DOCS / "look.md").read_text(encoding="utf-8"), re.M | re.S)
    names: dict = {}
    for block in blocks:
        exec(block, names)
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
