"""Numbers, sizes and times as a person reads them, with the marks of the window's language."""

from __future__ import annotations

from PySide6.QtCore import QLocale


def _locale() -> QLocale:
    """The window's; where the system names none ("C"), English."""
    chosen = QLocale()
    return QLocale(QLocale.Language.English) if chosen.language() == QLocale.Language.C else chosen


def number_text(value: float, digits: int = 0) -> str:
    """10,360 or 3.5; in Italian 10.360 or 3,5."""
    return _locale().toString(float(value), "f", digits)


def share_text(share: float) -> str:
    """A share of 1 in percent."""
    return f"{number_text(share * 100)}%"


def bytes_text(count: int) -> str:
    """Three digits and a unit: 812 kB, 24.7 MB, 1.92 GB (powers of ten, as disks and macOS count)."""
    value, unit = float(count), "B"
    for bigger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, bigger
    digits = 0 if unit == "B" or value >= 100 else 1 if value >= 10 else 2
    return f"{number_text(value, digits)} {unit}"


def elided(name: str, most: int = 48) -> str:
    """A file's name, its middle left out where it is longer than `most` characters; the end with its suffix stays."""
    if len(name) <= most:
        return name
    kept = most - 1
    return f"{name[: kept - kept // 2]}…{name[-(kept // 2) :]}"


def duration_text(seconds: float) -> str:
    """Minutes and hours, rounded as a person would say them."""
    minutes = max(1, round(seconds / 60))
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"
