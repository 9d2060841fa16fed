"""Files that appear when they are complete."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A new file, which takes the place of another once it is complete; what was there stays if it cannot be."""
    place = Path(os.path.realpath(path))  # a link leads to where its file is
    new = place.with_name(f".{place.name}.new")
    if place.exists() and not (place.is_file() or place.is_dir()):
        raise OSError(f"'{path}' is a pipe or a device")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        yield new
        os.replace(new, place)
    finally:
        with contextlib.suppress(OSError):
            new.unlink()


def reason(error: OSError) -> str:
    """Why something cannot be written."""
    return os.strerror(error.errno) if error.errno else str(error)
