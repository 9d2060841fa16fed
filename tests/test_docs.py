"""The pages run: every Python block or notebook cell of a page, in order; a text block after one is what it prints.

In a text block "..." stands for anything, any white space for any other, so that long lines can be broken, and a
rounded zero has neither a sign nor room for one.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import runpy
from pathlib import Path

import pytest

from fem_mbs import elements
from fem_mbs.validation import CASES

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(
    r"^```(?:python|\{code-cell\})\n(?P<code>.*?)^```\n(?:\s*^```text\n(?P<output>.*?)^```)?", re.M | re.S
)
LENIENT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MINUS_ZERO = re.compile(r"-(0\.?0*)(?![\d.])")
PADDING = re.compile(r"(?<=[\[(]) +")
PAGES = {
    page.name: list(BLOCK.finditer(page.read_text(encoding="utf-8")))
    for page in (
        ROOT / "README.md",
        *sorted((ROOT / "docs").glob("*.md")),
        *sorted((ROOT / "docs" / "tutorials").glob("*.md")),
    )
}


SLOW = {
    "add_a_method.md",
    "add_an_element.md",
    "beams.md",
    "cable.md",
    "contact.md",
    "control.md",
    "cookbook.md",
    "crank.md",
    "curves.md",
    "derivatives.md",
    "exchange.md",
    "flexible.md",
    "forces.md",
    "frame.md",
    "friction.md",
    "getting_started.md",
    "high_order.md",
    "index.md",
    "kinks.md",
    "look.md",
    "modes.md",
    "paraview.md",
    "robot.md",
    "rotor.md",
    "rotors.md",
    "shells.md",
    "statics.md",
    "sweep.md",
    "variable_steps.md",
}
"""Pages of some seconds, which have a step of their own where all checks are run."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name, blocks in PAGES.items() if blocks],
)
def test_page_does_what_it_says(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in PAGES[name]:
        line = block.string.count("\n", 0, block.start("code"))
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * line + block["code"], name, "exec"), namespace)
        if block["output"] is not None:
            expected, actual = (
                PADDING.sub("", MINUS_ZERO.sub(r"\1", text)) for text in (block["output"], printed.getvalue())
            )
            same = doctest.OutputChecker().check_output(expected, actual, LENIENT)
            assert same, f"{name}, line {line}: the page shows\n{expected}\nbut the code prints\n{actual}"


def test_there_are_pages_that_run() -> None:
    assert {
        "README.md",
        "getting_started.md",
        "notation.md",
        "theory.md",
        "add_an_element.md",
        "cookbook.md",
        "robot.md",
    } <= {name for name, blocks in PAGES.items() if blocks}


def test_the_library_at_a_glance_has_all_of_it() -> None:
    page = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
    assert [name for name in elements.__all__ if f"`{name}`" not in page] == []


def test_the_list_of_questions_has_all_of_them() -> None:
    page = (ROOT / "docs" / "cookbook.md").read_text(encoding="utf-8")
    contents = page.partition("```")[0]
    questions = [
        re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^### (.*)$", page, re.M)
    ]
    assert len(questions) > 30 and [title for title in questions if f"(#{title})" not in contents] == []


@pytest.mark.parametrize("name", ["suite", "iftomm"])
def test_pages_that_scripts_write_say_what_these_say(name: str) -> None:
    """Nobody has changed the page and not the script, nor the cases and not the page."""
    page = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    script = runpy.run_path(str(ROOT / "docs" / f"make_{name}.py"))
    assert [text for text in script["HEAD"].split("@PROBLEMS@") if text not in page] == []
    if name == "suite":
        assert [case.name for case in CASES if f"| **{case.name}**: {case.summary} |" not in page] == []
