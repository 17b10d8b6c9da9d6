"""An engine that plays a script: `uocr.UnlimitedOCR`'s interface, events as from the real one, and a fake
clock."""

from __future__ import annotations

import dataclasses
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from uocr import events, markup
from uocr.control import Control
from uocr.document import SECOND_CANCELLED, Document, FinishReason, Page, Timings, Token
from uocr.errors import OverBudget, UocrError
from uocr.native import MemoryEstimate, MemoryReport, ModelInfo
from uocr.settings import ReadSettings
from uocr.sources import Source
from uocr.views import plan_views

CATEGORIES = {
    "model views": 24_000_000,
    "KV cache": 6_000_000,
    "vision workspace": 9_000_000,
    "decoder scratch": 1_000_000,
}
BUDGET = 4_000_000_000

PAGE = (
    "<|det|>title [100, 60, 820, 110]<|/det|>Notes from the ferry office\n"
    "<|det|>text [100, 180, 800, 330]<|/det|>The morning boat left with sixty-three passengers.\n"
    "<|det|>text [100, 380, 800, 520]<|/det|>Tickets sold: 148. Money in the box: 1,036 lire."
)
"""What a page says unless a test has it otherwise."""

MODEL = ModelInfo(
    profile="q8",
    vocab_size=8000,
    usable_vocab=7900,
    bos_id=0,
    eos_id=1,
    pad_id=2,
    image_id=3,
    hidden_size=256,
    layers=4,
    heads=4,
    head_dim=64,
    experts=8,
    experts_per_token=2,
    max_positions=32768,
    ring_window=128,
    threads=2,
    backend="scripted",
    simd="none",
    file_bytes=24_000_000,
    parameters=20_000_000,
    budget=BUDGET,
    model_id="5c" * 32,
)


def pieces(text: str, size: int = 4) -> list[str]:
    """`text` cut into tokens of about `size` characters; the marks of the grammar stay whole, as in the real
    model."""
    found: list[str] = []
    at = 0
    while at < len(text):
        end = text.find("|>", at) + 2 if text.startswith("<|", at) else at + size
        mark = text.find("<|", at + 1, end)
        if mark > 0 and not text.startswith("<|", at):
            end = mark
        found.append(text[at:end])
        at = end
    return found


