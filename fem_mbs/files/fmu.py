"""A model as an FMU: a unit for co-simulation that programs of the FMI standard run."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path as FilePath
from shutil import copy
from tempfile import TemporaryDirectory
from typing import Any

from fem_mbs.contracts import Method, Path, Seconds, checked
from fem_mbs.errors import ModelError
from fem_mbs.files.co_simulation import CoSimulation
from fem_mbs.model.model import Model

LABEL = "export_fmu"
CONTENTS = "model.pickle"
SLAVE = FilePath(__file__).with_name("fmu_slave.py")


@checked
def export_fmu(
    path: Path,
    model: Model,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    step: Seconds,
    *,
    method: Method | None = None,
) -> FilePath:
    """Write a model as an FMU for co-simulation (FMI 2.0).

    It runs where Python has this library and ``pythonfmu``, on Linux and Windows, and begins at t = 0. Needs
    ``pip install fem_mbs[fmi]``.

    Parameters
    ----------
    path : str or Path
        The file, ``.fmu``.
    model : Model
        What to run, without lambdas: it is pickled.
    inputs, outputs, step, method
        As of :class:`CoSimulation`: names, each with an ``ExternalInput``, or with a sensor, a block or a sum of
        signals; the largest step of the integration in s; by default ``GeneralizedAlpha(rho_inf=0.9)``.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ModelError
        If an argument or the model is not valid, cannot be pickled, or ``pythonfmu`` is missing.
    """
    file = FilePath(path)
    if file.suffix != ".fmu":
        raise ModelError(f"{LABEL}: path must end with .fmu, received '{file}'")
    try:
        from pythonfmu.builder import FmuBuilder
    except ImportError:
        raise ModelError(f"{LABEL} needs pythonfmu; install it with pip install fem_mbs[fmi]") from None
    CoSimulation(model, inputs, outputs, step, method).state  # noqa: B018 - refuses what cannot be run
    try:
        contents = pickle.dumps((model, dict(inputs), dict(outputs), step, method))
    except Exception as error:
        raise ModelError(
            f"{LABEL}: the model cannot travel to another program: {error}; write functions of time as laws "
            "(Ramp, Table, ...) or with def at the top of a file that is installed there"
        ) from error
    with TemporaryDirectory() as folder:
        script = FilePath(copy(SLAVE, FilePath(folder) / f"{file.stem.replace('-', '_')}.py"))
        (stored := FilePath(folder) / CONTENTS).write_bytes(contents)
        FmuBuilder.build_FMU(script, file.absolute(), [stored], canBeInstantiatedOnlyOncePerProcess=False)
    return file
