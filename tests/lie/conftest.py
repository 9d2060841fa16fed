"""The catalogue that the laws of the groups run over: batch shapes times angles of rotation."""

import numpy as np
import pytest

from fem_mbs.arrays import Array
from fem_mbs.lie.so3 import SWITCH


@pytest.fixture(params=[(), (1,), (3, 1, 2)], ids=str)
def shape(request: pytest.FixtureRequest) -> tuple[int, ...]:
    return request.param


@pytest.fixture(params=[0.0, 1e-9, 1e-4, 0.7, SWITCH, 3.1, 5.0])
def d(request: pytest.FixtureRequest, shape: tuple[int, ...]) -> Array:
    """Increments with random translations, and rotations by the angle about random axes."""
    d = np.random.default_rng(1).normal(size=(*shape, 6))
    d[..., 3:] *= request.param / np.linalg.norm(d[..., 3:], axis=-1, keepdims=True)
    return d
