"""From whatever was dropped or pasted to inputs that can be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image
from PySide6.QtCore import QCoreApplication, QMimeData
from PySide6.QtGui import QImage

from leggio.sources.inputs import Input

translate = QCoreApplication.translate


@dataclass(slots=True)
class Incoming:
    """What a drop or paste holds. `refused` is one sentence when nothing in it can be read."""

    inputs: list[Input] = field(default_factory=list)
    refused: str = ""


def can_take(data: QMimeData) -> bool:
    """Whether a drag is worth accepting; what exactly it holds is looked at when it is dropped."""
    return data.hasUrls() or data.hasImage()


def from_mime(data: QMimeData | None) -> Incoming:
    """Files first; else a picture. None is an empty clipboard on some desktops."""
    if data is None:
        data = QMimeData()
    files = [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile() and url.toLocalFile()]
    if files:
        return Incoming(list(files))
    if data.hasImage():
        image = data.imageData()
        if isinstance(image, QImage) and not image.isNull():
            return Incoming([from_qimage(image)])
    if data.hasUrls():
        words = translate(
            "Incoming",
            "Only files can be dropped here. Save the web page or picture first, then drop the file.",
        )
        return Incoming(refused=words)
    return Incoming(refused=translate("Incoming", "There is no picture, PDF or folder in this."))


def from_qimage(image: QImage) -> Image.Image:
    """A Pillow copy of a picture that came through Qt; transparency is kept."""
    rgba = image.convertToFormat(QImage.Format.Format_RGBA8888)
    data = bytes(rgba.constBits())
    picture = Image.frombuffer("RGBA", (rgba.width(), rgba.height()), data, "raw", "RGBA", rgba.bytesPerLine(), 1)
    return picture.copy() if image.hasAlphaChannel() else picture.convert("RGB")


def arguments(files: Sequence[str], folder: Path) -> list[str]:
    """Command-line arguments as absolute paths, so that another process in another folder can open them."""
    return [a if "://" in a else str((folder / a).absolute()) for a in files]
