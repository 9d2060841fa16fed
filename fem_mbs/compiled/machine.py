"""Machine code of LLVM text, and where it is kept: in memory, and on disk under what it depends on.

A file is written under another name first and moved into its place, so that many processes may share a folder; one that
is damaged is made anew. Where nothing can be written, nothing is kept.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.metadata
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from threading import RLock
from typing import Any

LARGEST = 256 * 2**20
"""Bytes of all kernels on disk; beyond it those that were not used for longest go."""
CALL = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)


def folder() -> Path:
    """Where kernels are kept on disk: ``FEM_MBS_CACHE``, or the folder that the system has for such files."""
    if given := os.environ.get("FEM_MBS_CACHE"):
        return Path(given)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or tempfile.gettempdir()
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "fem_mbs" / "kernels"


@cache
def _llvm() -> Any:
    """The back end, an extra that is imported when something is compiled."""
    import llvmlite.binding

    return llvmlite.binding


@cache
def _target(opt: int) -> Any:
    llvm = _llvm()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    return llvm.Target.from_default_triple().create_target_machine(
        opt=opt, cpu=llvm.get_host_cpu_name(), features=features, reloc="pic"
    )


@cache
def lanes() -> int:
    """Cells side by side: as many doubles as a vector register holds."""
    features = _llvm().get_host_cpu_features()
    return 8 if features.get("avx512f") else 4 if features.get("avx") else 2


@cache
def kernel(text: str, opt: int = 2) -> Callable[[int, int, int, int], int]:
    """The compiled ``kernel`` of LLVM text; ``opt`` 0 is compiled many times faster, and runs half as fast."""
    with _ONE_AT_A_TIME:
        llvm, version = _llvm(), importlib.metadata.version("llvmlite")
        parts = text, str(opt), version, llvm.get_default_triple(), llvm.get_host_cpu_name()
        name = hashlib.sha256("\n".join([*parts, llvm.get_host_cpu_features().flatten()]).encode()).hexdigest()
        code = _read(folder() / name)
        if code is None:
            code = _target(opt).emit_object(llvm.parse_assembly(text))
            _write(folder() / name, code)
        library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process().export_symbol("kernel")
        linked = library.link(_linker(), f"{name} {len(_kept)}")
        function = CALL(linked["kernel"])
        _kept.append(linked)
    return function


_ONE_AT_A_TIME = RLock()
_kept: list[Any] = []
"""Code stays where it is as long as something refers to it."""


@cache
def _linker() -> Any:
    return _llvm().create_lljit_compiler(_target(2))


def _read(path: Path) -> bytes | None:
    """Machine code of a file that is whole."""
    try:
        content = path.read_bytes()
        os.utime(path)
    except OSError:
        return None
    digest, code = content[:32], content[32:]
    return code if hashlib.sha256(code).digest() == digest else None


def _write(path: Path, code: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix="new-", delete=False) as file:
            file.write(hashlib.sha256(code).digest() + code)
        Path(file.name).replace(path)
        _bound(path.parent)
    except OSError:  # a full or read-only disk
        return


def _bound(where: Path) -> None:
    """Remove what was not used for longest, and what was never finished."""
    files = []
    for path in where.iterdir():
        status = path.stat()
        if path.name.startswith("new-") and time.time() - status.st_mtime > 3600.0:
            path.unlink(missing_ok=True)
        else:
            files.append((status.st_mtime, status.st_size, path))
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= LARGEST:
            return
        path.unlink(missing_ok=True)
        total -= size
