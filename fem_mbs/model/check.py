"""Looks at a model before it runs: what it can do, what it weighs, and what looks wrong.

Wrong look nodes that seem forgotten (used by nothing, at one place but not connected, with no way to the ground) and
elements that seem added twice (of one class, with equal arguments, on the same nodes), among others (docs/check.md).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contact.contacts import contacts_of
from fem_mbs.contact.nonsmooth_alpha import NonsmoothAlpha
from fem_mbs.contact.shared_loads import describe, leaning_contacts
from fem_mbs.contracts import Constraint, ControlElement, Element, ModelContext, Node, Public, State, WiredBatch
from fem_mbs.contracts.arguments import listed
from fem_mbs.contracts.public import same
from fem_mbs.contracts.time_law import in_degrees
from fem_mbs.contracts.unilateral import TOUCHING, UnilateralBatch
from fem_mbs.elements.bodies import RigidBody
from fem_mbs.elements.contact.contact import Contact
from fem_mbs.elements.forces.coordinate_law import CoordinateElement
from fem_mbs.errors import FemMbsError
from fem_mbs.initial import state_point
from fem_mbs.initial.singular import explain_singular, free_motions, surplus_equations
from fem_mbs.model.description import ModelDescription
from fem_mbs.pictures.pictures import page
from fem_mbs.system.matrices import mass_product
from fem_mbs.system.system import GAP, Evaluation, System

SHOWN = 4
WIDTH = 22


class Finding(NamedTuple):
    """Something that looks wrong.

    Attributes
    ----------
    text : str
        What it is and what to try.
    of : tuple of str
        Names of the objects that it is about.
    refused : bool
        Whether a run would refuse the model for it.
    """

    text: str
    of: tuple[str, ...] = ()
    refused: bool = False

    def __str__(self) -> str:
        return f"{listed(self.of, most=SHOWN)}: {self.text}" if self.of else self.text


@dataclass(repr=False)
class Check(Public):
    """What :meth:`fem_mbs.Model.check` has found; ``print`` shows all of it.

    Attributes
    ----------
    title : str
        What the model is made of.
    unknowns, equations, redundant : int
        Components of nodes and own coordinates of elements that may move, equations of joints, and how many of these
        are too many.
    free_motions : int
        Independent motions that nothing resists as built: those of a mechanism.
    moving : str
        What moves in these.
    masses : dict of str to float
        Mass of each element that has any.
    center_of_mass : (3,) or None
        World frame.
    gap : float
        Largest gap of a joint against the extent of the model.
    contacts : int
        Points of rigid contacts, stops and ropes, which ``NonsmoothAlpha`` alone integrates.
    findings : list of Finding
        What looks wrong.
    """

    title: str
    unknowns: int = 0
    equations: int = 0
    redundant: int = 0
    free_motions: int = 0
    moving: str = ""
    masses: dict[str, float] = field(default_factory=dict)
    center_of_mass: Array | None = None
    gap: float = 0.0
    contacts: int = 0
    findings: list[Finding] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing looks wrong."""
        return not self.findings

    @property
    def degrees_of_freedom(self) -> int:
        """Independent motions that joints leave."""
        return self.unknowns - self.equations + self.redundant

    @property
    def mass(self) -> float:
        """Mass of the whole model."""
        return sum(self.masses.values())

    def rows(self) -> list[tuple[str, str]]:
        """What there is, a name and words for it each."""
        independent = self.equations - self.redundant
        rows = [
            (
                "degrees of freedom",
                f"{self.degrees_of_freedom}: {self.unknowns} of nodes and elements less {independent} closed by joints",
            ),
            ("redundant equations", f"{self.redundant} of {self.equations}"),
            ("free motions", f"{self.free_motions}" + (f": {self.moving}" if self.moving else "")),
            ("mass", f"{self.mass:.6g}" + (f" ({self._heaviest()})" if self.masses else "")),
        ]
        if self.center_of_mass is not None:
            rows.append(("mass centre", f"({', '.join(f'{x:.4g}' for x in np.round(self.center_of_mass, 9) + 0.0)})"))
        if self.contacts:
            rows.append(("rigid contacts", f"{self.contacts} points, for NonsmoothAlpha, the default method then"))
        return [*rows, ("gaps of joints", f"{self.gap:.1e} of the extent of the model")]

    def _heaviest(self) -> str:
        ordered = sorted(self.masses.items(), key=lambda pair: -pair[1])
        named = [f"{name}: {mass:.4g}" for name, mass in ordered[:SHOWN]]
        return ", ".join([*named, *([f"{len(ordered) - SHOWN} more"] if len(ordered) > SHOWN else [])])

    def _verdict(self) -> str:
        if self.ok:
            return "nothing looks wrong"
        return f"{len(self.findings)} thing{'s look' if len(self.findings) > 1 else ' looks'} wrong:"

    def __str__(self) -> str:
        lines = [self.title, *(f"  {name:{WIDTH}}{text}" for name, text in self.rows()), f"  {self._verdict()}"]
        return "\n".join([*lines, *("  - " + str(finding).replace("\n", "\n    ") for finding in self.findings)])

    def __repr__(self) -> str:
        return f"Check: {self.degrees_of_freedom} degrees of freedom, {self._verdict().rstrip(':')}"

    def _repr_html_(self) -> str:
        return page([*self.rows(), (self._verdict(),), *((finding,) for finding in self.findings)], self.title)


