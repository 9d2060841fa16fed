"""The iteration matrix of equations with constraints on three levels, on a kept pattern.

Its blocks stand where those of ``[[K, B^T], [B, 0]]`` do: with ``F`` on forces, and rows ``P``, ``G``, ``A`` of the
constraints on positions, velocities and accelerations,

    [[F  B^T | F_Z     | F_Y    ]     increment, multipliers
     [P      | P_Z     |        ]
     [       | M  B0^T |        ]     Z
     [G      | G_Z     |        ]
     [       |         | M  B0^T]     Y
     [A      | A_Z     | A_Y    ]].

All multipliers come last, so that those of constraints that repeat each other can be found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.system.linear import Factors, LinearSolver, sums
from fem_mbs.system.pattern import Triplets

LEVELS = 3
PARTS = {(0, 0): "FPT", (0, 1): "FP", (0, 2): "F", (1, 0): "P", (1, 1): "FPT", (2, 0): "P", (2, 1): "P", (2, 2): "FPT"}
"""What each pair of blocks of rows and of columns has: forces, rows of constraints, and transposed gradients."""


class LevelsMatrix:
    """Pattern and solver for ``n`` free components and ``m`` constraint equations.

    ``blocks`` are those of the index-3 matrix; ``make`` makes the solver of rows, columns and blocks.
    """

    def __init__(self, pattern: Triplets, n: int, m: int, blocks: IntArray, make: Callable[..., LinearSolver]) -> None:
        forces, gradients = pattern.force_entries, pattern.gradient_entries
        ends = [0, forces, forces + gradients, forces + 2 * gradients]
        self._slices = {part: slice(*ends[k : k + 2]) for k, part in enumerate("FPT")}
        self._readings = slice(ends[-1], len(pattern.rows))

        def of(numbers: IntArray, level: int) -> IntArray:
            moved = np.where(numbers < n, numbers + level * n, numbers + (LEVELS - 1) * n + level * m)
            return np.where(numbers < 0, -1, moved)

        places: list[tuple[IntArray, IntArray]] = []
        for (row, column), parts in PARTS.items():
            slices = [self._slices[part] for part in parts] + ([self._readings] if row == column == 0 else [])
            places += [(of(pattern.rows[s], row), of(pattern.columns[s], column)) for s in slices]
        rows, columns = (np.concatenate(side) for side in zip(*places, strict=True))
        self.solver = make(rows, columns, np.append(np.tile(blocks[:n], LEVELS), np.tile(blocks[n:], LEVELS)))

    def factor(self, entries: dict[tuple[int, int], Array], rows: Sequence[Array]) -> Factors:
        """Factor the matrix.

        Parameters
        ----------
        entries : the blocks that have forces, as :func:`fem_mbs.system.tangent.entries`.
        rows : flat ``G``, ``A`` and ``A_Z``.
        """
        bare = dict(zip([(1, 0), (2, 0), (2, 1)], rows, strict=True))
        values: list[Array] = []
        for place, parts in PARTS.items():
            if place in bare:
                values.append(bare[place])
                continue
            values += [entries[place][self._slices[part]] for part in parts]
            if place == (0, 0):
                values.append(entries[place][self._readings])
        return self.solver.factor(sums(self.solver.slots, np.concatenate(values), self.solver.storage + 1)[:-1])
