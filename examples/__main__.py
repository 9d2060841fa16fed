"""Both flexible benchmarks, with figures and ParaView files: ``python -m examples`` writes into the folder ``out``."""

from __future__ import annotations

import time
from pathlib import Path

from examples import four_bar, right_angle_cantilever

begun = time.perf_counter()
print("Two benchmarks with their convergence studies; this takes about a minute.")
for example in (right_angle_cantilever, four_bar):
    print("\n" + example.__doc__.splitlines()[0])
    example.main(["--plot", "--paraview"])
    name = Path(example.__file__).stem
    print(f"Written: out/{name}.png and, to be opened in ParaView, out/{name}.pvd")
print(f"\nAll of it took {time.perf_counter() - begun:.0f} s.")
