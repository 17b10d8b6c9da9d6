"""One choice on one page: the text forced token by token, and read freely.

Forced: the reference text's ids are given one after the other, and at each place the next-token distribution is kept.
Free: greedy decoding as in everyday reading; where the model looks lost, the page is read a second time and the surer
reading kept, by the product's own rules. Both go through the engine's own runs, so that the window over generated
tokens and the repeat guard act as they do for a user.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from PIL import Image
from uocr import document, native, rereading
from uocr.document import Box, FinishReason, Token
from uocr.reading import Reader
from uocr.score import character_errors, normalise, same_box
from uocr.settings import ReadSettings
from uocr.tokenizer import Tokenizer
from uocr.views import ViewPlan, make_views

from bench.quality.pages import Page

_BOX = re.compile(r"\[(\d+), (\d+), (\d+), (\d+)\](?=<\|/det\|>)")
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
    """One reading: its text, why it ended (`eos`, `loop`, `length`), the visual rows [rows, hidden] behind it, and its
    tokens without the end mark."""

    text: str
    finish: str
    rows: np.ndarray
    tokens: tuple[Token, ...] = ()

    def page(self) -> document.Page:
        """As the product's rules about second readings take it."""
        return document.Page("", 0, 0, 0, raw_text=self.text, tokens=list(self.tokens),
                             finish_reason=FinishReason(self.finish))


@dataclass(frozen=True)
class Readings:
    """What reading a page as a user does comes to: the first reading, and the one kept of `count` (1 or 2)."""

    first: FreeReading
    kept: FreeReading
    count: int = 1


@dataclass(frozen=True)
class PageCase:
    """A page ready to be run many times: the prompt's plan, pixels of the views, the text's ids and their kinds."""

    page: Page
    plan: native.Plan
    views: ViewPlan
    pixels: list[np.ndarray]
    ids: list[int]
    digits: np.ndarray
    """bool [places]: the id stands for digits of text."""
    boxes: np.ndarray
    """bool [places]: the id stands for a coordinate."""


@dataclass
class FreeResult:
    """A page read freely by one choice, against the reference read likewise. Errors are against the page's truth."""

    errors: int
    same: bool
    """The text is the reference's, character by character."""
    box_pairs: int
    """Boxes that the reference read; `box_equal` of them were read within 2 of 999 at each side."""
    box_equal: int
    finish: str
    count: int = 1
    """Readings that the model made of the page."""
    below: float = 0.0
    """The `read_again_below` they were made by."""


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
    """This and what follows but `kept`: of the first reading, as in `FreeResult`."""
    free_length: int = 0
    free_same: bool = False
    box_pairs: int = 0
    box_equal: int = 0
    finish: str = ""
    kept: FreeResult | None = None
    """Of the reading that the product keeps; None where the model reads every page once, or nobody asked yet."""

    @classmethod
    def from_stored(cls, values: Mapping[str, Any]) -> PageResult:
        """The result whose `asdict` was stored; one from before pages were read twice lacks `kept`."""
        kept = values.get("kept")
        return cls(**{**values, "kept": FreeResult(**kept) if kept else None})

    def holds(self, below: float) -> bool:
        """Whether it tells how the product reads the page with this `read_again_below`."""
        return not below or (self.kept is not None and self.kept.below == below)

    @property
    def first(self) -> FreeResult:
        return FreeResult(self.free_errors, self.free_same, self.box_pairs, self.box_equal, self.finish)

    @property
    def read(self) -> FreeResult:
        """As the product reads."""
        return self.kept or self.first


