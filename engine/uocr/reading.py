"""Reads pages through an open engine: views in, events and a filled `Page` out.

One `Reader` belongs to one engine. It turns settings and the model's front end into plans, feeds views when the engine
asks, and turns tokens into text and blocks. It knows no files and no threads; `api` adds both.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

from PIL import Image

from . import advice, errors, events, foreign, languages, markup, native, rereading
from .audit import audit
from .control import Control
from .document import BOX_SCALE, SECOND_CANCELLED, Block, Box, FinishReason, Page, Timings, Token
from .prompt import IMAGE_MARK, build_prompt_ids, default_prompt, locate_prompt, words_to_find
from .settings import ReadSettings
from .tokenizer import Tokenizer
from .views import PRESETS, ViewPlan, get_preset, make_views, model_preset, plan_views

LOOP_PERIOD_ONE_PAGE = 94
LOOP_PERIOD_SEVERAL = 990
"""Longest period in tokens that the repeat guard's windows (128, 1,024) would catch; used when the guard is off."""
_AGAIN_EVERY = 8
"""Tokens of a second reading after which its progress is told again."""


class Reader:
    """The model's front end and tokenizer beside its engine."""

    def __init__(self, engine: native.Engine, front_end: dict[str, Any], tokenizer: Tokenizer) -> None:
        self.engine = engine
        self.front_end = front_end
        self.tokenizer = tokenizer
        self.info = engine.info()

    # -- planning ----------------------------------------------------------------------------------------------

    def preset_name(self, settings: ReadSettings) -> str:
        if settings.preset is not None:
            return get_preset(settings.preset).name
        if settings.one_pass:
            return "multi-page"
        return str(self.front_end.get("default_preset", "base"))

    def check(self, settings: ReadSettings) -> None:
        """Raises InvalidRequest for what the model cannot be asked, whatever the page; ModelFileError."""
        rereading.read_again_below(self.front_end)
        if settings.locate is not None:
            locate_prompt(self.front_end, self.tokenizer, settings.locate)

    def plan_page(self, width: int, height: int, settings: ReadSettings) -> tuple[ViewPlan, native.Plan]:
        """Counts of one page of `width` x `height` pixels. Raises InvalidRequest for what the model cannot do."""
        views = plan_views(width, height, model_preset(self.front_end, self.preset_name(settings)))
        return views, self._plan([views], settings)

    def plan_pages(
        self, sizes: Sequence[tuple[int, int]], settings: ReadSettings
    ) -> tuple[list[ViewPlan], native.Plan]:
        """Counts of one pass over several pages."""
        if not self.front_end.get("multi_page", False):
            raise errors.InvalidRequest(
                f"The model {self.front_end.get('name', '')!r} was not trained to read several pages in one pass; "
                "read them one by one."
            )
        preset = model_preset(self.front_end, self.preset_name(settings))
        views = [plan_views(w, h, preset) for w, h in sizes]
        if any(v.crop_count for v in views):
            raise errors.InvalidRequest(
                "Crops cannot be combined with several pages in one pass; use preset multi-page."
            )
        return views, self._plan(views, settings)

    def _plan(self, views: Sequence[ViewPlan], settings: ReadSettings) -> native.Plan:
        several = len(views) > 1 or settings.one_pass
        if settings.locate is not None:
            prompt = locate_prompt(self.front_end, self.tokenizer, settings.locate)
        else:
            prompt = (settings.prompt or "").strip() or default_prompt(self.front_end, multi_page=several)
        if IMAGE_MARK not in prompt:
            prompt = IMAGE_MARK + prompt
        ids = build_prompt_ids(self.front_end, self.info, self.tokenizer, prompt, [sum(v.visual_tokens for v in views)])
        guard = self.front_end.get("ngram", {})
        size = guard.get("size", 35) if settings.ngram_size is None else settings.ngram_size
        window = guard.get("window_multi" if several else "window", 1024 if several else 128)
        crops = views[0].crop_count > 0
        return native.Plan(
            prompt_ids=ids,
            pages=len(views),
            global_size=views[0].global_size,
            crop_cols=views[0].crop_cols if crops else 0,
            crop_rows=views[0].crop_rows if crops else 0,
            max_new_tokens=settings.max_new_tokens,
            ngram_size=size,
            ngram_window=window if settings.ngram_window is None else settings.ngram_window,
            guard_allow=settings.guard_allow,
            loop_guard_hits=settings.loop_guard_hits,
            loop_history=settings.loop_history,
            loop_period_max=LOOP_PERIOD_SEVERAL if several else LOOP_PERIOD_ONE_PAGE,
            ngram_cycle=guard.get("cycle", 0) if settings.ngram_size is None else 0,
        )

    # -- reading -----------------------------------------------------------------------------------------------

    def read_page(
        self, page: Page, image: Image.Image, settings: ReadSettings, control: Control
    ) -> Iterator[events.ReadEvent]:
        """Events of one page; `page` is filled in place. The last event is PageFinished.

        Where the model looks lost, the page may be read twice; `page` is then the surer reading.
        """
        picture, to_page = prepare(image, page, settings)
        views, plan = self.plan_page(picture.width, picture.height, settings)
        self._note_untrained(page, views)
        self._note_prompt(page, settings)
        if settings.locate is not None:
            page.located = words_to_find(settings.locate)
            self._note_long(page, page.located)
        self._admit_page(views, plan, settings)
        notes = list(page.problems)
        pixels = make_views(picture, views.preset).views
        yield from self._run([page], [views], plan, lambda view: pixels[view], control)
        again = settings.read_again and settings.locate is None
        if again and rereading.looks_lost(page, rereading.read_again_below(self.front_end)):
            own = settings.ngram_size is not None  # a guard that was asked for stays
            second_plan = plan if own else rereading.second_plan(plan, page)
            yield from self._read_again(page, picture, views, second_plan, notes, control)
        _look_for_ink(page, lambda: picture)
        self._note_language(page)
        _move_blocks(page.blocks, to_page)
        yield events.PageFinished(page)

    def _read_again(
        self, page: Page, picture: Image.Image, views: ViewPlan, plan: native.Plan, notes: list[str], control: Control
    ) -> Iterator[events.Progress]:
        """Reads `picture` once more with margins around it, by `plan`; `page` becomes the surer reading.

        A second reading that was cancelled or failed leaves the first as it is, with a note.
        """
        if control.cancelled:
            page.problems.append(SECOND_CANCELLED)
            return
        second = Page(page.source, page.index, page.width, page.height)

        def progress(phase: str, done: int, total: int) -> events.Progress:
            parts = rereading.parts_done(page.timings, phase, done, total)
            return events.Progress(page, "again", parts, rereading.PARTS)

        yield progress("vision", 0, 1)
        try:
            around = rereading.surrounded(picture)
            pixels = make_views(around, rereading.plan_again(views, *around.size).preset)
            with contextlib.closing(
                self._run([second], [pixels.plan], plan, lambda view: pixels.views[view], control)
            ) as reading:
                for event in reading:
                    if isinstance(event, events.Progress):
                        yield progress(event.phase, event.done, event.total)
                    elif isinstance(event, events.TextDelta) and event.count % _AGAIN_EVERY == 0:
                        yield progress("decode", event.count, len(page.tokens))
        except errors.UocrError as error:
            second.finish_reason, second.error = FinishReason.ERROR, str(error)
        if second.finish_reason is FinishReason.ERROR:
            page.problems.append(f"Reading the page a second time failed, the first reading is kept: {second.error}")
        elif second.finish_reason is FinishReason.CANCELLED:
            page.problems.append(SECOND_CANCELLED)
        else:
            rereading.settle(page, second, notes, picture.size)

    def read_together(
        self, pages: Sequence[Page], images: Sequence[Any], settings: ReadSettings, control: Control
    ) -> Iterator[events.ReadEvent]:
        """One pass over several pages. `images[i]()` gives page i's picture when its view is asked for."""
        if settings.region is not None or settings.rotate:
            raise errors.InvalidRequest("A region or rotation belongs to one page; read the pages one by one.")
        views, plan = self.plan_pages([(p.width, p.height) for p in pages], settings)
        for page, page_views in zip(pages, views, strict=True):
            self._note_untrained(page, page_views)
        self._note_many(pages)
        estimate = self.engine.estimate(plan)
        if not estimate.fits:
            raise advice.pass_over_budget(estimate, len(pages), self._raise_budget())
        yield from self._run(
            pages, views, plan, lambda view: make_views(images[view](), views[view].preset).views[0], control
        )
        for page, image in zip(pages, images, strict=True):
            _look_for_ink(page, image)
            self._note_language(page)
            yield events.PageFinished(page)

    def _admit_page(self, views: ViewPlan, plan: native.Plan, settings: ReadSettings) -> None:
        """Raises OverBudget with advice before the page's pixels are made; the engine itself would refuse it later."""
        estimate = self.engine.estimate(plan)
        if estimate.fits:
            return

        def fits(preset: str) -> bool:
            smaller = self.plan_page(views.width, views.height, settings.with_changes({"preset": preset}))[1]
            return self.engine.estimate(smaller).fits

        trained = self.front_end.get("trained_presets", list(PRESETS))
        raise advice.page_over_budget(estimate, views.preset.name, trained, fits, self._raise_budget())

    def _raise_budget(self) -> str:
        return advice.raise_budget(self.info.profile, built_in=self.front_end.get("name") == "built-in")

    def _note_untrained(self, page: Page, views: ViewPlan) -> None:
        trained = self.front_end.get("trained_presets", list(PRESETS))
        equal = "base" if views.preset.name == "multi-page" else views.preset.name
        if equal not in trained:
            page.problems.append(f"The model was not trained with preset {equal}; it knows {', '.join(trained)}.")

    def _note_prompt(self, page: Page, settings: ReadSettings) -> None:
        """A model with ids for its prompt was trained with that prompt alone; another may give nothing or nonsense."""
        asked, known = (settings.prompt or "").strip(), self.front_end.get("prompts") or {}
        own = [str(text).strip() for text in known.values()]
        if asked and self.front_end.get("prompt_ids") and asked not in own and IMAGE_MARK + asked not in own:
            own_prompt = default_prompt(self.front_end)
            page.problems.append(f"The model was trained with the prompt {own_prompt!r} alone; leave prompt out.")

    def _note_language(self, page: Page) -> None:
        read = languages.codes(self.front_end)
        texts = [block.text for block in page.blocks] if read and page.located is None else []
        if (name := foreign.language(texts, read)) is not None:
            page.problems.append(
                f"The text may be {name}, which the model was not trained to read; letters may be wrong though the "
                "model is sure of them."
            )

    def _note_many(self, pages: Sequence[Page]) -> None:
        """A pass over more pages than the model was trained with is read; its first page says so."""
        most = int(self.front_end.get("multi_page_most") or 0)
        if 0 < most < len(pages):
            pages[0].problems.append(
                f"The model was trained with at most {most} pages in one pass and this pass has {len(pages)}; read "
                f"groups of up to {most} pages, or page by page without one pass."
            )

    def _note_long(self, page: Page, words: str) -> None:
        most = int(self.front_end.get("locate_most") or 0)
        if 0 < most < len(words):
            page.problems.append(
                f"The model was trained to find at most {most} characters and these words have {len(words)}; give "
                "fewer words."
            )

    def _run(
        self, pages: Sequence[Page], views: Sequence[ViewPlan], plan: native.Plan, pixels: Any, control: Control
    ) -> Generator[events.ReadEvent, None, None]:
        estimate = self.engine.estimate(plan)
        for page in pages:
            page.memory_estimate = dict(estimate.category)
            page.confidence_threshold = float(self.front_end.get("confidence_threshold", 0.0))
        started = events.PageStarted(
            pages[0], views[0], estimate, len(plan.prompt_ids), estimate.visual_rows, estimate.max_new_tokens
        )
        transcript = _Transcript(pages, self.tokenizer, plain=bool(self.front_end.get("plain_text")))
        with self.engine.begin(plan) as run:
            control.attach(run)
            try:
                yield started
                yield from self._steps(run, transcript, pixels, control, plan, estimate)
            finally:
                control.attach(None)
                memory = self.engine.memory()
                for page in pages:
                    page.memory_peak = dict(memory.peak)

    def _steps(
        self,
        run: native.Run,
        transcript: _Transcript,
        pixels: Any,
        control: Control,
        plan: native.Plan,
        estimate: native.MemoryEstimate,
    ) -> Iterator[events.ReadEvent]:
        count, event = 0, None
        try:
            while True:
                control.wait_while_paused()
                event = run.step()
                if event.kind == native.NEED_VIEW:
                    run.feed(event.view, pixels(event.view))
                elif event.kind == native.PROGRESS:
                    yield events.Progress(transcript.page, event.phase, event.done, event.total)
                elif event.kind == native.TOKEN:
                    count += 1
                    if event.token == self.info.eos_id:
                        continue
                    token = Token(event.token, event.logprob, event.guard_acted)
                    text, parsed = transcript.push(token)
                    yield events.TextDelta(transcript.page, text, token, count, event.decode_s)
                    for item in parsed:
                        yield events.BlockEvent(transcript.page, item)
                else:
                    break
            finish, error = FinishReason(event.finish), None
        except errors.NonFiniteError as problem:
            finish, error = FinishReason.ERROR, str(problem)
        timings = (
            Timings(event.vision_s, event.prefill_s, event.decode_s, len(plan.prompt_ids), estimate.visual_rows, count)
            if event
            else Timings()
        )
        for item in transcript.finish(finish, error, timings):
            yield events.BlockEvent(transcript.page, item)


