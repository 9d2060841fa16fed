"""Nodes that look forgotten: used by nothing, at one place but not connected, with no way to the ground."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from fem_mbs.arrays import IntArray
from fem_mbs.check.report import Finding
from fem_mbs.model import Constraint
from fem_mbs.system import System

NEAR = 1e-6
"""Distance of nodes that are at one place, against the extent of the model."""


def look_at_nodes(system: System) -> Iterator[Finding]:
    """What looks wrong of them."""
    connected = [sorted({system.number(node) for node in part.nodes}) for part in system.number.parts]
    used = {row for rows in connected for row in rows}
    unused = [str(system.nodes[row]) for row in range(1, system.n) if row not in used]
    if unused:
        yield Finding("used by no element and no joint; connect it, or leave it out", tuple(unused))
    for first, second in _unconnected(system, connected):
        yield Finding(
            "at the same place, but nothing connects them; use one node for both, or add a joint",
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


def _unconnected(system: System, connected: list[list[int]]) -> Iterator[tuple[int, int]]:
    """Pairs of nodes at one place that nothing connects there; not with the ground, whose place means little."""
    from scipy.spatial import cKDTree  # which takes long to import

    pairs = cKDTree(system.x0[1:]).query_pairs(NEAR * system.length, output_type="ndarray") + 1
    if not len(pairs):
        return
    _, place = connected_components(_graph(pairs, system.n), directed=False)
    here = [(a, b) for rows in connected for a in rows for b in rows if a < b and place[a] == place[b]]
    _, joined = connected_components(_graph(np.array(here).reshape(-1, 2), system.n), directed=False)
    seen = set()
    for a, b in pairs.tolist():
        key = joined[a], joined[b]
        if joined[a] != joined[b] and key not in seen:
            seen |= {key, key[::-1]}
            yield a, b


def _graph(pairs: IntArray, n: int) -> coo_array:
    return coo_array((np.ones(len(pairs)), pairs.T), shape=(n, n))
