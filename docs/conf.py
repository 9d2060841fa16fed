"""Sphinx settings; the pages made from the sources are written here, into `_generated`."""

import ast
import inspect
import pydoc
import re
from pathlib import Path
from textwrap import dedent, indent

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.ext.napoleon import NumpyDocstring

import fem_mbs
from fem_mbs import elements
from fem_mbs.contracts import Public

project = "fem_mbs"
author = "The fem_mbs developers"
copyright = f"2026, {author}"
release = fem_mbs.__version__

# Nothing is loaded from elsewhere: MathJax is copied into the pages, and no notebook has widgets.
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "sphinx_copybutton",
]
exclude_patterns = ["_build", "jupyter_execute", "_generated/gallery.md", "_generated/front.md"]
html_theme = "furo"
html_title = f"fem_mbs {release}"
html_static_path = ["_static"]
html_css_files = ["fem_mbs.css"]
add_module_names = False

myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 600  # s a cell: of a machine that has other work to do
nb_output_stderr = "remove"  # of the graphics driver where there is no screen
nb_ipywidgets_js: dict[str, dict[str, str]] = {}

autodoc_default_options = {"members": True, "no-value": True}
autodoc_mock_imports = ["pythonfmu"]
autoclass_content = "both"  # kinds of joints share the parameters of one ``__init__``
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_use_type_comments = False  # there are none, and looking for them takes a tenth of the build
python_maximum_signature_line_length = 88
napoleon_google_docstring = False
napoleon_custom_sections = [("Attributes", "params_style")]

DOCS = Path(__file__).parent
ROOT = DOCS.parent
GENERATED = DOCS / "_generated"
MADE = set()
IMAGES = {file.name for file in (DOCS / "images").iterdir()}
PUBLIC = {
    f"{prefix}{name}": getattr(package, name)
    for package, prefix in ((fem_mbs, "mbs."), (elements, ""))
    for name in package.__all__
}


def defined(public):
    """Where a public object is defined, which is where it is documented."""
    return f"{public.__module__}.{public.__qualname__}"


TOPICS = {
    "Models": ("fem_mbs.model", "fem_mbs.contracts.node", "fem_mbs.initial"),
    "Bodies": ("fem_mbs.elements.bodies", "fem_mbs.elements.flexible"),
    "Beams": ("fem_mbs.elements.beams",),
    "Shells": ("fem_mbs.elements.shells",),
    "Joints": ("fem_mbs.elements.joints",),
    "Forces and loads": ("fem_mbs.elements.forces",),
    "Contact": ("fem_mbs.elements.contact", "fem_mbs.contact"),
    "Control": ("fem_mbs.elements.control", "fem_mbs.contracts.signal"),
    "Laws of time": ("fem_mbs.elements.laws", "fem_mbs.contracts.time_law"),
    "Shapes": ("fem_mbs.elements.shapes",),
    "Runs": ("fem_mbs.run", "fem_mbs.system", "fem_mbs.contracts.motion"),
    "Methods": ("fem_mbs.alpha", "fem_mbs.methods", "fem_mbs.newton", "fem_mbs.contracts.method"),
    "Results": ("fem_mbs.solution", "fem_mbs.files.store"),
    "Statics and frequencies": ("fem_mbs.static", "fem_mbs.modal"),
    "Derivatives": ("fem_mbs.derivatives",),
    "Studies and other programs": ("fem_mbs.studies", "fem_mbs.files"),
    "Errors": ("fem_mbs.errors",),
}
"""Of the reference, each with the packages and modules whose public names belong to it."""


def topic(public):
    """Topic of a public object: that with the longest name its module begins with."""
    module = public.__module__
    found = [
        (len(part), name) for name, parts in TOPICS.items() for part in parts if f"{module}.".startswith(f"{part}.")
    ]
    return max(found)[1]


def write(file, text) -> None:
    """Make a page, or leave it as it is, which Sphinx then need not read again."""
    MADE.add(file)
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def titled(title, mark="="):
    return f"{title}\n{mark * len(title)}\n\n"


def calls(code):
    """Names that the statements of a code call, with the lines of each statement."""
    rows = code.splitlines()
    for statement in ast.walk(ast.parse(code)):
        if isinstance(statement, ast.Assign | ast.Expr | ast.Return):
            lines = dedent("\n".join(rows[statement.lineno - 1 : statement.end_lineno]))
            for call in (node.func for node in ast.walk(statement) if isinstance(node, ast.Call)):
                yield getattr(call, "id", getattr(call, "attr", "")), lines


