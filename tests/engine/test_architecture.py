"""Imports point one way, down the house: see ``ROOMS``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[2]

ROOMS = (
    ("arrays", "errors", "version"),
    ("lie",),
    ("contracts",),
    ("model",),
    ("elements",),
    ("system.pattern",),
    ("linear",),
    ("system",),
    ("compiled",),
    ("newton",),
    ("initial",),
    ("alpha",),
    ("contact",),
    ("solution",),
    ("files.scene",),
    ("pictures",),
    ("model.check",),
    ("model.model",),
    ("files.paraview", "files.store"),
    ("solution.solution",),
    ("methods",),
    ("run",),
    ("modal",),
    ("static",),
    ("files.store.run_file", "files.store.recorder"),
    ("run.simulate", "run.copies", "run.convergence", "run.sweep"),
    ("files",),
    ("derivatives",),
    ("interface",),
    ("testing",),
    ("benchmarks",),
    ("validation",),
    ("command", "doctor"),
)
"""From the ground up: a room imports from those on lower floors and on its own.

What users hold, ``Model`` and ``Solution``, is above what draws, checks and stores it, and their data is below."""


NAMED_FOR_EDITORS = {
    ("fem_mbs.errors", "fem_mbs.solution.solution"),
    ("fem_mbs.alpha.whole_step", "fem_mbs.alpha.generalized_alpha"),
    ("fem_mbs.contracts.method", "fem_mbs.system.system"),
    ("fem_mbs.system.batch_checks", "fem_mbs.system.system"),
    ("fem_mbs.system.constraints", "fem_mbs.system.system"),
    ("fem_mbs.elements.beams.higher_order", "fem_mbs.elements.beams.beam"),
    ("fem_mbs.elements.beams.looks", "fem_mbs.elements.beams.beam"),
    ("fem_mbs.elements.beams.two_node", "fem_mbs.elements.beams.beam"),
    ("fem_mbs.elements.shells.batch", "fem_mbs.elements.shells.shell"),
    ("fem_mbs.elements.shells.looks", "fem_mbs.elements.shells.shell"),
    ("fem_mbs.elements.shells.looks", "fem_mbs.elements.shells.shell"),
    ("fem_mbs.elements.joints.coordinates", "fem_mbs.elements.joints.relative"),
    ("fem_mbs.elements.joints.coordinates", "fem_mbs.elements.joints.rolling"),
    ("fem_mbs.elements.joints.relative_batch", "fem_mbs.elements.joints.relative"),
}
"""Imports that point back and never run, for the types that editors show: what an error carries, what methods are
given, and the class whose objects a batch is made of."""


def floor_of(module: str) -> int:
    """The floor that a module is on."""
    name = module.removeprefix("fem_mbs.")
    return max((len(room), floor) for floor, rooms in enumerate(ROOMS) for room in rooms if within(name, {room}))[1]


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts if parts[0] == "fem_mbs" else ("fem_mbs", *parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree(path: Path) -> ast.Module:
    """The parsed file; several laws are read off it."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path, types: bool = False) -> set[str]:
    """Modules of this project that a file imports at run time, functions included; and those for types alone."""
    found: set[str] = set()
    for node in _statements(tree(path), types):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module is not None
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if is_module(whole) else node.module)
    return {name for name in found if name.split(".")[0] in ("fem_mbs", "elements", "examples", "tests")}


@cache
def is_module(name: str) -> bool:
    path = (
        ROOT.joinpath(*name.split("."))
        if not name.startswith("fem_mbs.elements")
        else ROOT.joinpath(*name.split(".")[1:])
    )
    return path.is_dir() or path.with_suffix(".py").is_file()


def _statements(tree: ast.AST, types: bool) -> Iterator[ast.stmt]:
    """All statements, of those in ``if TYPE_CHECKING`` only if ``types`` are wanted."""
    for node in ast.iter_child_nodes(tree):
        if not types and isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.stmt):
            yield node
            yield from _statements(node, types)
        elif isinstance(node, ast.excepthandler | ast.match_case):
            yield from _statements(node, types)


def within(module: str, allowed: set[str]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in allowed)


def source_files() -> list[Path]:
    files = [path for folder in ("fem_mbs", "elements") for path in sorted((ROOT / folder).rglob("*.py"))]
    assert len(files) > 100
    return [path for path in files if path.parent.name != "fem_mbs" or path.stem not in ("__init__", "__main__")]


def test_imports_point_down() -> None:
    above = {
        str(path.relative_to(ROOT)): sorted(name for name in imports(path) - {"fem_mbs"} if floor_of(name) > floor)
        for path in source_files()
        for floor in [floor_of(module_of(path))]
    }
    assert {path: names for path, names in above.items() if names} == {}


def test_elements_use_the_contracts_alone() -> None:
    for path in sorted((ROOT / "elements").rglob("*.py")):
        allowed = {
            "fem_mbs.arrays",
            "fem_mbs.errors",
            "fem_mbs.lie",
            "fem_mbs.contracts",
            "fem_mbs.model.description",
            "fem_mbs.elements",
        }
        wrong = {module for module in imports(path) if not within(module, allowed)}
        assert not wrong, f"{path} imports {sorted(wrong)}"


def test_nothing_imports_an_example() -> None:
    for path in source_files():
        assert not any(within(module, {"examples", "tests"}) for module in imports(path))


def test_the_picture_of_the_house_is_true() -> None:
    picture = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("```text\n")[1].split("```")[0]
    floors = [re.split(r"\s{2,}", line)[0] for line in picture.splitlines() if not line.startswith(" ")]
    shown = []
    for floor in floors:
        room, _, files = floor.partition(".{")
        shown.append(tuple(f"{room}.{name}" for name in files.rstrip("}").split(",")) if files else floor.split(", "))
    assert [tuple(floor) for floor in reversed(shown)] == list(ROOMS)


def graph(types: bool) -> dict[str, set[str]]:
    """Which module imports which, all files of the library; what a package gathers is imported from its modules."""
    files = {module_of(path): path for folder in ("fem_mbs", "elements") for path in (ROOT / folder).rglob("*.py")}
    return {module: imports(path, types) & files.keys() - {module} for module, path in files.items()}


def circle(edges: dict[str, set[str]]) -> list[str]:
    """A module, what it imports, what that imports, and so on, until the first again; empty if there is no circle."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def test_there_is_no_circle_at_run_time() -> None:
    assert circle(graph(types=False)) == []


def test_types_alone_make_no_circle_but_by_what_is_listed() -> None:
    edges = graph(types=True)
    for module, target in NAMED_FOR_EDITORS:
        assert target in edges[module], f"{module} no longer names {target}: take it from the list"
        edges[module].remove(target)
    assert circle(edges) == []


def test_a_circle_is_seen() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}) in (["b", "c", "b"], ["c", "b", "c"])


def test_one_name_is_one_class() -> None:
    classes: dict[str, list[str]] = {}
    for path in source_files():
        for node in _statements(tree(path), types=True):
            if isinstance(node, ast.ClassDef):
                classes.setdefault(node.name, []).append(module_of(path))
    assert {name: where for name, where in classes.items() if len(where) > 1} == {}
