"""A PDF page's own coordinates, and how to add content without disturbing what is there."""

from __future__ import annotations

from dataclasses import dataclass

import pymupdf

_FONT_NAME = "LeggioText"


@dataclass(frozen=True, slots=True)
class PageFrame:
    """From the page as displayed (units of the file, y down) to the page's own space (y up, not rotated).

    `left`..`top` is the visible part in the page's own space, `rotation` how far it is turned clockwise for
    display. Units cancel out: positions are shares of the visible part, so /UserUnit does not matter.
    """

    left: float
    bottom: float
    right: float
    top: float
    rotation: int

    @classmethod
    def of(cls, page: pymupdf.Page) -> PageFrame:
        """The frame of `page`: its crop box, within its media box, and its rotation."""
        media, crop = page.mediabox, page.cropbox
        # The library tells the crop box from the media box's upper edge downwards.
        bottom, top = media.y1 - crop.y1, media.y1 - crop.y0
        return cls(max(crop.x0, media.x0), max(bottom, media.y0), min(crop.x1, media.x1), min(top, media.y1),
                   page.rotation % 360)

    @property
    def width(self) -> float:
        """Of the page as displayed."""
        return self.right - self.left if self.rotation in (0, 180) else self.top - self.bottom

    @property
    def height(self) -> float:
        """Of the page as displayed."""
        return self.top - self.bottom if self.rotation in (0, 180) else self.right - self.left

    def point(self, x: float, y: float) -> tuple[float, float]:
        """A displayed point in the page's own space."""
        across, down = self.vector(x, y)
        corner = {0: (self.left, self.top), 90: (self.left, self.bottom), 180: (self.right, self.bottom),
                  270: (self.right, self.top)}[self.rotation]
        return corner[0] + across, corner[1] + down

    def vector(self, x: float, y: float) -> tuple[float, float]:
        """A displayed direction in the page's own space."""
        return {0: (x, -y), 90: (y, x), 180: (-x, y), 270: (-y, -x)}[self.rotation]


def add_content(page: pymupdf.Page, operators: bytes) -> None:
    """Draw `operators` after everything on `page`, in the page's own space whatever the page did to it."""
    document = page.parent
    page.wrap_contents()  # evens out what the page saves and restores
    before, after = document.get_new_xref(), document.get_new_xref()
    for number, data in ((before, b"q\n"), (after, b"\nQ\n" + operators)):
        document.update_object(number, "<<>>")
        document.update_stream(number, data)
    contents = " ".join(f"{number} 0 R" for number in (before, *page.get_contents(), after))
    document.xref_set_key(page.xref, "Contents", f"[{contents}]")


def add_font(page: pymupdf.Page, font: int) -> str:
    """Make the font object `font` known to `page`; the name to call it by."""
    document = page.parent
    reference = f"{font} 0 R"
    holder, prefix = _resources(document, page.xref)
    if holder is None:
        document.xref_set_key(page.xref, "Resources", "<<>>")
        holder, prefix = page.xref, "Resources/"
    kind, value = document.xref_get_key(holder, prefix + "Font")
    if kind == "xref":
        holder, prefix = int(value.split()[0]), ""
    else:
        prefix += "Font/"
    name, number = _FONT_NAME, 0
    # Another export may have left its own font under the same name: that text must stay readable.
    while document.xref_get_key(holder, prefix + name)[1] not in ("null", reference):
        number += 1
        name = f"{_FONT_NAME}{number}"
    document.xref_set_key(holder, prefix + name, reference)
    return name


def _resources(document: pymupdf.Document, page: int) -> tuple[int | None, str]:
    """Where the page's resources are: an object, and the way to them inside it. They may belong to a parent."""
    node, seen = page, set()
    while node not in seen:
        seen.add(node)
        kind, value = document.xref_get_key(node, "Resources")
        if kind == "xref":
            return int(value.split()[0]), ""
        if kind == "dict":
            return node, "Resources/"
        kind, value = document.xref_get_key(node, "Parent")
        if kind != "xref":
            break
        node = int(value.split()[0])
    return None, ""
