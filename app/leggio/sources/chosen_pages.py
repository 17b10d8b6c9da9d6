"""Some pages of an input as a source of their own. Imported at the first page opened: it brings the PDF library."""

from __future__ import annotations

from collections.abc import Sequence

from uocr.sources import PageImage, Source


class ChosenPages(Source):
    """Pages `at` of an input (places among its chosen pages) that keep the file's name and their page numbers.

    The input stays open when these are closed, unless they own it.
    """

    kind = "page"

    def __init__(self, whole: Source, at: Sequence[int], *, owns: bool = False) -> None:
        super().__init__(whole.name, [whole.indices[i] for i in at], whole.limits)
        self._whole, self._at, self._owns = whole, tuple(at), owns

    @property
    def is_drawn(self) -> bool:
        """A PDF: its pages have whatever number of pixels they are drawn with."""
        return self._whole.kind == "pdf"

    @property
    def sha256(self) -> str:
        return self._whole.sha256

    def page_size(self, i: int) -> tuple[int, int]:
        self._check_index(i)
        return self._whole.page_size(self._at[i])

    def page(self, i: int) -> PageImage:
        self._check_index(i)
        return self._whole.page(self._at[i])

    def close(self) -> None:
        if self._owns:
            self._whole.close()
