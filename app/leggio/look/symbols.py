"""Line symbols for buttons and menus, drawn in the palette's text colour so that they fit light and dark."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QIconEngine, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication

_PATHS = {
    "open": "M3 18V6.5A1.5 1.5 0 0 1 4.5 5H9l2 2.5h8.5A1.5 1.5 0 0 1 21 9v9a1.5 1.5 0 0 1-1.5 1.5h-15"
    "A1.5 1.5 0 0 1 3 18z",
    "read": "M7 4.5v15l12-7.5z",
    "pause": "M8 5v14M16 5v14",
    "stop": "M6 6h12v12H6z",
    "zoom-in": "M10.5 4a6.5 6.5 0 1 0 0 13a6.5 6.5 0 0 0 0-13zM15.3 15.3L20.5 20.5M7.5 10.5h6M10.5 7.5v6",
    "zoom-out": "M10.5 4a6.5 6.5 0 1 0 0 13a6.5 6.5 0 0 0 0-13zM15.3 15.3L20.5 20.5M7.5 10.5h6",
    "fit": "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
    "rotate": "M19.5 12a7.5 7.5 0 1 1-2.6-5.7M19.5 3.5v4h-4",
    "views": "M4 4h16v16H4zM4 12h16M12 4v16",
    "boxes": "M4 5h16v5H4zM4 14h10v5H4z",
    "region": "M4 7V4h3M17 4h3v3M20 17v3h-3M7 20H4v-3M10.5 4h3M10.5 20h3M4 10.5v3M20 10.5v3",
    "copy": "M9 9h11v11H9zM5 15H4V4h11v1",
    "export": "M12 3.5v11M8 7.5l4-4 4 4M5 12.5v8h14v-8",
    "find": "M10.5 4a6.5 6.5 0 1 0 0 13a6.5 6.5 0 0 0 0-13zM15.3 15.3L20.5 20.5",
    "doubt": "M9 9a3 3 0 1 1 4.2 2.8c-.8.4-1.2 1-1.2 2.2M12 17.4v.3M12 3a9 9 0 1 0 0 18a9 9 0 0 0 0-18z",
    "close": "M6 6l12 12M18 6L6 18",
    "previous": "M14.5 5.5L8 12l6.5 6.5",
    "next": "M9.5 5.5L16 12l-6.5 6.5",
    "capture": "M4 8h3l1.5-2.5h7L17 8h3v11H4zM12 10a3.5 3.5 0 1 0 0 7a3.5 3.5 0 0 0 0-7z",
    "page": "M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6",
    "again": "M4.5 12a7.5 7.5 0 1 0 2.6-5.7M4.5 3.5v4h4",
    "history": "M12 3.5a8.5 8.5 0 1 0 0 17a8.5 8.5 0 0 0 0-17zM12 7.5V12l3 2",
}


class _SymbolEngine(QIconEngine):
    """Draws one symbol at any size, in the colour that the application's palette has now."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def clone(self) -> QIconEngine:
        return _SymbolEngine(self._name)

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        group = QPalette.ColorGroup.Disabled if mode == QIcon.Mode.Disabled else QPalette.ColorGroup.Active
        draw_symbol(
            painter,
            QRectF(rect),
            self._name,
            QApplication.palette().color(group, QPalette.ColorRole.WindowText),
        )

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        pixmap = QPixmap(size)
        pixmap.fill(Qt.GlobalColor.transparent)
        with QPainter(pixmap) as painter:
            self.paint(painter, pixmap.rect(), mode, state)
        return pixmap


def symbol(name: str) -> QIcon:
    """The icon called `name`."""
    assert name in _PATHS, name
    return QIcon(_SymbolEngine(name))


def draw_symbol(painter: QPainter, rect: QRectF, name: str, colour: QColor) -> None:
    fill = colour.name() if name in ("read", "stop") else "none"
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path d="{_PATHS[name]}" fill="{fill}" '
        f'stroke="{colour.name()}" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round"/></svg>'
    )
    QSvgRenderer(QByteArray(svg.encode())).render(painter, rect)
