"""Seeded mutation of the mechanics: how many small faults in the equations the tests notice.

``python tests/mutation.py 100 --seed 1`` makes a hundred faults, one at a time, in a copy of the clone: a sign, a
product for a quotient, a number that is another, a comparison that is turned. A fault is killed by a test that fails,
or that takes far too long. Those that survive the tests of their room meet all quick tests with ``--all``; what is left
is printed as the line before and after, for a reader to judge: some make no difference to any result.
"""

from __future__ import annotations

import argparse
import ast
import copy
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
DYNAMICS = "dynamics/test_rigid_pendulum.py dynamics/test_stabilized.py dynamics/test_index2.py dynamics/test_energy.py"
CONTRACTS = "library/test_element_contract.py library/test_joint_contract.py"
METHODS = "dynamics/test_methods.py dynamics/test_variable_step.py dynamics/test_starting_values.py"
ROOMS = {
    "fem_mbs/lie": "lie",
    "fem_mbs/alpha": f"{DYNAMICS} {METHODS} engine dynamics/test_reactions.py",
    "fem_mbs/methods": "dynamics/test_radau.py dynamics/test_runge_kutta.py dynamics/test_tableaus.py " + METHODS,
    "fem_mbs/initial": "errors/test_singular.py errors/test_failed_run.py look/test_check.py engine "
    "dynamics/test_starting_values.py dynamics/test_assemblies.py dynamics/test_redundant.py",
    "fem_mbs/newton.py": f"engine/test_newton.py engine/test_iteration_matrix.py {DYNAMICS}",
    "fem_mbs/linear": "engine/test_linear.py engine/test_large.py engine/test_assembly.py dynamics/test_redundant.py",
    "fem_mbs/solution": "contracts/test_channels.py look/test_queries.py library/test_results_stay.py "
    "library/test_nodal_forces.py store/test_tables.py store/test_same_answers.py engine/test_interpolation.py "
    "dynamics/test_reactions.py dynamics/test_energy.py library/test_joint_motions.py shells",
    "fem_mbs/system": f"engine {DYNAMICS} {CONTRACTS}",
    "fem_mbs/static": "statics dynamics/test_rotors.py",
    "fem_mbs/modal": "dynamics/test_modes.py dynamics/test_modes_rotating.py dynamics/test_linearize.py "
    "dynamics/test_state_space.py dynamics/test_turning_axes.py dynamics/test_frequencies.py dynamics/test_rotors.py",
    "elements/beams": "library/test_beam_strain.py library/test_beam_mass.py library/test_beam_geometry.py "
    "look/test_check.py "
    "library/test_higher_order_beam.py library/test_section.py library/test_taper.py library/test_curved_beams.py "
    f"library/test_distributed_load.py library/test_drag.py library/test_truss.py library/test_sliding.py {CONTRACTS}",
    "elements/bodies.py": "library/test_bodies.py library/test_gravity.py dynamics/test_modal_body.py "
    f"look/test_check.py {CONTRACTS}",
    "elements/joints": "library/test_joints.py library/test_joint_motions.py library/test_couplings.py "
    "library/test_joint_limits.py library/test_curve_joints.py library/test_sliding.py dynamics/test_rolling_disc.py "
    f"{CONTRACTS}",
    "elements/forces": "library/test_spring_damper.py library/test_bushing.py library/test_joint_forces.py "
    "library/test_joint_friction.py library/test_loads.py library/test_maxwell.py library/test_slip_spring.py "
    "library/test_actuator.py library/test_energy_of_contact.py dynamics/test_rotors.py dynamics/test_contact.py "
    f"statics/test_contact_statics.py look/test_check.py dynamics/test_turning_axes.py {CONTRACTS}",
    "elements/laws": "library/test_laws.py library/test_laws_of_time.py",
    "fem_mbs/contact": "engine/test_complementarity.py dynamics/test_passing_through.py dynamics/test_contact.py "
    "dynamics/test_contact_energy.py dynamics/test_contact_modes.py dynamics/test_beam_contact.py",
    "elements/contact": "library/test_contact_pairs.py library/test_contact_yields.py library/test_contact_queries.py "
    "library/test_contacts_between.py library/test_energy_of_contact.py library/test_tubes.py "
    "dynamics/test_beam_contact.py",
    "elements/shells": f"shells {CONTRACTS}",
    "elements/flexible": "library/test_flexible_sources.py library/test_large_reduction.py library/test_mesh_loads.py "
    f"dynamics/test_flexible_body.py dynamics/test_rotors.py {CONTRACTS}",
    "fem_mbs/derivatives": "derivatives",
    "elements/control": "library/test_control.py library/test_sampled_control.py library/test_control_errors.py "
    "library/test_element_contract.py",
}
"""Where the mechanics are, and the tests, within ``tests``, that are asked first."""
OTHER = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
SPARED = (ast.Raise, ast.JoinedStr, ast.Assert, ast.AnnAssign, ast.arguments)
DRAWN = ("shapes", "picture", "draw", "plot", "film", "_base", "_coil", "_cylinder", "_line")
TOLERANCE = 1e-4
"""Numbers below it are tolerances, and steps of differences."""
PATIENCE = 3600.0
"""How long, in s, the tests of a room may take without a fault, on whatever machine."""
SLOWER = 5.0
"""Tests that take this many times as long as without the fault notice it."""


class Fault(NamedTuple):
    """A file, what is put in the place of its text, and both lines."""

    file: Path
    mutated: str
    line: int
    before: str
    after: str


