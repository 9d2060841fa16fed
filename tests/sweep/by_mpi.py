"""Run by ``mpiexec -n 3 python -m mpi4py.futures tests/sweep/by_mpi.py rows.jsonl``: the rows of two sweeps as JSON."""

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

from mpi4py.futures import MPIPoolExecutor
from studies import returned, turned, where

import fem_mbs as mbs

if __name__ == "__main__":
    with MPIPoolExecutor() as executor:
        rows = mbs.sweep(turned, [{"length": 0.5 + k} for k in range(-1, 3)], executor, store=Path(sys.argv[1]))
        places = mbs.sweep(where, [{"x": k} for k in range(20)], executor)
        bad = mbs.sweep(returned, [{"x": "a lambda"}], executor)
        refusal = mbs.sweep(lambda x: {}, [{"x": 0}], executor)
    print(json.dumps({"rows": rows, "places": places, "bad": bad, "refusal": refusal}))