class _Transcript:
    """Tokens of one run to text and blocks, handed to the page that each belongs to."""

    def __init__(self, pages: Sequence[Page], tokenizer: Tokenizer, *, plain: bool) -> None:
        self.pages = pages
        self.decoder = tokenizer.stream()
        size = (pages[0].width, pages[0].height) if len(pages) == 1 else (0, 0)
        self.parser = markup.MarkupParser(*size, expected_pages=len(pages), special=tokenizer.added, plain=plain)
        self.number = 0

    @property
    def page(self) -> Page:
        """The page being written."""
        return self.pages[self.number]

    def push(self, token: Token) -> tuple[str, list[markup.Event]]:
        """The text that `token` completed and what the parser made of it."""
        text = self.decoder.push(token.id)
        parsed = self._take(self.parser.push(text, [token]))
        self.page.tokens.append(token)
        self.page.raw_text += text
        return text, parsed

    def _take(self, parsed: list[markup.Event]) -> list[markup.Event]:
        for item in parsed:
            if isinstance(item, markup.PageMark | markup.BlockStarted):
                self.number = min(max(self.number, item.page), len(self.pages) - 1)
        return parsed

    def finish(self, finish: FinishReason, error: str | None, timings: Timings) -> list[markup.Event]:
        """Closes the text, gives every page its blocks and finish reason; returns the parser's last events."""
        rest = self.decoder.flush()
        parsed = self._take(self.parser.push(rest, [])) if rest else []
        self.page.raw_text += rest
        self.parser.finish(cut=finish is not FinishReason.EOS)
        parsed += self._take(self.parser.last_events)
        for i, (page, found) in enumerate(zip(self.pages, self.parser.pages, strict=True)):
            page.blocks = found.blocks
            page.problems += found.problems
            page.timings = timings
            if i < self.number:
                page.finish_reason = FinishReason.EOS
            elif i == self.number:
                page.finish_reason, page.error = finish, error
            else:
                page.finish_reason = FinishReason.NOT_READ
        return parsed


