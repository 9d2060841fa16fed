"""Examples with their figures and ParaView files: ``python -m examples NAME ...`` writes into the folder ``out``.

Without a name the two flexible benchmarks run, each in a process of its own. What is said of each run comes from the
logger ``fem_mbs``.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import import_module
from pathlib import Path

BENCHMARKS = ("right_angle_cantilever", "four_bar")
NAMES = sorted(file.stem for file in Path(__file__).parent.glob("[!_]*.py"))


def example(name: str) -> str:
    """Run an example, which says as it goes how far it is; returns its table."""
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format=f"  {name}: %(message)s", force=True)
    logging.getLogger("matplotlib").setLevel(logging.WARNING)
    sys.path.insert(0, str(Path(__file__).parent))  # where the examples find what they share
    module = import_module(f"examples.{name}")
    with contextlib.redirect_stdout(io.StringIO()) as table:
        module.main(["--plot", "--paraview"])
    return f"\n{module.__doc__.splitlines()[0]}\n{table.getvalue()}"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m examples",
        description="Run examples and write figures and ParaView files into the folder out.",
        epilog="names: " + ", ".join(NAMES),
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="which; without, " + " and ".join(BENCHMARKS))
    names = parser.parse_args().names or BENCHMARKS
    if unknown := set(names) - set(NAMES):
        parser.error(f"no example {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    begun = time.time()
    if names is BENCHMARKS:
        print(
            "Two benchmarks with their convergence studies; this takes some 20 s. Each run says how it went:",
            flush=True,
        )
    with ProcessPoolExecutor(min(len(names), os.cpu_count() or 1)) as executor:
        for done in as_completed([executor.submit(example, name) for name in names]):
            print(done.result(), flush=True)
    written = sorted(file.name for file in Path("out").glob("*.p*") if file.stat().st_mtime >= begun)
    print(f"Written into out, .pvd for ParaView: {', '.join(written)}")
    print(f"All of it took {time.time() - begun:.0f} s.")


if __name__ == "__main__":
    main()
