"""Published benchmarks, and ``fem-mbs validate``, which runs them and says how they compare."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from fem_mbs import benchmarks
from fem_mbs.benchmarks.case import CASES, Case, Quantity
from fem_mbs.contracts.arguments import writable
from fem_mbs.errors import ModelError, progress_bar

for _module in iter_modules(benchmarks.__path__):  # each enrols its cases
    import_module(f"{benchmarks.__name__}.{_module.name}")

HEADER = f"{'quantity':44}{'ours':>16}{'reference':>16}{'deviation':>11}{'allowed':>10}  verdict  source"


def validate(options: argparse.Namespace) -> int:
    """Run the cases; the exit status is 1 if a verdict fails."""
    chosen = _choose(CASES, options.names, options.all)
    if not chosen:
        names = ", ".join(case.name for case in CASES)
        options.parser.error(f"no case has {' or '.join(map(repr, options.names))} in its name; there are: {names}")
    if options.list:
        for case in chosen:
            print(f"{case.kind:10}{case.name:36}{case.summary}")
        return 0
    if options.json and options.json != "-":
        try:
            writable(Path(options.json), "--json: ")
        except ModelError as error:
            options.parser.error(str(error))
    results = _run(chosen, quiet=options.json == "-")
    if options.json:
        _write(results, options.json)
    return 0 if all(quantity.passed for result in results for quantity in result["quantities"]) else 1


def _choose(cases: Sequence[Case], names: Sequence[str], slow: bool) -> list[Case]:
    """Cases named on the command line, whether slow or not; otherwise the quick ones, or all."""
    if names:
        wanted = [name.lower() for name in names]
        return [case for case in cases if any(name in f"{case.kind} {case.name}".lower() for name in wanted)]
    return [case for case in cases if slow or not case.slow]


def _run(cases: Sequence[Case], quiet: bool) -> list[dict[str, Any]]:
    results = list[dict[str, Any]]()
    if not quiet:
        print(HEADER)
    show = progress_bar(None, 0.0, len(cases), "validate", "case")
    for case in cases:
        begun = time.perf_counter()
        quantities = case.run()
        seconds = time.perf_counter() - begun
        results.append({"case": case, "seconds": seconds, "quantities": quantities})
        if not quiet:
            print(f"\n{case.name} ({case.kind}, {seconds:.1f} s): {case.summary}")
            for quantity in quantities:
                print(line(quantity))
        if show is not None:
            show(len(results))
    if show is not None:
        show(None)
    if not quiet:
        every = [quantity for result in results for quantity in result["quantities"]]
        failed = [quantity for quantity in every if not quantity.passed]
        print(f"\n{len(every) - len(failed)} of {len(every)} quantities of {len(results)} cases within their tolerance")
    return results


def line(quantity: Quantity) -> str:
    """A row of the table."""
    return (
        f"  {quantity.name:42}{quantity.value:16.8g}{quantity.reference:16.8g}{quantity.deviation:11.1e}"
        f"{quantity.tolerance:10.1e}  {'ok' if quantity.passed else 'FAILED':7}  {quantity.source}"
    )


def _write(results: Sequence[dict[str, Any]], file: str) -> None:
    data = [
        {
            "case": result["case"].name,
            "kind": result["case"].kind,
            "seconds": round(result["seconds"], 3),
            "quantities": [
                {**vars(quantity), "deviation": quantity.deviation, "passed": quantity.passed}
                for quantity in result["quantities"]
            ],
        }
        for result in results
    ]
    text = json.dumps(data, indent=1)
    if file == "-":
        print(text)
    else:
        Path(file).write_text(text + "\n", encoding="utf-8")
