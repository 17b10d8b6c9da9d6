"""TeX formulas as pictures: ziamath writes SVG on a worker thread, QtSvg draws it."""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import dataclass

from PySide6.QtCore import QByteArray, QObject, QRectF, QRunnable, QThreadPool, Signal
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

log = logging.getLogger(__name__)

LONGEST_TEX = 4000
"""Characters; a longer formula is shown as TeX."""
_KEPT = 400
_SIZE = 18.0
_DENSITY = 2
"""Image pixels a point, so that formulas are sharp on a high-DPI screen."""


@dataclass(frozen=True, slots=True)
class FormulaKey:
    tex: str
    display: bool
    colour: str
    """"#rrggbb" of the text around it."""

    @property
    def url(self) -> str:
        return f"leggio-formula:{hash(self) & 0xFFFFFFFFFFFF:012x}"


class FormulaImages(QObject):
    """Formula pictures, made once. `get` never waits."""

    ready = Signal(object)
    """FormulaKey: `get` now gives its picture, or None for good."""
    _made = Signal(object, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._images: OrderedDict[FormulaKey, QImage | None] = OrderedDict()
        self._wanted: set[FormulaKey] = set()
        self._pool = QThreadPool(self)
        self._pool.setMaxThreadCount(1)
        self._closed = False
        self._made.connect(self._keep)

    def get(self, key: FormulaKey) -> QImage | None:
        """The picture, or None while it is made or when the TeX cannot be drawn."""
        if key in self._images:
            self._images.move_to_end(key)
            return self._images[key]
        if key not in self._wanted and len(key.tex) <= LONGEST_TEX and not self._closed:
            self._wanted.add(key)
            self._pool.start(_Drawing(self, key))
        return None

    def pending(self, key: FormulaKey) -> bool:
        """A picture may still come."""
        return key in self._wanted

    def close(self) -> None:
        self._closed = True
        self._pool.clear()
        self._pool.waitForDone()

    def _keep(self, key: FormulaKey, svg: bytes | None) -> None:
        self._wanted.discard(key)
        self._images[key] = _draw(svg) if svg is not None else None
        while len(self._images) > _KEPT:
            self._images.popitem(last=False)
        self.ready.emit(key)


class _Drawing(QRunnable):
    def __init__(self, owner: FormulaImages, key: FormulaKey) -> None:
        super().__init__()
        self._owner, self._key = owner, key

    def run(self) -> None:
        self._owner._made.emit(self._key, formula_svg(self._key))


def formula_svg(key: FormulaKey) -> bytes | None:
    """The formula as SVG; None when the TeX cannot be drawn (the text itself is shown then)."""
    import ziamath

    ziamath.config.svg2 = False  # QtSvg knows plain paths, not <symbol>
    try:
        svg: str = ziamath.Latex(key.tex, size=_SIZE, inline=not key.display, color=key.colour).svg()
    except Exception as error:  # any TeX can come out of a model; the parsers below raise nearly anything
        log.info("formula shown as TeX: %s", error)
        return None
    return svg.encode()


def _draw(svg: bytes) -> QImage | None:
    renderer = QSvgRenderer(QByteArray(svg))
    size = renderer.defaultSize() * _DENSITY
    if not renderer.isValid() or size.isEmpty() or size.width() > 8000 or size.height() > 4000:
        return None
    image = QImage(size, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(0)
    with QPainter(image) as painter:
        renderer.render(painter, QRectF(0, 0, size.width(), size.height()))
    image.setDevicePixelRatio(_DENSITY)
    return image
