"""A run as a film: an MP4 or GIF file, or a player in a notebook."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Iterator, Sequence
from pathlib import Path as FilePath
from typing import Any

from fem_mbs.contracts import Path, Public, checked
from fem_mbs.errors import ModelError
from fem_mbs.pictures.drawing import Drawing, Frame, bounds
from fem_mbs.pictures.extras import need, there_is, written
from fem_mbs.pictures.view import Size, default_renderer, make_canvas

KINDS = (".mp4", ".gif")


class Film(Public):
    """Frames of one size: in a notebook a player, ``save("out.mp4")`` or ``save("out.gif")`` writes a file.

    Attributes
    ----------
    fps : float
        Frames a second.
    """

    def __init__(
        self,
        drawing: Drawing,
        frames: Sequence[Frame],
        titles: Sequence[str],
        fps: float,
        size: Size,
        renderer: str | None = None,
    ) -> None:
        self._drawing, self._frames, self._titles = drawing, frames, titles
        self.fps, self._size, self._renderer = fps, size, renderer or default_renderer()

    def __len__(self) -> int:
        return len(self._frames)

    def __iter__(self) -> Iterator[Any]:
        """The pixels ``(height, width, 3)`` of one frame after the other."""
        box = bounds(self._frames, self._drawing.size)
        canvas = make_canvas(self._renderer, self._drawing, self._frames[0], box, self._size)
        try:
            for frame, title in zip(self._frames, self._titles, strict=True):
                yield canvas.draw(frame, title)
        finally:
            canvas.close()

    @checked
    def save(self, path: Path) -> FilePath:
        """Write a film whose kind the ending says: ``.mp4``, which is small, or ``.gif``, which plays everywhere."""
        path = FilePath(path)
        if path.suffix.lower() not in KINDS:
            raise ModelError(f"Film.save: path must end with {' or '.join(KINDS)}, received '{path}'")
        film = self._encoded(path.suffix.lower())
        return written(path, lambda file: file.write_bytes(film))

    def _encoded(self, kind: str) -> bytes:
        if kind == ".gif":
            images = [need("PIL.Image", "a GIF").fromarray(pixels) for pixels in self]
            first, *others = (image.quantize(128, dither=0) for image in images)
            buffer = io.BytesIO()
            first.save(buffer, "GIF", save_all=True, append_images=others, duration=1000 / self.fps, loop=0)
            return buffer.getvalue()
        need("imageio_ffmpeg", "an MP4 film")
        options = {"fps": self.fps, "macro_block_size": 2, "codec": "libx264", "pixelformat": "yuv420p"}
        film: bytes = need("imageio.v3", "an MP4 film").imwrite("<bytes>", list(self), extension=".mp4", **options)
        return film

    def _repr_html_(self) -> str:
        """A player, of a film in the page itself."""
        width = self._size[0]
        if there_is("imageio_ffmpeg"):
            data = b64encode(self._encoded(".mp4")).decode()
            return f'<video controls loop autoplay muted width="{width}" src="data:video/mp4;base64,{data}"></video>'
        data = b64encode(self._encoded(".gif")).decode()
        return f'<img width="{width}" src="data:image/gif;base64,{data}">'

    def __repr__(self) -> str:
        return f"Film of {len(self)} frames, {len(self) / self.fps:.3g} s; film.save('out.mp4'), film.save('out.gif')"
