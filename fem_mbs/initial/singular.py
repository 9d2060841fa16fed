"""Say which nodes can move without mass or resistance and which joints repeat each other, in the words of the model.

And what to say of a step that could not be solved.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
from scipy.sparse import coo_array, csc_array, diags_array

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import Motion, Node, State, WiredBatch
from fem_mbs.contracts.arguments import listed
from fem_mbs.elements.forces.coordinate_law import CoordinateElement
from fem_mbs.elements.joints.relative_batch import jump
from fem_mbs.errors import FemMbsError, LawError, MotionError, SingularSystemError
from fem_mbs.initial.redundant import (
    SMALL,
    Causes,
    dependent_elements,
    describe_dependent,
    handle_redundant,
    more_joints,
    name_joints,
    say_redundant,
    sharing_equations,
    surplus,
)
from fem_mbs.initial.state_point import as_built, largest_gap, without_accelerations
from fem_mbs.lie import so3
from fem_mbs.linear.null_space import BARE, Matrix, comparable, lengths, null_spaces, scaled
from fem_mbs.newton import NotConvergedError
from fem_mbs.system import matrices as tangent
from fem_mbs.system.batch_checks import not_finite
from fem_mbs.system.matrices import leading_matrix
from fem_mbs.system.system import Evaluation, System

DENSE = 200
"""Systems of at most so many equations are looked at as dense matrices."""


def explain_singular(system: System, evaluation: Evaluation, when: str, of_reactions: bool = True) -> Array:
    """Raise :class:`SingularSystemError` if accelerations are not unique; have joints that repeat each other handled.

    It is raised, too, if these do so at this position alone. Where reactions are asked for, it is logged which are not
    unique. Returns the stored values of the leading matrix.
    """
    values = leading_matrix(system, evaluation)
    matrix = system.solver.matrix(values)
    if text := _undetermined(system, matrix, f"the rates {when} are not unique"):
        raise SingularSystemError(text)
    causes = _causes(system, matrix, largest_gap(system, evaluation.constraint))
    if moving := _move_without_mass(system, causes, when):
        raise SingularSystemError(_lines(moving, name_joints(system, causes, when)))
    if handle_redundant(system, evaluation, causes, when):
        values = leading_matrix(system, evaluation)  # the system has another pattern
        if of_reactions:
            say_redundant(system)
    if text := _without_inertia(system, values, when):
        raise SingularSystemError(text)
    return values


def handle_repeated(system: System, evaluation: Evaluation, values: Array, when: str) -> None:
    """Have joints that repeat each other handled in the equations of rest, with the values as below."""
    if system.m:
        gap = largest_gap(system, evaluation.constraint)
        if handle_redundant(system, evaluation, _causes(system, system.solver.matrix(values), gap, False), when):
            say_redundant(system, resting=evaluation)


def describe_singular(system: System, evaluation: Evaluation, when: str) -> str:
    """Why the accelerations are not unique, or multipliers in more ways than is known; empty if they are."""
    matrix = system.solver.matrix(leading_matrix(system, evaluation))
    if text := _undetermined(system, matrix, f"the rates {when} are not unique"):
        return text
    causes = _causes(system, matrix, largest_gap(system, evaluation.constraint))
    return _lines(_move_without_mass(system, causes, when), more_joints(system, causes, when))


def describe_mechanism(system: System, values: Array, R: Array, when: str) -> str:
    """What makes ``[[K, B^T], [B, 0]]`` with these stored values singular at rotations ``R``; empty if it is regular.

    ``K`` may be scaled, but not the equations of one node against each other.
    """
    matrix = system.solver.matrix(values)
    text = _undetermined(system, matrix, f"the equilibrium {when} is not unique")
    causes = _causes(system, matrix, 0.0, definite=False)
    own = causes.motions[6 * system.n :].any() or (causes.idle >= 6 * system.n).any()
    if text and (own or not len(causes.idle) and not causes.motions.any()):
        return text if own or _is_singular(system, values) else ""  # integrators may be determined by what they control
    return _lines(_move_without_resistance(system, causes, R, when), more_joints(system, causes, when))


def surplus_equations(system: System, evaluation: Evaluation) -> tuple[int, str, str]:
    """How many equations of joints are too many, which in words, and what can move without mass as built."""
    matrix = system.solver.matrix(leading_matrix(system, evaluation))
    causes = _causes(system, matrix, largest_gap(system, evaluation.constraint))
    count = surplus(causes)
    leans = describe_dependent(system, dependent_elements(system, sharing_equations(system, causes)))
    repeated = _lines(name_joints(system, causes, "as built"), leans)
    return count, repeated, _move_without_mass(system, causes, "as built")


def _lines(*texts: str) -> str:
    """Those that say something, one below the other."""
    return "\n".join(filter(None, texts))


def free_motions(system: System, evaluation: Evaluation) -> tuple[int, str]:
    """How many independent motions nothing resists where no load acts, and what moves in these, in words."""
    motion = replace(evaluation.motion, gravity=np.zeros(3))
    evaluation = system.evaluate(motion, np.zeros(system.m), system.prescribe(motion.t, factor=0.0))
    matrix = system.solver.matrix(system.solver.stored(tangent.stiffness_entries(system, evaluation)))
    # an integrator that nothing holds goes along with its input
    free = np.intersect1d(
        _unfixed(system, matrix, _first_order(system)), system.equation[6 * system.n :][system.order == 1]
    )
    matrix = csc_array(matrix + coo_array((np.ones(len(free)), (free, free)), matrix.shape))
    causes = _causes(system, matrix, largest_gap(system, evaluation.constraint), definite=False)
    moving, names = _moving(system, causes)
    ways = {row: _as_words(evaluation.motion.R[row], motion, "moves", "turns", ", ") for row, motion in moving.items()}
    first = _leading(moving, causes.motions.shape[1])
    names += [f"{system.nodes[row]} ({ways[row]})" for row in first]
    more = "" if causes.complete else "and more, in which "
    return causes.motions.shape[1] + len(causes.idle), more + listed(names) + _along(
        len(first), len(moving) - len(first)
    )


def _leading(moving: dict[int, Array], count: int) -> list[int]:
    """Nodes, from the first on, whose motions tell those of all others; ``count`` of them move several nodes."""
    leading, known = [], np.empty((0, count))
    for row, motion in moving.items():
        before = len(known)
        for own in (motion[:3, :count], motion[3:, :count]):
            _, sizes, ways = np.linalg.svd(own - own @ known.T @ known, full_matrices=False)
            known = np.vstack([known, ways[sizes > SMALL * np.linalg.norm(own)]])
        if len(known) > before or motion.shape[1] > count:
            leading.append(row)
    return leading


def _along(leading: int, others: int) -> str:
    """That others move, too, where those that lead them do, in words."""
    more = f"{others} more node{'s' if others > 1 else ''}"
    return f", and {more} with {'them' if leading > 1 else 'it'}" if others else ""


def _undetermined(system: System, matrix: csc_array, what: str) -> str:
    """States and algebraic variables that their own equations do not determine, in words."""
    rows = _first_order(system)
    loose = _unfixed(system, matrix, rows)
    if not len(loose):
        return ""
    names = listed(_variables(system, system.free_rows[loose]))
    return (
        f"{what}: no equation determines {names}; look at its stiffness and damping in its own row, for a loop of "
        "blocks whose gains make one, or for what may be anything at rest: leave bristles of friction out, and sense a "
        "coordinate in place of the integral of its rate"
    )


def _without_inertia(system: System, values: Array, when: str) -> str:
    """Internal variables that follow accelerations and by which loops take all inertia away, in words."""
    rows = _first_order(system)
    if not len(rows):
        return ""
    rest = np.setdiff1d(np.arange(system.n_free), rows)
    seen = rows[np.flatnonzero(abs(system.solver.matrix(values)[rows][:, rest]).sum(axis=1))]
    if not len(seen):
        return ""
    if not _is_singular(system, values):
        return ""
    names = _variables(system, system.free_rows[seen])
    return (
        f"the accelerations {when} are not unique: what follows {listed(names)} takes all inertia away, as a "
        "force that is minus a mass times its acceleration does; change a gain of the loop"
    )


def _is_singular(system: System, values: Array) -> bool:
    """Whether the solver refuses a stored matrix."""
    with suppress(SingularSystemError):
        system.solver.factor(values.copy())
        return False
    return True


def _unfixed(system: System, matrix: csc_array, rows: IntArray) -> IntArray:
    """Those of the unknowns that the equations of the same ``rows`` do not determine."""
    if not len(rows):
        return rows
    units = np.append(1.0 / system.weight[system.free_rows], np.zeros(system.m))
    whole = csc_array(matrix @ diags_array(units))
    block = whole[rows].toarray()
    block = np.where(np.abs(block) > BARE * np.abs(block).max(axis=1, keepdims=True), block, 0.0)[:, rows]
    _, values, vectors = np.linalg.svd(block * comparable(block, rows >= 0)[:, None])
    loose = np.abs(vectors[values < SMALL**2 * values.max(initial=1.0)]).max(axis=0, initial=0.0) > SMALL
    return np.asarray(rows[loose])


def _first_order(system: System) -> IntArray:
    """Equations of states and algebraic variables."""
    internal = np.flatnonzero((system.order == 0) | (system.order == 1))
    return system.equation[6 * system.n + internal]


def _causes(system: System, matrix: csc_array, gap: float, definite: bool = True) -> Causes:
    # states and algebraic variables follow from the others, but for integrators at rest
    lower = _first_order(system)
    if not definite and len(_unfixed(system, matrix, lower)):
        lower = lower[:0]
    rest = np.delete(np.arange(system.n_free), lower)
    scale = np.ones(len(rest)) if definite else 1.0 / system.weight[system.free_rows[rest]]
    small = matrix.shape[0] <= DENSE
    if small:
        matrix = matrix.toarray()
    M = _part(matrix, rest, rest)
    if len(lower) and not definite:
        inner, outer = (own if small else own.toarray() for own in (matrix[lower][:, lower], matrix[lower][:, rest]))
        M = M - matrix[rest][:, lower] @ np.linalg.solve(inner, outer)
        M = M if small else csc_array(M)
    M = scaled(M, scale, scale)
    own = np.isin(rest, _first_order(system))
    if own.any():
        M = scaled(M, comparable(M, own), np.ones(len(rest)))
    B = _part(matrix, np.arange(system.n_free, matrix.shape[0]), rest)
    B = scaled(B, np.ones(B.shape[0]), scale)
    # unknowns in no equation and equations without unknowns are told apart, however many there are
    idle = lengths(M, 0) + lengths(B, 0) == 0.0
    void = lengths(B, 1) * system.constraint_weight < SMALL**2
    busy, acting = np.flatnonzero(~idle), np.flatnonzero(~void)
    M, B = _part(M, busy, busy), _part(B, acting, busy)
    units, motions, repeated, complete = null_spaces(M, B, definite, gap)
    if repeated.shape[1]:  # that light bodies hang on heavy ones does not count
        metric = np.square(system.weight[system.free_rows[rest]][busy] * scale[busy])
        metric = np.diag(metric) if small else csc_array(diags_array(metric))
        _, _, repeated, complete = null_spaces(metric, B, gap=gap)
    at = system.free_rows[rest]
    components = np.zeros((system.N, motions.shape[1]))
    components[at[busy]] = np.where(np.abs(motions) > SMALL, (scale[busy] * units)[:, None] * motions, 0.0)
    return Causes(components, at[idle], np.flatnonzero(void), acting, repeated, complete)


def _part(matrix: Matrix, rows: IntArray, columns: IntArray) -> Matrix:
    """Some rows and columns of a matrix; itself if that is all of them."""
    if matrix.shape == (len(rows), len(columns)):
        return matrix
    if isinstance(matrix, np.ndarray):
        return np.asarray(matrix[np.ix_(rows, columns)])
    return csc_array(matrix[:, columns][rows])


def _moving(system: System, causes: Causes) -> tuple[dict[int, Array], list[str]]:
    """Motions ``(6, r)`` of each node that has any, and names of the internal variables that move."""
    together = causes.motions[: 6 * system.n].reshape(system.n, 6, -1)
    rows, kinds = np.divmod(causes.idle[causes.idle < 6 * system.n], 6)
    moving = np.union1d(rows, np.flatnonzero(together.any(axis=(1, 2))))
    nodes = {int(row): np.hstack([together[row], np.eye(6)[:, kinds[rows == row]]]) for row in moving}
    components = np.union1d(np.flatnonzero(causes.motions.any(axis=1)), causes.idle)
    return nodes, _variables(system, components[components >= 6 * system.n])


def _variables(system: System, components: IntArray) -> list[str]:
    """Internal variables in words."""
    pairs = [system.internal_variables[k - 6 * system.n] for k in components]
    return [f"'{variable.name}' of {owner}" for owner, variable in pairs]


def _used(system: System) -> set[Node]:
    """Nodes of elements and joints."""
    return {node for part in system.number.parts for node in part.nodes}


def _move_without_mass(system: System, causes: Causes, when: str) -> str:
    moving, names = _moving(system, causes)
    if not moving and not names:
        return ""
    used = _used(system)
    for row, motion in moving.items():
        node, ways = system.nodes[row], _as_words(system.R0[row], motion, "translation", "rotation", ", ")
        names.append(f"{node} ({ways if node in used else node.unused})")
    unused = any(system.nodes[row] not in used for row in moving)
    more = ". What a script makes becomes part of the model by model.add(...)" if unused else ""
    return (
        f"the accelerations {when} are not unique: {listed(names)} can move without mass. Give the node a "
        "RigidBody or a beam (a PointMass has no rotational inertia), close the motion by a joint, or hold it with "
        f"model.fix(node, translation=..., rotation=...){more}"
    )


def _move_without_resistance(system: System, causes: Causes, R: Array, when: str) -> str:
    moving, names = _moving(system, causes)
    if not moving and not names:
        return ""
    names = [f"{name} can move" for name in names]
    used = _used(system)
    first = _leading(moving, causes.motions.shape[1])
    for row in first:
        node = system.nodes[row]
        made = "" if node in used else f" ({node.unused})"
        names.append(f"{node}{made} can {_as_words(R[row], moving[row], 'move', 'turn', ' and ')}")
    return (
        f"the equilibrium {when} is not unique: {listed(names)} without resistance"
        f"{_along(len(first), len(moving) - len(first))}. Hold a node with "
        "model.fix(node, translation=..., rotation=...), close the motion by a joint, or connect the node to a beam"
    )


def _as_words(R: Array, motion: Array, move: str, turn: str, between: str) -> str:
    """How a node with the rotation ``R`` moves by motions ``(6, r)``, in words."""
    words = _span(move, "along", R @ motion[:3]), _span(turn, "about", R @ motion[3:])
    return between.join(filter(None, words))


def _span(kind: str, along: str, vectors: Array) -> str:
    """Words for the span of three-vectors ``(3, r)``, world frame."""
    axes, sizes, _ = np.linalg.svd(vectors)
    rank = int((sizes > SMALL * sizes.max(initial=0.0)).sum())
    if rank in (0, 3):
        return kind if rank else ""
    axis = axes[:, 0] if rank == 1 else axes[:, 2]
    axis = np.round(axis * np.sign(axis[np.argmax(np.abs(axis))]), 3) + 0.0
    return f"{kind} {along if rank == 1 else f'{along} axes across'} ({', '.join(f'{a:g}' for a in axis)})"


COMPONENTS = ("force x", "force y", "force z", "moment x", "moment y", "moment z")
SHOWN = 4
WORST = 3
MUCH = 0.1
"""Change of a force in a step, against its size, that is worth mentioning."""


def explain_failure(system: System, last: State, t: float, failure: FemMbsError, advice: str) -> str:
    """Why no step can be made from the last state to the time t, in the words of the model.

    A Newton iteration tells its residuals and the worst equations by the names of their owners, or whose forces are not
    finite numbers. It may also end at a motion that an element refuses: which of the two depends on the last bits where
    it diverges, so that both say whose forces changed. Where the last state is singular, the nodes or joints that make
    it so are named.
    """
    if isinstance(failure, NotConvergedError | MotionError) and (text := _leap(system, last.t, t)):
        return text
    lines = [str(failure)]
    if isinstance(failure, NotConvergedError) and failure.value is not None:
        evaluation = failure.value.evaluation
        lines.append(f"relative residuals {shown_residuals(failure)}")
        if text := not_finite(system, system.evaluate_at(last)):
            return "\n  ".join([*lines, text])
        if text := not_finite(system, evaluation):
            return "\n  ".join(filter(None, [*lines, text, _controlled(system)]))
        lines.append(f"worst equations: {worst_equations(system, evaluation)}")
        changes = [moved_most(system, system.motion(last), evaluation.motion)]
        changes += what_changed(system, last, evaluation.motion.t, evaluation.motion)
        if passed := passed_kinks(system, system.evaluate_at(last), evaluation):
            changes.append(f"beyond a kink: {', '.join(passed)}")
        goes_round = failure.report is not None and failure.report.history[-1] > MUCH
        lines += [f"changed most: {'; '.join(changes)}", jammed(system) if goes_round else "", advice]
    elif isinstance(failure, MotionError):
        with suppress(LawError):  # a law that fails is the failure, or would be at the end of the step
            lines.extend(f"changed most: {change}" for change in what_changed(system, last, t))
    if isinstance(failure, NotConvergedError | MotionError):
        lines.append(_controlled(system))
    if isinstance(failure, NotConvergedError | SingularSystemError):
        evaluation = system.evaluate_at(last)
        lines.append(_locked(system, evaluation))
        lines.append(describe_singular(system, evaluation, f"at t = {last.t:.6g} s"))
    return "\n  ".join(filter(None, lines))


def _leap(system: System, before: float, t: float) -> str:
    """The drive that jumps between two times by so much that no step takes it, in words."""
    for own in system.number.equations:
        for name, law in own.laws_of_time().items():
            with suppress(LawError):  # which is the failure itself
                by, at = jump(law, own, before, t, MUCH * (1.0 if law.turns else system.length))
                if by:
                    return (
                        f"{own}: its {name} jumps by {by:.3g} {'rad' if law.turns else 'm'} at t = {at:.6g} s, and "
                        "nothing moves at once; let it get there within some steps, as SmoothStep does, or let a "
                        "PositionMotor follow it"
                    )
    return ""


def jammed(system: System, change: Array | None = None) -> str:
    """Whose friction may have jammed where a residual does not fall, or reactions still ``change`` (m,)."""
    moving = np.ones(system.m, np.bool_) if change is None else np.abs(change) > MUCH * np.abs(change).max()
    names = [
        f"{own} on {own.joint}"
        for k, rows in system.reads
        for own, read in zip(system.batches[k].owners, rows, strict=True)
        if isinstance(own, CoordinateElement) and moving[read].any()
    ]
    if not names:
        return ""
    return (
        f"{listed(names)}: reactions that friction makes press on it; where they press more than it takes to "
        "make them it jams, and no motion goes on: it would stop at once, as by a blow. Where that is meant, begin, or "
        "go on from there, with velocities of zero or with a joint that holds it; else look at its coefficients, its "
        "length or radius, and at levers of the forces"
    )


LOCKED = 5.0
"""Velocities at a rate of a drive over those as built, with which a mechanism is about to lock."""


def _locked(system: System, last: Evaluation) -> str:
    """Which drives lead a mechanism to where its joints cannot be closed any more: before, all moves ever faster."""
    driven = [k for k, (own, equation) in enumerate(system.constraint_owner) if equation in own.driven]
    if not driven:
        return ""
    speeds = np.zeros((2, len(driven)))
    for own, place in zip(speeds, (without_accelerations(system, as_built(system)), last), strict=True):
        factors = system.solver.factor(leading_matrix(system, place))
        for j, k in enumerate(driven):
            v, _ = tangent.solve_with_constraints(system, factors, None, np.eye(1, system.m, k)[0])
            own[j] = np.abs(v * system.weight).max()
    locks = np.compress(speeds[1] > LOCKED * speeds[0], driven)
    if not len(locks):
        return ""
    names = listed(dict.fromkeys(system.constraint_owner[k][0] for k in locks))
    return (
        f"{names} drives the mechanism to where it locks: beyond, joints cannot be closed, and before it all else "
        "moves ever faster. Look at lengths and at the range of the drive, or let a motor push, which gives way"
    )


def _controlled(system: System) -> str:
    """What controllers act by, if there are any: a loop may be what makes a motion grow."""
    wired = (owner for batch in system.batches if isinstance(batch, WiredBatch) for owner in batch.owners)
    acting = [str(owner) for owner in wired if owner.nodes]
    if not acting:
        return ""
    return (
        f"control acts by {listed(acting, '; ')}: a loop that is unstable grows until steps fail, as where the sign "
        "of its error is wrong, which is reference minus measured, 0 - angle, or with gains beyond what its samples or "
        "what bends between sensor and actuator bear; mbs.linearize(model).state_space(...) has its plant"
    )


def owners_of_branches(system: System, evaluation: Evaluation) -> list[str]:
    """Whose each of the sides is that laws are on of their kinks."""
    return [
        str(owner)
        for k in system.kinked
        for owner in system.batches[k].owners
        for _ in range(system.batches[k].branches(evaluation.contexts[k])[0].size)
    ]


def passed_kinks(system: System, before: Evaluation, after: Evaluation) -> list[str]:
    """Whose law is on another side of a kink after than before, or is pressed the other way by reactions."""
    found: list[str] = []
    if system.kinked:
        sides = system.branches(before) != system.branches(after)
        found += np.array(owners_of_branches(system, after))[sides].tolist()
    for k, rows in system.reads:
        turned = np.vecdot(before.multipliers[rows], after.multipliers[rows]) < 0.0
        found += [str(owner) for owner, own in zip(system.batches[k].owners, turned, strict=True) if own]
    return list(dict.fromkeys(found))


def moved_most(system: System, before: Motion, after: Motion) -> str:
    """The node that moved most from one motion to another, in words."""
    moved = np.linalg.norm(after.x - before.x, axis=1) / system.length
    turned = np.linalg.norm(so3.log(before.R.mT @ after.R), axis=1)
    size = np.nan_to_num(np.maximum(moved, turned), nan=np.inf)
    row = int(np.argmax(size))
    return (
        f"{system.nodes[row]} (moved by {moved[row] * system.length:.2g}, turned by {turned[row]:.2g} rad in the last "
        "attempt)"
    )


def what_changed(system: System, last: State, t: float, reached: Motion | None = None) -> list[str]:
    """Which joint or whose forces changed most from the last state to the time t, in words, if any did much.

    Those that change with time alone come first, as the others follow from the motion that an iteration reached.
    """
    before = system.motion(last)
    with suppress(MotionError):  # which says itself what is too far
        gaps = system.evaluate(before, last.multipliers, system.prescribe(t)).constraint * system.constraint_weight
        if (size := np.abs(gaps)).max(initial=0.0) > MUCH:
            joint, equation = system.constraint_owner[int(size.argmax())]
            return [f"with time alone, the drive of {joint} (its {equation} is open by {size.max():.2g})"]
    here = _forces(system, before, last.t)
    for motion, whose in ((before, "with time alone, the forces of"), (reached, "the forces of")):
        there = _forces(system, motion, t) if motion is not None else {}
        changes = {name: abs(size - here[name]) for name, size in there.items()}
        name = max(changes, key=changes.__getitem__, default="")
        if name and changes[name] > MUCH * here[name]:
            return [f"{whose} {name} (from {here[name]:.2g} to {there[name]:.2g})"]
    return []


def _forces(system: System, motion: Motion, t: float) -> dict[str, float]:
    """Largest force or moment of each element."""
    sizes: dict[str, float] = {}
    for batch, data in zip(system.batches, system.prescribe(t).elements, strict=True):
        force = np.nan_to_num(np.abs(batch.force(motion, data)[0])).reshape(len(batch.nodes), -1)
        for owner, size in zip(batch.owners, force.max(axis=1, initial=0.0).tolist(), strict=True):
            sizes[str(owner)] = max(sizes.get(str(owner), 0.0), size)
    return sizes


def shown_residuals(failure: NotConvergedError) -> str:
    """Relative residuals of an iteration, the first few and the last."""
    residuals = [f"{value:.1e}" for value in failure.report.history] if failure.report else []
    if len(residuals) > SHOWN:
        residuals[SHOWN - 1 : -1] = ["..."]
    return ", ".join(residuals)


def worst_equations(system: System, evaluation: Evaluation) -> str:
    """The equations with the largest residuals, by the names of their owners."""
    with np.errstate(all="ignore"):
        sizes = np.append(np.tile(np.repeat(evaluation.scale, 3), system.n), evaluation.own_scale)
        force = np.abs(system.spread((evaluation.force / sizes)[system.free_rows]))
    constraint = np.abs(evaluation.constraint * system.constraint_weight)
    relative = np.nan_to_num(np.concatenate([force, constraint]), nan=np.inf)
    worst = np.argsort(-relative, kind="stable")[:WORST]
    return "; ".join(f"{_equation(system, int(index))} ({relative[index]:.1e})" for index in worst)


def _equation(system: System, index: int) -> str:
    """An equation by the name of its owner: of a node, of an internal variable, or of a joint."""
    if index < 6 * system.n:
        return f"{system.nodes[index // 6]} {COMPONENTS[index % 6]} in its body frame"
    if index < system.N:
        owner, variable = system.internal_variables[index - 6 * system.n]
        return f"{owner} '{variable.name}'"
    owner, equation = system.constraint_owner[index - system.N]
    return f"{owner} {equation}"
