"""One page of an input as a source of its own. Imported when the first page is opened: it brings the PDF
library."""

from __future__ import annotations

from uocr.sources import PageImage, Source


class OnePage(Source):
    """One page of an input as a source of its own that keeps the file's name and page number."""

    kind = "page"

    def __init__(self, whole: Source) -> None:
        super().__init__(whole.name, list(whole.indices[:1]), whole.limits)
        self._whole = whole

    @property
    def sha256(self) -> str:
        return self._whole.sha256

    def page_size(self, i: int) -> tuple[int, int]:
        return self._whole.page_size(i)

    def page(self, i: int) -> PageImage:
        return self._whole.page(i)

    def close(self) -> None:
        self._whole.close()
