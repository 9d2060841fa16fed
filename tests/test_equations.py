"""The pages that say where equations and symbols are: what they name exists, and what has equations names a paper."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "equations.md"
SYMBOLS = ROOT / "docs" / "notation.md"
LAST = (86, 142, 8, 45, 13)
"""The last numbers of equations in the papers; of the last one, the last that is known."""
NUMBERS = re.compile(r"(?<![\w.×^])(\d+)[a-g]?(?:–(\d+)[a-g]?)?(?!×)")
TICKED = re.compile(r"`([^`]+)`")
PAPER = re.compile(r"\b(2012|2015|2018|2024)\b")
"""By its year, as docstrings cite it."""


class Row(NamedTuple):
    """A line of a table."""

    paper: str
    equation: str
    file: str
    names: tuple[str, ...]


def rows() -> list[Row]:
    """The lines of all tables of the page."""
    found, paper = [], ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            paper = line[3:]
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|") or cells[0] in ("equation", "---"):
            continue
        assert len(cells) == 4, line
        (file,) = TICKED.findall(cells[2])
        found.append(Row(paper, cells[0], file, tuple(TICKED.findall(cells[3]))))
    return found


ROWS = rows()
PLACES = sorted({(row.file, name) for row in ROWS for name in row.names})


def numbers(text: str) -> set[int]:
    """Those of equations, with what a dash leaves out, in a text without code, formulas, tables and sections."""
    plain = re.sub(r"`[^`]*`|\$[^$]*\$|(?:Tables?|Algorithm|section) [\d., and]*", " ", text)
    return {k for first, last in NUMBERS.findall(plain) for k in range(int(first), int(last or first) + 1)}


def source(file: str) -> Path:
    """A file of the package; elements are a folder of their own."""
    return (ROOT if file.startswith(("elements/", "examples/")) else ROOT / "fem_mbs") / file


@cache
def module(file: str) -> ast.Module:
    return ast.parse(source(file).read_text(encoding="utf-8"))


def defined(body: list[ast.stmt]) -> dict[str, ast.stmt]:
    """Functions, classes and values that statements define, by name."""
    found: dict[str, ast.stmt] = {}
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            found[statement.name] = statement
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names = (node for target in targets for node in ast.walk(target))
            found |= {node.id: statement for node in names if isinstance(node, ast.Name)}
    return found


def docstrings(file: str, name: str) -> str:
    """Those of what a name of a file stands for, of its class, and of the file."""
    here: ast.Module | ast.stmt = module(file)
    texts = [ast.get_docstring(module(file)) or ""]
    for part in name.split("."):
        assert isinstance(here, ast.Module | ast.ClassDef), f"{name} of {file}"
        found = defined(here.body)
        assert part in found, f"docs/equations.md names {name}, which {file} does not define"
        here = found[part]
        if isinstance(here, ast.FunctionDef | ast.ClassDef):
            texts.append(ast.get_docstring(here) or "")
    return "\n".join(texts)


def test_every_paper_has_a_table() -> None:
    assert len({row.paper for row in ROWS}) == 5
    assert all(row.equation and row.names for row in ROWS)


def test_every_number_is_in_a_table_or_said_to_be_left_out() -> None:
    sections = PAGE.read_text(encoding="utf-8").split("\n## ")[1:]
    for section, last in zip(sections, LAST, strict=True):
        paper, note = section.split("\n")[0], section.split("**Not implemented as such.**")[1]
        inside = set[int]().union(*(numbers(row.equation) for row in ROWS if row.paper == paper))
        missing = set(range(1, last + 1)) - inside - numbers(note)
        assert not missing, f"{paper}: nothing says where equations {sorted(missing)} are"
        assert max(inside) <= last, f"{paper} has no equation {max(inside)}"


@pytest.mark.parametrize("file", sorted({row.file for row in ROWS}))
def test_the_file_exists(file: str) -> None:
    assert source(file).is_file(), f"docs/equations.md names {file}"


@pytest.mark.parametrize(("file", "name"), PLACES)
def test_the_file_defines_the_name_and_cites_a_paper(file: str, name: str) -> None:
    assert PAPER.search(docstrings(file, name)), f"docstrings of {name} and of {file} name none of the five papers"


def made(file: str) -> set[str]:
    """Names that a file, or those of a folder, define anywhere: functions, classes, arguments, what is assigned."""
    found, folder = set[str](), source(file)
    for path in sorted(folder.glob("*.py")) if folder.is_dir() else [folder]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.arg):
                found.add(node.arg)
            elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.add(node.id if isinstance(node, ast.Name) else node.attr)
    return found


def test_symbols_have_their_names_in_their_files() -> None:
    tables = SYMBOLS.read_text(encoding="utf-8").split("## Symbols")[1]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in tables.splitlines() if line[:3] == "| $"]
    pairs = {(file, name) for row in rows for file in TICKED.findall(row[3]) for name in TICKED.findall(row[2])}
    known = {file: made(file) for file, _ in pairs}
    missing = [(file, name) for file, name in sorted(pairs) if name.split("[")[0] not in known[file]]
    assert len(pairs) > 40 and not missing, missing
