"""Colours by meaning, for light and dark. The system's palette decides which of the two holds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication


def is_dark(palette: QPalette | None = None) -> bool:
    """Whether text is lighter than what it stands on."""
    palette = palette or QApplication.palette()
    return palette.windowText().color().lightness() > palette.window().color().lightness()


@dataclass(frozen=True, slots=True)
class Colours:
    """Every colour that is not the system's own."""

    good: QColor
    warn: QColor
    bad: QColor
    quiet: QColor
    """Secondary text: at least 4.5 to 1 on the window and on white."""
    line: QColor
    """Hairlines between parts."""
    desk: QColor
    """What a page lies on."""
    frame: QColor
    """The view frames drawn over a page."""
    doubt: QColor
    """Under words the model was unsure of."""
    doubt_fill: QColor
    missed: QColor
    invented: QColor


_LIGHT = Colours(
    good=QColor("#1f7a3d"),
    warn=QColor("#8f5a00"),
    bad=QColor("#b3261e"),
    quiet=QColor("#62656b"),
    line=QColor("#d8d9dc"),
    desk=QColor("#e7e7ea"),
    frame=QColor("#0a63c9"),
    doubt=QColor("#b86e00"),
    doubt_fill=QColor(255, 196, 61, 70),
    missed=QColor("#c2410c"),
    invented=QColor("#9333a8"),
)
_DARK = Colours(
    good=QColor("#5ecb82"),
    warn=QColor("#f0b54a"),
    bad=QColor("#ff8a80"),
    quiet=QColor("#a3a6ad"),
    line=QColor("#3d3e42"),
    desk=QColor("#18191b"),
    frame=QColor("#4a9dff"),
    doubt=QColor("#f0b54a"),
    doubt_fill=QColor(240, 181, 74, 60),
    missed=QColor("#ff8a4c"),
    invented=QColor("#d38ae6"),
)


def colours(palette: QPalette | None = None) -> Colours:
    return _DARK if is_dark(palette) else _LIGHT


_LABEL_HUES = {
    "title": 214,
    "sub_title": 200,
    "text": 145,
    "list": 165,
    "table": 28,
    "table_caption": 40,
    "equation": 280,
    "formula": 280,
    "image": 330,
    "figure": 330,
    "image_caption": 345,
    "caption": 345,
    "header": 90,
    "footer": 75,
    "page_number": 75,
    "code": 255,
}


@lru_cache(maxsize=256)
def label_colour(label: str) -> QColor:
    """The colour of blocks called `label`; the page is paper, so it is the same in light and dark."""
    name = label.strip().lower().replace(" ", "_")
    hue = _LABEL_HUES.get(name, sum(ord(c) * (i + 7) for i, c in enumerate(name)) * 47 % 360)
    return QColor.fromHsv(hue, 200, 190)


_CATEGORY_COLOURS = (
    "#4878a8",
    "#e08a3c",
    "#57a773",
    "#c95d63",
    "#8a6fb5",
    "#b5895b",
    "#d48bb8",
    "#8c8f94",
    "#b8b04a",
    "#4fb3bf",
)


def category_colour(number: int) -> QColor:
    """The colour of memory category `number`, far enough from its neighbours' in light and dark."""
    return QColor(_CATEGORY_COLOURS[number % len(_CATEGORY_COLOURS)])


def light_palette() -> QPalette:
    """For desktops whose style does not bring its own (everything but macOS)."""
    return _palette("#f5f5f7", "#ffffff", "#1d1d1f", "#0a63c9", "#ececef", "#7d8086")


def box_palette(palette: QPalette) -> QPalette:
    """`palette` for check boxes and radio buttons: on a dark window their boxes would be darker than it, unseen."""
    boxes = QPalette(palette)
    if is_dark(palette):
        boxes.setColor(QPalette.ColorRole.Base, QColor("#5b5d63"))
        boxes.setColor(QPalette.ColorGroup.Disabled, QPalette.ColorRole.Base, QColor("#3f4045"))
    return boxes


def dark_palette() -> QPalette:
    return _palette("#242528", "#1d1e20", "#ececee", "#2f7fe0", "#34353a", "#85888f")


def _palette(window: str, base: str, text: str, accent: str, button: str, faint: str) -> QPalette:
    palette = QPalette(QColor(button), QColor(window))
    role = QPalette.ColorRole
    for part, colour in (
        (role.Window, window),
        (role.Base, base),
        (role.AlternateBase, window),
        (role.Text, text),
        (role.WindowText, text),
        (role.ButtonText, text),
        (role.Button, button),
        (role.Highlight, accent),
        (role.HighlightedText, "#ffffff"),
        (role.Link, accent),
        (role.ToolTipBase, base),
        (role.ToolTipText, text),
        (role.PlaceholderText, faint),
        (role.Accent, accent),
    ):
        palette.setColor(part, QColor(colour))
    for part in (role.Text, role.WindowText, role.ButtonText, role.HighlightedText):
        palette.setColor(QPalette.ColorGroup.Disabled, part, QColor(faint))
    palette.setColor(QPalette.ColorGroup.Disabled, role.Highlight, QColor(button))
    return palette
