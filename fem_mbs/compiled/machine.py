"""LLVM text of functions, its machine code, and where that is kept.

Text is made statement by statement: values have numbers for names, loops and conditions are contexts. Machine code is
kept in memory, and on disk under what it depends on. A file is written under another name first and moved into its
place, so that many processes may share a folder; one that is damaged is made anew. Where nothing can be written,
nothing is kept.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.metadata
import os
import sys
import tempfile
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import RLock
from typing import Any


class Text:
    """The statements of a function, on single numbers and on vectors of so many lanes.

    Places in arrays are counted in their numbers, which are of a ``kind``: ``double`` unless told otherwise.
    """

    def __init__(self, lanes: int = 1) -> None:
        self.lanes, self.vector = lanes, f"<{lanes} x double>"
        self.declared = set[str]()
        self._lines, self._block, self._count = list[str](), "entry", 0
        self._next: Sequence[str] = ()
        self._known = dict[Hashable, str]()

    def function(self, name: str, arguments: str, result: str | None = None, internal: bool = False) -> str:
        """The whole function, which returns an integer or nothing."""
        kind = "internal void" if internal else "void" if result is None else "i64"
        end = " ret void" if result is None else f" ret i64 {result}"
        return "\n".join([f"define {kind} @{name}({arguments}) {{", "entry:", *self._lines, end, "}", ""])

    def __call__(self, statement: str) -> str:
        """The name of what a statement returns."""
        name = f"%t{self._new()}"
        self._lines.append(f" {name} = {statement}")
        return name

    def do(self, statement: str) -> None:
        """A statement that returns nothing."""
        self._lines.append(f" {statement}")

    def once(self, key: Hashable, make: Callable[[], str]) -> str:
        """A value that is made where it is asked for first in a loop or under a condition."""
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def _new(self) -> int:
        self._count += 1
        return self._count

    # numbers

    def plus(self, value: str, number: str | int) -> str:
        return self(f"add i64 {value}, {number}") if number else value

    def smaller(self, value: str, number: str) -> str:
        return self(f"select i1 {self(f'icmp ult i64 {value}, {number}')}, i64 {value}, i64 {number}")

    def times(self, value: str, number: str | int) -> str:
        return self(f"mul i64 {value}, {number}")

    def call(self, result: str, name: str, *arguments: tuple[str, str]) -> str:
        """A function that is declared elsewhere, of kinds and values."""
        self.declared.add(f"declare {result} @{name}({', '.join(kind for kind, _ in arguments)})")
        return self(f"call {result} @{name}({', '.join(' '.join(pair) for pair in arguments)})")

    def sum(self, values: Sequence[str], kind: str = "double") -> str:
        """In pairs, which do not wait for each other."""
        if len(values) == 1:
            return values[0]
        left, right = self.sum(values[: len(values) // 2], kind), self.sum(values[len(values) // 2 :], kind)
        return self(f"fadd {kind} {left}, {right}")

    def products(self, left: Sequence[str], right: Sequence[str], kind: str = "double") -> list[str]:
        return [self(f"fmul {kind} {a}, {b}") for a, b in zip(left, right, strict=True)]

    # arrays

    def at(self, base: str, place: str | int, kind: str = "double") -> str:
        return self(f"getelementptr {kind}, ptr {base}, i64 {place}")

    def load(self, base: str, place: str | int, kind: str = "double") -> str:
        pointer = self.at(base, place, kind if kind[0] != "<" else "double")
        return self(f"load {kind}, ptr {pointer}, align 8")

    def store(self, value: str, base: str, place: str | int, kind: str = "double") -> None:
        self.do(f"store {kind} {value}, ptr {self.at(base, place)}, align 8")

    def clear(self, pointer: str, size: str) -> None:
        """So many bytes."""
        self.declared.add("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        self.do(f"call void @llvm.memset.p0.i64(ptr {pointer}, i8 0, i64 {size}, i1 false)")

    # vectors

    def spread(self, value: str) -> str:
        """One number for all lanes."""
        one = self(f"insertelement {self.vector} poison, double {value}, i32 0")
        zeros = f"<{self.lanes} x i32> zeroinitializer"
        return self(f"shufflevector {self.vector} {one}, {self.vector} poison, {zeros}")

    def lane(self, vectors: Sequence[str], place: int) -> str:
        """A number of vectors that stand in a row."""
        k, lane = divmod(place, self.lanes)
        return self(f"extractelement {self.vector} {vectors[k]}, i32 {lane}")

    def shifted(self, vectors: Sequence[str], place: int) -> str:
        """The vector from a place on in some that stand in a row."""
        k, first = divmod(place, self.lanes)
        if not first:
            return vectors[k]
        lanes = ", ".join(f"i32 {first + lane}" for lane in range(self.lanes))
        pair = f"{self.vector} {vectors[k]}, {self.vector} {vectors[k + 1]}"
        return self(f"shufflevector {pair}, <{self.lanes} x i32> <{lanes}>")

    def within(self, value: str, inside: Sequence[bool]) -> str:
        """A vector, zero in the lanes that are not inside."""
        if all(inside):
            return value
        mask = ", ".join(f"i1 {int(own)}" for own in inside)
        return self(f"select <{self.lanes} x i1> <{mask}>, {self.vector} {value}, {self.vector} zeroinitializer")

    # what follows what

    @contextmanager
    def loop(
        self, begin: str | int, end: str | int, carried: Sequence[str] = (), step: int = 1
    ) -> Iterator[tuple[str, list[str]]]:
        """From ``begin`` on, which is worked off in any case, while before ``end``: the number, and vectors carried on.

        Within it :meth:`carry` says what these are in the next round.
        """
        name, before, place = f"loop{self._new()}", self._block, len(self._lines) + 2
        index, values = f"%{name}.at", [f"%{name}.{k}" for k in range(len(carried))]
        self._lines += [f" br label %{name}", f"{name}:"]
        self._block, known = name, dict(self._known)
        yield index, values
        self._known = known
        after = self.plus(index, step)
        more, pairs = self(f"icmp ult i64 {after}, {end}"), [("i64", index, str(begin), after)]
        pairs += [(self.vector, *own) for own in zip(values, carried, self._next, strict=True)] if carried else []
        self._lines[place:place] = [
            f" {own} = phi {kind} [{first}, %{before}], [{following}, %{self._block}]"
            for kind, own, first, following in pairs
        ]
        self._go(f"br i1 {more}, label %{name}, label %{name}.end", f"{name}.end")

    def carry(self, values: Sequence[str]) -> None:
        """What a loop goes on with."""
        self._next = values

    @contextmanager
    def where(self, condition: str) -> Iterator[None]:
        """What is worked off where a condition holds."""
        name, known = f"if{self._new()}", dict(self._known)
        self._go(f"br i1 {condition}, label %{name}, label %{name}.end", name)
        yield
        self._known = known
        self._go(f"br label %{name}.end", f"{name}.end")

    def _go(self, branch: str, block: str) -> None:
        self._lines += [f" {branch}", f"{block}:"]
        self._block = block


LARGEST = 256 * 2**20
"""Bytes of all kernels on disk; beyond it those that were not used for longest go."""
CALL = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


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
def kernel(text: str, opt: int = 2) -> Callable[[int, int, int], int]:
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
