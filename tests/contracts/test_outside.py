"""Classes of a script: written by the contracts alone, held to their laws, run, stored, and loaded again like ours."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.contracts import TimeLaw
from fem_mbs.elements import Force, RigidBody
from fem_mbs.testing import check_element, check_joint, check_law, check_method, check_sensor

OUTSIDE = Path(__file__).parents[1] / "outside"
sys.path.insert(0, str(OUTSIDE))

from chirp import Chirp  # noqa: E402
from height import Height  # noqa: E402
from midpoint import Midpoint  # noqa: E402
from skate import Skate  # noqa: E402
from tether import Tether  # noqa: E402

ALLOWED = {"fem_mbs", "fem_mbs.contracts", "fem_mbs.elements", "numpy", "math", "dataclasses"}
LINES = {"chirp": 13, "height": 20, "midpoint": 24, "skate": 18, "tether": 26}
"""Lines of code that each takes at most, without comments and docstrings."""


@pytest.mark.parametrize("name", LINES)
def test_it_is_short_and_needs_the_contracts_alone(name: str) -> None:
    tree = ast.parse((OUTSIDE / f"{name}.py").read_text())
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    modules = [
        node.module if isinstance(node, ast.ImportFrom) else alias.name for node in imported for alias in node.names
    ]
    assert set(modules) <= ALLOWED
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            node.body = node.body[1:] or [ast.Pass()]
    assert len(ast.unparse(tree).replace("\n\n", "\n").splitlines()) <= LINES[name]


def test_each_obeys_the_laws_of_its_contract() -> None:
    check_element(lambda stage: Tether(stage.line[0], 3.0, stage.point((0.3, 0.2, 0.1))))
    check_joint(lambda stage: Skate(stage.line[0]))
    check_sensor(lambda stage: Height(stage.line[0], stage.point((1, 2, 3)), stage.vector((0, 0, 1))))
    check_law(Chirp(2.0, 3.0))


@pytest.mark.slow
def test_the_method_obeys_the_laws_of_its_contract() -> None:
    check_method(Midpoint())


def skater() -> mbs.Model:
    model = mbs.Model()
    body = model.add_node((0, 0, 0), velocity=(1, 0, 0), angular_velocity=(0, 0, 1.5), name="body")
    model.add(RigidBody(body, 2.0, (1.0, 1.0, 1.5)))
    model.add(Tether(body, 3.0, (0.1, 0.2, 0.0)), name="tether")
    model.add(Height(body, up=(1, 0, 0)), name="height")
    model.add(Force(body, Sweep(0.5, 2.0)), name="push")
    model.add(Skate(body), name="skate")
    return model


class Sweep(TimeLaw):
    """A law of vectors of the script itself."""

    size = 3

    def __init__(self, a: float, w: float) -> None:
        self.law = Chirp(a, w)

    def __call__(self, t: float) -> np.ndarray:
        return np.array([0.0, 0.0, self.law(t)])

    def velocity(self, t: float) -> np.ndarray:
        return np.array([0.0, 0.0, self.law.velocity(t)])

    def acceleration(self, t: float) -> np.ndarray:
        return np.array([0.0, 0.0, self.law.acceleration(t)])


def test_a_run_is_stored_and_loaded_like_ours(tmp_path: Path) -> None:
    run = mbs.simulate(skater(), 0.5, 0.02, store=tmp_path / "run.db")
    again = mbs.load(tmp_path / "run.db")
    assert [type(again.model[name]) for name in ("tether", "height", "skate")] == [Tether, Height, Skate]
    assert isinstance(again.model["push"].value, Sweep)  # type: ignore[union-attr]
    np.testing.assert_array_equal(again.energy.strain, run.energy.strain)
    np.testing.assert_array_equal(again.signal("height"), run.signal("height"))
    np.testing.assert_array_equal(again.reaction("skate")[0], run.reaction("skate")[0])
    further = mbs.simulate(again.model, 0.5, 0.02)
    np.testing.assert_array_equal(further.x, run.x)


@pytest.mark.parametrize("what", ["classes", "method"])
def test_a_run_that_was_cut_goes_on(what: str, tmp_path: Path) -> None:
    """Without the model or the method, which are at hand."""
    model, method = (skater(), None) if what == "classes" else (spinning(), Midpoint())
    whole = mbs.simulate(model, 0.4, 0.02, method, store=tmp_path / "run.db")

    def cut(state: mbs.State) -> None:
        if state.t > 0.2 and not (tmp_path / "cut.db").exists():
            shutil.copy(tmp_path / "second.db", tmp_path / "cut.db")

    model = skater() if what == "classes" else spinning()
    mbs.simulate(model, 0.4, 0.02, method, store=tmp_path / "second.db", callback=cut)
    np.testing.assert_array_equal(mbs.resume(tmp_path / "cut.db").x, whole.x)


def spinning() -> mbs.Model:
    model = mbs.Model()
    body = model.add_node((0, 0, 0), angular_velocity=(0.1, 5, 0.1), name="body")
    model.add(RigidBody(body, 2.0, (1.0, 2.0, 2.5)))
    model.add(Tether(body, 3.0, (0.1, 0.2, 0.0)), name="tether")
    return model


ELSEWHERE = """
import sys
import fem_mbs as mbs
{imports}
try:
    run = mbs.load("run.db")
    print(type(run.model["tether"]).__name__, run.position("body")[-1, 0], run.energy.strain[-1])
except mbs.StoreError as error:
    print(error)
assert ("tether" in sys.modules) == {at_hand}, "a file must not make Python import a module"
"""


@pytest.mark.ci
@pytest.mark.parametrize("at_hand", [True, False])
def test_another_process_imports_what_it_trusts(at_hand: bool, tmp_path: Path) -> None:
    run = mbs.simulate(skater(), 0.1, 0.02, store=tmp_path / "run.db")
    imports = f"sys.path[:0] = {[str(OUTSIDE), str(Path(__file__).parent)]}\n" + (
        "import test_outside" if at_hand else ""
    )
    script = ELSEWHERE.format(imports=imports, at_hand=at_hand)
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert not done.stderr
    said = done.stdout.strip()
    if at_hand:
        assert said == f"Tether {run.position('body')[-1, 0]} {run.energy.strain[-1]}"
    else:
        assert "run.db' cannot be opened: tether: it holds an object of the class 'tether:Tether'" in said
        assert "import tether before mbs.load, if you trust it, or give the model of the script" in said


def test_a_module_that_a_file_names_is_not_imported() -> None:
    from fem_mbs.files.store.values import find_class

    assert find_class("antigravity:fly") is None
    assert "antigravity" not in sys.modules
    assert find_class("os:system") is None
    assert find_class("tether:TetherBatch") is None
    assert find_class("tether:Tether") is Tether
    assert find_class("fem_mbs.files.store.description:FunctionOfScript") is None
