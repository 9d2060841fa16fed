"""What ``import fem_mbs`` costs beyond ``import numpy, scipy``, each time in a fresh process.

Promised are at most 0.3 s; the second table says which packages take them.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from statistics import median

from measure import arguments, describe, parsed, table

STATEMENTS = ("import fem_mbs", "import fem_mbs, fem_mbs.elements")
PEER = "import exudyn"
TIMED = "import time, numpy, scipy; t = time.perf_counter(); {}; print(time.perf_counter() - t)"
LINE = re.compile(r"import time: +(\d+) \| +\d+ \| +([\w.]+)")


def seconds(statement: str) -> float:
    """Time of an import after numpy and scipy."""
    command = [sys.executable, "-c", TIMED.format(statement)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def shares(statement: str) -> list[tuple[str, float]]:
    """The packages that the import loads beyond numpy and scipy, with the milliseconds they take themselves."""
    command = [sys.executable, "-X", "importtime", "-c", f"import numpy, scipy; {statement}"]
    log = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    beyond = log[log.rindex("| scipy\n") :]
    own: Counter[str] = Counter()
    for microseconds, module in LINE.findall(beyond):
        own[".".join(module.split(".")[:2])] += int(microseconds)
    return [(package, us / 1e3) for package, us in own.most_common(10)]


def main() -> None:
    """Measure and print."""
    options = parsed(arguments(__doc__ or "", repeats=9))
    machine = describe()
    statements = (*STATEMENTS, PEER) if options.peer else STATEMENTS
    rounds = [[seconds(statement) for statement in statements] for _ in range(options.repeats + 1)][1:]
    added = {statement: median(times) for statement, times in zip(statements, zip(*rounds, strict=True), strict=True)}
    packages = shares(STATEMENTS[-1])
    if options.json:
        print(json.dumps({"machine": machine, "seconds_beyond_numpy_scipy": added, "ms_of_packages": dict(packages)}))
        return
    print(machine + "\n")
    print(table(("statement", "s beyond numpy, scipy"), [(s, f"{t:.3f}") for s, t in added.items()]))
    print()
    print(table((f"packages of {STATEMENTS[-1]}", "ms of their own"), [(p, f"{ms:.1f}") for p, ms in packages]))


if __name__ == "__main__":
    main()
