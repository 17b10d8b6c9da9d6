"""One region of a page was read: its blocks take the place of those that stood there."""

from __future__ import annotations

import dataclasses

from uocr.document import BOX_SCALE, Block, Page

Region = tuple[int, int, int, int]
"""Left, top, right, bottom in page pixels."""
_INSIDE = 0.6  # share of a block's area inside the region from which it counts as read anew


def merge_region(page: Page | None, read: Page, region: Region) -> Page:
    """`page` with the blocks of `read` in place of its blocks inside `region`; neither argument changes.

    Without an earlier reading, the region's reading is the page. The finish reason is the newer one's when it
    is not complete, so that a cut region is not hidden by a complete page.
    """
    if page is None or not page.blocks:
        return read
    kept: list[Block] = []
    place: int | None = None
    for block in page.blocks:
        if _share_inside(block, region, page) >= _INSIDE:
            place = len(kept) if place is None else place
        else:
            kept.append(block)
    if place is None:
        place = _place_by_height(kept, region, page)
    finish = read.finish_reason if not read.complete else page.finish_reason
    return dataclasses.replace(
        page,
        blocks=kept[:place] + list(read.blocks) + kept[place:],
        finish_reason=finish,
        problems=page.problems + read.problems,
        timings=read.timings,
        memory_estimate=read.memory_estimate,
        memory_peak=read.memory_peak,
        confidence_threshold=read.confidence_threshold,
        readings=read.readings,
        kept_reading=read.kept_reading,
    )


def _share_inside(block: Block, region: Region, page: Page) -> float:
    inside = area = 0.0
    left, top, right, bottom = region
    for box in block.boxes:
        x1, x2 = box.x1 / BOX_SCALE * page.width, box.x2 / BOX_SCALE * page.width
        y1, y2 = box.y1 / BOX_SCALE * page.height, box.y2 / BOX_SCALE * page.height
        area += max(0.0, x2 - x1) * max(0.0, y2 - y1)
        inside += max(0.0, min(x2, right) - max(x1, left)) * max(0.0, min(y2, bottom) - max(y1, top))
    return inside / area if area else 0.0


def _place_by_height(blocks: list[Block], region: Region, page: Page) -> int:
    """Before the first block that begins below the region's top and shares columns with it, else at the end."""
    left, top, right, _ = (v / side * BOX_SCALE for v, side in zip(region, (page.width, page.height) * 2, strict=True))
    for index, block in enumerate(blocks):
        if any(box.y1 >= top and box.x1 < right and box.x2 > left for box in block.boxes):
            return index
    return len(blocks)
