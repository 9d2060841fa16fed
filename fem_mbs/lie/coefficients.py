"""Scalar functions of the rotation angle: the only place that treats small angles.

Every function here has a removable singularity at zero angle. Below ``SWITCH`` it is summed from its Taylor series in
the squared angle, above it comes from its closed form, which no longer cancels there. A family evaluates several
functions that are needed together at the cost of one.

docs/theory.md, "Functions of the angle", has the table; Bruels, Cardona, Arnold (2012), eqs. 25 and 26, the first ones.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import comb, factorial

import numpy as np

from fem_mbs.arrays import Array

SWITCH = 2.0
TERMS = 20
# far below rounding, and its powers do not underflow, which would be slow
_SMALLEST = 1e-16
_EXPONENTS = np.arange(float(TERMS))[:, None]


def _derivative(series: list[Fraction]) -> list[Fraction]:
    """Series of ``(df/dphi)/phi`` from the series of ``f``, both in powers of the squared angle."""
    return [2 * (k + 1) * coefficient for k, coefficient in enumerate(series[1:])]


def _alternating(offset: int, scale: int = 1) -> list[Fraction]:
    """Series of ``sum (-1)^k (phi/scale)^(2k) / (2k+offset)!``."""
    return [Fraction((-1) ** k, factorial(2 * k + offset) * scale ** (2 * k)) for k in range(TERMS + 3)]


def _bernoulli_series() -> list[Fraction]:
    """Series of ``e``: ``|B_{2k+2}| / (2k+2)!`` (Bernoulli numbers by their recurrence)."""
    bernoulli = [Fraction(1)]
    for m in range(1, 2 * TERMS + 8):
        bernoulli.append(-sum((comb(m + 1, k) * bernoulli[k] for k in range(m)), Fraction(0)) / (m + 1))
    return [abs(bernoulli[2 * k + 2]) / factorial(2 * k + 2) for k in range(TERMS + 3)]


@dataclass(frozen=True)
class Family:
    """Functions of the squared angle that are evaluated together.

    ``series`` has shape ``(k, TERMS)``; ``closed`` maps angles ``(n,)`` to ``(k, n)``.
    """

    series: Array
    closed: Callable[[Array], Array]

    def __call__(self, phi_squared: Array) -> Array:
        """Values of the ``k`` functions, shape ``(k, ..., 1, 1)`` ready to scale batched matrices."""
        x = np.maximum(phi_squared.ravel(), _SMALLEST)
        large = x.max(initial=0.0) > SWITCH**2
        values: Array = self.series @ (np.minimum(x, SWITCH**2) if large else x) ** _EXPONENTS
        if large:
            where = x > SWITCH**2
            values[:, where] = self.closed(np.sqrt(x[where]))
        return values.reshape(-1, *phi_squared.shape, 1, 1)


def _family(closed: Callable[[Array], Array], *series: list[Fraction]) -> Family:
    return Family(np.array([[float(c) for c in s[:TERMS]] for s in series]), closed)


def _closed_tangent(phi: Array) -> Array:
    half, squared = 0.5 * phi, phi**2
    a, b = np.sin(phi) / phi, 0.5 * (np.sin(half) / half) ** 2
    c = (1.0 - a) / squared
    return np.stack([b, c, (a - 2.0 * b) / squared, (b - 3.0 * c) / squared])


def _closed_inverse_tangent(phi: Array) -> Array:
    half, squared = 0.5 * phi, phi**2
    cot = 1.0 / np.tan(half)
    inverse_sine_squared = 1.0 + cot**2
    f = half * cot
    f1 = 0.5 * (cot - half * inverse_sine_squared)
    f2 = -0.5 * (1.0 - f) * inverse_sine_squared
    e = (1.0 - f) / squared
    e1 = -(f1 / phi + 2.0 * e) / squared
    e2 = (3.0 * f1 / phi - f2 + 4.0 * e) / squared**2 - 2.0 * e1 / squared
    return np.stack([e, e1, e2])


def _closed_bracket(phi: Array) -> Array:
    e, e1, e2 = _closed_inverse_tangent(phi)
    return np.stack([e, e - 0.5 * phi**2 * e1, -0.5 * e1, -0.5 * e2])


def _closed_rotation(phi: Array) -> Array:
    """By ``c_{k+2} = (1/k! - c_k)/phi^2`` from sine and cosine."""
    c = [np.cos(phi), np.sin(phi) / phi]
    for k in range(8):
        c.append((1.0 / factorial(k) - c[k]) / phi**2)
    values = [c]
    for n in range(7, 0, -2):
        f = values[-1]
        values.append([np.zeros_like(phi), *(k * f[k + 2] - f[k + 1] for k in range(1, n + 1))])
    return np.stack([f[k] for f in values[:4] for k in (1, 2, 3)])


def _closed_midpoint(phi: Array) -> Array:
    half, squared = 0.5 * phi, phi**2
    j0 = np.sin(half) / half
    j1 = (1.0 - j0) / squared
    d0 = (np.cos(half) - j0) / squared
    d1 = -(d0 + 2.0 * j1) / squared
    dd0 = -(0.25 * j0 + 3.0 * d0) / squared
    dd1 = -(dd0 + 4.0 * d1) / squared
    return np.stack([j0, j1, d0, d1, dd0, dd1])


_B, _C = _alternating(2), _alternating(3)
_E = _bernoulli_series()
_E1 = _derivative(_E)
_E2 = _derivative(_E1)
_J0 = _alternating(1, scale=2)
_J1 = [-c for c in _J0[1:]]

TANGENT = _family(_closed_tangent, _B, _C, _derivative(_B), _derivative(_C))
"""``b``, ``c = (phi - sin(phi))/phi^3`` and their derivatives ``b1 = b'/phi``, ``c1 = c'/phi``."""

INVERSE_TANGENT = _family(_closed_inverse_tangent, _E, _E1, _E2)
"""``e = (1 - (phi/2) cot(phi/2))/phi^2``, ``e1 = e'/phi``, ``e2 = e1'/phi``."""

BRACKET_INVERSE = _family(
    _closed_bracket,
    _E,
    [e - e1 / 2 for e, e1 in zip(_E, [Fraction(0), *_E1], strict=False)],
    [-e1 / 2 for e1 in _E1],
    [-e2 / 2 for e2 in _E2],
)
"""What SE(3) makes of them: ``e``, ``e - e1 phi^2/2``, ``-e1/2``, ``-e2/2``."""

_ROTATION = [_alternating(k) for k in (1, 2, 3)]
_ROTATION_1 = [_derivative(s) for s in _ROTATION]
_ROTATION_2 = [_derivative(s) for s in _ROTATION_1]

ROTATION = _family(_closed_rotation, *_ROTATION, *_ROTATION_1, *_ROTATION_2, *map(_derivative, _ROTATION_2))
"""``p, q, r = sin(phi)/phi, (1 - cos(phi))/phi^2, (phi - sin(phi))/phi^3``, ``T(w) = p I - q W + r w w^T``; then
``p'/phi, q'/phi, r'/phi``, and these once and twice more."""

MIDPOINT = _family(
    _closed_midpoint,
    _J0,
    _J1,
    _derivative(_J0),
    _derivative(_J1),
    _derivative(_derivative(_J0)),
    _derivative(_derivative(_J1)),
)
"""``j0 = sin(phi/2)/(phi/2)``, ``j1 = (1 - j0)/phi^2``, then ``j0'/phi``, ``j1'/phi`` and these once more."""
