"""What makes constraint equations of different units comparable."""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.system import System


def constraint_weights(system: System) -> Array:
    """Factors ``(m,)``: equations in units of length are divided by the extent of the model."""
    weights = [np.where(batch.length, 1.0 / system.length, 1.0) for batch in system.constraint_batches]
    return np.concatenate([np.empty(0), *weights])
