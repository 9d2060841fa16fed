"""Sphinx settings; the pages made from the sources are written here, into `_generated`."""

import ast
import inspect
import pydoc
import re
import shutil
from importlib import metadata
from pathlib import Path

import fem_mbs
from fem_mbs import elements

project = "fem_mbs"
author = "The fem_mbs developers"
copyright = f"2026, {author}"
release = metadata.version(project)

# Nothing is loaded from elsewhere: MathJax is copied into the pages, and no notebook has widgets.
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax", "sphinx-mathjax-offline"]
exclude_patterns = ["_build", "_generated/gallery.md"]
html_theme = "furo"
html_title = f"fem_mbs {release}"
html_static_path = ["_static"]
html_css_files = ["gallery.css"]

myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_output_stderr = "remove"  # of the graphics driver where there is no screen
nb_ipywidgets_js: dict[str, dict[str, str]] = {}

autodoc_default_options = {"members": True, "no-value": True}
autodoc_mock_imports = ["pythonfmu"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
python_maximum_signature_line_length = 88
napoleon_google_docstring = False
napoleon_custom_sections = [("Attributes", "params_style")]

DOCS = Path(__file__).parent
ROOT = DOCS.parent
GENERATED = DOCS / "_generated"
PUBLIC = {
    f"{prefix}{name}": getattr(package, name)
    for package, prefix in ((fem_mbs, "mbs."), (elements, ""))
    for name in package.__all__
}


def defined(public):
    """Where a public object is defined, which is where it is documented."""
    return f"{public.__module__}.{public.__qualname__}"


def write_public_names() -> None:
    """A table of the names a script imports, each with its first sentence."""
    text = ".. list-table::\n   :widths: 30 70\n\n"
    for name, public in PUBLIC.items():
        text += f"   * - :py:obj:`{name} <{defined(public)}>`\n     - {inspect.getdoc(public).splitlines()[0]}\n"
    (GENERATED / "public_names.txt").write_text(text, encoding="utf-8")


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


BENCHMARKS = (
    "four_bar",
    "heavy_top",
    "pendulum",
    "right_angle_cantilever",
    "reproduce_2012",
    "reproduce_2015",
    "reproduce_2018",
    "reproduce_2024",
)
METHODS = ("modes", "statics", "work_precision", "identify_stiffness", "size_beam")
"""Examples that stand apart in the gallery; all others are machines."""
CARD = {
    "reproduce_2012": "reproduced_2012_top",
    "reproduce_2015": "reproduced_transients",
    "reproduce_2018": "reproduced_2018_forms",
    "reproduce_2024": "reproduced_2024_rotor",
}
"""Pictures on cards, where not ``<name>_paraview.png`` or ``<name>.png``."""


def pictures(name):
    """Files of the scene and of the figure of an example, those that there are."""
    files = (DOCS / "images" / f"{stem}.png" for stem in (f"{name}_paraview", name, CARD.get(name, name)))
    return list(dict.fromkeys(file.name for file in files if file.exists()))


def write_examples() -> None:
    """One page per script: its docstring, its pictures if there are any, its code; and a card in the gallery."""
    cards = {"Machines": [], "Benchmarks of the literature": [], "Methods": []}
    for file in sorted((ROOT / "examples").glob("[!_]*.py")):
        module = ast.parse(file.read_text(encoding="utf-8"))
        title, _, prose = (ast.get_docstring(module) or file.stem).partition("\n")
        title, shown = title.rstrip("."), pictures(file.stem)
        text = f"# {title}\n{prose}\n\n"
        text += "".join(f"![{title}](/images/{picture})\n\n" for picture in shown if picture.startswith(file.stem))
        text += f"## {file.name}\n\n```{{literalinclude}} ../../../examples/{file.name}\n"
        text += f":lines: {module.body[0].end_lineno + 1}-\n```\n"
        (GENERATED / "examples" / f"{file.stem}.md").write_text(text, encoding="utf-8")
        kind = [file.stem not in (*BENCHMARKS, *METHODS), file.stem in BENCHMARKS, file.stem in METHODS].index(True)
        page = f"/_generated/examples/{file.stem}.md"
        picture = f"[![{title}](/images/{shown[0]})]({page})\n\n" if shown else ""
        cards[[*cards][kind]].append(f"```{{container}} card\n{picture}[{title}]({page})\n```\n")
    gallery = (f"## {kind}\n\n````{{container}} gallery\n{''.join(those)}````\n" for kind, those in cards.items())
    (GENERATED / "gallery.md").write_text("\n".join(gallery), encoding="utf-8")


def name_shapes(app, what, name, obj, options, lines) -> None:
    """Write the type ``(n, 3)`` of a parameter as ``array (n, 3)``."""
    lines[:] = [re.sub(r"^(\s*\w[\w, ]* : )\(", r"\1array (", line) for line in lines]


def skip_member(app, what, name, obj, skip, options) -> bool | None:
    """Leave out modules, what other libraries add, and fields of a named tuple that say no more than their number."""
    numbered = str(getattr(obj, "__doc__", "")).startswith("Alias for field number")
    foreign = inspect.isfunction(obj) and not (obj.__module__ or "fem_mbs").startswith("fem_mbs")
    return True if numbered or foreign or inspect.ismodule(obj) else None


def resolve_public_name(app, env, node, content):
    """Let ``mbs.Model``, ``fem_mbs.elements.Beam`` or ``Solution.angle`` refer to the place of definition."""
    target = node["reftarget"].removeprefix("mbs.")
    for prefix in ("", "fem_mbs.", "fem_mbs.elements.") if node.get("refdomain") == "py" else ():
        if hasattr(public := pydoc.locate(prefix + target), "__qualname__"):
            python = env.get_domain("py")
            return python.resolve_xref(env, node["refdoc"], app.builder, "obj", defined(public), node, content)
    return None


def setup(app) -> None:
    """Correct what the extensions make of the docstrings."""
    app.connect("autodoc-process-docstring", name_shapes, priority=400)  # before napoleon
    app.connect("autodoc-skip-member", skip_member)
    app.connect("missing-reference", resolve_public_name)


shutil.rmtree(GENERATED, ignore_errors=True)
(GENERATED / "reference").mkdir(parents=True)
(GENERATED / "examples").mkdir()
write_public_names()
write_reference()
write_examples()
