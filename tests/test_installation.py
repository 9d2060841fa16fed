"""What importing costs, and which installation a script finds."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import fem_mbs
from fem_mbs.contracts.arguments import OURS

ROOT = Path(__file__).parents[1]
HEAVY = {
    *("concurrent.futures.process", "multiprocessing", "urllib.request", "h5py", "IPython", "matplotlib", "meshio"),
    *("mpi4py", "numpy", "numpy.f2py", "numpy.testing", "pandas", "pyvista", "scipy.fft", "scipy.integrate"),
    *("scipy.interpolate", "scipy.linalg", "scipy.optimize", "scipy.signal", "scipy.sparse", "scipy.spatial"),
    *("scipy.special", "scipy.stats", "sqlite3", "tqdm", "vtk", "vtkmodules", "xarray"),
}
"""What takes long to import."""
SOLVING = {"scipy.linalg", "scipy.sparse", "sqlite3"}
"""What a run needs: solvers, and the store."""


def printed(code: str, folder: Path = ROOT) -> str:
    """What a fresh Python prints."""
    run = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    return run.stdout.strip()


@pytest.mark.parametrize(
    ("statement", "allowed"),
    [
        ("import fem_mbs.command", set()),
        ("import fem_mbs", set()),
        ("import fem_mbs, fem_mbs.elements", {"scipy.sparse"}),
        ("import fem_mbs; fem_mbs.simulate", SOLVING),
    ],
)
def test_an_import_loads_what_it_needs(statement: str, allowed: set[str]) -> None:
    """And what that brings along, which versions of SciPy differ in."""
    loaded = set(printed(f"import sys; {statement}; print(*sys.modules)").split())
    assert "fem_mbs" in loaded
    brought = set(printed(f"import {', '.join(['sys', *allowed])}; print(*sys.modules)").split())
    assert not (loaded & HEAVY) - brought


def test_the_command_says_its_version() -> None:
    run = [sys.executable, "-m", "fem_mbs", "--version"]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == f"fem-mbs {fem_mbs.__version__}\n"


@pytest.mark.ci
@pytest.mark.parametrize("beside", ["fem_mbs", "elements", "examples"])
def test_a_script_beside_a_folder_of_that_name_finds_the_library(tmp_path: Path, beside: str) -> None:
    """A clone is such a folder: its name is that of the library."""
    (tmp_path / beside / "docs").mkdir(parents=True)
    (tmp_path / beside / "own.py").write_text("x = 1\n", encoding="utf-8")
    code = "import fem_mbs; from fem_mbs.elements import Beam; print(fem_mbs.Model.__module__, Beam.__module__)"
    assert printed(code, tmp_path) == "fem_mbs.model.model fem_mbs.elements.beams.beam"
    if beside != "fem_mbs":
        assert printed(f"from {beside}.own import x; print(x)", tmp_path) == "1"


@pytest.mark.ci
def test_a_tree_that_nobody_has_installed_is_complete(tmp_path: Path) -> None:
    """As of an archive: the link to the element library is made by an installation."""
    shutil.copytree(ROOT / "elements", tmp_path / "elements")
    shutil.copytree(ROOT / "fem_mbs", tmp_path / "fem_mbs", ignore=shutil.ignore_patterns("elements"))
    code = "import fem_mbs.elements, fem_mbs.elements.beams.beam; print(fem_mbs.elements.__file__)"
    assert Path(printed(code, tmp_path)) == tmp_path / "elements" / "__init__.py"


@pytest.mark.ci
def test_no_extra_is_needed() -> None:
    """All packages of extras are missing: a model runs, and says where it came."""
    extras = (
        "llvmlite skfem pypardiso matplotlib pyvista vtk tqdm h5py pandas xarray dask mpi4py threadpoolctl pythonfmu"
    )
    code = f"""
import sys
sys.modules |= dict.fromkeys({extras.split()!r})
import fem_mbs as mbs
from fem_mbs.elements import RevoluteJoint, RigidBody
model = mbs.Model(gravity=(0, 0, -9.81))
node = model.add_node((1, 0, 0))
model.add(RigidBody(node, 1.0, (1, 2, 2)))
model.add(RevoluteJoint(model.ground, node, axis=(0, 1, 0), point=(0, 0, 0)))
mbs.statics, mbs.modes, mbs.campbell, mbs.sensitivities
print(mbs.simulate(model, 0.1, 0.01).success)
"""
    assert printed(code) == "True"


@pytest.mark.parametrize(
    ("module", "name", "said"),
    [
        ("fem_mbs", "RigidBody", "it is in fem_mbs.elements"),
        ("fem_mbs", "simulat", "is it 'simulate'"),
        ("fem_mbs.elements", "RevolutJoint", "is it 'RevoluteJoint'"),
        ("fem_mbs.elements", "_nothing", "has no attribute '_nothing'"),
    ],
)
def test_names_that_a_module_does_not_have(module: str, name: str, said: str) -> None:
    with pytest.raises(AttributeError, match=f"module '{module}' has no attribute '{name}'") as caught:
        getattr(import_module(module), name)
    assert said in str(caught.value)
    said = said if name[0] != "_" else "cannot import name"  # of no use, and looked for by many
    with pytest.raises(ImportError, match=said):
        exec(f"from {module} import {name}")


def test_names_of_other_programs_lead_to_ours() -> None:
    for other, own in OURS.items():
        if own[0].isupper():
            with pytest.raises(ImportError, match=f"is it '{own}'"):
                exec(f"from fem_mbs.elements import {other}")
    for name, said in {"solve": "fem_mbs.simulate", "modes": "fem_mbs.modes", "add_spring": "is it 'add'"}.items():
        with pytest.raises(AttributeError, match=said):
            getattr(fem_mbs.Model(), name)
    from fem_mbs.elements import beams  # a module whose name is much like "Beam"

    assert beams.__name__ == "fem_mbs.elements.beams"