NEAR = 1e-6
"""Distance of nodes that are at one place, against the extent of the model."""
LARGE = 300.0
"""Extent in m from which on lengths look like millimetres."""
SHORT = 10.0
"""Extent up to which lengths do not look like millimetres."""
SMALL_G, LARGE_G = (9.0, 11.0), (9000.0, 11000.0)
REACH = 100.0
"""Distance of the point of a joint from its node, against the extent of the nodes, that looks wrong."""
GYRATION = 5.0
"""Extent of one body alone against its radius of gyration, at the most."""


def look_at_nodes(system: System) -> Iterator[Finding]:
    """What looks wrong of them."""
    parts = list(enumerate(system.number.parts))
    used = {system.number(node): k for k, part in reversed(parts) for node in part.nodes}
    unused = defaultdict(list)
    for row in range(1, system.n):
        if row not in used:
            unused[system.nodes[row].unused].append(str(system.nodes[row]))
    for why, names in unused.items():
        yield Finding(f"{why}; connect it, or leave it out", tuple(names))
    held = [own for own in system.elements if set(own.nodes) == {system.nodes[0]}]
    if idle := [str(own) for own in held if own.external or own.center_of_mass is not None]:
        yield Finding("a mass or a load on the ground does nothing; give it a node of its own", tuple(idle))
    free = np.logical_or.reduce(system.free.reshape(-1, 2, 3), axis=2)  # places and rotations of nodes

    def moves(nodes: Iterable[Node], part: int) -> bool:
        return bool(free[[system.number(node) for node in nodes], part].any())

    loads = [own for own in system.elements if own.external and own not in held]
    if idle := [str(own) for own in loads if not moves(own.nodes, 0) and not moves(own.rotation_dependent, 1)]:
        yield Finding("a load on a node that is held does nothing; is it another node, as the other end?", tuple(idle))
    seams = defaultdict(list)
    for first, second in _unconnected(system):
        seams[used.get(first, first - system.n), used.get(second, second - system.n)].append((first, second))
    for (first, second), *more in seams.values():
        slit = f" ({len(more) + 1} such pairs: a surface is not closed, or points of a mesh not merged)" if more else ""
        yield Finding(
            f"at the same place, but nothing connects them{slit}; use one node for both, or add a joint",
            (str(system.nodes[first]), str(system.nodes[second])),
        )


def look_at_masses(system: System, carried: set[int]) -> Iterator[Finding]:
    """Nodes that joints move and no element gives a mass or a stiffness; not frames that a joint holds altogether."""
    jointed: dict[int, int] = {}
    joints: list[Constraint] = [joint for batch in system.constraint_batches for joint in batch.owners]
    for joint in joints:
        for node in joint.nodes:
            row = system.number(node)
            jointed[row] = max(jointed.get(row, 0), len(joint.equations) - len(joint.driven))
    free = set(np.flatnonzero(system.free.reshape(system.n, 6).any(axis=1)).tolist())
    light = [row for row, closed in jointed.items() if row in free and closed < 6 and row not in carried]
    if light:
        names = tuple(str(system.nodes[row]) for row in sorted(light))
        yield Finding("joints move it and it has no mass; if it is to be a body, give it a RigidBody", names)