class ScriptedEngine:
    """Reads every page as `script(page number)` says. Nothing waits unless `steps` is set.

    script: gives the model's output of a page, or raises a UocrError. doubt: log-probability by token text.
    steps: a semaphore; every token takes one, so that a test decides how far reading goes.
    second: what a page says in a second reading, if there is one; it is kept if `second_kept`.
    hang_in: number of a page in which reading stands still after 20 tokens, until it is cancelled. most_pages: how
    many pages fit into one pass; 0: the model reads pages one by one.
    """

    def __init__(
        self,
        script: Callable[[int], str] | str = PAGE,
        *,
        tokens_per_s: float = 200.0,
        finish: FinishReason = FinishReason.EOS,
        vision_steps: int = 4,
        doubt: dict[str, float] | None = None,
        steps: threading.Semaphore | None = None,
        max_new_tokens: int = 32_000,
        hang_in: int | None = None,
        most_pages: int = 0,
        second: str | None = None,
        second_kept: bool = True,
    ) -> None:
        self.front_end: dict[str, Any] = {
            "name": "scripted",
            "default_preset": "base",
            "confidence_threshold": 0.5,
            "multi_page": most_pages > 0,
        }
        if second is not None:
            self.front_end["read_again_below"] = 0.9
        self._second, self._second_kept = second, second_kept
        self._most_pages = most_pages
        self._script = script if callable(script) else lambda _: script
        self._rate, self._finish, self._vision = tokens_per_s, finish, vision_steps
        self._doubt = doubt or {}
        self._steps = steps
        self._limit = max_new_tokens
        self._hang_in = hang_in
        self.info = MODEL
        self.closed = False
        self.read_pages: list[tuple[str, int]] = []
        """(name, number) of every page begun, in order."""
        self.settings_seen: list[dict[str, Any]] = []
        self.threads: set[int] = set()
        """Identities of the threads that called in."""

    # -- the interface of UnlimitedOCR --

    def stream(self, source: Source, *, control: Control | None = None, **settings: Any) -> Iterator[Any]:
        self.threads.add(threading.get_ident())
        chosen = ReadSettings().with_changes(settings)
        self.settings_seen.append(settings)
        control = control or Control()
        document = Document(source.name)
        if chosen.one_pass and len(source) > 1:
            yield from self._pass(source, document, control)
            return
        for number in range(len(source)):
            page = Page(source.name, source.indices[number], 0, 0)
            document.pages.append(page)
            self.read_pages.append((source.name, source.indices[number]))
            try:
                yield from self._page(source, number, page, chosen, control)
            except UocrError as error:
                page.finish_reason, page.error = FinishReason.ERROR, str(error)
                yield events.PageFinished(page, error)
        yield events.DocumentFinished(document)

    def estimate(self, width: int, height: int, **settings: Any) -> MemoryEstimate:
        plan = plan_views(width, height, settings.get("preset") or "base")
        return MemoryEstimate(
            True,
            dict(CATEGORIES),
            9_000_000,
            7_000_000,
            sum(CATEGORIES.values()),
            BUDGET,
            plan.visual_tokens,
            self._limit,
            plan.view_count,
            1,
        )

    def estimate_together(self, sizes: Sequence[tuple[int, int]], **settings: Any) -> MemoryEstimate:
        one = self.estimate(*sizes[0])
        return dataclasses.replace(one, total=one.total * len(sizes), visual_rows=one.visual_rows * len(sizes))

    def memory(self) -> MemoryReport:
        total = sum(CATEGORIES.values())
        return MemoryReport(dict(CATEGORIES), dict(CATEGORIES), total, total, BUDGET)

    def recorded(self, settings: Any = None) -> dict[str, object]:
        return {"engine_version": "0.0-scripted", "backend": "scripted"}

    def close(self) -> None:
        self.closed = True

    # -- playing --

    def _page(self, source: Source, number: int, page: Page, settings: ReadSettings, control: Control) -> Iterator[Any]:
        picture = source.page(number)
        page.width, page.height = picture.width, picture.height
        if settings.rotate in (90, 270):
            page.width, page.height = page.height, page.width
        page.has_text_layer = picture.has_text_layer
        page.confidence_threshold = self.front_end["confidence_threshold"]
        text = self._script(source.indices[number])
        plan = plan_views(page.width, page.height, settings.preset or "base")
        estimate = self.estimate(page.width, page.height, preset=settings.preset)
        yield events.PageStarted(page, plan, estimate, plan.visual_tokens + 5, plan.visual_tokens, self._limit)
        for done in range(self._vision):
            yield events.Progress(page, "vision", done + 1, self._vision)
        parser = markup.MarkupParser(page.width, page.height, expected_pages=1)
        finish, count = self._finish, 0
        for piece in pieces(text):
            self._take_step(control)
            while count == 20 and page.index == self._hang_in and not control.cancelled:
                time.sleep(0.01)
            if control.cancelled:
                finish = FinishReason.CANCELLED
                break
            if count == self._limit:
                finish = FinishReason.LENGTH
                break
            count += 1
            token = Token(4 + count % 1000, self._doubt.get(piece, -0.01))
            yield events.TextDelta(page, piece, token, count, count / self._rate)
            for item in parser.push(piece, [token]):
                yield events.BlockEvent(page, item)
            page.raw_text += piece
        parser.finish()
        for item in parser.last_events:
            yield events.BlockEvent(page, item)
        page.blocks = parser.pages[0].blocks
        page.problems += parser.pages[0].problems
        page.finish_reason = finish
        page.timings = Timings(0.5, 0.1, count / self._rate, plan.visual_tokens + 5, plan.visual_tokens, count)
        if self._second is not None and settings.read_again and finish is not FinishReason.CANCELLED:
            yield from self._read_again(page, count, control)
        yield events.PageFinished(page)

    def _read_again(self, page: Page, first: int, control: Control) -> Iterator[Any]:
        """A second reading, of which only how far it is is told until it is kept."""
        assert self._second is not None
        parser = markup.MarkupParser(page.width, page.height, expected_pages=1)
        count = 0
        yield events.Progress(page, "again", 0, 1000)
        for piece in pieces(self._second):
            self._take_step(control)
            if control.cancelled:
                page.problems.append(SECOND_CANCELLED)
                return
            count += 1
            parser.push(piece, [Token(4 + count % 1000, -0.01)])
            if count % 8 == 0:
                yield events.Progress(page, "again", min(1000, round(1000 * count / first)), 1000)
        parser.finish()
        page.readings = 2
        page.timings = dataclasses.replace(
            page.timings, decode_s=(first + count) / self._rate, generated_tokens=first + count
        )
        if self._second_kept:
            page.kept_reading = 2
            page.raw_text, page.blocks = self._second, parser.pages[0].blocks
            page.finish_reason = FinishReason.EOS

    def _take_step(self, control: Control) -> None:
        """Wait while paused, and for the test's leave to go on."""
        control.wait_while_paused()
        while self._steps is not None and not control.cancelled and not self._steps.acquire(timeout=0.01):
            pass

    def _pass(self, source: Source, document: Document, control: Control) -> Iterator[Any]:
        """Several pages at once, as `uocr.reading.Reader.read_together` tells it."""
        numbers = source.indices
        if len(numbers) > self._most_pages:
            needed = len(numbers) * 1_000_000_000
            budget = self._most_pages * 1_000_000_000
            raise OverBudget("The pages do not fit.", {"KV cache": needed}, needed, budget, self._most_pages)
        self.read_pages += [(source.name, number) for number in numbers]
        pages = [Page(source.name, number, *source.page_size(i)) for i, number in enumerate(numbers)]
        document.pages = pages
        plan = plan_views(pages[0].width, pages[0].height, "multi-page")
        yield events.PageStarted(pages[0], plan, self.estimate(10, 10), 600, 273 * len(pages), self._limit)
        yield events.Progress(pages[0], "vision", len(pages), len(pages))
        parser = markup.MarkupParser(expected_pages=len(pages))
        at = count = 0
        finish = self._finish
        for piece in pieces("".join(f"<PAGE>{self._script(number)}" for number in numbers)):
            self._take_step(control)
            if control.cancelled:
                finish = FinishReason.CANCELLED
                break
            count += 1
            parsed = parser.push(piece, [Token(4 + count % 1000, -0.01)])
            for item in parsed:
                if isinstance(item, markup.PageMark | markup.BlockStarted):
                    at = max(at, item.page)
            yield events.TextDelta(pages[at], piece, Token(4, -0.01), count, count / self._rate)
            for item in parsed:
                yield events.BlockEvent(pages[at], item)
        parser.finish()
        for item in parser.last_events:
            yield events.BlockEvent(pages[at], item)
        for i, (page, found) in enumerate(zip(pages, parser.pages, strict=True)):
            page.blocks = found.blocks
            page.confidence_threshold = self.front_end["confidence_threshold"]
            page.timings = Timings(0.5, 0.1, count / self._rate, 600, 273 * len(pages), count)
            page.finish_reason = FinishReason.EOS if i < at else finish if i == at else FinishReason.NOT_READ
            yield events.PageFinished(page)
        yield events.DocumentFinished(document)


def unsure_engine(text: str = PAGE) -> ScriptedEngine:
    """One that is 43% sure of every word it reads."""
    return ScriptedEngine(text, doubt=dict.fromkeys(pieces(text), math.log(0.43)))


def long_text(tokens: int, paragraph: int = 60) -> str:
    """About `tokens` tokens of prose in blocks of `paragraph` tokens each; 0: all in one block."""
    words = ["lake ", "boat ", "wind ", "oars ", "rope ", "sail "]
    out: list[str] = []
    for n in range(tokens):
        if n == 0 or (paragraph and n % paragraph == 0):
            top = n * 900 // tokens
            out.append(f"<|det|>text [100, {top}, 900, {top + 20}]<|/det|>")
        out.append(words[n % len(words)])
    return "".join(out)


def one_of(texts: Sequence[str]) -> Callable[[int], str]:
    """A script: page n says `texts[n]`."""
    return lambda number: texts[number]
