"""Pages on which the model looks lost are read again: which, from what picture, what is kept, and what is told."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import itertools
import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont
from uocr import Box, Control, FinishReason, Page, UnlimitedOCR, demo, errors, events, export, markup, native, rereading
from uocr.cli import read as read_command
from uocr.cli import view
from uocr.convert.front_end import settings_for
from uocr.document import Block, Timings, Token
from uocr.modelfile import ModelFile
from uocr.score import character_error_rate
from uocr.tokenizer import Tokenizer
from uocr.views import Preset, model_preset, plan_views

from tests.conftest import BUILT_IN, SAMPLES, models_say

SCREENSHOT = str(SAMPLES / "screenshot.png")
SURE, UNSURE = -0.01, -1.0


def reading(*logprobs: float, finish: FinishReason = FinishReason.EOS, guard: Sequence[int] = ()) -> Page:
    tokens = [Token(7, logprob, n in guard) for n, logprob in enumerate(logprobs)]
    return Page("a.png", 0, 1000, 500, tokens=tokens, finish_reason=finish)


# -- which pages -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "below", "lost"),
    [
        (reading(math.log(0.8), math.log(0.5)), 0.64, True),  # their geometric mean is 0.632
        (reading(math.log(0.8), math.log(0.5)), 0.63, False),
        (reading(SURE, SURE), 0.5, False),
        (reading(SURE, SURE, guard=[1]), 0.5, True),
        (reading(SURE, SURE, guard=[1]), 0.0, False),
        (reading(UNSURE, UNSURE), 0.0, False),
        (reading(SURE, finish=FinishReason.LOOP), 0.5, True),
        (reading(UNSURE, guard=[0], finish=FinishReason.LENGTH), 0.5, False),
        (reading(UNSURE, guard=[0], finish=FinishReason.CANCELLED), 0.5, False),
        (reading(UNSURE, guard=[0], finish=FinishReason.ERROR), 0.5, False),
        (reading(), 1.0, False),
    ],
)
def test_a_page_looks_lost_that_circles_or_of_which_the_model_is_unsure(page: Page, below: float, lost: bool) -> None:
    assert rereading.looks_lost(page, below) is lost


@pytest.mark.parametrize(("front_end", "below"), [({}, 0.0), ({"read_again_below": 0}, 0.0),
                                                  ({"read_again_below": 0.88}, 0.88), ({"read_again_below": 1}, 1.0)])
def test_the_front_end_says_below_what(front_end: dict[str, Any], below: float) -> None:
    assert rereading.read_again_below(front_end) == below


@pytest.mark.parametrize("value", [True, "0.88", -0.1, 1.01, math.nan, [0.5]])
def test_what_is_no_probability_is_a_fault_of_the_model_file(value: object) -> None:
    with pytest.raises(errors.ModelFileError, match="as read_again_below; it must be a number from 0 to 1"):
        rereading.read_again_below({"read_again_below": value})
    with UnlimitedOCR() as ocr:
        ocr.front_end["read_again_below"] = value
        with pytest.raises(errors.ModelFileError, match="read_again_below"):
            next(ocr.stream(Image.new("RGB", (40, 40), "white")))


def test_a_conversion_knows_the_key() -> None:
    assert 0 < settings_for("built-in")["read_again_below"] < 1
    assert "read_again_below" not in settings_for("published")
    assert settings_for("published", {"read_again_below": 0.5})["read_again_below"] == 0.5


# -- which picture ---------------------------------------------------------------------------------------------


def test_a_page_is_surrounded_by_its_own_ground() -> None:
    page = Image.new("RGB", (1000, 510), (240, 230, 200))
    page.paste((10, 20, 30), (100, 0, 400, 510))  # not most of its rim
    around = rereading.surrounded(page)
    assert around.size == (1040, 530) and around.crop((20, 10, 1020, 520)).tobytes() == page.tobytes()
    rim = np.asarray(around).copy()
    rim[10:520, 20:1020] = (240, 230, 200)
    assert (rim == (240, 230, 200)).all()


def test_of_a_rim_of_two_colours_a_margin_has_one_of_them() -> None:
    page = Image.new("RGB", (50, 50), (0, 0, 0))
    page.paste((255, 255, 255), (25, 0, 50, 50))
    assert rereading.surrounded(page).getpixel((0, 0)) in ((0, 0, 0), (255, 255, 255))


def test_a_picture_of_one_pixel_gets_a_margin_too() -> None:
    assert rereading.surrounded(Image.new("RGB", (1, 1), (9, 8, 7))).getcolors() == [(9, (9, 8, 7))]


@pytest.mark.parametrize(
    ("box", "wanted"),
    [
        (Box(0, 0, 999, 999), Box(0, 0, 999, 999)),  # beyond the page on every side
        (Box(19, 19, 980, 980), Box(0, 0, 999, 999)),  # 19 / 999 * 1040 = 19.8 of the 20 pixels of margin
        (Box(500, 500, 500, 500), Box(500, 500, 500, 500)),
        (Box(115, 250, 307, 750), Box(100, 240, 299, 760)),  # 115 / 999 * 1040 = 119.7: pixel 99.7 of the page
    ],
)
def test_boxes_are_put_back_onto_the_page(box: Box, wanted: Box) -> None:
    assert rereading.to_page(box, 1000, 500) == wanted


@pytest.mark.parametrize("size", [(1000, 500), (30, 2000), (2480, 3508), (1, 1), (77, 77)])
def test_putting_back_undoes_the_margin_within_one(size: tuple[int, int]) -> None:
    margins = rereading.margins(*size)
    for v in range(1000):
        x, y = (round((v / 999 * side + m) / (side + 2 * m) * 999) for side, m in zip(size, margins, strict=True))
        back = rereading.to_page(Box(x, y, x, y), *size)
        assert max(abs(back.x1 - v), abs(back.y1 - v)) <= (1 if min(size) > 1 else 2)


@pytest.mark.parametrize("preset", ["tiny", "small", "base", "gundam", "multi-page"])
@pytest.mark.parametrize("size", [(640, 640), (630, 300), (641, 100), (2480, 3508), (700, 1049), (5000, 400), (9, 9)])
@pytest.mark.parametrize("grids", [[], [[1, 2], [2, 1], [2, 3], [3, 4]]])
def test_both_readings_have_the_same_counts(preset: str, size: tuple[int, int], grids: list[list[int]]) -> None:
    views = plan_views(*size, model_preset({"crop_grids": grids}, preset))
    around = rereading.surrounded(Image.new("RGB", size))
    again = rereading.plan_again(views, *around.size)
    assert (again.width, again.height) == around.size
    for count in ("crop_cols", "crop_rows", "global_size", "visual_tokens", "view_count"):
        assert getattr(again, count) == getattr(views, count), count
    assert again.preset.stretches is views.preset.stretches and isinstance(again.preset, Preset)


# -- which reading ---------------------------------------------------------------------------------------------

LOOP, LENGTH = FinishReason.LOOP, FinishReason.LENGTH


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        (reading(-0.4), reading(-0.3), 2),
        (reading(-0.3), reading(-0.4), 1),
        (reading(-0.3, -0.3), reading(-0.3), 1),  # the mean counts, and a tie keeps the first
        (reading(-0.1, -0.5), reading(-0.2), 2),
        (reading(-0.1, finish=LOOP), reading(-2.0), 2),
        (reading(-2.0), reading(-0.1, finish=LOOP), 1),
        (reading(-2.0), reading(-0.1, finish=LENGTH), 1),
        (reading(-0.2, finish=LOOP), reading(-0.1, finish=LENGTH), 2),
        (reading(-0.1, finish=LOOP), reading(), 1),  # a text is not given up for none
        (reading(-0.1), reading(), 1),
    ],
)
def test_the_surer_reading_is_the_one_that_ended_by_itself_or_is_likelier(first, second, kept):
    assert rereading.surer(first, second) is (first if kept == 1 else second)


def test_the_work_of_both_readings_is_counted_whichever_is_kept() -> None:
    times = [Timings(1.0, 2.0, 3.0, 900, 893, 50), Timings(0.5, 0.25, 1.5, 900, 893, 70)]
    for logprobs, kept in (((-1.0, -0.5), 2), ((-0.5, -1.0), 1)):
        first, second = (dataclasses.replace(reading(p), timings=t, raw_text=n) for p, t, n in
                         zip(logprobs, times, ("one", "two"), strict=True))
        first.memory_peak, second.memory_peak = {"a": 5, "b": 7}, {"a": 6, "b": 3}
        first.problems, second.problems = ["before", "of the first"], ["of the second"]
        second.blocks = [Block("text", (Box(0, 0, 500, 999), Box(115, 250, 307, 750)), "two")]
        rereading.settle(first, second, ["before"], (1000, 500))
        assert (first.readings, first.kept_reading) == (2, kept)
        assert first.timings == Timings(1.5, 2.25, 4.5, 900, 893, 120)
        assert first.memory_peak == {"a": 6, "b": 7}
        assert first.raw_text == ("one", "two")[kept - 1]
        assert first.problems == ["before", ("of the first", "of the second")[kept - 1]]
        assert [b.boxes for b in first.blocks] == [[], [(Box(0, 0, 500, 999), Box(100, 240, 299, 760))]][kept - 1]


# -- how far it is ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("phase", "done", "total", "parts"),
    [("vision", 0, 20, 0), ("vision", 10, 20, 375), ("vision", 20, 20, 750), ("prefill", 0, 900, 750),
     ("prefill", 900, 900, 800), ("decode", 0, 80, 800), ("decode", 40, 80, 900), ("decode", 80, 80, 1000),
     ("decode", 200, 80, 1000)],
)
def test_each_phase_counts_as_long_as_it_took_the_first_time(phase: str, done: int, total: int, parts: int) -> None:
    assert rereading.parts_done(Timings(7.5, 0.5, 2.0), phase, done, total) == parts


def test_without_times_nothing_is_claimed() -> None:
    assert rereading.parts_done(Timings(), "decode", 5, 0) == 0


# -- with the built-in model -----------------------------------------------------------------------------------


@pytest.fixture
def again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models that are opened have every page read again of which they are not entirely certain."""
    models_say(monkeypatch, {"read_again_below": 1.0, "confidence_threshold": 0.0})


