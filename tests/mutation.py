"""Seeded mutation of the mechanics: how many small faults in the equations the tests notice.

``python tests/mutation.py 100 --seed 1`` makes a hundred faults, one at a time: a sign, a product for a quotient, a
number that is another, a comparison that is turned. Nothing is written: a copy of this process imports the library with
the fault in it and runs the quick tests that come by its line: some that run least of the library, then those of each
file in turn. A fault is killed by a test that fails, or that does not end; the others are printed as the line before
and after, for a reader to judge: some make no difference to any result. Which test comes by which line, coverage knows
(extra ``pytest-cov``)::

    python -m pytest --cov=fem_mbs --cov=elements --cov-context=test --cov-report=

It takes 3 s of CPU where a test notices the fault. Of those that change results, at random places, as many in each
room, the quick tests noticed 84 % of ``--seed 7319``, 111 of 123 (90 %) of 7411, 105 of 111 (95 %) of 7523, 117 of
133 (88 %) of 8101, 130 of 142 (92 %) of 8209, 123 of 135 (91 %) of 8311, 74 of 82 (90 %) of 9301, 44 of 50 (88 %) of
9403, 131 of 140 (94 %) of 9511, 105 of 115 (91 %) of 9607 and 89 of 96 (93 %) of 10111, each before a test was written
for what that draw showed. In contact, statics, methods, solution, modes and starts alone, where most had been missed,
they noticed 56 of 64 (88 %) of 10007; 10111 was drawn after laws were written of that. Of what the last two have shown
to be missed four are missed still: two of statics with contacts (204, 326), one of where impacts are located (212), one
of coordinates in the symplectic form (159). Those that change results, and noticed ones, by room::

                                  9607       10111
    lie, bodies, laws, control       24   24     19   19
    beams, joints                    12   12     10   10
    forces                            5    4      5    4
    shells                            6    6      5    5
    contact, of elements              6    5      4    4
    contact, of the method            5    4      3    3
    flexible bodies                   5    4      5    4
    statics                           6    4      5    4
    modes                             5    4      5    4
    alpha                             6    6      5    5
    derivatives                       5    5      5    5
    linear                            4    4      3    3
    solution                          4    4      5    4
    methods                           5    2      4    3
    initial                           5    5      5    4
    system                            6    6      5    5
    newton                            6    6      3    3

What changes no result, and is not left out (:func:`spared`) as a rule:

- which of several directions, shapes or pivots is taken: tangents of a contact without a preferred one, axes across an
  axis, the loads that span residual flexibility, the unknown that holds a free motion;
- units that only scale what is solved or compared by sign: the check of masses, of modes, of stiffening; the length of
  axes of which angles are taken;
- how soon an iteration ends, how far a step of it goes, from where it begins, where within a step parts are cut, at how
  many angles or instants is looked, and what is kept in memory of a run;
- small terms that make matrices regular, where what they change is taken back, and the order of corners;
- steps of differences, bounds that may be larger, and times of what does not depend on time;
- sums with nothing, and the side of a rounding that is far from both;
- stiffness of 1 Pa beside 1e9.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import resource
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
ROOMS = [
    *(
        f"fem_mbs/{room}"
        for room in ("lie", "alpha", "methods", "initial", "newton.py", "linear", "solution", "system")
    ),
    *(f"fem_mbs/{room}" for room in ("static", "modal", "contact", "derivatives")),
    *(f"elements/{room}" for room in ("beams", "bodies.py", "joints", "forces", "laws", "contact", "shells")),
    *(f"elements/{room}" for room in ("flexible", "control")),
]
"""Where the mechanics are."""
OTHER = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
SPARED = (ast.Raise, ast.JoinedStr, ast.Assert, ast.AnnAssign, ast.arguments)
DRAWN = ("shapes", "faces", "picture", "draw", "plot", "film", "_base", "_coil", "_cylinder", "_line")
TOLERANCE = 1e-4
"""Numbers below it are tolerances, and steps of differences."""
FIRST = 25
"""Tests that are asked before those of all files are collected."""
PATIENCE = 60
"""A test that takes so many seconds of CPU notices the fault: no quick one does without."""


class Fault(NamedTuple):
    """A file, its text with the fault, the lines of the statement, and the line before and after."""

    file: Path
    mutated: str
    lines: range
    line: int
    before: str
    after: str


def spared(node: ast.AST, within: ast.AST) -> bool:
    """Whether a fault makes no difference to an equation, as a rule.

    Words, types and defaults of arguments; functions of pictures; indices and axes from the end; tolerances; what the
    largest of nothing is, and the 1.0 of ``size or 1.0``, ``size if size > 0.0 else 1.0`` and ``np.where(size > 0.0,
    size, 1.0)``.
    """
    match node:
        case ast.FunctionDef(returns=returns):
            result = ast.unparse(returns) if returns else ""
            return node.name in DRAWN or "Placed" in result or result in ("str", "Shape")
        case ast.UnaryOp(operand=ast.Constant(value=int())) | ast.keyword(arg="initial"):
            return True
        case ast.Constant(value=1.0):
            match within:
                case ast.IfExp(test=ast.Compare(ops=[ast.Gt()]), orelse=other):
                    return node is other
                case ast.BoolOp(op=ast.Or()) | ast.Call(func=ast.Attribute(attr="where"), args=[ast.Compare(), _, _]):
                    return node is (within.values if isinstance(within, ast.BoolOp) else within.args)[-1]
        case ast.Constant(value=float(value)):
            return 0.0 < value < TOLERANCE
    return isinstance(node, SPARED)


def places(tree: ast.AST, statement: ast.stmt | None = None) -> Iterator[tuple[ast.expr, ast.stmt]]:
    """Expressions in functions that a fault can be in, each in a line of its own, and their statements."""
    for node in ast.iter_child_nodes(tree):
        if spared(node, tree):
            continue
        within = node if isinstance(node, ast.stmt) and (statement or isinstance(node, ast.FunctionDef)) else statement
        if (
            statement is not None
            and isinstance(node, ast.expr)
            and node.lineno == node.end_lineno
            and (
                (isinstance(node, ast.BinOp) and type(node.op) in OTHER)
                or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub))
                or (isinstance(node, ast.Compare) and type(node.ops[0]) in OTHER)
                or (isinstance(node, ast.BoolOp))
                or (isinstance(node, ast.Constant) and type(node.value) is float)
            )
        ):
            yield node, statement
        yield from places(node, within)


def changed(node: ast.expr) -> ast.expr:
    """The expression with a fault in it."""
    node = copy.deepcopy(node)
    match node:
        case ast.BinOp() | ast.BoolOp():
            node.op = OTHER[type(node.op)]()
        case ast.UnaryOp():
            return node.operand
        case ast.Compare():
            node.ops[0] = OTHER[type(node.ops[0])]()
        case ast.Constant():
            node.value = 1.5 * float(node.value) or 1.0  # type: ignore[arg-type]
    return node


def faults(rooms: list[str], number: int, seed: int) -> Iterator[Fault]:
    """Distinct faults at random places of rooms."""
    files = [path for room in rooms for path in sorted((ROOT / room).rglob("*.py")) or [ROOT / room]]
    pool = [(file, *place) for file in files for place in places(ast.parse(file.read_text(encoding="utf-8")))]
    for file, node, statement in random.Random(seed).sample(pool, min(number, len(pool))):
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        before = lines[node.lineno - 1]
        line, new = before.encode(), f"({ast.unparse(changed(node))})".encode()
        after = lines[node.lineno - 1] = (line[: node.col_offset] + new + line[node.end_col_offset :]).decode()
        last = statement.body[0].lineno if hasattr(statement, "body") else (statement.end_lineno or 0) + 1
        yield Fault(file, "".join(lines), range(statement.lineno, last), node.lineno, before.strip(), after.strip())


def tests_of_lines(file: str) -> dict[tuple[Path, int], set[tuple[int, str]]]:
    """The tests that come by a line, each after the number of lines that it comes by."""
    from coverage import CoverageData

    data = CoverageData(file)
    data.read()
    found = {
        (Path(name).resolve(), line): {test.rpartition("|")[0] for test in tests if test}
        for name in data.measured_files()
        for line, tests in data.contexts_by_lineno(name).items()
    }
    lines = Counter(test for tests in found.values() for test in tests)
    return {place: {(lines[test], test) for test in tests} for place, tests in found.items()}


def in_turn(tests: list[str]) -> list[list[str]]:
    """The first of some tests, and the others: the first of each file, then the second, so that no kind waits long."""
    of_files: dict[str, list[str]] = {}
    for test in tests[FIRST:]:
        of_files.setdefault(test.split("::")[0], []).append(test)
    turns = zip_longest(*of_files.values())
    return [tests[:FIRST], [test for some in turns for test in some if test]]


class Asked:
    """What runs tests in their order, and ends with the first that fails, or after some seconds of CPU."""

    def __init__(self, tests: list[str], seconds: float) -> None:
        self.order = {test: k for k, test in enumerate(tests)}
        self.seconds, self.failed = seconds, False

    def pytest_collection_modifyitems(self, items: list) -> None:
        items[:] = sorted((item for item in items if item.nodeid in self.order), key=lambda one: self.order[one.nodeid])

    def pytest_collectreport(self, report) -> None:
        self.failed |= report.failed

    def pytest_runtest_logreport(self, report) -> None:
        self.failed |= report.failed

    def pytest_runtest_protocol(self, item) -> None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        if self.failed or used.ru_utime + used.ru_stime > self.seconds:
            item.session.shouldstop = "enough"


def survives(fault: Fault, tests: list[str], seconds: float) -> bool:
    """Whether no test notices a fault, in a copy of this process; one that takes too long does."""
    import pytest

    if child := os.fork():
        return os.waitpid(child, 0)[1] == 0
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + PATIENCE, int(seconds) + PATIENCE))
    right = SourceFileLoader.get_code

    def wrong(self, name):
        path = self.get_filename(name)
        return compile(fault.mutated, path, "exec") if Path(path).resolve() == fault.file else right(self, name)

    SourceFileLoader.get_code = wrong  # type: ignore[method-assign]
    asked = Asked(tests, seconds)
    try:
        files = {test.split("::")[0] for test in tests}
        ended = pytest.main(["-q", "-x", "-p", "no:cacheprovider", *files], plugins=[asked])
        asked.failed |= ended in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR)  # in what all import
    finally:
        os._exit(asked.failed)


def main() -> None:
    """Make faults, count those that are killed, print the others."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("faults", type=int, nargs="?", default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--room", choices=ROOMS, help="faults in one room alone")
    parser.add_argument("--seconds", type=float, default=30.0, help="of CPU for the tests of a fault")
    parser.add_argument("--coverage", default=str(ROOT / ".coverage"), help="what pytest-cov wrote")
    options = parser.parse_args()
    os.chdir(ROOT)
    known = tests_of_lines(options.coverage)
    import matplotlib.pyplot  # noqa: F401  (what each copy would import again)
    import scipy.optimize  # noqa: F401
    import scipy.sparse.linalg  # noqa: F401

    killed, made = 0, 0
    for fault in faults([options.room] if options.room else ROOMS, options.faults, options.seed):
        asked = set().union(*(known.get((fault.file, k), ()) for k in fault.lines))
        if not asked:  # what runs at import
            asked = set().union(*(own for (file, _), own in known.items() if file == fault.file))
        tests = [test for _, test in sorted(asked)]
        alive = all(survives(fault, some, options.seconds) for some in in_turn(tests) if some)
        made, killed = made + 1, killed + (not alive)
        if alive:
            place = f"{fault.file.relative_to(ROOT)}:{fault.line} ({len(tests)} tests)"
            print(f"{place}\n  - {fault.before}\n  + {fault.after}", flush=True)
        print(f"{killed} of {made} killed", end="\n" if alive else "\r", file=sys.stderr, flush=True)
    print(f"{killed} of {made} faults killed, {killed / made:.1%}; seed {options.seed}")


if __name__ == "__main__":
    main()
