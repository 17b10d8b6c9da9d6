"""HEIC and HEIF files for Pillow, by way of libheif.

The library's own Pillow plugin reads the metadata of every picture and brings the whole process down when
that is damaged. Metadata is not needed here: libheif turns pictures upright itself. So this asks for pixels
alone.
"""

from __future__ import annotations

from typing import Any, Final

import _pi_heif
from PIL import Image, ImageFile

_THREADS: Final = 4
_TO_8_BITS: Final = True
_BGR: Final = False
_PACKED_ROWS: Final = True
_ANY_DECODER: Final = ""
_NO_SECURITY_LIMITS: Final = False


class HeifImageFile(ImageFile.ImageFile):
    """The top-level pictures of a HEIF file as frames; the primary one is shown first. Pixels are upright."""

    format = "HEIF"
    format_description = "HEIF container"

    def _open(self) -> None:
        assert self.fp is not None
        try:
            found = _pi_heif.load_file(self.fp.read(), _THREADS, _TO_8_BITS, _BGR, _PACKED_ROWS, True,
                                       _ANY_DECODER, _NO_SECURITY_LIMITS)
        except Exception as error:  # Pillow's word for "not this format" is SyntaxError
            raise SyntaxError(str(error)) from error
        self._pictures: list[Any] = [picture for picture in found if picture is not None]
        if not self._pictures:
            raise SyntaxError("no picture in the container")
        self.n_frames = len(self._pictures)
        self.is_animated = self.n_frames > 1
        primary = [i for i, picture in enumerate(self._pictures) if picture.primary]
        self._show(primary[0] if primary else 0)
        self.tile = []

    def _show(self, frame: int) -> None:
        self._frame = frame
        self._loaded = False
        self._size, self._mode = self._pictures[frame].size_mode

    def seek(self, frame: int) -> None:
        """Raises EOFError behind the last picture."""
        if not 0 <= frame < self.n_frames:
            raise EOFError(f"there is no picture {frame + 1} of {self.n_frames}")
        if frame != self._frame:
            self._show(frame)

    def tell(self) -> int:
        return self._frame

    def load(self) -> Any:
        if not self._loaded:
            picture = self._pictures[self._frame]
            data = picture.data
            self._size, self._mode = picture.size_mode  # the decoder may know better than the header
            decoded = Image.frombytes(self._mode, self._size, data, "raw", self._mode, picture.stride)
            self.im = decoded.im
            self._loaded = True
        return super().load()
