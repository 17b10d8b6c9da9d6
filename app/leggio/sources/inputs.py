"""An input, and its pages opened one after the other. The PDF library is loaded with the first page, not before."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image
from uocr.errors import InvalidRequest, UnreadableFile

if TYPE_CHECKING:
    from uocr.sources import Source

    from leggio.sources.chosen_pages import ChosenPages

Input = Path | Image.Image
"""A file, or a picture that came through the clipboard or a screen capture."""


def refuse_special(task_input: Input, name: str) -> None:
    """Raise UnreadableFile for a pipe or device: opening one may wait for ever."""
    # os.path says no where pathlib raises: for a name that is too long, or one with a zero byte.
    if isinstance(task_input, Path) and os.path.exists(task_input) and not os.path.isfile(task_input):
        raise UnreadableFile(f"{name} is no file but a folder, pipe or device; choose a file.")


def open_page(task_input: Input, name: str, number: int, **options: Any) -> ChosenPages:
    """Page `number` (from 0) of an input, opened anew for this page alone; options as of `open_source`.

    Raises UnreadableFile, EncryptedFile, EmptyDocument, TooLarge or InvalidRequest.
    """
    # The PDF library takes a third of a second to load: the window's start must not wait for it.
    from uocr.sources import open_source

    from leggio.sources.chosen_pages import ChosenPages

    pages = None if isinstance(task_input, Image.Image) else str(number + 1)
    return ChosenPages(open_source(task_input, pages=pages, name=name, **options), (0,), owns=True)


class LastInput:
    """Opens pages and keeps the last file open: opening a file of 500 frames looks at every one of them.

    Belongs to one thread. A file that changed or vanished since is opened anew, so that this is noticed.
    """

    def __init__(self) -> None:
        self._key: tuple[object, ...] = ()
        self._source: Source | None = None

    def page(self, task_input: Input, name: str, number: int, **options: Any) -> ChosenPages:
        """As `open_page`."""
        return self.pages(task_input, name, (number,), **options)

    def pages(self, task_input: Input, name: str, numbers: Sequence[int], **options: Any) -> ChosenPages:
        """Several pages of one input, in the order given; errors as of `open_page`."""
        from uocr.sources import open_source

        from leggio.sources.chosen_pages import ChosenPages

        if isinstance(task_input, Image.Image):
            return open_page(task_input, name, numbers[0], **options)
        refuse_special(task_input, name)
        try:
            status = task_input.stat()
            state: tuple[object, ...] = (status.st_mtime_ns, status.st_size, status.st_ino)
        except (OSError, ValueError):
            state = ()
        key = (task_input, *state, *sorted(options.items()))
        if key != self._key or self._source is None or not state:
            self.close()
            self._source = open_source(task_input, name=name, **options)
            self._key = key
        indices = self._source.indices
        for number in numbers:
            if number not in indices:
                raise InvalidRequest(f"{name} has {len(self._source)} pages, there is no page {number + 1} any more.")
        return ChosenPages(self._source, [indices.index(number) for number in numbers])

    def close(self) -> None:
        """Let go of the file."""
        if self._source is not None:
            self._source.close()
        self._source, self._key = None, ()