@pytest.fixture
def doubting(again: None) -> Iterator[UnlimitedOCR]:
    with UnlimitedOCR() as ocr:
        yield ocr


Script = tuple[str, float]
"""(what the model writes, the log-probability of each of its tokens)."""


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[native.Plan]]:
    """Called with scripts: the model writes the first in its next run, the second in the run after it, and so on;
    after the last it begins with the first again. Gives the plans of the runs, which come to it one by one."""
    stepped: Callable[[native.Run], native.Event] = native.Run.step
    begun = native.Engine.begin
    with ModelFile.open(BUILT_IN) as file:
        tokenizer = Tokenizer(file.tokenizer_json, digits=file.front_end.get("digits"))

    def script(*scripts: Script) -> list[native.Plan]:
        turns = itertools.cycle([([*tokenizer.encode(text), 1], logprob) for text, logprob in scripts])
        running: dict[int, tuple[list[int], float]] = {}
        plans: list[native.Plan] = []

        def begin(engine: native.Engine, plan: native.Plan) -> native.Run:
            run = begun(engine, plan)
            running[id(run)] = next(turns)
            plans.append(plan)
            return run

        def step(run: native.Run) -> native.Event:
            ids, logprob = running[id(run)]
            event = stepped(run)
            if event.kind == native.PROGRESS and event.phase == "prefill" and event.done == event.total:
                run.force_token(ids[0])
            elif event.kind == native.TOKEN:
                if event.done < len(ids):
                    run.force_token(ids[event.done])
                event = event._replace(logprob=logprob)
            return event

        monkeypatch.setattr(native.Engine, "begin", begin)
        monkeypatch.setattr(native.Run, "step", step)
        return plans

    return script


