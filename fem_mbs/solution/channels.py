"""Channels: columns of numbers over time under the names of a model, as ``"tip.position.x"`` or ``"energy.total"``.

A channel is the name of a node, a joint or an element, a quantity, and, where only some of its columns are wanted, what
these are called: ``name.quantity.column``. Of columns that are counted, as those of the elements of a beam, a name
without the number is all of them. Quantities of the whole model have no name before them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from difflib import get_close_matches
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Constraint, Element, Node, SectionForces, SignalSource, shown
from fem_mbs.elements.shells.shell import Shell
from fem_mbs.errors import ModelError
from fem_mbs.solution.queries import Queries
from fem_mbs.solution.turns import counting
from fem_mbs.system.system import System

Part: TypeAlias = Node | Element | Constraint | None
"""Whose channel it is; None for the whole model."""
Columns: TypeAlias = dict[str, str]
"""Units of columns by their names; one that has no name is the quantity itself."""

SECTION_FORCES = {
    "axial": "N",
    "shear_y": "N",
    "shear_z": "N",
    "torsion": "N m",
    "bending_y": "N m",
    "bending_z": "N m",
}
SHELL_FORCES = dict.fromkeys(("n11", "n22", "n12"), "N/m") | dict.fromkeys(("m11", "m22", "m12"), "N")
SHELL_FORCES |= dict.fromkeys(("q1", "q2"), "N/m")
SHELL_STRESS = dict.fromkeys(("11", "22", "12"), "N/m^2")


class Channel(NamedTuple):
    """Columns of one quantity.

    Attributes
    ----------
    name : str
        As it was asked for.
    columns : tuple of str
        Full names of the columns, such as "tip.position.x".
    units : tuple of str
        Their units, in SI; empty for numbers without one.
    """

    name: str
    columns: tuple[str, ...]
    units: tuple[str, ...]
    part: Part
    quantity: str
    """The query of a solution of this name is asked."""
    chosen: tuple[int, ...]

    def values(self, solution: Queries) -> Array:
        """The columns over time, ``(nt, c)``, computed or from a file that has them."""
        stored = solution.history.columns
        if stored and all(column in stored for column in self.columns):
            return np.stack([stored[column] for column in self.columns], axis=-1)
        found = getattr(solution, self.quantity)
        if self.part is None:
            found = tuple(getattr(found, own) for own in OF_MODEL[self.quantity](None))
        else:
            found = found(self.part)
        if isinstance(found, tuple):  # side by side, as forces and moments
            found = np.concatenate([own if own.ndim > 1 else own[:, None] for own in found], axis=-1)
        return np.asarray(found, dtype=float).reshape(len(solution.t), -1)[:, self.chosen]


def _vector(unit: str, of: str = "") -> Callable[[Any], Columns]:
    columns = {f"{of}{axis}": unit for axis in "xyz"}
    return lambda part: columns


def _reaction(part: Any) -> Columns:
    return _vector("N", "force.")(part) | _vector("N m", "moment.")(part)


def _coordinate(per: str) -> Callable[[Constraint], Columns]:
    def columns(joint: Constraint) -> Columns:
        own = {coordinate.name: ("rad" if coordinate.angle else "m") + per for coordinate in joint.coordinates}
        return own if len(own) > 1 else dict(zip([""], own.values(), strict=False))

    return columns


def _internal_variables(part: Any) -> Columns:
    return {variable.name: variable.unit for variable in part.internal_variables}


def _numbered(places: Sized, columns: Columns) -> Columns:
    """Columns of each place, by its number."""
    return {f"{k}.{name}": unit for k in range(len(places)) for name, unit in columns.items()}


def _of_shell(columns: Columns) -> Callable[[Any], Columns]:
    """What a shell has at the centre of each element; stresses are of its top, where its section knows any."""

    def of(element: Any) -> Columns:
        if not isinstance(element, Shell) or (columns is SHELL_STRESS and element.section.modulus is None):
            return {}
        return _numbered(element.cells, columns)

    return of


def _contacts(unit: str, names: Sequence[str] = ("",)) -> Callable[[Any], Columns]:
    """Of each point of a contact, numbered where there are several; of a stop of an angle, what turns."""

    def columns(part: Any) -> Columns:
        if len(part.contacts) > MOST:
            return {}
        points = [f"{k}." for k in range(len(part.contacts))] if len(part.contacts) > 1 else ["" for _ in part.contacts]
        return {f"{point}{name}".rstrip("."): unit for point in points for name in names}

    return columns


MOST = 1000
"""Points of a contact, above which they are no channels."""
Quantities: TypeAlias = dict[str, Callable[[Any], Columns]]
"""What can be asked, by the names of the queries of a solution: the columns of a part, none where it has no such thing.
"""

OF_NODE: Quantities = {
    "position": _vector("m"),
    "displacement": _vector("m"),
    "rotation": lambda _: dict.fromkeys((f"{row}{column}" for row in "xyz" for column in "xyz"), ""),
    "rotation_vector": _vector("rad"),
    "velocity": _vector("m/s"),
    "angular_velocity": _vector("rad/s"),
    "acceleration": _vector("m/s^2"),
}
OF_JOINT: Quantities = {
    "coordinate": _coordinate(""),
    "coordinate_rate": _coordinate("/s"),
    "angle": lambda joint: {"": "rad"} if sum(own.angle for own in joint.coordinates) == 1 else {},
    "reaction": _reaction,
    "multipliers": lambda joint: dict.fromkeys(map(str, range(len(joint.equations))), ""),
    "internal_variables": _internal_variables,
}
OF_ELEMENT: Quantities = {
    "nodal_forces": lambda part: {} if part.contacts and not part.yields else _numbered(part.nodes, _reaction(part)),
    "section_forces": lambda element: (
        _numbered(element.stations, SECTION_FORCES) if isinstance(element, SectionForces) else {}
    ),
    "shell_forces": _of_shell(SHELL_FORCES),
    "shell_stress": _of_shell(SHELL_STRESS),
    "signal": lambda element: (
        dict.fromkeys(map(str, range(count)) if (count := len(element.outputs)) > 1 else [""], "")
        if isinstance(element, SignalSource)
        else {}
    ),
    "gap": _contacts("m"),
    "contact_force": _contacts("N", "xyz"),
    "contact_losses": lambda part: {"impacts": "J", "friction": "J"} if part.contacts and not part.yields else {},
    "internal_variables": _internal_variables,
}
OF_MODEL: Quantities = {
    "energy": lambda _: dict.fromkeys(("kinetic", "strain", "gravity", "total"), "J"),
    "constraint_residual": lambda _: dict.fromkeys(("position", "velocity"), ""),
}
USUAL = ("position", "rotation_vector", "coordinate")
"""Quantities that are given out where nothing is asked for."""
MEASURED = ("coordinate", "signal")
"""What the name of a part alone stands for: the coordinate of a joint, what a sensor or a block puts out."""


def parse(system: System, name: str, label: str = "channel") -> Channel:
    """The channel of a name; messages begin with the label.

    Raises
    ------
    ModelError
        If there is no such part, quantity or column; says which there are.
    """
    if not isinstance(name, str):
        raise ModelError(f"a channel is a text such as 'tip.position.x' or 'energy.total', received {shown(name)}")
    parts, refused = named_parts(system), ""
    words = name.split(".")
    for k in range(len(words), -1, -1):  # the longest name first: names of parts may have points in them
        owner, rest = ".".join(words[:k]), ".".join(words[k:])
        if owner not in parts:
            continue
        part = parts[owner]
        known = quantities(part)
        quantity, _, wanted = rest.partition(".")
        quantity = quantity or next((own for own in MEASURED if own in known), "")
        if quantity in known:
            return _channel(name, owner, part, quantity, wanted, label)
        if part is not None and not refused:  # a part may be called as a quantity of the model: "energy"
            wrong = f"{part} has no '{quantity}'" if quantity else f"say what of {part} is meant"
            refused = f"{label} '{name}': {wrong}; it has {', '.join(known) or 'no channels'}"
    if refused:
        raise ModelError(refused)
    near = get_close_matches(words[0], [own for own in parts if own] + list(OF_MODEL), 3)
    hint = f"; is it {' or '.join(map(repr, near))}?" if near else ""
    raise ModelError(
        f"{label} '{name}' begins with no name of a node, an element or a joint of the model, nor with "
        f"{' or '.join(map(repr, OF_MODEL))}{hint}"
    )


def quantities(part: Part) -> Quantities:
    """What can be asked of a part."""
    if part is None:
        return OF_MODEL
    kind = OF_NODE if isinstance(part, Node) else OF_JOINT if isinstance(part, Constraint) else OF_ELEMENT
    return {name: columns for name, columns in kind.items() if columns(part)}


def usual(system: System) -> list[str]:
    """Names of channels that show a motion: of the nodes that are not fixed, and the coordinates of joints.

    None of those that end at half a turn, with which a table of all would fail.
    """
    return [
        f"{owner}.{quantity}"
        for owner, part in named_parts(system).items()
        if not (isinstance(part, Node) and part.fixed_translation and part.fixed_rotation)
        for quantity in quantities(part)
        if quantity in USUAL and not (isinstance(part, Constraint) and not counting(system, part).all())
    ]


def named_parts(system: System) -> dict[str, Part]:
    """Nodes, elements and joints by name; the whole model has none."""
    parts: Sequence[Any] = [*system.nodes, *system.number.parts]
    return {part.name: part for part in parts} | {"": None}


def _channel(name: str, owner: str, part: Part, quantity: str, wanted: str, label: str) -> Channel:
    whole, columns = f"{owner}.{quantity}".lstrip("."), quantities(part)[quantity](part)
    asked = f"{wanted}." * bool(wanted)
    everywhere = [own.split(".", 1)[-1] if own[:1].isdigit() else own for own in columns]
    chosen = [k for k, own in enumerate(columns) if f"{own}.".startswith(asked)]
    chosen = chosen or [k for k, own in enumerate(everywhere) if f"{own}.".startswith(asked)]
    if not chosen:
        known = ", ".join(filter(None, dict.fromkeys(everywhere))) or "one column"
        raise ModelError(f"{label} '{name}': {whole} has no '{wanted}'; it has {known}")
    named = [(f"{whole}.{own}".rstrip("."), unit) for own, unit in columns.items()]
    full, units = zip(*(named[k] for k in chosen), strict=True)
    return Channel(name, full, units, part, quantity, tuple(chosen))


def chosen(solution: Queries, names: Sequence[str] | None) -> list[Channel]:
    """The channels of names; by default those that the file of the run holds, or those that show its motion."""
    if names is None:
        names = list(solution.history.columns) or usual(solution.system)
    if not names:
        raise ModelError(
            f"{type(solution).__name__}: channels must name one channel at least; nothing moves by default"
        )
    return [parse(solution.system, name, "channels: channel") for name in names]


def columns(solution: Queries, names: Sequence[str] | None) -> tuple[list[str], list[str], Array]:
    """Names, units and values ``(nt, c)`` of the columns of channels."""
    channels = chosen(solution, names)
    named = [column for channel in channels for column in channel.columns]
    units = [unit for channel in channels for unit in channel.units]
    return named, units, np.concatenate([own.values(solution) for own in channels], axis=1)
