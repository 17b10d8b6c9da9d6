"""Page ranges as people write them: "1-3,5,-1"."""

from __future__ import annotations

import re
from typing import Final

from uocr.errors import EmptyDocument, InvalidRequest

_ITEM: Final = re.compile(r"(-?\d+)(?:(-)(-?\d+)?)?")


def choose_pages(pages: str | None, count: int, name: str) -> list[int]:
    """Indices from 0 of the chosen pages of a document of `count` pages, in the order asked for, each once.

    `pages` counts from 1; a negative number counts from the end (-1 is the last page); "4-" means from page 4
    on; "3-1" runs backwards; None or an empty text means all. Raises EmptyDocument for a document without
    pages, InvalidRequest for a range that cannot be read or lies outside.
    """
    if count < 1:
        raise EmptyDocument(f"{name} has no page in it; nothing was read.")
    if pages is None or not pages.strip():
        return list(range(count))
    chosen: dict[int, None] = {}
    for item in pages.split(","):
        found = _ITEM.fullmatch(item.strip().replace(" ", ""))
        if not found:
            raise InvalidRequest(f"The page range {item.strip()!r} cannot be read; "
                                 "write numbers and ranges, such as 1-3,5,-1.")
        first = _index(int(found[1]), count, name)
        last = first
        if found[2]:
            last = _index(int(found[3]), count, name) if found[3] else count - 1
        step = 1 if first <= last else -1
        chosen.update(dict.fromkeys(range(first, last + step, step)))
    return list(chosen)


def _index(number: int, count: int, name: str) -> int:
    index = number - 1 if number > 0 else count + number
    if number == 0 or not 0 <= index < count:
        raise InvalidRequest(f"There is no page {number} in {name}, which has {count} "
                             f"page{'s' * (count != 1)}; pages count from 1, or from -1 at the end.")
    return index
