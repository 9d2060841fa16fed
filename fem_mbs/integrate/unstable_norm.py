"""Where the norm of Euler parameters becomes unstable: a constraint of index 3, whose rate no equation closes.

A unit quaternion turns by half the angle of the body, so that the limit is twice that of docs/theory.md, "Index 3 and
its limit". The rate ``e.e'`` alternates and grows until Newton's method fails or, worse, does not.
"""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.errors import ConvergenceError
from fem_mbs.integrate.index3_limit import ASTRAY, limit
from fem_mbs.system import System


def check_norm(system: System, t: float, rho_inf: float, before: Array, c: Array, dc: Array, ddc: Array) -> None:
    """Refuse a step to ``t`` after which rates (n, 4) of Euler parameters ``c`` leave the unit sphere."""
    missed = np.abs(np.vecdot(c, dc))
    # a body that turns back is at rest for an instant
    size = max(np.vecdot(dc, dc).max() ** 0.5, np.vecdot(ddc, ddc).max() ** 0.25)
    if missed.max() <= ASTRAY * size:
        return
    worst = int(np.argmax(missed))
    turn = 2.0 * float(np.linalg.norm((c - before)[worst]))
    raise ConvergenceError(
        f"{system.nodes[worst]}: at t = {t:.6g} s the rates of its Euler parameters leave the unit sphere by "
        f"{100.0 * missed[worst] / size:.0f} % of the largest: their norm, a constraint of index 3, is unstable. The "
        f"node turned by {turn:.2g} rad in the step, and with rho_inf = {rho_inf:g} it becomes so above about "
        f"{2.0 * limit(rho_inf):.2g} rad. Try a smaller step, a smaller rho_inf, or a method on the group such as "
        "GeneralizedAlpha; the error has the steps so far as its solution",
        t,
    )
