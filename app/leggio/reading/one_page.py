"""One page of an input as a source of its own. Imported when the first page is opened: it brings the PDF library."""

from __future__ import annotations

from uocr.sources import PageImage, Source


class OnePage(Source):
    """Page `at` of an input as a source of its own that keeps the file's name and page number.

    The input stays open when the page is closed, unless the page owns it.
    """

    kind = "page"

    def __init__(self, whole: Source, at: int = 0, *, owns: bool = False) -> None:
        super().__init__(whole.name, [whole.indices[at]], whole.limits)
        self._whole, self._at, self._owns = whole, at, owns

    @property
    def sha256(self) -> str:
        return self._whole.sha256

    def page_size(self, i: int) -> tuple[int, int]:
        self._check_index(i)
        return self._whole.page_size(self._at)

    def page(self, i: int) -> PageImage:
        self._check_index(i)
        return self._whole.page(self._at)

    def close(self) -> None:
        if self._owns:
            self._whole.close()