FIRST = "<|det|>text [100, 100, 400, 200]<|/det|>Lost words here."
SECOND = "<|det|>title [115, 250, 307, 750]<|/det|>Found\n<|det|>text [0, 0, 999, 999]<|/det|>Words that were found."
"""The title's box is 100, 240, 299, 760 on a page of 1000 x 500 pixels."""


def paper(*pages: tuple[int, int]) -> bytes:
    frames = [Image.new("RGB", size, "white") for size in pages or [(1000, 500)]]
    file = io.BytesIO()
    frames[0].save(file, "TIFF", save_all=True, append_images=frames[1:])
    return file.getvalue()


def test_a_page_that_is_read_twice_says_the_same_within_its_margins(doubting: UnlimitedOCR, tmp_path: Path) -> None:
    once = doubting.read(SCREENSHOT, read_again=False).pages[0]
    assert (once.readings, once.kept_reading) == (1, 1)
    seen = list(doubting.stream(SCREENSHOT))
    document = seen[-1].document
    page = document.pages[0]
    truth = (SAMPLES / "screenshot.txt").read_text("utf-8")
    assert page.readings == 2 and page.complete and character_error_rate(page.text, truth) <= 0.02
    assert [b.label for b in page.blocks] == [b.label for b in once.blocks]
    for block, other in zip(page.blocks, once.blocks, strict=True):
        for mine, its in zip(block.boxes, other.boxes, strict=True):
            assert all(abs(getattr(mine, v) - getattr(its, v)) <= 6 for v in ("x1", "y1", "x2", "y2"))
    assert abs(page.timings.generated_tokens - 2 * once.timings.generated_tokens) <= 6
    assert page.timings.prompt_tokens == once.timings.prompt_tokens
    assert page.memory_estimate == once.memory_estimate
    assert all(page.memory_peak[name] <= promised for name, promised in page.memory_estimate.items())
    assert sum(isinstance(e, events.PageStarted) for e in seen) == 1
    text = [e for e in seen if isinstance(e, events.TextDelta)]
    told = [e for e in seen if isinstance(e, events.Progress) and e.phase == "again"]
    assert len(text) == len(once.tokens) and all(e.page is page for e in (*text, *told))
    done = [e.done for e in told]
    assert done[0] == 0 and done == sorted(done) and {e.total for e in told} == {1000} and done[-1] >= 950
    vision = [e for e in seen if isinstance(e, events.Progress) and e.phase == "vision"]
    assert len(told) > len(vision) + len(once.tokens) // 8  # both phases are told, and the prefill between them
    assert 0 < done[len(vision) // 2] < done[len(vision)] < 1000
    after = seen[seen.index(told[0]):]
    assert {type(e) for e in after} == {events.Progress, events.PageFinished, events.DocumentFinished}
    export.export(document, tmp_path / "a.json")
    assert export.load_json(tmp_path / "a.json")[0].pages == [page]


def time_sheet() -> bytes:
    """A ruled table whose rows differ in their dates alone: the guard takes so long a repetition for a loop."""
    page, font = Image.new("RGB", (1000, 700), "white"), ImageFont.load_default(26)
    draw, columns = ImageDraw.Draw(page), (30, 200, 610, 730, 850, 980)
    rows = [("Day", "Work", "Hours", "Rate", "Amount"),
            *((f"{day} March", "Cleaning of the office, cellar", "2.5", "24.00", "60.00") for day in DAYS)]
    for row, cells in enumerate(rows):
        for x, cell in zip(columns, cells, strict=False):
            draw.text((x + 12, 70 + row * 48), cell, "black", font)
    for row in range(len(rows) + 1):
        draw.line((columns[0], 60 + row * 48, columns[-1], 60 + row * 48), "black", 2)
    for x in columns:
        draw.line((x, 60, x, 60 + len(rows) * 48), "black", 2)
    file = io.BytesIO()
    page.save(file, "PNG")
    return file.getvalue()


DAYS = (3, 5, 7, 10, 12, 14, 17, 19, 21, 24)


def test_equal_rows_are_read_without_the_guard_that_took_them_for_a_loop(ocr: UnlimitedOCR) -> None:
    table = time_sheet()
    guarded = ocr.read(table, preset="base", read_again=False).pages[0]
    assert rereading.guard_acted(guarded) and guarded.text.count("<td>60.00</td>") < len(DAYS), "what is to be mended"
    page = ocr.read(table, preset="base").pages[0]
    assert (page.readings, page.kept_reading, rereading.guard_acted(page)) == (2, 2, False)
    assert page.text.count("<td>2.5</td><td>24.00</td><td>60.00</td>") == len(DAYS)
    asked = ocr.read(table, preset="base", ngram_size=35).pages[0]
    assert (asked.readings, rereading.guard_acted(asked)) == (2, True), "a guard that was asked for stays"


def test_the_guard_rests_in_the_second_reading_only_where_it_acted() -> None:
    plan = native.Plan(prompt_ids=[1], ngram_size=35, ngram_cycle=16)
    assert rereading.second_plan(plan, reading(UNSURE, UNSURE)) is plan
    second = rereading.second_plan(plan, reading(UNSURE, -9.0, guard=[1]))
    assert (second.ngram_size, second.ngram_cycle) == (0, 0)
    assert dataclasses.replace(second, ngram_size=35, ngram_cycle=16) == plan


def test_the_second_reading_is_taken_whole_where_it_is_surer(doubting: UnlimitedOCR, written) -> None:
    plans = written((FIRST, UNSURE), (SECOND, SURE))
    page = doubting.read(paper(), preset="small").pages[0]
    assert (page.readings, page.kept_reading, page.finish_reason) == (2, 2, FinishReason.EOS)
    assert page.raw_text == SECOND and page.text == "Found\nWords that were found."
    assert [b.boxes for b in page.blocks] == [(Box(100, 240, 299, 760),), (Box(0, 0, 999, 999),)]
    assert {t.logprob for t in page.tokens} == {SURE}
    assert page.blocks[0].confidence == pytest.approx(math.exp(SURE))
    assert page.problems == ["The model was not trained with preset small; it knows base, gundam."]
    assert len(plans) == 2 and plans[0] is plans[1]
    record = json.loads(export.to_text(doubting.read(paper(), preset="small"), "json"))["documents"][0]
    assert [(p["readings"], p["kept_reading"]) for p in record["pages"]] == [(2, 2)]
    assert record["settings"]["read_again"] is True


def test_the_first_reading_stays_where_it_is_surer(doubting: UnlimitedOCR, written) -> None:
    written((FIRST, -0.2), (SECOND, -0.3))
    page = doubting.read(paper(), preset="small").pages[0]
    assert (page.readings, page.kept_reading, page.raw_text) == (2, 1, FIRST)
    assert page.blocks[0].boxes == (Box(100, 100, 400, 200),)
    ids = len(page.tokens)
    assert page.timings.generated_tokens > 2 * ids + 1


def test_inside_a_region_boxes_go_back_through_both(doubting: UnlimitedOCR, written) -> None:
    written((FIRST, UNSURE), (SECOND, SURE))
    page = doubting.read(paper((2000, 2000)), preset="small", region=(1000, 500, 2000, 1000)).pages[0]
    # 100 and 299 of 999 on 1000 pixels, from 1000 of 2000; 240 and 760 of 999 on 500, from 500 of 2000
    assert page.kept_reading == 2 and page.blocks[0].boxes == (Box(550, 310, 649, 440),)
    assert page.blocks[1].boxes == (Box(500, 250, 999, 500),)


@pytest.mark.parametrize(
    "settings",
    [{"read_again": False}, {"max_new_tokens": 5}, {"one_pass": True}],
    ids=["switched off", "cut short", "several pages in one pass"],
)
def test_it_is_read_once_where_a_second_reading_is_not_due(doubting: UnlimitedOCR, written, settings) -> None:
    doubting.front_end["multi_page"] = True
    plans = written((f"<PAGE>{FIRST}<PAGE>{FIRST}" if "one_pass" in settings else FIRST, UNSURE))
    pages = doubting.read(paper((1000, 500), (1000, 500)), **({"preset": "small"} | settings) if
                          "one_pass" not in settings else settings).pages
    assert [(p.readings, p.kept_reading) for p in pages] == [(1, 1)] * 2
    assert len(plans) == (1 if "one_pass" in settings else 2)


def test_a_model_that_names_no_limit_reads_once(ocr: UnlimitedOCR, written, monkeypatch) -> None:
    monkeypatch.delitem(ocr.front_end, "read_again_below", raising=False)
    plans = written((FIRST, -5.0))
    assert ocr.read(paper(), preset="small").pages[0].readings == len(plans) == 1


def test_words_that_are_located_are_asked_for_once(doubting: UnlimitedOCR, written) -> None:
    doubting.front_end["prompts"] |= {"locate": "<image>Locate <|ref|>{words}<|/ref|>."}
    plans = written(("<|ref|>two<|/ref|><|det|>[[1, 2, 3, 4]]<|/det|>", UNSURE))
    assert doubting.read(paper(), preset="small", locate="two").pages[0].readings == len(plans) == 1


def test_a_cancel_in_the_second_reading_keeps_the_first(doubting: UnlimitedOCR, written) -> None:
    written((FIRST, UNSURE), (SECOND, SURE))
    for at in (0, 2, -1):
        control, before = Control(), doubting.memory().current
        told = 0
        for event in doubting.stream(paper((1000, 500), (1000, 500)), control=control, preset="small"):
            if isinstance(event, events.Progress) and event.phase == "again":
                if told == at:
                    control.cancel()
                told += 1
            elif at < 0 and isinstance(event, events.BlockEvent) and isinstance(event.event, markup.BlockFinished):
                control.cancel()  # as the first reading ends: the second never begins
        first, second = event.document.pages
        assert first.problems[-1] == "Reading the page a second time was cancelled, the first reading is kept."
        assert first.complete and first.second_cancelled and not first.final and (told > 0) is (at >= 0)
        assert (first.finish_reason, first.raw_text, first.readings) == (FinishReason.EOS, FIRST, 1)
        assert first.timings.generated_tokens == len(first.tokens) + 1
        assert second.finish_reason is FinishReason.NOT_READ and doubting.memory().current == before


@pytest.mark.parametrize("kind", [errors.EngineError, errors.NonFiniteError])
def test_a_second_reading_that_fails_keeps_the_first_and_says_so(doubting, written, monkeypatch, kind) -> None:
    plans = written((FIRST, UNSURE), (SECOND, SURE))
    step = native.Run.step

    def failing(run: native.Run) -> native.Event:
        event = step(run)
        if len(plans) == 2 and event.kind == native.TOKEN:
            raise kind("The device went away.")
        return event

    monkeypatch.setattr(native.Run, "step", failing)
    page = doubting.read(paper(), preset="base").pages[0]
    assert (page.finish_reason, page.raw_text, page.readings, page.error) == (FinishReason.EOS, FIRST, 1, None)
    assert page.problems == ["Reading the page a second time failed, the first reading is kept: The device went away."]
    assert doubting.read(SCREENSHOT, read_again=False, max_new_tokens=3).pages[0].finish_reason is FinishReason.LENGTH


def test_a_stream_that_is_left_in_the_second_reading_frees_the_engine(doubting: UnlimitedOCR, written) -> None:
    written((FIRST, UNSURE), (SECOND, SURE))
    before = doubting.memory().current
    with contextlib.closing(doubting.stream(paper(), preset="small")) as stream:
        next(e for e in stream if isinstance(e, events.Progress) and e.phase == "again" and e.done > 0)
    assert doubting.memory().current == before
    assert doubting.read(paper(), preset="small", read_again=False).pages[0].complete


# -- what is told ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("readings", "kept", "line"),
    [(1, 1, None), (2, 1, "read twice: the first reading was surer"),
     (2, 2, "read twice: the second reading was surer")],
)
def test_the_lines_of_a_page_tell_it(readings: int, kept: int, line: str | None) -> None:
    page = dataclasses.replace(reading(SURE), readings=readings, kept_reading=kept)
    assert [told for told in view.page_lines(page) if "twice" in told] == ([] if line is None else [line])


