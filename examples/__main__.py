"""Both flexible benchmarks, with figures and ParaView files: ``python -m examples`` writes into the folder ``out``.

Each has a process of its own. What is said of each run comes from the logger ``fem_mbs``.
"""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import import_module

NAMES = ("right_angle_cantilever", "four_bar")


def example(name: str) -> str:
    """Run an example, which says as it goes how far it is; returns its table."""
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format=f"  {name}: %(message)s", force=True)
    logging.getLogger("matplotlib").setLevel(logging.WARNING)
    with contextlib.redirect_stdout(io.StringIO()) as table:
        module = import_module(f"examples.{name}")
        module.main(["--plot", "--paraview"])
    return f"\n{module.__doc__.splitlines()[0]}\n{table.getvalue()}"


def main() -> None:
    begun = time.perf_counter()
    print("Two benchmarks with their convergence studies; this takes some 20 s. Each run says how it went:", flush=True)
    with ProcessPoolExecutor(len(NAMES)) as executor:
        names = {executor.submit(example, name): name for name in NAMES}
        for done in as_completed(names):
            name = names[done]
            print(done.result())
            print(f"Written: out/{name}.png and, to be opened in ParaView, out/{name}.pvd\n", flush=True)
    print(f"All of it took {time.perf_counter() - begun:.0f} s.")


if __name__ == "__main__":
    main()
