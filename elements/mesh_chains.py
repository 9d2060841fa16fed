"""Which lines of a mesh one beam follows."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from fem_mbs.arrays import IntArray
from fem_mbs.elements.beam_geometry import CORNER
from fem_mbs.elements.line_mesh import LineMesh


def chains_of(found: LineMesh, group: IntArray) -> dict[int, list[int]]:
    """Points along each beam, by its first line."""
    points, lines = found.points, found.lines.tolist()
    at = defaultdict(list)
    for line, ends in enumerate(lines):
        for point in ends:
            at[point].append(line)

    def beyond(line: int, point: int) -> int:
        return int(sum(lines[line]) - point)

    def onward(line: int, point: int) -> int | None:
        """The line that goes on from another one at its end ``point``, if it does and is not part of a beam yet."""
        if len(at[point]) != 2:
            return None
        other = sum(at[point]) - line
        here, there = points[point] - points[beyond(line, point)], points[beyond(other, point)] - points[point]
        smooth = here @ there > np.cos(CORNER) * np.linalg.norm(here) * np.linalg.norm(there)
        return other if smooth and group[line] == group[other] and other not in done else None

    done: set[int] = set()

    def way(line: int, point: int) -> list[int]:
        """Points from ``point`` on, away from a line."""
        result = [point]
        done.add(line)
        while (other := onward(line, result[-1])) is not None:
            done.add(other)
            line = other
            result.append(beyond(line, result[-1]))
        return result

    result = {}
    for line, (start, end) in enumerate(lines):
        if line not in done:
            ahead = way(line, end)
            result[line] = way(line, start)[::-1] + ahead
    return result
