"""Reading a page again where the model got lost: when, from which picture, and which of the two readings is kept.

The second picture is the page with a margin of its own ground colour around it. Everything on it lies elsewhere in the
views and is a little smaller, which is often enough for the model not to lose its way at the same place. Where the
repeat guard acted, it rests in the second reading: what it took for a loop may stand on the page, as equal rows of a
table do. Decisions only: `reading` does the work.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np
from PIL import Image

from .document import BOX_SCALE, Block, Box, FinishReason, Page, Timings
from .errors import ModelFileError
from .native import Plan
from .views import ViewPlan, plan_views

MARGIN: Final = 0.02
"""Share of the page's width that is added left and right, and of its height above and below."""

PARTS: Final = 1000
"""Of how many parts the progress of a second reading tells."""


def read_again_below(front_end: Mapping[str, Any]) -> float:
    """The probability, 0..1, below which the model's front end has a page read again; 0: never. ModelFileError."""
    value = front_end.get("read_again_below")
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ModelFileError(f"The model file names {value!r} as read_again_below; it must be a number from 0 to 1. "
                             "Convert or fetch the model again.")
    return float(value)


def looks_lost(page: Page, below: float) -> bool:
    """Whether the page should be read again: it went in circles, the repeat guard had to act, or the geometric mean of
    its tokens' probabilities is below `below` (0: never read again). A page that was stopped was not lost."""
    if below <= 0 or not page.tokens:
        return False
    if page.finish_reason is FinishReason.LOOP:
        return True
    if page.finish_reason is not FinishReason.EOS:
        return False
    return guard_acted(page) or _mean_logprob(page) < math.log(below)


def guard_acted(page: Page) -> bool:
    """Whether the repeat guard took a token from the model anywhere on the page."""
    return any(token.guard_acted for token in page.tokens)


def second_plan(plan: Plan, first: Page) -> Plan:
    """The plan of the second reading: without the repeat guard if it acted in the first. Then a page that does go in
    circles is ended by the loop verdict, and `surer` keeps a reading that ended by itself before it."""
    return replace(plan, ngram_size=0, ngram_cycle=0) if guard_acted(first) else plan


def parts_done(first: Timings, phase: str, done: int, total: int) -> int:
    """How much of a second reading is over, of PARTS: `done` of `total` of its phase (vision, prefill or decode), if
    each phase takes as long as in the first reading."""
    seconds = {"vision": first.vision_s, "prefill": first.prefill_s, "decode": first.decode_s}
    phases = list(seconds)
    before = sum(seconds[name] for name in phases[: phases.index(phase)])
    whole = sum(seconds.values())
    here = seconds[phase] * min(1.0, done / max(1, total))
    return round(PARTS * (before + here) / whole) if whole > 0 else 0


def margins(width: int, height: int) -> tuple[int, int]:
    """Pixels that are added on either side of a page, and above and below it; never none, or nothing would change."""
    return max(1, round(MARGIN * width)), max(1, round(MARGIN * height))


def surrounded(image: Image.Image) -> Image.Image:
    """The RGB picture with its margins around it, in the median colour of its outermost pixels."""
    across, down = margins(*image.size)
    around = Image.new("RGB", (image.width + 2 * across, image.height + 2 * down), _ground(image))
    around.paste(image, (across, down))
    return around


def plan_again(views: ViewPlan, width: int, height: int) -> ViewPlan:
    """The views of the surrounded picture, `width` x `height` pixels: in the very grid of the first reading, so that
    both have the same counts and the memory that was promised."""
    crops = views.crop_count > 0
    grids = ((views.crop_cols, views.crop_rows),) if crops else ()
    return plan_views(width, height, replace(views.preset, crops=crops, grids=grids))


def to_page(box: Box, width: int, height: int) -> Box:
    """A box of the surrounded picture as one of the page itself, `width` x `height` pixels; clamped to 0..999."""
    across, down = margins(width, height)

    def move(v: int, margin: int, side: int) -> int:
        return min(max(round((v * (side + 2 * margin) - BOX_SCALE * margin) / side), 0), BOX_SCALE)

    return Box(move(box.x1, across, width), move(box.y1, down, height),
               move(box.x2, across, width), move(box.y2, down, height))


def surer(first: Page, second: Page) -> Page:
    """The reading to keep: one that ended by itself before one that did not, else that with the larger mean
    log-probability of all its tokens. The first if they are equal, or if nothing was written in the second."""
    if not second.tokens:
        return first
    if first.complete != second.complete:
        return first if first.complete else second
    return second if not first.tokens or _mean_logprob(second) > _mean_logprob(first) else first


def settle(page: Page, second: Page, notes: list[str], size: tuple[int, int]) -> None:
    """`page`, the first reading, becomes the surer of both and counts the work of both.

    notes: of the page's problems those that were known before it was read. size: pixels of what was read, which the
    boxes of `page` refer to; those of `second` refer to the same with its margins.
    """
    kept = surer(page, second)
    page.readings = 2
    page.timings = _added(page.timings, second.timings)
    page.memory_peak = {name: max(peak, second.memory_peak.get(name, 0)) for name, peak in page.memory_peak.items()}
    if kept is page:
        return
    page.kept_reading = 2
    page.blocks = [_moved(block, size) for block in second.blocks]
    page.raw_text, page.tokens = second.raw_text, second.tokens
    page.finish_reason, page.error = second.finish_reason, second.error
    page.problems = notes + second.problems


def _moved(block: Block, size: tuple[int, int]) -> Block:
    return replace(block, boxes=tuple(to_page(box, *size) for box in block.boxes))


def _added(first: Timings, second: Timings) -> Timings:
    """Seconds and written tokens of both readings; the prompt was the same."""
    return replace(
        first,
        vision_s=first.vision_s + second.vision_s,
        prefill_s=first.prefill_s + second.prefill_s,
        decode_s=first.decode_s + second.decode_s,
        generated_tokens=first.generated_tokens + second.generated_tokens,
    )


def _mean_logprob(page: Page) -> float:
    return math.fsum(token.logprob for token in page.tokens) / len(page.tokens)


def _ground(image: Image.Image) -> tuple[int, ...]:
    """The median of the outermost pixels, channel by channel; of an even number the lower one, a value that occurs."""
    width, height = image.size
    sides = [(0, 0, width, 1), (0, height - 1, width, height), (0, 0, 1, height), (width - 1, 0, width, height)]
    rim = np.concatenate([np.asarray(image.crop(side)).reshape(-1, 3) for side in sides])
    return tuple(int(v) for v in np.sort(rim, axis=0)[(len(rim) - 1) // 2])
