"""One choice on one page: the text forced token by token, and read freely.

Forced: the reference text's ids are given one after the other, and at each place the next-token distribution is kept.
Free: greedy decoding as in everyday reading. Both go through the engine's own runs, so that the window over generated
tokens and the repeat guard act as they do for a user.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from PIL import Image
from uocr import native
from uocr.document import Box
from uocr.prompt import build_prompt_ids, default_prompt
from uocr.score import character_errors, same_box
from uocr.tokenizer import Tokenizer
from uocr.views import make_views

from bench.quality.pages import Page

_BOX = re.compile(r"\[(\d+), (\d+), (\d+), (\d+)\]<\|/det\|>")
_MOST = 1800


@dataclass(frozen=True)
class Forced:
    """Distributions along a text: `logits` [places, vocabulary] before each id of `ids`, padding ids masked out."""

    ids: list[int]
    logits: np.ndarray

    @cached_property
    def log_probabilities(self) -> np.ndarray:
        """float64 [places, vocabulary], made once: those of the reference serve every choice."""
        return log_softmax(self.logits)


@dataclass(frozen=True)
class FreeReading:
    """Text read greedily, why it ended (`eos`, `loop`, `length`), and the visual rows [rows, hidden] behind it."""

    text: str
    finish: str
    rows: np.ndarray


@dataclass(frozen=True)
class PageCase:
    """A page ready to be run many times: the prompt's plan, pixels of the views, the text's ids and their kinds."""

    page: Page
    plan: native.Plan
    pixels: list[np.ndarray]
    ids: list[int]
    digits: np.ndarray
    """bool [places]: the id stands for digits of text."""
    boxes: np.ndarray
    """bool [places]: the id stands for a coordinate."""


@dataclass
class PageResult:
    """One choice on one page, against the reference. Sums over `places`; nats."""

    page: int
    places: int = 0
    nll: float = 0.0
    kl: float = 0.0
    agree: int = 0
    """Places where the greedy choice is the reference's."""
    digit_places: int = 0
    digit_nll: float = 0.0
    digit_agree: int = 0
    box_places: int = 0
    box_nll: float = 0.0
    box_agree: int = 0
    free_errors: int = 0
    free_length: int = 0
    free_same: bool = False
    """The text read freely is the reference's, character by character."""
    box_pairs: int = 0
    """Boxes the reference read freely; `box_equal` of them were read within 2 of 999 at each side."""
    box_equal: int = 0
    finish: str = ""


class Bench:
    """An open model, and what it does with pages."""

    def __init__(self, engine: native.Engine, front_end: dict, tokenizer: Tokenizer) -> None:
        self.engine, self.front_end, self.tokenizer = engine, front_end, tokenizer
        self.info = engine.info()

    def case(self, page: Page, text: str) -> PageCase:
        """`text` in the output grammar is what will be forced; the page is looked at in its own preset."""
        with Image.open(page.picture) as picture:
            views = make_views(picture.convert("RGB"), page.preset)
            pixels = list(views.views)
        prompt = default_prompt(self.front_end)
        ids = build_prompt_ids(self.front_end, self.info, self.tokenizer, prompt, [views.visual_tokens])
        guard = self.front_end.get("ngram", {})
        crops = views.plan.crop_count > 0
        plan = native.Plan(ids, global_size=views.global_size, crop_cols=views.crop_cols if crops else 0,
                           crop_rows=views.crop_rows if crops else 0, max_new_tokens=_MOST,
                           ngram_size=guard.get("size", 35), ngram_window=guard.get("window", 128))
        forced = [*self.tokenizer.scoring_ids(text), self.info.eos_id]
        digits, boxes = kinds_of(forced, self.tokenizer)
        return PageCase(page, plan, pixels, forced, digits, boxes)

    def _events(self, run: native.Run, case: PageCase) -> Iterator[native.Event]:
        for event in run.events():
            if event.kind == native.NEED_VIEW:
                run.feed(event.view, case.pixels[event.view])
            elif event.kind in (native.TOKEN, native.DONE):
                yield event

    def forced(self, case: PageCase, rows: np.ndarray) -> Forced:
        """Distributions along the page's text, seen as `rows`."""
        # Without the repeat guard and the loop verdict: the text is given, not chosen.
        plan = _with(case.plan, max_new_tokens=len(case.ids), ngram_size=0, loop_history=0)
        usable = self.info.usable_vocab
        logits = np.empty((len(case.ids), usable), np.float32)
        with self.engine.begin(plan) as run:
            run.capture("logits")
            run.set_rows(rows)
            run.force_token(case.ids[0])
            place = 0
            for event in self._events(run, case):
                if event.kind == native.TOKEN:
                    logits[place] = run.fetch("logits")[-1][:usable]
                    place += 1
                    if place < len(case.ids):
                        run.force_token(case.ids[place])
        if place != len(case.ids):
            raise RuntimeError(f"{case.page.picture.name}: {place} of {len(case.ids)} tokens were forced")
        return Forced(case.ids, logits)

    def free(self, case: PageCase, rows: np.ndarray | None = None) -> FreeReading:
        """Read as a user would: with the repeat guard and the loop verdict. `rows` replace looking at the page."""
        ids: list[int] = []
        with self.engine.begin(case.plan) as run:
            if rows is None:
                run.capture("rows")
            else:
                run.set_rows(rows)
            for event in self._events(run, case):
                if event.kind == native.TOKEN and event.token != self.info.eos_id:
                    ids.append(event.token)
            seen = run.fetch("rows") if rows is None else rows
        return FreeReading(self.tokenizer.decode(ids), event.finish, seen)


