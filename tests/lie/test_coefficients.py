"""The scalar functions of the rotation angle against arithmetic with fifty digits."""

import numpy as np
import pytest
from mpmath import mp, mpf

from fem_mbs.lie.so3 import INVERSE_TANGENT, MIDPOINT, ROTATION, SWITCH, TANGENT, Family

FUNCTIONS = {
    "a": lambda phi: mp.sin(phi) / phi,
    "b": lambda phi: (1 - mp.cos(phi)) / phi**2,
    "c": lambda phi: (phi - mp.sin(phi)) / phi**3,
    "e": lambda phi: (1 - phi / 2 * mp.cot(phi / 2)) / phi**2,
    "j0": lambda phi: mp.sin(phi / 2) / (phi / 2),
    "j1": lambda phi: (1 - mp.sin(phi / 2) / (phi / 2)) / phi**2,
}
# The functions of each family: how often (1/phi) d/dphi is applied to which one, and the relative tolerance
# of the closed form, where each derivative costs digits by cancellation, most at the switch.
Members = list[tuple[int, str, float]]
FAMILIES: list[tuple[Family, Members]] = [
    (TANGENT, [(0, "b", 1e-15), (0, "c", 1e-15), (1, "b", 2e-15), (1, "c", 1e-14)]),
    (INVERSE_TANGENT, [(0, "e", 1e-15), (1, "e", 2e-14), (2, "e", 2e-13)]),
    (
        MIDPOINT,
        [
            (0, "j0", 1e-15),
            (0, "j1", 2e-15),
            (1, "j0", 2e-15),
            (1, "j1", 5e-14),
            (2, "j0", 2e-14),
            (2, "j1", 2e-12),
        ],
    ),
    (ROTATION, [(order, name, (1e-15, 2e-15, 2e-14, 5e-13)[order]) for order in range(4) for name in "abc"]),
]
SERIES_ANGLES = [0.0, 1e-8, 1e-4, 1e-2, 0.1, 0.5, 1.0, 1.5, SWITCH * (1 - 1e-15), SWITCH]
CLOSED_ANGLES = [SWITCH * (1 + 1e-15), 2.1, 2.5, 3.0, np.pi - 1e-9, np.pi, np.pi + 1e-9, 3.5, 4.0, 5.0]
families = pytest.mark.parametrize(
    "family, members", FAMILIES, ids=["tangent", "inverse tangent", "midpoint", "rotation"]
)


def reference(order: int, name: str, squared: float) -> float:
    """``((1/phi) d/dphi)^order f``, which is ``(2 d/dz)^order f`` in ``z = phi^2``; zero as a limit."""
    with mp.workdps(50):
        z = mpf(squared) or mpf("1e-30")
        return float(2**order * mp.diff(lambda z: FUNCTIONS[name](mp.sqrt(z)), z, order))


@families
@pytest.mark.parametrize("closed", [False, True], ids=["series", "closed form"])
def test_functions_have_the_digits_of_the_reference(family: Family, members: Members, closed: bool) -> None:
    squared = np.square(CLOSED_ANGLES if closed else SERIES_ANGLES)
    for values, (order, name, tolerance) in zip(family(squared)[..., 0, 0], members, strict=True):
        expected = [reference(order, name, z) for z in squared]
        rtol = tolerance if closed else 1e-15
        atol = 1e-16 if name == "a" else 0.0  # which passes through zero at half a turn
        np.testing.assert_allclose(values, expected, rtol, atol, err_msg=f"{name}, derivative {order}")


@families
def test_batch_across_the_switch_equals_one_by_one(family: Family, members: Members) -> None:
    squared = np.square([CLOSED_ANGLES, SERIES_ANGLES]).T[:, None, :]
    together = family(squared)
    assert together.shape == (len(members), *squared.shape, 1, 1)
    for index in np.ndindex(squared.shape):
        np.testing.assert_allclose(together[(slice(None), *index)], family(squared[index]), rtol=1e-15)
