"""Interfaces of a mesh: nodes of it that a node of the model carries, rigidly or on average.

Rigid: ``u_k = u + theta x r_k``, by which nodes of the mesh are eliminated. On average: ``u = sum w_k u_k`` at the
weighted centre, ``theta = J^-1 sum w_k r_k x u_k``, ``J = sum w_k (|r_k|^2 I - r_k r_k^T)``, which leaves the nodes
free to deform. These are known as RBE2 and RBE3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array

from fem_mbs.arrays import Array, ArrayLike, IntArray
from fem_mbs.contracts import Node, Public, Vector3, checked, choice, real, returned, shown, so3
from fem_mbs.contracts.arguments import shaped, text
from fem_mbs.elements.flexible.floating_frame import carried
from fem_mbs.elements.flexible.matrices import SourceMesh, with_middles
from fem_mbs.errors import LawError, ModelError

FLAT = 1e-8
"""Smallest moment of inertia of an averaged set, against the largest, whose nodes are on one line."""
ROUNDING = 1e-9
"""By which a box reaches beyond its faces, against the size of the mesh."""
KINDS = ("rigid", "average")


def _selection(value: Any, label: object) -> Any:
    """What may say which nodes belong to an interface."""
    if isinstance(value, Node):
        return value.name
    if isinstance(value, str):
        return text(value, label)
    if callable(value):
        return value
    given = real(value)
    if given is not None and given.shape == (2, 3) and not np.isnan(given).any():
        return given
    if given is not None and given.ndim == 1 and given.size and (given % 1.0 == 0.0).all():
        return given.astype(np.intp)
    raise ModelError(
        f"{label} must be numbers of nodes, the name of a set, the two corners of a box, or a function of the points, "
        f"received {shown(value)}"
    )


Selection = Annotated[Any, _selection]
Weights = Annotated[ArrayLike, shaped((None,), what="a number for each node")]


@checked
class Interface(Public):
    """Which nodes of a mesh belong to an interface, and how; made by :meth:`rigid` or :meth:`average`."""

    def __init__(
        self,
        kind: Annotated[str, choice(KINDS)],
        nodes: Selection,
        point: Vector3 | None = None,
        weights: Weights | None = None,
    ) -> None:
        self.kind, self.nodes = kind, nodes
        self.point = None if point is None else np.asarray(point, dtype=float)
        self.weights = None if weights is None else np.asarray(weights, dtype=float)

    @classmethod
    @checked
    def rigid(cls, nodes: Selection, point: Vector3 | None = None) -> Interface:
        """Nodes that move as one rigid body with the interface.

        Parameters
        ----------
        nodes : (k,) of int, str, (2, 3) or function
            Numbers of nodes of the mesh from 0, to which middles of whole faces belong, too; the name of a set of the
            mesh, the corners of a box, or a function of the points ``(n, 3)`` that returns truth values ``(n,)``.
        point : (3,), optional
            Where the interface is, in the mesh; by default the mean of its nodes.
        """
        return cls("rigid", nodes, point, None)

    @classmethod
    @checked
    def average(cls, nodes: Selection, point: Vector3 | None = None, weights: Weights | None = None) -> Interface:
        """Nodes whose mean motion is that of the interface, free to deform.

        Parameters
        ----------
        nodes
            As for :meth:`rigid`.
        point : (3,), optional
            Where the interface is, in the mesh; by default the weighted mean of its nodes.
        weights : (k,), optional
            Of the nodes in the order of their list, which are these alone then, else of their numbers, such as the area
            that belongs to each; by default those of the mesh if it has faces there, else all alike.
        """
        return cls("average", nodes, point, weights)


def _interfaces(value: Any, label: object) -> Any:
    """Interfaces by name; a node of a part of a model is a rigid one, and of a list has its own name."""
    if isinstance(value, list | tuple) and all(isinstance(own, Node) for own in value):
        value = {node.name: node for node in value}
    if isinstance(value, Mapping):
        value = {name: Interface.rigid(own) if isinstance(own, Node) else own for name, own in value.items()}
    if not isinstance(value, Mapping) or not value or not all(isinstance(own, Interface) for own in value.values()):
        raise ModelError(
            f"{label} must be a dict of names, each with an Interface.rigid or .average, received {shown(value)}"
        )
    return {text(name, f"{label}: names"): own for name, own in value.items()}


Interfaces = Annotated[Any, _interfaces]


def _recover(value: Any, label: object) -> Any:
    """What is kept of a mesh, by name."""
    if isinstance(value, Mapping):
        return {text(name, f"{label}: names"): _selection(own, f"{label}[{name!r}]") for name, own in value.items()}
    if isinstance(value, list | tuple):
        return {text(name, f"{label}: names"): name for name in value}
    raise ModelError(f"{label} must be a list of names of sets, or a dict of selections, received {shown(value)}")


Recover = Annotated[Any, _recover]


def recovered_sets(
    recover: Mapping[str, Any], mesh: SourceMesh, interfaces: list[AttachedInterface]
) -> dict[str, IntArray]:
    """Nodes that are kept, by name: those of interfaces, and what was asked for."""
    result = {own.name: own.nodes for own in interfaces}
    for name, selection in dict(recover).items():
        if name == "skin" and isinstance(selection, str) and selection not in mesh.sets:
            continue  # which is kept anyway
        label = f"Reduction: recover['{name}']"
        nodes = chosen(selection, mesh, label, as_listed=True)
        if not len(nodes):
            raise ModelError(f"{label} has no nodes of the mesh; look at its box, its function and the units")
        if name in result and not np.array_equal(np.sort(nodes), np.sort(result[name])):
            raise ModelError(f"{label}: an interface has this name; give another one")
        result[name] = nodes
    return result


class AttachedInterface(NamedTuple):
    """An interface on a mesh."""

    name: str
    kind: str
    nodes: IntArray
    point: Array
    weights: Array


def chosen(selection: Any, mesh: SourceMesh, label: str, *, as_listed: bool = False) -> IntArray:
    """Nodes of a selection, each once, in the order of a list; or a :class:`ModelError`.

    A list has the points of the mesh that was given; nodes within faces all of whose corners it has belong to it, too,
    unless it is to be taken ``as_listed``.
    """
    points, sets = mesh.points, mesh.sets
    if isinstance(selection, str):
        if selection not in sets:
            known = ", ".join(map(repr, sets)) or "none"
            raise ModelError(f"{label}: the mesh has no set {selection!r}; it has {known}")
        return np.unique(sets[selection])
    if callable(selection):
        inside = np.asarray(returned(f"{label}: the function", selection, points, kind=LawError))
        if inside.shape != (len(points),) or inside.dtype != np.bool_:
            raise ModelError(f"{label}: the function must return {len(points)} truth values, received {shown(inside)}")
        return np.flatnonzero(inside)
    given = np.asarray(selection)
    if given.shape == (2, 3):
        corners, reach = given.astype(float), ROUNDING * float(np.ptp(points, axis=0).max())
        inside = (points >= corners[0] - reach) & (points <= corners[1] + reach)
        return np.flatnonzero(inside.all(axis=1))
    numbers, first = np.unique(given.astype(np.intp), return_index=True)
    own = np.arange(len(points)) if mesh.numbers is None else mesh.numbers
    if len(wrong := numbers[(numbers < 0) | (numbers >= len(own))]):
        raise ModelError(f"{label}: node {wrong[0]} is not one of the {len(own)} of the mesh, counted from 0")
    nodes = own[numbers[np.argsort(first)]]
    if len(loose := numbers[own[numbers] < 0]):
        raise ModelError(f"{label}: node {loose[0]} of the mesh, counted from 0, belongs to no cell")
    if as_listed or mesh.facets is None:
        return nodes
    inside = np.isin(np.arange(len(points)), nodes)
    return np.append(nodes, np.setdiff1d(np.flatnonzero(with_middles(inside, mesh.facets.nodes)), nodes))


def placed(interfaces: Mapping[str, Interface], mesh: SourceMesh, rotations: bool) -> list[AttachedInterface]:
    """All interfaces on a mesh, checked; averages weigh nodes by the areas of its faces, if there are any."""
    result: list[AttachedInterface] = []
    points, facets = mesh.points, mesh.facets
    for name, own in interfaces.items():
        about = f"Reduction: interface '{name}'"
        nodes = chosen(own.nodes, mesh, about, as_listed=own.weights is not None)
        if not len(nodes):
            raise ModelError(f"{about} has no nodes of the mesh; look at its box, its function and the units")
        weights = np.ones(len(nodes)) if own.weights is None else own.weights
        if own.weights is None and own.kind == "average" and facets is not None:
            areas = facets.gathered(facets.areas, nodes, len(points))[nodes]
            weights = areas if areas.all() else weights
        if weights.shape != (len(nodes),) or not (weights > 0.0).all():
            raise ModelError(f"{about}: weights must be {len(nodes)} positive numbers, received {shown(own.weights)}")
        weights = weights / weights.sum()
        at = weights @ points[nodes]
        whole = own.kind == "rigid" and rotations and len(nodes) == 1
        principal = np.linalg.eigvalsh(_inertia(points[nodes] - at, weights))
        if not whole and not principal[0] > FLAT * principal[2]:
            raise ModelError(
                f"{about}: its {len(nodes)} nodes are on one line or fewer than three; its turns are unknown"
            )
        shared = next((other.name for other in result if np.isin(nodes, other.nodes).any()), None)
        if shared is not None:
            raise ModelError(f"Reduction: interfaces '{shared}' and '{name}' share nodes of the mesh; take them apart")
        result.append(AttachedInterface(name, own.kind, nodes, at if own.point is None else own.point, weights))
    return result


def _inertia(r: Array, weights: Array) -> Array:
    return np.einsum("k,kij->ij", weights, so3.skew(r).mT @ so3.skew(r))


class Attached(NamedTuple):
    """A mesh with its interfaces: unknowns of the mesh are ``rest @ y``, motions of interfaces ``seen @ y``."""

    rest: csr_array
    seen: csr_array
    nodes: IntArray
    """Of the unknowns ``y``, -1 for motions of interfaces."""


def attach(interfaces: list[AttachedInterface], points: Array, dofs: IntArray) -> Attached:
    """Eliminate nodes of rigid interfaces, and read motions of averaged ones; ``dofs`` (N, 2) are nodes and 0 ... 5."""
    N, rows = len(dofs), np.full((len(points), 6), -1)
    rows[dofs[:, 0], dofs[:, 1]] = np.arange(N)
    rigid = [own for own in interfaces if own.kind == "rigid"]
    held = np.zeros(N, np.bool_)
    for own in rigid:
        held[rows[own.nodes][rows[own.nodes] >= 0]] = True
    free = np.flatnonzero(~held)
    if len(rigid) == 1 and not len(free):
        raise ModelError(
            f"Reduction: the rigid interface '{rigid[0].name}' has all nodes of the mesh, and nothing deforms; give it "
            "those alone that it holds, Interface.average, or a RigidBody in place of the mesh"
        )
    new, size = np.full(N, -1), len(free) + 6 * len(rigid)
    new[free] = np.arange(len(free))
    rest: list[tuple[Any, Any, Array]] = [(free, new[free], np.ones(len(free)))]
    seen: list[tuple[Any, Any, Array]] = []
    extra = len(free)
    for k, own in enumerate(interfaces):
        here, motions = rows[own.nodes], 6 * k + np.arange(6)
        if own.kind == "rigid":
            carries = extra + np.arange(6)
            known = here >= 0
            rest.append((here[known][:, None], carries, carried(points[own.nodes] - own.point)[known]))
            seen.append((motions, carries, np.ones(6)))
            extra += 6
        else:
            block = averaging(points[own.nodes], own.weights, own.point)
            seen.append((motions[:, None], new[here[:, None, :3]], block))
    nodes = np.append(dofs[free, 0], np.full(6 * len(rigid), -1))
    return Attached(_sparse(rest, (N, size)), _sparse(seen, (6 * len(interfaces), size)), nodes)


def constrained(own: Attached, B: csr_array, interfaces: list[AttachedInterface]) -> Attached:
    """With the unknowns that equations ``B u = 0`` leave: others, of nodes of no interface, follow these."""
    from scipy.linalg import lstsq, qr  # which takes long to import

    equations = (B @ own.rest).toarray()
    taken = np.concatenate([interface.nodes for interface in interfaces])
    inner = np.flatnonzero((own.nodes >= 0) & ~np.isin(own.nodes, taken))
    triangle, order = qr(equations[:, inner], mode="r", pivoting=True)
    pivots = np.abs(np.diag(triangle))
    follow = np.sort(inner[order[: int((pivots > FLAT * pivots.max(initial=0.0)).sum())]])
    lead = np.setdiff1d(np.arange(equations.shape[1]), follow)
    how = -lstsq(equations[:, follow], equations[:, lead])[0]
    if np.abs(equations[:, follow] @ how + equations[:, lead]).max(initial=0.0) > FLAT * np.abs(equations).max():
        raise ModelError("Reduction: a joint ties interfaces to each other; leave it to the model that has the body")
    columns = np.arange(len(lead))
    C = _sparse([(lead, columns, np.ones(len(lead))), (follow[:, None], columns, how)], (equations.shape[1], len(lead)))
    return Attached(csr_array(own.rest @ C), csr_array(own.seen @ C), own.nodes[lead])


def _sparse(parts: list[tuple[Any, Any, Array]], shape: tuple[int, int]) -> csr_array:
    """A matrix of rows, columns and values, each broadcast."""
    rows, columns, values = (
        np.concatenate(every)
        for every in zip(*(map(np.ravel, np.broadcast_arrays(*part)) for part in parts), strict=True)
    )
    result = csr_array(coo_array((values, (rows, columns)), shape))
    result.eliminate_zeros()
    return result


def averaging(points: Array, weights: Array, point: Array) -> Array:
    """How the interface at ``point`` moves with its nodes, ``(k, 6, 3)``."""
    center = weights @ points
    r = points - center
    turn = np.linalg.solve(_inertia(r, weights), weights[:, None, None] * so3.skew(r))
    move = weights[:, None, None] * so3.IDENTITY - so3.skew(point - center) @ turn
    return np.concatenate([move, turn], axis=1)
