"""What pages and docstrings name exists: dotted names of the package, files and folders."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from pkgutil import walk_packages

import pytest

import fem_mbs
import fem_mbs.elements

ROOT = Path(__file__).parents[1]
ROOMS = [ROOT / name for name in ("fem_mbs", "elements", "examples", "tests", "docs")]
SOURCES = [path for room in ROOMS for path in sorted(room.rglob("*.py")) if "_build" not in path.parts]
FORMER = {"CHANGELOG.md", "changes_0_2.md"}
"""Pages that say how things were called."""
PAGES = [
    page
    for page in (*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md")))
    if not {*FORMER, "_build", "_generated"} & set(page.parts)
]
MODULES = {"fem_mbs", "fem_mbs.elements"} | {
    module.name
    for package in (fem_mbs, fem_mbs.elements)
    for module in walk_packages(package.__path__, f"{package.__name__}.")
}

DOTTED = re.compile(r"(?<![\w./])(?:fem_mbs|mbs)(?:\.[A-Za-z_]\w*)+")
PLACE = re.compile(r"(?<![\w./:~-])(?:fem_mbs|elements|examples|tests|docs)(?:/\w+)+(?:\.\w+)?(?![\w*])")
"""A file or folder, from the root."""
FILE = re.compile(r"(?<![\w./:~-])(?:\w+/)+\w+\.py\b")
"""A file, from the root or from a room."""
ALONE = re.compile(r"(?<=`)\w+\.py(?=`)")
"""A file without its folder."""
IMPORT = re.compile(r"^ *from (fem_mbs[\w.]*) import (?:\(([^)]*)\)|([^*\n]*)$)", re.M)
"""Names that are imported, in brackets on lines of their own or in a line."""
SIGNATURE = re.compile(r"\{py:class\}`[\w.]+\(([^`]*)\) <fem_mbs\.elements\.(\w+)>`")
"""A class with its arguments, in a table."""
MADE = {"docs/_build"}
"""What tools make."""


def docstrings(text: str) -> str:
    """All strings of a file that stand alone: docstrings of modules, classes, functions and attributes."""
    return "\n".join(alone(ast.parse(text).body))


def alone(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield from alone(node.body)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


@cache
def exists(name: str) -> bool:
    """Whether a dotted name is a module, or something in it; of a class, what its objects alone have is not known."""
    parts = ["fem_mbs", *name.split(".")[1:]]
    length = max(k for k in range(1, len(parts) + 1) if ".".join(parts[:k]) in MODULES)
    if length == len(parts):  # which may need a package that is not there
        return True
    found: object = importlib.import_module(".".join(parts[:length]))
    for part in parts[length:]:
        if part not in (vars(found) if inspect.ismodule(found) else dir(found)):
            return isinstance(found, type)
        found = inspect.getattr_static(found, part)
    return True


def unknown(text: str) -> Iterator[str]:
    """Names in a text of what does not exist."""
    yield from (name for name in set(DOTTED.findall(text)) if not exists(name))
    yield from (name for name in set(PLACE.findall(text)) - MADE if not (ROOT / name).exists())
    yield from (name for name in set(FILE.findall(text)) if not any((at / name).is_file() for at in (ROOT, *ROOMS)))
    yield from set(ALONE.findall(text)) - {path.name for path in SOURCES}


def test_pages_name_what_exists() -> None:
    texts = {page: page.read_text(encoding="utf-8") for page in PAGES}
    assert len(texts) > 40 and sum("fem_mbs/" in text for text in texts.values()) > 5
    wrong = {str(page.relative_to(ROOT)): sorted(unknown(text)) for page, text in texts.items()}
    assert {page: names for page, names in wrong.items() if names} == {}


def test_authors_import_the_contracts_alone() -> None:
    for name in ("add_an_element.md", "add_a_method.md"):
        imported = re.findall(
            r"^(?:from|import) (fem_mbs\S*)", (ROOT / "docs" / name).read_text(encoding="utf-8"), re.M
        )
        public = {"fem_mbs", "fem_mbs.contracts", "fem_mbs.elements", "fem_mbs.testing"}
        assert imported and set(imported) <= public, name


def taken(text: str) -> set[str]:
    """Dotted names of what a file imports out of the package."""
    return {
        f"{module}.{name}"
        for module, several, line in IMPORT.findall(text)
        for name in re.findall(r"(\w+)(?: as \w+)?", re.sub(r"#.*", "", several or line))
    }


@pytest.mark.ci
def test_docstrings_name_and_scripts_take_what_exists() -> None:
    """Scripts that make pictures and figures of pages are run by nobody for long."""
    wrong = {}
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        # what no line of a file names, none of its docstrings does
        names = set(unknown(docstrings(text))) if any(unknown(text)) else set()
        wrong[str(path.relative_to(ROOT))] = sorted(names | {name for name in taken(text) if not exists(name)})
    assert {path: names for path, names in wrong.items() if names} == {}


def test_imports_of_scripts_are_read() -> None:
    text = (
        "from fem_mbs.lie import so3 as s, se3  # the group\nif 1:\n    from fem_mbs import (\n  Model,  # m\n  So,\n)"
    )
    assert taken(text) == {"fem_mbs.lie.so3", "fem_mbs.lie.se3", "fem_mbs.Model", "fem_mbs.So"}


def test_what_does_not_exist_is_found() -> None:
    text = """`fem_mbs.nowhere`, mbs.Modle, {py:class}`mbs.Model`, {py:func}`~fem_mbs.lie.so3.expp`,
    fem_mbs.lie.so3.log, `elements/nothing/`, `elements/joints/`, ``joints/hinges.py``, ``lie/so3.py``,
    `hinges.py`, `so3.py`, model.mbs.x
    """
    names = [
        "elements/nothing",
        "fem_mbs.lie.so3.expp",
        "fem_mbs.nowhere",
        "hinges.py",
        "joints/hinges.py",
        "mbs.Modle",
    ]
    assert sorted(unknown(text)) == names


LINK = re.compile(r"\]\((?!<?https?:)([^)\s#]*)#?([^)\s]*)\)")


def anchors(page: Path) -> set[str]:
    """What links to the headings of a page end with."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    plain = (re.sub(r"\$[^$]*\$|[^\w\- ]", "", heading.lower()).strip() for heading in headings)
    return {text.replace(" ", "-") for text in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere_in_the_clone(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target, anchor in LINK.findall(text):
        there = page.parent / target if target else page
        assert there.exists() and "_generated" not in target, f"{page.name} links to {target}"
        assert not anchor or anchor in anchors(there), f"{page.name}: {there.name} has no heading #{anchor}"


@pytest.mark.parametrize(
    "page", [page for page in PAGES if SIGNATURE.search(page.read_text())], ids=lambda page: page.name
)
def test_arguments_are_called_as_they_are(page: Path) -> None:
    """Those without a value are the first ones, in their order; the others have the values of which they say so."""
    for given, name in SIGNATURE.findall(page.read_text()):
        call, parameters = (
            ast.parse(f"f({given})", mode="eval").body,
            inspect.signature(getattr(fem_mbs.elements, name)).parameters,
        )
        assert isinstance(call, ast.Call)
        names = [own.id for own in call.args if isinstance(own, ast.Name)]
        assert names == list(parameters)[: len(names)], f"{name}({given})"
        assert {keyword.arg for keyword in call.keywords} <= parameters.keys(), f"{name}({given})"


@pytest.mark.parametrize("kind", ["long", "slow"])
def test_long_tests_exist(kind: str) -> None:
    """Those that `tests/conftest.py` takes out of the quick ones."""
    for test in (ROOT / "tests" / f"{kind}.txt").read_text(encoding="utf-8").splitlines():
        file, name = test.partition("[")[0].split("::")
        assert f"\ndef {name}(" in (ROOT / file).read_text(encoding="utf-8"), test