def find_uses():
    """Of every name that is called in a page or an example: where, and one of the shortest statements that do."""
    places, statements = {}, {}
    pages = [ROOT / "docs" / f"{page}.md" for page in ("getting_started", "cookbook")]
    pages += [file for file in sorted(DOCS.rglob("*.md")) if "_" not in file.parts[-2][:1] and file not in pages]
    sources = [(f"/{file.relative_to(DOCS).with_suffix('').as_posix()}", file) for file in pages]
    sources += [(f"/_generated/examples/{file.stem}", file) for file in sorted((ROOT / "examples").glob("[!_]*.py"))]
    for place, file in sources:
        text = file.read_text(encoding="utf-8")
        blocks = (
            [text]
            if file.suffix == ".py"
            else re.findall(r"^```(?:python|\{code-cell\})\n(.*?)^```", text, re.M | re.S)
        )
        for name, lines in (use for block in blocks for use in calls(block)):
            places.setdefault(name, {})[place] = file
            statements.setdefault(name, []).append(lines)
    return places, {name: min(found, key=lambda lines: lines.count("\n")) for name, found in statements.items()}


def write_reference() -> None:
    """One page per topic with its names and their first sentences, and one page per name."""
    places, statements = find_uses()
    for title in TOPICS:
        names = [name for name, public in PUBLIC.items() if topic(public) == title]
        folder = GENERATED / "reference" / title.lower().replace(" ", "_")
        text = titled(title) + ".. list-table::\n   :widths: 30 70\n\n"
        for name in names:
            summary = inspect.getdoc(PUBLIC[name]).splitlines()[0]
            text += f"   * - :py:obj:`{name} <{defined(PUBLIC[name])}>`\n     - {summary}\n"
        text += "\n.. toctree::\n   :hidden:\n\n" + "".join(f"   {folder.name}/{name}\n" for name in names)
        write(folder.with_suffix(".rst"), text)
        for name in names:
            page = public_page(PUBLIC[name], places, statements)
            write(folder / f"{name}.rst", page)


def for_authors(public):
    """Members that completion hides from who uses a class, as only authors of its kind need them."""
    if not inspect.isclass(public) or not issubclass(public, Public) or "contracts" in public.__module__:
        return []
    return sorted({name for base in public.__mro__ for name in vars(base).get("_internal", "").split()})


def public_page(public, places, statements) -> str:
    """What a name is, how pages and examples use it, and the picture of an example."""
    name, kind = public.__name__, "autoclass" if inspect.isclass(public) else "autofunction"
    text = titled(name) + f".. {kind}:: {defined(public)}\n"
    if public in (fem_mbs.Model, fem_mbs.Solution, fem_mbs.StaticSolution):
        text += "   :inherited-members:\n"
    if hidden := for_authors(public):
        text += f"   :exclude-members: {', '.join(hidden)}\n"
    if name in statements:
        text += "\n.. rubric:: As in\n\n.. code-block:: python\n\n" + indent(statements[name], "   ") + "\n"
    where = places.get(name, {})
    if where:
        text += "\nUsed in " + ", ".join(f":doc:`{place}`" for place in [*where][:8]) + ".\n"
    if shown := [place for place, file in where.items() if f"{file.stem}_paraview.png" in IMAGES]:
        if public.__module__.startswith(elements.__name__):
            picture = f"/images/{shown[0].rpartition('/')[2]}_paraview.png"
            text += f"\n.. figure:: {picture}\n   :width: 80%\n\n   In :doc:`{shown[0]}`.\n"
    return text


def write_modules() -> None:
    """One page per package: the package, then each of its modules; public names have pages of their own."""
    shown = {}
    for public in PUBLIC.values():
        shown.setdefault(public.__module__, []).append(public.__name__)
    for top in (fem_mbs, elements):
        root = Path(top.__path__[0])
        for init in sorted(root.rglob("__init__.py")):
            package = ".".join((top.__name__, *init.parent.relative_to(root).parts))
            # Names a package re-exports are documented in the module that defines them.
            text = titled(package) + f".. automodule:: {package}\n   :ignore-module-all:\n"
            for file in sorted(init.parent.glob("[!_]*.py")):
                module = f"{package}.{file.stem}"
                text += f"\n{titled(module, '-')}.. automodule:: {module}\n"
                text += "   :ignore-module-all:\n"
                text += f"   :exclude-members: {', '.join(shown[module])}\n" if module in shown else ""
            write(GENERATED / "modules" / f"{package}.rst", text)


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
METHODS = (
    "modes",
    "statics",
    "work_precision",
    "identify_stiffness",
    "size_beam",
    "two_disc_rotor",
    "rotating_blade",
    "tune_blade",
    "tune_controller",
    "lightest_four_bar",
)
"""Examples that stand apart in the gallery; all others are machines."""
CARD = {
    "reproduce_2012": "reproduced_2012_top",
    "reproduce_2015": "reproduced_transients",
    "reproduce_2018": "reproduced_2018_forms",
    "reproduce_2024": "reproduced_2024_rotor",
}
"""Pictures on cards, where not ``<name>_paraview.png`` or ``<name>.png``."""
FRONT = ("tower_crane", "wind_turbine", "robot", "suspension", "slider_crank_engine", "planetary_gear")
"""Machines of the front page."""