@pytest.fixture
def page(tmp_path: Path) -> str:
    (tmp_path / "page.tiff").write_bytes(paper())
    return str(tmp_path / "page.tiff")


@pytest.mark.parametrize("quiet", [False, True])
def test_on_a_terminal_the_text_that_is_kept_comes_after_the_one_that_was_shown(
    run, again, written, page, monkeypatch, quiet
) -> None:
    monkeypatch.setattr(read_command.Job, "_streams", True)
    more = ["-q"] if quiet else []
    written((FIRST, UNSURE), (SECOND, SURE))
    code, out, err = run("read", page, "--preset", "small", *more)
    assert code == 0 and out == "Lost words here.\n\nFound\n\nWords that were found.\n\n"
    assert err.count("page 1: read twice: the second reading was surer, and this is its text") == 1
    assert ("tokens/s" in err) is not quiet
    written((FIRST, SURE), (SECOND, UNSURE))
    code, out, err = run("read", page, "--preset", "small", *more)
    assert code == 0 and out == "Lost words here.\n\n"
    assert "and this is its text" not in err and ("read twice: the first" in err) is not quiet


def test_standard_output_that_is_no_terminal_gets_the_kept_text_alone(run, again, written, page) -> None:
    written((FIRST, UNSURE), (SECOND, SURE))
    code, out, err = run("read", page, "--preset", "small", "--format", "txt")
    assert code == 0 and out == "Found\n\nWords that were found.\n"
    assert "read twice: the second reading was surer" in err and "and this is its text" not in err