def _unconnected(system: System) -> Iterator[tuple[int, int]]:
    """Pairs of nodes at one place that nothing connects there; not with the ground, whose place means little.

    Cells of batches connect: a beam or a shell whose ends meet at two nodes is slit there.
    """
    from scipy.spatial import cKDTree  # which takes long to import

    pairs = cKDTree(system.x0[1:]).query_pairs(NEAR * system.length, output_type="ndarray") + 1
    if not len(pairs):
        return
    _, place = connected_components(_graph(pairs, system.n), directed=False)
    cells = [batch.nodes[:, np.triu_indices(batch.nodes.shape[1], 1)] for batch in system.all_batches]
    linked = np.concatenate([pairs[:0], *(ends.swapaxes(1, 2).reshape(-1, 2) for ends in cells)])
    here = linked[place[linked[:, 0]] == place[linked[:, 1]]]
    _, joined = connected_components(_graph(here, system.n), directed=False)
    seen = set()
    for a, b in sorted(pairs.tolist()):
        key = joined[a], joined[b]
        if joined[a] != joined[b] and key not in seen:
            seen |= {key, key[::-1]}
            yield a, b


def _graph(pairs: IntArray, n: int) -> coo_array:
    return coo_array((np.ones(len(pairs)), pairs.T), shape=(n, n))


def look_at_twins(system: System) -> Iterator[Finding]:
    """Equal bodies, beams, springs and loads; sensors and blocks may be as many as there are questions."""
    groups: dict[Any, list[tuple[Element, Any]]] = defaultdict(list)
    for element in system.elements:
        made, kind = element.constructor_arguments, type(element)
        if element.nodes and made is not None and not isinstance(element, ControlElement):
            (bound := made.of(element)).apply_defaults()
            # numbers and arrays are kept alike, however they were written
            kept = ((vars(element).get(name), value) for name, value in list(bound.arguments.items())[1:])
            made_of = [own if isinstance(own, float | np.ndarray) else value for own, value in kept]
            groups[kind, tuple(map(id, element.nodes))].append((element, made_of))
    for alike in groups.values():
        for k, (element, made_of) in enumerate(alike):
            twins = [other for other, arguments in alike[:k] if same(arguments, made_of)]
            if twins:
                yield Finding(
                    f"the same as {twins[0]}, on the same nodes; remove one if it is meant once", (str(element),)
                )


def examine(model: ModelDescription) -> Check:
    """What :meth:`fem_mbs.Model.check` returns."""
    check = Check(str(model).splitlines()[0] + ("" if model.gravity.any() else ", without gravity"))
    try:
        system = System(model)
    except FemMbsError as error:
        check.findings.append(Finding(str(error), refused=True))
        return check
    check.findings += look_at_nodes(system)
    check.findings += look_at_twins(system)
    check.findings += [Finding(text, (part,)) for part, text in state_point.apart(system)]
    for look in (look_at_joints, look_at_drives, look_at_strengths, look_at_gravity, look_at_contacts):
        check.findings += look(system)
    try:
        _look_at_equations(system, check)
    except FemMbsError as error:
        check.findings.append(Finding(str(error), refused=True))
    return check


def look_at_strengths(system: System) -> Iterator[Finding]:
    """Springs, motors and loads that do nothing."""
    idle = defaultdict(list)
    for element in system.elements:
        values = [getattr(element, name) for name in element.strengths]
        if values and all(
            value is None or isinstance(value, int | float | np.ndarray) and not np.any(value) for value in values
        ):
            idle[element.strengths].append(str(element))
    for strengths, names in idle.items():
        yield Finding(
            f"does nothing: {' and '.join(strengths)} {'is' if len(strengths) < 2 else 'are'} zero", tuple(names)
        )


def look_at_contacts(system: System) -> Iterator[Finding]:
    """Contacts and stops that are deep as built."""
    for part, text in state_point.deep(system, system.at_rest()):
        yield Finding(f"{text}; {state_point.PLACED}", (part,), refused=True)
    for part, text in state_point.pressed(system):
        yield Finding(text, (part,))
    jointed = {frozenset(own.nodes) for own in system.number.equations if system.nodes[0] not in own.nodes}
    jams = []
    for batch in system.batches if jointed else ():
        if isinstance(batch, UnilateralBatch) and isinstance(batch.owners[0], Contact):
            near = batch.whole.gaps(system.at_rest()).min(axis=1, initial=np.inf) < TOUCHING * system.length
            parts = (batch.part(row) for row in np.flatnonzero(near).tolist())
            jams += [str(part) for part in parts if frozenset(part.nodes) in jointed]
    if jams:
        yield Finding(
            "its bodies touch where a joint holds them together, and jam as they turn; leave this pair out, or let the "
            "shapes end before the joint",
            tuple(jams),
        )


