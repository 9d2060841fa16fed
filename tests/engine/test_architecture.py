"""Imports point one way, down the house: see ``ORDER``."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

BASE = {"fem_mbs.arrays", "fem_mbs.errors"}
ORDER = {
    "lie": (),
    "model": ("lie",),
    "system": ("model", "lie"),
    "solve": ("system", "model", "lie"),
    "result": ("system", "model", "lie"),
    "io": ("result", "system", "model", "lie"),
    "look": ("io", "result", "system", "model", "lie"),
    "check": ("solve", "system", "model", "lie"),
    "run": ("result", "solve", "system", "model", "lie"),
    "integrate": ("run", "result", "solve", "system", "model", "lie"),
    "modal": ("result", "solve", "system", "model", "lie"),
    "static": ("modal", "run", "result", "solve", "system", "model", "lie"),
    "exchange": ("integrate", "solve", "system", "model", "lie"),
    "analysis": ("integrate", "run", "result", "system", "model", "lie"),
}
"""What each package of the engine may import, beside itself."""
LAYERS = {layer: BASE | {f"fem_mbs.{name}" for name in (layer, *below)} for layer, below in ORDER.items()} | {
    "store": {"fem_mbs"},
    "testing": {"fem_mbs"},
    "validation": {"fem_mbs"},
}

ELEMENTS = BASE | {"fem_mbs.elements", "fem_mbs.model", "fem_mbs.lie"}
LATE = {
    ("fem_mbs/solution/solution.py", "fem_mbs.io"),
    ("fem_mbs/solution/solution.py", "fem_mbs.files.store.save"),
    ("fem_mbs/run/simulate.py", "fem_mbs.files.store.begin"),
    *(
        (f"fem_mbs/{file}.py", f"fem_mbs.look{module}")
        for file in ("result/solution", "model/model", "modal/result", "static/buckling")
        for module in ("", ".curves", ".html", ".pictures")
    ),
    ("fem_mbs/model/model.py", "fem_mbs.check"),
    ("fem_mbs/checks/report.py", "fem_mbs.pictures.pictures"),
    ("fem_mbs/model/model.py", "fem_mbs.initial.assembly"),
    ("fem_mbs/model/model.py", "fem_mbs.elements.joints.general"),
}
"""Imports within a function, so that a user finds exports, pictures and what holds nodes on what these are of, and the
file where a run is begun."""


def imports(path: Path) -> set[str]:
    """Modules of this project that a file imports at run time."""
    found: set[str] = set()
    for node in _statements(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= (
                {f"{node.module}.{alias.name}" for alias in node.names} if node.module == "fem_mbs" else {node.module}
            )
    return {name for name in found if name.split(".")[0] in ("fem_mbs", "elements", "examples", "tests")}


def _statements(tree: ast.AST) -> list[ast.AST]:
    """All nodes outside ``if TYPE_CHECKING``."""
    result = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        result += [node, *_statements(node)]
    return result


def within(module: str, allowed: set[str]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in allowed)


def source_files(folder: str) -> list[Path]:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    return files


def test_every_package_of_the_engine_has_its_place() -> None:
    packages = {path.parent.name for path in (ROOT / "fem_mbs").glob("*/__init__.py")}
    assert packages == set(LAYERS)


@pytest.mark.parametrize("layer", LAYERS)
def test_engine_imports_point_down(layer: str) -> None:
    for path in source_files(f"fem_mbs/{layer}"):
        name = path.relative_to(ROOT).as_posix()
        wrong = {m for m in imports(path) if not within(m, LAYERS[layer]) and (name, m) not in LATE}
        assert not wrong, f"{name} imports {sorted(wrong)}"


def test_the_engine_never_imports_an_element() -> None:
    """The validation suite, the laws and files are no part of the engine: they are on top of it, and know it all."""
    for path in source_files("fem_mbs"):
        if path.parent.name in ("store", "validation", "testing"):
            continue
        late = {module for name, module in LATE if name == path.relative_to(ROOT).as_posix()}
        wrong = {m for m in imports(path) - late if within(m, {"fem_mbs.elements", "elements", "examples"})}
        assert not wrong, f"{path} imports {sorted(wrong)}"


def test_elements_use_the_contracts_alone() -> None:
    for path in source_files("elements"):
        wrong = {m for m in imports(path) if not within(m, ELEMENTS)}
        assert not wrong, f"{path} imports {sorted(wrong)}"


def test_nothing_imports_an_example() -> None:
    for path in (*source_files("fem_mbs"), *source_files("elements")):
        assert not any(within(m, {"examples", "tests"}) for m in imports(path))


def test_the_scan_sees_what_it_should(tmp_path: Path) -> None:
    source = tmp_path / "bad.py"
    source.write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from fem_mbs.result import Solution\n"
        "def f():\n    from fem_mbs import elements\n"
        "import numpy, fem_mbs.io\n",
        encoding="utf-8",
    )
    assert imports(source) == {"fem_mbs.elements", "fem_mbs.io"}