def spared(node: ast.AST, within: ast.AST) -> bool:
    """Whether a fault makes no difference to an equation, as a rule.

    Words, types and defaults of arguments; functions of pictures; indices and axes from the end; tolerances; what the
    largest of nothing is, and the 1.0 of ``size or 1.0`` and ``np.where(size > 0.0, size, 1.0)``.
    """
    match node:
        case ast.FunctionDef(returns=returns):
            result = ast.unparse(returns) if returns else ""
            return node.name in DRAWN or "Placed" in result or result in ("str", "Shape")
        case ast.UnaryOp(operand=ast.Constant(value=int())) | ast.keyword(arg="initial"):
            return True
        case ast.Constant(value=1.0):
            match within:
                case ast.BoolOp(op=ast.Or()) | ast.Call(func=ast.Attribute(attr="where"), args=[ast.Compare(), _, _]):
                    return node is (within.values if isinstance(within, ast.BoolOp) else within.args)[-1]
        case ast.Constant(value=float(value)):
            return 0.0 < value < TOLERANCE
    return isinstance(node, SPARED)


def places(tree: ast.AST, within: bool = False) -> Iterator[ast.expr]:
    """Expressions in functions that a fault can be in."""
    for node in ast.iter_child_nodes(tree):
        if spared(node, tree):
            continue
        inside = within or isinstance(node, ast.FunctionDef)
        if within and (
            (isinstance(node, ast.BinOp) and type(node.op) in OTHER)
            or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub))
            or (isinstance(node, ast.Compare) and type(node.ops[0]) in OTHER)
            or (isinstance(node, ast.BoolOp))
            or (isinstance(node, ast.Constant) and type(node.value) is float)
        ):
            yield node
        yield from places(node, inside)


def changed(node: ast.expr) -> ast.expr:
    """The expression with a fault in it."""
    node = copy.deepcopy(node)
    match node:
        case ast.BinOp() | ast.BoolOp():
            node.op = OTHER[type(node.op)]()
        case ast.UnaryOp():
            return node.operand
        case ast.Compare():
            node.ops[0] = OTHER[type(node.ops[0])]()
        case ast.Constant():
            node.value = 1.5 * float(node.value) or 1.0  # type: ignore[arg-type]
    return node


def fault(file: Path, chance: random.Random) -> Fault | None:
    """One fault in a file, in a line of code of its own, so that what is around it stays as it is."""
    text = file.read_text(encoding="utf-8")
    nodes = [node for node in places(ast.parse(text)) if node.lineno == node.end_lineno]
    if not nodes:
        return None
    node = chance.choice(nodes)
    lines = text.splitlines(keepends=True)
    line = lines[node.lineno - 1].encode()
    new = f"({ast.unparse(changed(node))})".encode()
    after = (line[: node.col_offset] + new + line[node.end_col_offset :]).decode()
    before, lines[node.lineno - 1] = lines[node.lineno - 1], after
    return Fault(file, "".join(lines), node.lineno, before.strip(), after.strip())


def survives(tree: Path, tests: list[str], seconds: float = PATIENCE) -> bool:
    """Whether no test notices what is wrong in a tree; tests that take longer do."""
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    try:
        run = subprocess.run(command, cwd=tree, capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return False
    return run.returncode == 0


def main() -> None:
    """Make faults, count those that are killed, print the others."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("faults", type=int, nargs="?", default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--room", choices=[*ROOMS], help="faults in one room alone")
    parser.add_argument("--all", action="store_true", help="let survivors meet all quick tests")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    files = [
        (room, path.relative_to(ROOT))
        for room in ([options.room] if options.room else ROOMS)
        for path in ([ROOT / room] if room.endswith(".py") else sorted((ROOT / room).rglob("*.py")))
    ]
    sizes = [len((ROOT / path).read_text(encoding="utf-8")) for _, path in files]
    killed, made, limits = 0, 0, dict[str, float]()
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "clone"
        others = shutil.ignore_patterns(".*", "build", "dist", "out", "_build", "_generated")
        shutil.copytree(ROOT, tree, symlinks=True, ignore=others)
        if not (tree / "fem_mbs" / "elements").exists():
            (tree / "fem_mbs" / "elements").symlink_to(Path("..") / "elements")
        while made < options.faults:
            [(room, path)] = chance.choices(files, sizes)
            if (wrong := fault(tree / path, chance)) is None:
                continue
            tests = [f"tests/{test}" for test in ROOMS[room].split()]
            if room not in limits:
                begin = time.monotonic()
                if not survives(tree, tests):
                    ends = f"fail, or take longer than {PATIENCE:g} s, without a fault"
                    parser.error(f"the tests of {room} {ends}: {' '.join(tests)}")
                limits[room] = 60.0 + SLOWER * (time.monotonic() - begin)
            made += 1
            right = wrong.file.read_text(encoding="utf-8")
            wrong.file.write_text(wrong.mutated, encoding="utf-8")
            try:
                alive = survives(tree, tests, limits[room]) and not (options.all and not survives(tree, ["tests"]))
            finally:
                wrong.file.write_text(right, encoding="utf-8")
            killed += not alive
            if alive:
                print(f"{path}:{wrong.line}\n  - {wrong.before}\n  + {wrong.after}", flush=True)
            print(f"{killed} of {made} killed", end="\n" if alive else "\r", file=sys.stderr, flush=True)
    print(f"{killed} of {made} faults killed, {killed / made:.1%}; seed {options.seed}")


if __name__ == "__main__":
    main()