def look_at_gravity(system: System) -> Iterator[Finding]:
    """Gravity in metres and lengths in millimetres, or the other way round."""
    g = float(np.linalg.norm(system.gravity))
    if SMALL_G[0] < g < SMALL_G[1] and system.length > LARGE:
        yield Finding(
            f"the model extends over {system.length:.4g}, and gravity is {g:.4g}, as in m/s^2; if lengths are in mm, "
            "gravity is 9810"
        )
    if LARGE_G[0] < g < LARGE_G[1] and system.length < SHORT:
        yield Finding(
            f"the model extends over {system.length:.4g}, and gravity is {g:.4g}, as in mm/s^2; if lengths are in m, "
            "gravity is 9.81"
        )


def look_at_joints(system: System) -> Iterator[Finding]:
    """Joints whose points are far away from nodes near each other: points in millimetres."""
    extent = system.length
    if system.n < 3:  # which may be at the origin of the world
        inertias = [np.linalg.norm(own.inertia) / own.mass for own in system.elements if isinstance(own, RigidBody)]
        extent = max(float(np.ptp(system.x0, axis=0).max()), GYRATION * float(np.sqrt(max(inertias, default=0.0))))
    for joint in system.number.equations:
        points = zip(joint.nodes, joint.offsets, strict=False)
        reach = {str(node): float(np.linalg.norm(offset)) for node, offset in points if node is not system.nodes[0]}
        node = max(reach, key=reach.__getitem__, default="")
        if node and reach[node] > REACH * extent > 0.0:
            yield Finding(
                f"its point is {reach[node]:.3g} away from {node}, and the model extends over {extent:.3g}; look at "
                "the units of its point",
                (str(joint),),
            )


def look_at_drives(system: System) -> Iterator[Finding]:
    """Drives in degrees, and what acts along a coordinate that is driven."""
    drives: dict[tuple[Constraint, str], Constraint] = {}
    for own in system.number.equations:
        joint, names = own.drives()
        drives |= {(joint, name): own for name in names}
        for law in own.laws_of_time().values():
            if law.turns and (told := in_degrees(law.function, "its drive")):
                yield Finding(told, (str(own),))
    for element in system.elements:
        if isinstance(element, CoordinateElement) and not isinstance(element, ControlElement):
            if driven := drives.get((element.joint, element.coordinate)):
                yield Finding(
                    f"{driven} prescribes '{element.coordinate}', along which it acts: it loads the drive and "
                    "does not change the motion; leave one of both out",
                    (str(element),),
                )


def _look_at_equations(system: System, check: Check) -> None:
    """Counts, masses, gaps and what elements doubt, as far as the model can be computed with."""
    evaluation = state_point.without_accelerations(
        system, state_point.as_built(system)._replace(v=np.zeros((system.n, 6)))
    )
    check.unknowns = int(system.free.sum() + (system.order == 2).sum())
    check.equations = system.m
    if not system.n_free:
        check.redundant = system.m
    check.contacts = sum(len(element.contacts) for element in system.elements if not element.yields)
    check.masses, check.center_of_mass = _masses(system, evaluation)
    check.findings += look_at_masses(system, _carried(system, evaluation))
    check.gap = state_point.largest_gap(system, evaluation.constraint)
    rows = np.flatnonzero(np.abs(evaluation.constraint * system.constraint_weight) > GAP)
    gaps: dict[str, list[str]] = {}
    for row in rows:
        owner, equation = system.constraint_owner[row]
        gaps.setdefault(str(owner), []).append(f"{equation} by {evaluation.constraint[row]:.3g}")
    for joint, equations in gaps.items():
        advice = "correct a point or an axis, or let model.assemble() close it"
        text = f"its frames do not meet: {', '.join(equations)}; {advice}"
        check.findings.append(Finding(text, (joint,), refused=True))
    check.findings += _doubts(system, evaluation)
    state_point.refuse_broken(system, "Model.check")
    check.redundant, repeated, without_mass = surplus_equations(system, evaluation)
    if repeated:
        check.findings.append(Finding(repeated))
    if without_mass:
        check.findings.append(Finding(without_mass, refused=True))
        return
    check.free_motions, check.moving = free_motions(system, evaluation)
    if check.redundant and not check.degrees_of_freedom and not any(own.driven for own in system.number.equations):
        text = "nothing can move: joints close every motion, some twice; if a mechanism is meant, look at their axes"
        check.findings.append(Finding(text))
    if check.contacts and not any(finding.refused for finding in check.findings):
        check.findings += look_at_loads(system)


