"""Both flexible benchmarks, with figures and ParaView files: ``python -m examples`` writes into the folder ``out``.

What is said of each run comes from the logger ``fem_mbs``.
"""

from __future__ import annotations

import logging
import sys
import time
from pathlib import Path

from examples import four_bar, right_angle_cantilever

begun = time.perf_counter()
sys.stdout.reconfigure(line_buffering=True)
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="  %(relativeCreated)6.0f ms  %(message)s")
logging.getLogger("matplotlib").setLevel(logging.WARNING)
print("Two benchmarks with their convergence studies; this takes some 20 s. Each run says how it went:")
for example in (right_angle_cantilever, four_bar):
    print("\n" + example.__doc__.splitlines()[0])
    example.main(["--plot", "--paraview"])
    name = Path(example.__file__).stem
    print(f"Written: out/{name}.png and, to be opened in ParaView, out/{name}.pvd")
print(f"\nAll of it took {time.perf_counter() - begun:.0f} s.")
