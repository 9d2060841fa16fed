"""Bodies of matrices that Abaqus wrote, against the whole of these, frequency by frequency.

``python tests/performance/abaqus.py FOLDER`` takes all of ``NAME.inp``, ``NAME_STIF1.mtx`` and ``NAME_MASS1.mtx`` in a
folder, such as ``main/pythonDev/TestModels/testData/abaqus`` of Exudyn: interfaces are the nodes at both ends of the
longest axis, on average.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy.sparse import csc_array
from scipy.sparse.linalg import eigsh

from fem_mbs.arrays import Array
from fem_mbs.elements import Interface, Reduction
from fem_mbs.elements.flexible.matrices import abaqus

MODES, AT = 12, 1e-6


def frequencies(K: csc_array, M: csc_array) -> Array:
    """The first that deform the free body, in Hz."""
    shift = 1e-3 * float(K.diagonal().max() / M.diagonal().max())
    squares = np.sort(eigsh(K, MODES + 6, M, sigma=-shift, v0=np.ones(K.shape[0]), return_eigenvectors=False))
    return np.sqrt(squares[6:]) / (2.0 * np.pi)


def main() -> None:
    for deck in sorted(Path(sys.argv[1]).glob("*.inp")):
        files = [deck.with_name(f"{deck.stem}{kind}.mtx") for kind in ("_STIF1", "_MASS1")]
        if not all(file.exists() for file in files):
            continue
        whole = abaqus(*files, deck)
        axis = int(np.argmax(np.ptp(whole.points, axis=0)))
        ends = {}
        for name, end in (("a", whole.points[:, axis].min()), ("b", whole.points[:, axis].max())):
            ends[name] = Interface.average(np.flatnonzero(abs(whole.points[:, axis] - end) < AT))
        exact = frequencies(csc_array(whole.K), csc_array(whole.M))
        columns = [
            Reduction.abaqus(*files, deck, ends, modes=modes, method=method).frequencies[:MODES] / exact - 1.0
            for method, modes in (("free", MODES), ("craig-bampton", MODES), ("craig-bampton", 4 * MODES))
        ]
        print(f"{deck.stem}, {whole.K.shape[0]} unknowns: Hz; differences of free, Craig-Bampton, four times the modes")
        for one, *others in zip(exact, *columns, strict=True):
            print(f"{one:14.5f}" + "".join(f"{other:10.1e}" for other in others))


if __name__ == "__main__":
    main()
