"""Contacts that yield: forces by the depth, for every method.

With the depth ``d`` and the rate ``g'`` of the gap,

    N = k d^n (1 - chi g'),  chi = y(e)/v,    F_T = mu N p(s/creep) v_T/s,  s = norm(v_T)

(Hunt, Crossley, *Journal of Applied Mechanics* 42, 1975). Of a hit with the speed ``v`` the share ``e`` comes back,
whatever ``k`` and ``n``, if ``y - ln(1 + y) = -e y - ln(1 - e y)``: the time in contact does not enter the path from
``v`` to ``-e v``. The polynomial ``p`` of slow slip is that of ``JointFriction``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf, log1p
from typing import Annotated, Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.contracts import ElementBatch, Energy, InternalVariable, Motion, Numbering, checked, node_rows, own_rows
from fem_mbs.contracts.arguments import Positive, number
from fem_mbs.elements.beams.section import Poisson
from fem_mbs.elements.contact.pairs import NearestBatch, PairPlace, every
from fem_mbs.elements.contact.tubes import TubePlace
from fem_mbs.errors import ModelError

Radius = Annotated[float, partial(number, low=-inf, high=inf)]
ELASTIC = 1e-3
"""Loss below which the equation of ``y`` is its first terms, which do not cancel."""


def approach_variables(contacts: Sequence[str]) -> tuple[InternalVariable, ...]:
    """The speed with which each contact was met."""
    several = len(contacts) > 1
    names = (f"approach of {own}" if several else "approach" for own in contacts)
    return tuple(InternalVariable(name, "history", unit="m/s") for name in names)


def damping_number(e: float) -> float:
    """``y = chi v`` with which the share ``e`` of the speed ``v`` comes back."""
    if 1.0 - e < ELASTIC:
        return 1.5 * (1.0 - e * e) / (1.0 + e**3)
    low, high = 0.0, 1.0 / e
    while low < (y := 0.5 * (low + high)) < high:
        more = y * (1.0 + e) - log1p(y) + log1p(-e * y) > 0.0
        low, high = (y, high) if more else (low, y)
    return low


@checked
def hertz_stiffness(radius: Positive, young: Positive, poisson: Poisson, other_radius: Radius = inf) -> float:
    """Stiffness ``k`` in N/m^1.5 of two elastic balls, or of a ball on a half space: ``N = k d^1.5`` (Hertz 1882).

    Both are of one material; of two, ``young`` and ``poisson`` are those with the mean of their ``(1 - nu^2)/E``.

    Parameters
    ----------
    radius, young, poisson : float
        Of a ball: radius in m, Young's modulus in Pa, Poisson's ratio.
    other_radius : float
        Of the other; infinite for a half space, negative for a hollow.
    """
    if -radius <= other_radius <= 0.0:
        what = f"positive, or of a hollow, below {-radius:g}"
        raise ModelError(f"hertz_stiffness: other_radius must be {what}, received {other_radius}")
    return 2.0 / 3.0 * young / (1.0 - poisson * poisson) / float(np.sqrt(1.0 / radius + 1.0 / other_radius))


class Yielding(NamedTuple):
    """Contacts in a motion, and of the ``k`` elements that touch what resists along gap and slips."""

    place: PairPlace | TubePlace
    motion: Motion
    touched: IntArray
    """``(k,)``."""
    G: Array
    """Gradients ``(k, r, 3, b)``."""
    V: Array
    """``(k, b)``."""
    force: Array
    """``(k, r, 3)``."""
    by_gap: Array
    """``(k, r, 3)``."""
    by_rates: Array
    """``(k, r, 3, 3)``."""
    branch: Array
    """Which push, and which slide, ``(n, 2r)``."""


class YieldingBatch(NearestBatch, ElementBatch):
    """Contacts of one kind of pair that yield."""

    kinked = True
    own: IntArray

    def __init__(self, elements: Sequence[Any], number: Numbering) -> None:
        self.owners, self.own = elements, own_rows(elements, number)
        self.measures(elements, node_rows(elements, number))
        given = np.array(
            [[e.stiffness, e.exponent, e.friction, e.creep, damping_number(e.restitution)] for e in elements]
        )
        self._given = given.T[..., None]

    def force(self, motion: Motion, prescribed: Any) -> tuple[Array, Yielding]:
        place = self._pairs.at(motion, self.nodes)
        n, r = place.near.gap.shape
        touched, branch = np.flatnonzero((place.near.gap < 0.0).any(axis=1)), np.zeros((n, 2, r))
        k, exponent, mu, creep, y = self._given[:, touched]
        gap, (rows, places) = place.near.gap[touched], every((len(touched), r))
        G = place.gradients(touched[rows], places)
        G = G.reshape(len(touched), r, *G.shape[1:])
        V = motion.V[self.nodes[touched]].reshape(len(touched), G.shape[-1])
        rates = np.einsum("nrdb,nb->nrd", G, V)
        depth, rate, slip = np.maximum(-gap, 0.0), rates[..., 0], rates[..., 1:]
        met = np.maximum(motion.u[self.own[touched]], creep)  # slower, met at the speed of now: 1 + y
        chi = y / np.maximum(met, -rate)
        rise = np.maximum(1.0 - chi * rate, 0.0)
        N = k * depth**exponent * rise
        N_gap = -exponent * k * depth ** (exponent - 1.0) * rise * (depth > 0.0)
        N_rate = np.where((rise > 0.0) & (-rate <= met), -chi * k * depth**exponent, 0.0)
        # coefficient over speed, and its derivative over speed
        speed = np.linalg.norm(slip, axis=-1)
        fast, size = speed >= creep, np.maximum(speed, creep)
        x = np.minimum(speed / creep, 1.0)
        p = mu * np.where(fast, 1.0 / size, (15.0 - 10.0 * x**2 + 3.0 * x**4) / (8.0 * creep))
        bend = mu * np.where(fast, -1.0 / size**3, (12.0 * x**2 - 20.0) / (8.0 * creep**3))
        shares = np.concatenate([np.full((*N.shape, 1), -1.0), p[..., None] * slip], axis=-1)
        by_rates = np.zeros((*N.shape, 3, 3))
        by_rates[..., 0] = N_rate[..., None] * shares
        by_rates[..., 1:, 1:] = (N * p)[..., None, None] * np.eye(2)
        by_rates[..., 1:, 1:] += (N * bend)[..., None, None] * slip[..., :, None] * slip[..., None, :]
        pushes = N > 0.0
        branch[touched] = np.stack([pushes, pushes & fast & (mu > 0.0)], axis=1)
        resists, by_gap = N[..., None] * shares, N_gap[..., None] * shares
        force = np.zeros((n, G.shape[-1] + r))
        force[touched, : G.shape[-1]] = np.einsum("nrd,nrdb->nb", resists, G)
        return force, Yielding(place, motion, touched, G, V, resists, by_gap, by_rates, branch.reshape(n, -1))

    def stiffness(self, context: Yielding) -> Array:
        """``F H + G^T (dF/dg G_N + dF/drates V^T H)``."""
        G, (rows, places) = context.G, every(context.G.shape[:2])
        H = context.place.bent(context.touched[rows], places).reshape(*G.shape, G.shape[-1])
        by_place = context.by_gap[..., None] * G[:, :, :1]
        by_place += context.by_rates @ np.einsum("nb,nrdbc->nrdc", context.V, H)
        return self._whole(context, np.einsum("nrd,nrdbc->nbc", context.force, H) + _product(G, by_place))

    def damping(self, context: Yielding) -> Array:
        """``G^T dF/drates G``."""
        return self._whole(context, _product(context.G, context.by_rates @ context.G))

    def _whole(self, context: Yielding, part: Array) -> Array:
        b = part.shape[-1]
        result = np.zeros((len(self.nodes), *2 * (b + self.own.shape[1],)))
        result[context.touched, :b, :b] = part
        return result

    def branches(self, context: Yielding) -> Array:
        return context.branch

    def creeping(self, motion: Motion, length: float) -> tuple[Array, BoolArray]:
        """The fastest of the points that push."""
        _, seen = self.force(motion, None)
        slips, pushes = np.einsum("nrdb,nb->nrd", seen.G, seen.V)[..., 1:], seen.force[..., 0] < 0.0
        speeds, result = np.linalg.norm(slips, axis=-1), np.zeros(len(self.nodes))
        creeps = pushes & (speeds < self._given[3, seen.touched]) & (self._given[2, seen.touched] > 0.0)
        result[seen.touched] = np.where(creeps, speeds, 0.0).max(axis=1, initial=0.0) / length
        return result, np.zeros_like(result, np.bool_)

    def accept(self, context: Yielding) -> Array:
        """The speed of approach; where contacts are closed, the largest since they are."""
        gap, motion = context.place.near.gap, context.motion
        before = np.where(gap < 0.0, motion.u[self.own], 0.0)
        return np.maximum(before, -context.place.gap_rates(motion.V[self.nodes]))

    def forces_on_b(self, motion: Motion) -> Array:
        """Forces on node b in the world, ``(n, r, 3)``."""
        context = self.force(motion, None)[1]
        result, touched = np.zeros((*context.place.near.gap.shape, 3)), context.touched
        for k, forces in enumerate(-np.einsum("nrd,nrdb->rnb", context.force, context.G)):
            result[touched, k] = self.on_b(motion, touched, forces)
        return result

    def energy(self, motion: Motion) -> Energy:
        k, exponent = self._given[:2]
        depth = np.maximum(-self.gaps(motion), 0.0)
        return Energy(strain=(k * depth ** (exponent + 1.0) / (exponent + 1.0)).sum(axis=1))


def _product(G: Array, rows: Array) -> Array:
    """``G^T`` times rows ``(k, r, 3, b)``."""
    k, r, _, b = G.shape
    return G.reshape(k, 3 * r, b).mT @ rows.reshape(k, 3 * r, b)