class Bench:
    """An open model, and what it does with pages. `below`: the probability below which it reads a page again."""

    def __init__(self, engine: native.Engine, front_end: dict, tokenizer: Tokenizer, below: float = 0.0) -> None:
        self.engine, self.tokenizer, self.below = engine, tokenizer, below
        self.reader = Reader(engine, front_end, tokenizer)
        self.info = self.reader.info

    def case(self, page: Page, text: str) -> PageCase:
        """`text` in the output grammar is what will be forced; the page is looked at in its own preset."""
        with Image.open(page.picture) as picture:
            views, plan = self.reader.plan_page(*picture.size, ReadSettings(preset=page.preset, max_new_tokens=_MOST))
            pixels = list(make_views(picture.convert("RGB"), views.preset).views)
        forced = [*self.tokenizer.scoring_ids(text), self.info.eos_id]
        digits, boxes = kinds_of(forced, self.tokenizer)
        return PageCase(page, plan, views, pixels, forced, digits, boxes)

    def _events(self, run: native.Run, pixels: Sequence[np.ndarray]) -> Iterator[native.Event]:
        for event in run.events():
            if event.kind == native.NEED_VIEW:
                run.feed(event.view, pixels[event.view])
            elif event.kind in (native.TOKEN, native.DONE):
                yield event

    def forced(self, case: PageCase, rows: np.ndarray) -> Forced:
        """Distributions along the page's text, seen as `rows`."""
        # Without the repeat guard and the loop verdict: the text is given, not chosen.
        plan = replace(case.plan, max_new_tokens=len(case.ids), ngram_size=0, ngram_cycle=0, loop_history=0)
        usable = self.info.usable_vocab
        logits = np.empty((len(case.ids), usable), np.float32)
        with self.engine.begin(plan) as run:
            run.capture("logits")
            run.set_rows(rows)
            run.force_token(case.ids[0])
            place = 0
            for event in self._events(run, case.pixels):
                if event.kind == native.TOKEN:
                    logits[place] = run.fetch("logits")[-1][:usable]
                    place += 1
                    if place < len(case.ids):
                        run.force_token(case.ids[place])
        if place != len(case.ids):
            raise RuntimeError(f"{case.page.picture.name}: {place} of {len(case.ids)} tokens were forced")
        return Forced(case.ids, logits)

    def free(self, case: PageCase, rows: np.ndarray | None = None) -> FreeReading:
        """Read once as a user would: with the repeat guard and the loop verdict. `rows` replace looking at the page."""
        return self._free(case.plan, case.pixels, rows)

    def readings(self, case: PageCase, rows: np.ndarray | None = None) -> Readings:
        """Read as a user would, a second time where the first reading calls for it; `rows` as in `free`."""
        first = self.free(case, rows)
        page = first.page()
        if not rereading.looks_lost(page, self.below):
            return Readings(first, first)
        second = self.again(case, page)
        kept = first if rereading.surer(page, second.page()) is page else second
        return Readings(first, kept, 2)

    def again(self, case: PageCase, first: document.Page) -> FreeReading:
        """The second reading, of the page with margins; its boxes are those of the page itself."""
        with Image.open(case.page.picture) as picture:
            size, around = picture.size, rereading.surrounded(picture.convert("RGB"))
        views = make_views(around, rereading.plan_again(case.views, *around.size).preset)

        def moved(match: re.Match[str]) -> str:
            box = rereading.to_page(_box(match), *size)
            return f"[{box.x1}, {box.y1}, {box.x2}, {box.y2}]"

        read = self._free(rereading.second_plan(case.plan, first), views.views)
        return replace(read, text=_BOX.sub(moved, read.text))

    def _free(self, plan: native.Plan, pixels: Sequence[np.ndarray], rows: np.ndarray | None = None) -> FreeReading:
        tokens: list[Token] = []
        with self.engine.begin(plan) as run:
            if rows is None:
                run.capture("rows")
            else:
                run.set_rows(rows)
            for event in self._events(run, pixels):
                if event.kind == native.TOKEN and event.token != self.info.eos_id:
                    tokens.append(Token(event.token, event.logprob, event.guard_acted))
            seen = run.fetch("rows") if rows is None else rows
        return FreeReading(self.tokenizer.decode([t.id for t in tokens]), event.finish, seen, tuple(tokens))


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


def _box(match: re.Match[str]) -> Box:
    return Box(*map(int, match.groups()))


def boxes_in(text: str) -> list[Box]:
    return [_box(match) for match in _BOX.finditer(text)]


def compare_free(case: PageCase, reference: FreeReading, other: FreeReading) -> FreeResult:
    """The figures of a reading against one of the reference."""
    wanted, found = boxes_in(reference.text), boxes_in(other.text)
    return FreeResult(character_errors(other.text, case.page.text).count, other.text == reference.text, len(wanted),
                      sum(any(same_box(a, b) for b in found) for a in wanted), other.finish)


def compare_readings(case: PageCase, reference: Readings, other: Readings, result: PageResult, below: float) -> None:
    """Add the figures of free reading to `result`: first readings, and what the product keeps where `below` is not 0
    (it then may read a page again)."""
    first = compare_free(case, reference.first, other.first)
    result.free_errors, result.free_length = first.errors, len(normalise(case.page.text))
    result.free_same, result.finish = first.same, first.finish
    result.box_pairs, result.box_equal = first.box_pairs, first.box_equal
    result.kept = replace(compare_free(case, reference.kept, other.kept), count=other.count,
                          below=below) if below else None
