"""How large internal variables are, so that the unit of none of them matters.

A state or an algebraic variable that does not know says its equation: as large as what nodes that move by their size,
at the pace of the model, make of it, and laws of time as they begin. What reads no node is as large as what makes
forces as large as those of the model. Both tell the derivatives ``P = K + s C + s^2 M`` of the equations as built.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_array, csc_array
from scipy.sparse.linalg import splu

from fem_mbs.arrays import Array, BoolArray
from fem_mbs.linear.solvers import sums
from fem_mbs.system.pattern import TINY

ROUNDING = 1e-12
"""Loads below this share of what stiffness makes of displacements by the size of the model are none."""
TRIALS = 8
"""Sets of random signs with which what equations read is added up."""


def variable_sizes(system: Any, of_nodes: Array) -> Array:
    """Sizes ``(k,)`` of all internal variables; ``of_nodes`` (6 n,) are those of the components of nodes."""
    given = [variable.size for _, variable in system.internal_variables]
    sizes = np.array([np.nan if own is None else own for own in given], float)
    unknown = np.isnan(sizes) & ((system.order == 0) | (system.order == 1))
    sizes[np.isnan(sizes)] = 1.0
    if unknown.any():
        units = np.where(system.equation < 0, 0.0, np.append(of_nodes, sizes))
        sizes[unknown] = _by_equations(system, units, np.append(np.zeros(len(of_nodes), bool), unknown))
    return sizes


def _by_equations(system: Any, units: Array, unknown: BoolArray) -> Array:
    motion, data, N, nodes = system.at_rest(), system.prescribe(0.0).elements, len(units), 6 * system.n
    force, every = np.zeros(N), list[Any]()
    for k, (batch, rows) in enumerate(zip(system.batches, system.components, strict=True)):
        forces, context = batch.force(motion, data[k])
        force += sums(system.element_slots(k), forces.ravel(), N)
        every.append((batch, rows, context))
    parts = [part for part in every if unknown[part[1]].any()]
    own, others = np.flatnonzero(unknown), np.flatnonzero(~unknown & (units > 0.0))
    masses, loads = system.diagonal_mass * units**2, np.abs(force * units)[:nodes].max()
    speed = np.max(np.abs(system.velocities.ravel()) / np.where(units > 0.0, units, np.inf)[:nodes])
    units, inertia = units[others], masses[others].sum()
    K, C, M = (_matrix(parts, N, name) for name in ("stiffness", "damping", "mass"))
    stiff = np.abs(_matrix(every, N, "stiffness").diagonal()[others]) * units**2
    loads *= loads > ROUNDING * stiff.max(initial=0.0)
    pace = max(speed, (loads / inertia) ** 0.5 if inertia > 0.0 else 0.0)
    if pace == 0.0:  # the slowest of springs and of what delays
        rates = _ratios(np.abs(K.diagonal()), np.abs(C.diagonal()))[own], _ratios(stiff, masses[others]) ** 0.5
        pace = min((rate for rate in np.concatenate(rates).tolist() if rate > 0.0), default=1.0)
    s = pace * (1.0 + 1.0j)  # no motion that lasts grows so
    P = csc_array(K + s * C + s**2 * M)
    largest = max(loads, inertia * pace**2) or 1.0
    read = np.square(np.abs(P[own][:, others]) @ units) + force[own] ** 2
    for batch, rows, context in parts:
        if batch.reads is not None:
            pressing = batch.by_multipliers(context) * (largest * system.constraint_weight)[batch.reads][:, None]
            read += sums(rows.ravel(), np.square(pressing).sum(axis=2).ravel(), N)[own]
    inner = csc_array(P[own][:, own])
    try:
        lu = splu(inner)
    except RuntimeError:  # nothing determines them
        return np.ones(len(own))
    signs = np.random.default_rng(0).choice((-1.0, 1.0), (len(own), TRIALS))
    made = np.sqrt(np.square(np.abs(lu.solve(np.sqrt(read)[:, None] * signs + 0.0j))).mean(axis=1))
    acting = np.abs(P[others][:, own]).T @ (units / largest) + 0.0j
    felt = np.abs(lu.solve(acting, trans="T")) * np.abs(inner.diagonal())
    back = np.divide(1.0, felt, out=np.ones(len(own)), where=felt > TINY)
    return np.maximum(np.where(made > TINY, made, back), np.abs(motion.u[own - nodes]))


def _ratios(a: Array, b: Array) -> Array:
    return np.divide(a, b, out=np.zeros(len(a)), where=b > 0.0)


def _matrix(parts: list[Any], N: int, name: str) -> csc_array:
    """A matrix ``(N, N)`` of some batches."""
    shape, entries, places = (N, N), [np.empty(0)], [np.empty((2, 0), np.intp)]
    for batch, rows, context in parts:
        if (values := getattr(batch, name)(context)) is not None:
            entries.append(values.ravel())
            places.append(np.stack(np.broadcast_arrays(rows[:, :, None], rows[:, None])).reshape(2, -1))
    return csc_array(coo_array((np.concatenate(entries), tuple(np.hstack(places))), shape))
