"""Sizes and times as a person reads them."""

from __future__ import annotations


def bytes_text(count: int) -> str:
    """Three digits and a unit: 812 kB, 24.7 MB, 1.92 GB (powers of ten, as disks and macOS count)."""
    value, unit = float(count), "B"
    for bigger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, bigger
    digits = 0 if unit == "B" or value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{digits}f} {unit}"


def duration_text(seconds: float) -> str:
    """Minutes and hours, rounded as a person would say them."""
    minutes = max(1, round(seconds / 60))
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"
