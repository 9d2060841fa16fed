"""Puts this folder on the path of the tests, so that they share ``catalogue`` and ``motions``.

BLAS keeps to one thread, in workers and programs that tests start, too: two fight for the cores with the workers of
pytest, and the last bits of sums depend on how they share the work. It is told before NumPy is imported.
"""

import gc
import os
import re
import sys
from collections import defaultdict
from pathlib import Path
from zlib import crc32

import pytest

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ[name] = "1"
# each program that tests start would compile all files anew
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# kernels are compiled where a test asks for it: all others are of NumPy, which is complete
os.environ.setdefault("FEM_MBS_FAST", "0")

LONG, SLOW = (
    frozenset(Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines())
    for name in ("long.txt", "slow.txt")
)
"""Single cases beside quick ones of the same law: those that take 0.25 s of CPU and more, which CI runs, and those that
repeat it on the same code, which it does not.

What is true of all cases of a test is marked where it stands: ``ci`` is not quick, ``one`` is, and of both the first
case alone is run, but of ``ci(every_case=True)``; the others are slow.
"""
PRINTED = ("tests/test_docs.py", "tests/look/test_check.py")
"""Numbers are held to the digits that are printed: of these files all tests run where one in N does of others."""
GROUPS = ("R3xSO3", "SE3", "mixed")
GROUP = re.compile(rf"\b({'|'.join(GROUPS)})\b")


def pytest_addoption(parser):
    parser.addoption("--one-in", type=int, default=1, metavar="N", help="run one test in N, the same ones every time")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is loaded here stays: to look again and again for what of it can go takes a third of the time of this.

    Seldom, too, where tests read all files.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000)
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    refuse_what_no_test_is(config, {item.nodeid for item in items})
    refuse_fixtures_that_are_gone(items)
    mark_other_groups(items)
    mark_other_cases(items)
    for item in items:
        if item.nodeid in LONG:
            item.add_marker("ci")
        if item.nodeid in SLOW:
            item.add_marker("slow")
    share = config.getoption("--one-in")
    chosen = [item for item in items if not crc32(item.nodeid.encode()) % share or item.nodeid.startswith(PRINTED)]
    config.hook.pytest_deselected(items=[*{*items} - {*chosen}])
    items[:] = chosen


def refuse_what_no_test_is(config, names):
    """What is listed and has another name now would be run as if it were quick."""
    if any("::" in asked for asked in config.args):  # a part of a file
        return
    files = {name.partition("::")[0] for name in names}
    unknown = [name for name in sorted((LONG | SLOW) - names) if name.partition("::")[0] in files]
    if unknown:
        raise pytest.UsageError("no test has these names of long.txt and slow.txt: " + ", ".join(unknown))


def refuse_fixtures_that_are_gone(items):
    """Of slow tests, too, which would say it in a week."""
    asked = ((name, item) for item in items for name in item.fixturenames if name != "request")
    gone = [f"{item.nodeid} asks for {name}" for name, item in asked if name not in item._fixtureinfo.name2fixturedefs]
    if gone:
        raise pytest.UsageError("no fixture has this name: " + ", ".join(gone))


def mark_other_groups(items):
    """Quick tests of several groups, R3xSO3, SE3 and both in one model, stay quick on one; the others are slow.

    Which one it is, their name decides.
    """
    alike = defaultdict(dict)
    for item in items:
        if (group := GROUP.search(item.nodeid)) and item.get_closest_marker("slow") is None:
            alike[GROUP.sub(GROUPS[0], item.nodeid, count=1)][group[0]] = item
    for name, of_groups in alike.items():
        others = [of_groups[group] for group in GROUPS if group in of_groups]
        others.pop(crc32(name.encode()) % len(others) - 1)
        for item in others:
            item.add_marker("slow")


def mark_other_cases(items):
    """Of a test that is marked ``ci`` or ``one``, the first case that is not slow already."""
    first = set()
    for item in items:
        mark = item.get_closest_marker("ci") or item.get_closest_marker("one")
        if mark is None or mark.kwargs.get("every_case") or item.get_closest_marker("slow"):
            continue
        law = item.nodeid.partition("[")[0]
        if law in first:
            item.add_marker("slow")
        first.add(law)


@pytest.fixture
def many(monkeypatch):
    """Contacts, however few, count as many: their matrices are sparse, and islands are solved one by one."""
    from fem_mbs.contact import contacts
    from fem_mbs.contact import many as rooms

    for name, value in (("MANY", -1), ("FEW", -1), ("TOGETHER", 1)):
        monkeypatch.setattr(rooms, name, value)
        if hasattr(contacts, name):
            monkeypatch.setattr(contacts, name, value)
