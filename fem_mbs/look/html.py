"""What a notebook shows of a model or a result: a table, and its picture where one can be drawn."""

from __future__ import annotations

import logging
from base64 import b64encode
from collections.abc import Callable, Sequence
from html import escape

from fem_mbs.look.view import View

LOG = logging.getLogger("fem_mbs")


def page(rows: Sequence[Sequence[object]], heading: str = "", picture: Callable[[], View] | None = None) -> str:
    """A heading, rows of cells, and the picture that a function makes, unless it cannot."""
    cells = (
        "".join(f'<td style="text-align:left;padding:1px 8px">{escape(str(cell))}</td>' for cell in row) for row in rows
    )
    table = "<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>"
    return f"<div><b>{escape(heading)}</b>{table}{_image(picture)}</div>"


def _image(picture: Callable[[], View] | None) -> str:
    if picture is None:
        return ""
    try:
        data = b64encode(picture()._repr_png_()).decode()
    except Exception as error:  # a table without picture is better than none, whatever a graphics library says
        LOG.info("no picture: %s", error)
        return ""
    return f'<img src="data:image/png;base64,{data}">'
