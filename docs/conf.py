"""Sphinx settings; the pages made from the sources are written here, into `_generated`."""

import ast
import shutil
from importlib import metadata
from pathlib import Path

project = "fem_mbs"
author = "The fem_mbs developers"
copyright = f"2026, {author}"
release = metadata.version(project)

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"fem_mbs {release}"

myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3

autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_typehints = "none"
python_maximum_signature_line_length = 88
napoleon_google_docstring = False
napoleon_use_ivar = True

DOCS = Path(__file__).parent
ROOT = DOCS.parent
GENERATED = DOCS / "_generated"


def write_reference() -> None:
    """One page per package: the package, then each of its public modules."""
    for root, name in ((ROOT / "fem_mbs", "fem_mbs"), (ROOT / "elements", "fem_mbs.elements")):
        for init in sorted(root.rglob("__init__.py")):
            package = ".".join((name, *init.parent.relative_to(root).parts))
            # Names a package re-exports are documented in the module that defines them.
            text = f"{package}\n{'=' * len(package)}\n\n.. automodule:: {package}\n   :ignore-module-all:\n"
            for file in sorted(init.parent.glob("[!_]*.py")):
                module = f"{package}.{file.stem}"
                text += f"\n{module}\n{'-' * len(module)}\n\n.. automodule:: {module}\n"
            (GENERATED / "reference" / f"{package}.rst").write_text(text, encoding="utf-8")


def write_examples() -> None:
    """One page per script: its docstring, its figure if there is one, its code."""
    for file in sorted((ROOT / "examples").glob("[!_]*.py")):
        module = ast.parse(file.read_text(encoding="utf-8"))
        title, _, prose = (ast.get_docstring(module) or file.stem).partition("\n")
        title = title.rstrip(".")
        text = f"# {title}\n{prose}\n\n"
        if (DOCS / "images" / f"{file.stem}.png").exists():
            text += f"![{title}](/images/{file.stem}.png)\n\n"
        text += f"## {file.name}\n\n```{{literalinclude}} ../../../examples/{file.name}\n"
        text += f":lines: {module.body[0].end_lineno + 1}-\n```\n"
        (GENERATED / "examples" / f"{file.stem}.md").write_text(text, encoding="utf-8")


shutil.rmtree(GENERATED, ignore_errors=True)
(GENERATED / "reference").mkdir(parents=True)
(GENERATED / "examples").mkdir()
write_reference()
write_examples()