def test_a_flag_switches_it_off(run, again, written, page) -> None:
    written((FIRST, UNSURE), (SECOND, SURE))
    code, out, _ = run("read", page, "--preset", "small", "--no-read-again", "--json", "-q")
    document = json.loads(out)["documents"][0]
    assert code == 0 and document["settings"]["read_again"] is False
    assert [(p["readings"], p["text"]) for p in document["pages"]] == [(1, "Lost words here.")]


@pytest.fixture
def stopped_again(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Called with True: readings are stopped, as by Ctrl-C, in the second reading of a page, by default the second."""
    stream, armed = UnlimitedOCR.stream, False

    def stopping(self, source, *, control, **more):
        for event in stream(self, source, control=control, **more):
            again = isinstance(event, events.Progress) and event.phase == "again"
            if armed and again and event.done and event.page.index == last:
                control.cancel()
            yield event

    last = 1

    def arm(on: bool, page: int = 1) -> None:
        nonlocal armed, last
        armed, last = on, page

    monkeypatch.setattr(UnlimitedOCR, "stream", stopping)
    return arm


def test_stopped_in_a_second_reading_and_resumed_is_read_through(
    run, again, written, tmp_path: Path, stopped_again
) -> None:
    (tmp_path / "three.tiff").write_bytes(paper(*[(1000, 500)] * 3))
    file, out = str(tmp_path / "three.tiff"), tmp_path / "out.md"
    flags = ("read", file, "--preset", "small", "-o", str(out))
    written((FIRST, UNSURE), (SECOND, SURE))
    assert run(*flags, "-q")[0] == 0
    whole = out.read_text()
    out.unlink()
    stopped_again(True)
    written((FIRST, UNSURE), (SECOND, SURE))
    code, _, err = run(*flags, "--resume")
    assert code == errors.Cancelled.exit_code and not list(tmp_path.glob("out*"))
    assert f"{file}, page 2: Reading the page a second time was cancelled, the first reading is kept." in err
    assert f"{file}: page 2 was not read again to the end, page 3 was not read" in err
    assert f"{file}: 1 page is in the journal; run the same command to go on" in err
    stopped_again(False)
    written((FIRST, UNSURE), (SECOND, SURE))
    code, _, err = run(*flags, "--resume")
    assert code == 0 and "going on after 1 page of the journal" in err and out.read_text() == whole


def test_stopped_in_the_last_second_reading_a_resumed_job_is_not_finished(
    run, again, written, page, tmp_path: Path, stopped_again
) -> None:
    flags = ("read", page, "--preset", "small", "-o", str(tmp_path / "out.md"))
    stopped_again(True, 0)
    written((FIRST, UNSURE), (SECOND, SURE))
    code, _, err = run(*flags, "--resume")
    assert code == errors.Cancelled.exit_code and not list(tmp_path.glob("out*"))
    assert "page 1 was not read again to the end" in err and "the same command begins anew" in err
    written((FIRST, UNSURE), (SECOND, SURE))
    code, _, err = run(*flags)  # without a journal the first reading is what there is
    assert code == errors.Cancelled.exit_code and "Lost words here." in (tmp_path / "out.md").read_text()
    assert "the first reading is kept" in err and "not read again to the end" not in err


def test_the_demo_shows_the_text_that_is_kept(doubting, written, tmp_path, capsys) -> None:
    (tmp_path / "page.tiff").write_bytes(paper())
    (tmp_path / "page.txt").write_text("Found\nWords that were found.", "utf-8")
    written((FIRST, UNSURE), (SECOND, SURE))
    demo.read_sample(doubting, tmp_path / "page.tiff", tmp_path)
    shown = capsys.readouterr().out
    assert shown.index("Lost words here.") < shown.index(view.SECOND_KEPT) < shown.index("Found\n\nWords that were")
    assert "character error rate: 0.00 %" in shown


def test_a_reading_from_before_was_read_once(tmp_path: Path) -> None:
    record = export.json_file.page_record(reading(SURE))
    for name in ("readings", "kept_reading"):
        del record[name]
    assert export.json_file.page_from_record(record) == reading(SURE)