def look_at_loads(system: System) -> Iterator[Finding]:
    """Contacts whose friction leans on loads that are not unique, where a run would start so."""
    place, none = state_point.as_built(system), np.zeros((system.n, 6))
    start = State(*place[:4], none, np.zeros(system.m), place.u, place.udot, np.zeros(system.k))
    with suppress(FemMbsError):  # which a run would tell
        explain_singular(system, state_point.without_accelerations(system, place), "at the start", of_reactions=False)
        if leaning := leaning_contacts(contacts_of(system), NonsmoothAlpha().settle(system, start)):
            yield Finding(describe(leaning))


def _masses(system: System, evaluation: Evaluation) -> tuple[dict[str, float], Array | None]:
    """Mass of each element, and the mass centre: the moments of the momenta of three translations."""
    masses: dict[str, float] = {}
    R = evaluation.motion.R
    for batch, context in zip(system.batches, evaluation.contexts, strict=True):
        if (mass := batch.mass(context)) is None:
            continue
        p = 6 * batch.nodes.shape[1]
        moved = np.zeros((*batch.nodes.shape, 6))
        moved[..., :3] = R[batch.nodes][..., 0, :]
        moved = moved.reshape(len(moved), p)
        for owner, share in zip(batch.owners, np.vecdot(moved, np.matvec(mass[:, :p, :p], moved)), strict=True):
            masses[str(owner)] = masses.get(str(owner), 0.0) + float(share)
    masses = {name: mass for name, mass in masses.items() if mass > 0.0}
    if not masses:
        return masses, None
    moments = np.zeros((3, 3))
    for k in range(3):
        d = np.zeros((system.n, 6))
        d[:, :3] = R[:, k]
        momentum = system.nodes_of(mass_product(system, evaluation, np.append(d, np.zeros(system.k))))
        force, moment = np.matvec(R, momentum[:, :3]), np.matvec(R, momentum[:, 3:])
        moments[k] = (moment + np.cross(evaluation.motion.x, force)).sum(axis=0)
    # c x e_k times the mass
    center = np.array([moments[1, 2] - moments[2, 1], moments[2, 0] - moments[0, 2], moments[0, 1] - moments[1, 0]])
    return masses, 0.5 * center / sum(masses.values()) + system.origin


def _carried(system: System, evaluation: Evaluation) -> set[int]:
    """Rows of nodes that elements give a mass or a stiffness: not loads and motors, whose forces turn with nodes."""
    rows: set[int] = set()
    for batch, context in zip(system.batches, evaluation.contexts, strict=True):
        p, loads = batch.nodes.shape[1], batch.owners[0].external or batch.owners[0].active
        for matrix in (batch.mass(context), None if loads else batch.stiffness(context)):
            if matrix is not None and p:
                diagonal = np.abs(np.diagonal(matrix, axis1=-2, axis2=-1)[..., : 6 * p])
                sizes = diagonal.reshape(len(diagonal), p, 6).max(axis=-1)
                rows |= set(np.broadcast_to(batch.nodes, sizes.shape)[sizes > 0.0].tolist())
    return rows


def _doubts(system: System, evaluation: Evaluation) -> list[Finding]:
    """What elements find wrong of themselves, those of one opinion together."""
    R, acting = evaluation.motion.R, -system.nodes_of(evaluation.force)
    force, moment = np.matvec(R, acting[:, :3]), np.matvec(R, acting[:, 3:])
    whole = float(np.ptp(system.x0, axis=0).max())  # one node alone tells of no size
    read = {row for batch in system.batches if isinstance(batch, WiredBatch) for row in batch.rows.ravel().tolist()}
    context = ModelContext(system.number, system.gravity, whole, force, moment, read)
    said: dict[str, list[str]] = {}
    for element in system.elements:
        if type(element).doubts is not Element.doubts:
            for text in element.doubts(context):
                said.setdefault(text, []).append(str(element))
    return [Finding(text, tuple(owners)) for text, owners in said.items()]
