"""Puts this folder on the path of the tests, so that they share ``catalogue`` and ``motions``.

BLAS keeps to one thread, in workers and programs that tests start, too: two fight for the cores with the workers of
pytest, and the last bits of sums depend on how they share the work. It is told before NumPy is imported.
"""

import os
import sys
from zlib import crc32

import pytest

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ[name] = "1"
# each program that tests start would compile all files anew
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# kernels are compiled where a test asks for it: all others are of NumPy, which is complete
os.environ.setdefault("FEM_MBS_FAST", "0")


def pytest_addoption(parser):
    parser.addoption("--one-in", type=int, default=1, metavar="N", help="run one test in N, the same ones every time")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    mark_other_groups(items)
    share = config.getoption("--one-in")
    others = [item for item in items if crc32(item.nodeid.encode()) % share]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if not crc32(item.nodeid.encode()) % share]


def mark_other_groups(items):
    """Quick tests of both groups, R3xSO3 and SE3, stay quick on one, which their name decides; the other is slow."""
    quick = {item.nodeid: item for item in items if item.get_closest_marker("slow") is None}
    for name, item in quick.items():
        other = name.replace("R3xSO3", "SE3")
        if name.count("R3xSO3") == 1 and other in quick:
            (quick[other] if crc32(name.encode()) % 2 else item).add_marker(pytest.mark.slow)


@pytest.fixture
def many(monkeypatch):
    """Contacts, however few, count as many: their matrices are sparse, and islands are solved one by one."""
    from fem_mbs.contact import contacts
    from fem_mbs.contact import many as rooms

    for name, value in (("MANY", -1), ("FEW", -1), ("TOGETHER", 1)):
        monkeypatch.setattr(rooms, name, value)
        if hasattr(contacts, name):
            monkeypatch.setattr(contacts, name, value)