def pictures(name):
    """Files of the scene and of the figure of an example, those that there are."""
    files = (DOCS / "images" / f"{stem}.png" for stem in (f"{name}_paraview", name, CARD.get(name, name)))
    return list(dict.fromkeys(file.name for file in files if file.exists()))


def write_examples() -> None:
    """One page per script: its docstring, its pictures if there are any, its code; and a card in the gallery."""
    cards = {"Machines": {}, "Benchmarks of the literature": {}, "Methods": {}}
    for file in sorted((ROOT / "examples").glob("[!_]*.py")):
        module = ast.parse(file.read_text(encoding="utf-8"))
        title, _, prose = (ast.get_docstring(module) or file.stem).partition("\n")
        title, shown = title.rstrip("."), pictures(file.stem)
        text = f"# {title}\n{prose}\n\n"
        text += "".join(f"![{title}](/images/{picture})\n\n" for picture in shown if picture.startswith(file.stem))
        text += f"## {file.name}\n\n```{{literalinclude}} ../../../examples/{file.name}\n"
        text += f":lines: {module.body[0].end_lineno + 1}-\n```\n"
        write(GENERATED / "examples" / f"{file.stem}.md", text)
        kind = [file.stem not in (*BENCHMARKS, *METHODS), file.stem in BENCHMARKS, file.stem in METHODS].index(True)
        page = f"/_generated/examples/{file.stem}.md"
        picture = f"[![{title}](/images/{shown[0]})]({page})\n\n" if shown else ""
        cards[[*cards][kind]][file.stem] = f"```{{container}} card\n{picture}[{title}]({page})\n```\n"
    text = "\n".join(f"## {kind}\n\n{side_by_side(those.values())}" for kind, those in cards.items())
    write(GENERATED / "gallery.md", text)
    write(GENERATED / "front.md", side_by_side(cards["Machines"][name] for name in FRONT))


def side_by_side(cards) -> str:
    return f"````{{container}} gallery\n{''.join(cards)}````\n"


def link_examples(app, docname, source) -> None:
    """Let links to scripts, which lead somewhere in the clone, lead to their pages."""
    source[0] = re.sub(r"\]\((?:\.\./)+examples/(\w+)\.py\)", r"](/_generated/examples/\1.md)", source[0])


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


def link_names(app, doctree) -> None:
    """Let a public name in the running text, as ``RevoluteJoint``, lead to its page."""
    for literal in [*doctree.findall(nodes.literal)]:
        name = literal.astext().partition("(")[0]
        if name in PUBLIC and not isinstance(literal.parent, nodes.reference | pending_xref | nodes.title):
            link = pending_xref(refdomain="py", reftype="obj", reftarget=defined(PUBLIC[name]), refdoc=app.env.docname)
            literal.replace_self(link)
            link += literal


def text_of_attribute(docstring: NumpyDocstring) -> list[str]:
    """What is said of an attribute or a constant, all of it: napoleon takes what is before a colon for a type."""
    return NumpyDocstring(docstring._dedent(docstring._consume_to_end()), docstring._config).lines()


def setup(app) -> None:
    """Correct what the extensions make of the docstrings."""
    NumpyDocstring._parse_attribute_docstring = text_of_attribute
    app.connect("autodoc-process-docstring", name_shapes, priority=400)  # before napoleon
    app.connect("autodoc-skip-member", skip_member)
    app.connect("doctree-read", link_names)
    app.connect("source-read", link_examples)
    app.connect("missing-reference", resolve_public_name)


write_reference()
write_modules()
write_examples()
for page in [*GENERATED.rglob("*.*")]:
    if page not in MADE:
        page.unlink()