def turned(image: Image.Image, degrees: int) -> Image.Image:
    """The picture turned clockwise by 0, 90, 180 or 270 degrees."""
    turns = {90: Image.Transpose.ROTATE_270, 180: Image.Transpose.ROTATE_180, 270: Image.Transpose.ROTATE_90}
    return image.transpose(turns[degrees]) if degrees else image


def prepare(image: Image.Image, page: Page, settings: ReadSettings) -> tuple[Image.Image, Any]:
    """The picture to read and a function from its box coordinates to the page's (None: the same)."""
    image = turned(image, settings.rotate)
    page.width, page.height = image.size
    if settings.region is None:
        return image, None
    left, top = max(0, settings.region[0]), max(0, settings.region[1])
    right, bottom = min(image.width, settings.region[2]), min(image.height, settings.region[3])
    if left >= right or top >= bottom:
        raise errors.InvalidRequest(
            f"The region {settings.region} has no pixel in common with page {page.index + 1} of {page.source}, "
            f"{image.width} x {image.height} pixels."
        )

    def to_page(box: Box) -> Box:
        def move(v: int, start: int, extent: int, side: int) -> int:
            return round((start + v / BOX_SCALE * extent) / side * BOX_SCALE)

        return Box(
            move(box.x1, left, right - left, image.width),
            move(box.y1, top, bottom - top, image.height),
            move(box.x2, left, right - left, image.width),
            move(box.y2, top, bottom - top, image.height),
        )

    return image.crop((left, top, right, bottom)), to_page


def _look_for_ink(page: Page, image: Callable[[], Image.Image]) -> None:
    """Tells an empty sheet from a page whose text was not found; `image` gives the picture that was read."""
    if page.complete and page.located is None and not page.text:
        with contextlib.suppress(errors.UocrError):  # a source that is gone by now leaves the question open
            page.has_ink = bool(audit(page, image()).missed)


def _move_blocks(blocks: Sequence[Block], to_page: Any) -> None:
    if to_page is not None:
        for block in blocks:
            block.boxes = tuple(to_page(box) for box in block.boxes)
