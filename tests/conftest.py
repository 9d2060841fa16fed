"""Puts this folder on the path of the tests, so that they share ``catalogue`` and ``motions``.

BLAS keeps to one thread, in workers and programs that tests start, too: two fight for the cores with the workers of
pytest, and the last bits of sums depend on how they share the work. It is told before NumPy is imported.
"""

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ[name] = "1"