def _with(plan: native.Plan, **changes: object) -> native.Plan:
    values = {name: getattr(plan, name) for name in native.Plan.__dataclass_fields__}
    return native.Plan(**(values | changes))


def kinds_of(ids: Sequence[int], tokenizer: Tokenizer) -> tuple[np.ndarray, np.ndarray]:
    """For each id whether it holds digits of text, and whether it is a coordinate inside a marker."""
    opening, closing = tokenizer.id_of("<|det|>"), tokenizer.id_of("<|/det|>")
    digits, boxes, inside = np.zeros(len(ids), bool), np.zeros(len(ids), bool), False
    for n, token in enumerate(ids):
        if token in (opening, closing):
            inside = token == opening
        elif any(48 <= byte <= 57 for byte in tokenizer.token_bytes(token)):
            (boxes if inside else digits)[n] = True
    return digits, boxes


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """float64 [places, vocabulary]."""
    values = logits.astype(np.float64)
    values -= values.max(axis=1, keepdims=True)
    return values - np.log(np.exp(values).sum(axis=1, keepdims=True))


def compare_forced(case: PageCase, reference: Forced, other: Forced, result: PageResult) -> None:
    """Add the teacher-forced figures of one page to `result`."""
    p, q = reference.log_probabilities, other.log_probabilities
    at = np.arange(len(case.ids))
    nll = -q[at, case.ids]
    same = p.argmax(axis=1) == q.argmax(axis=1)
    result.places = len(case.ids)
    result.nll, result.kl = float(nll.sum()), float((np.exp(p) * (p - q)).sum())
    result.agree = int(same.sum())
    result.digit_places, result.box_places = int(case.digits.sum()), int(case.boxes.sum())
    result.digit_nll, result.box_nll = float(nll[case.digits].sum()), float(nll[case.boxes].sum())
    result.digit_agree, result.box_agree = int(same[case.digits].sum()), int(same[case.boxes].sum())


def boxes_in(text: str) -> list[Box]:
    return [Box(*map(int, match.groups())) for match in _BOX.finditer(text)]


def compare_free(case: PageCase, reference: FreeReading, other: FreeReading, result: PageResult) -> None:
    """Add the figures of free reading. Errors are against the page's truth."""
    errors = character_errors(other.text, case.page.text)
    result.free_errors, result.free_length = errors.count, errors.length
    result.free_same, result.finish = other.text == reference.text, other.finish
    wanted, found = boxes_in(reference.text), boxes_in(other.text)
    result.box_pairs = len(wanted)
    result.box_equal = sum(any(same_box(a, b) for b in found) for a in wanted)
