"""K1 and K5: pages that loop, pages too dense for the tokens they may take, passes over several pages that are cut.

A scripted token source drives the real engine: every chosen token is forced, so that loops of every size can be
written.
"""

from __future__ import annotations

import json
from pathlib import Path

import pymupdf
import pytest
from uocr import FinishReason, ReadSettings, UnlimitedOCR, errors, events, export, native
from uocr.markup import BlockText
from uocr.views import visual_tokens

from tests.conftest import SAMPLES

LINE = [17, 45, 98, 12, 60, 77, 31]
ROW = [400 + i for i in range(40)]
BLOCK = [100 + i for i in range(94)]


def scripted(model: Path, script: list[int], *, pages: int = 0, period_max: int = 94) -> tuple[str, int]:
    """Runs the engine on the given tokens; (finish reason, tokens until then)."""
    with native.Engine(model) as engine:
        info = engine.info()
        plan = native.Plan(
            [info.bos_id, 7, 9], pages=pages, max_new_tokens=len(script), ngram_size=0, loop_period_max=period_max
        )
        with engine.begin(plan) as run:
            run.force_token(script[0])
            for event in run.events():
                if event.kind == native.TOKEN and event.done < len(script):
                    run.force_token(script[event.done])
            return event.finish, event.done


@pytest.mark.parametrize("unit", [[250], LINE, ROW, BLOCK], ids=["one token", "a line", "a table row", "a whole block"])
def test_a_repeated_unit_ends_as_a_loop_and_never_as_success(golden_model: Path, unit: list[int]) -> None:
    start = [200 + i for i in range(30)]
    finish, tokens = scripted(golden_model, start + unit * (600 // len(unit)))
    assert finish == "loop"
    assert len(start) + 256 <= tokens <= len(start) + 256 + 2 * len(unit)  # at the first step that shows it


def test_a_unit_longer_than_the_period_is_no_loop_yet(golden_model: Path) -> None:
    unit = [100 + i for i in range(95)]
    assert scripted(golden_model, unit * 6)[0] == "length"


def test_text_that_repeats_a_little_is_no_loop(golden_model: Path) -> None:
    script = [i for n in range(60) for i in (*LINE, 100 + n)]
    assert scripted(golden_model, script) == ("length", len(script))


def bans(model: Path, script: list[int], **guard: int) -> list[list[int]]:
    """What the repeat guard would not have let in place of each of the given tokens."""
    found: list[list[int]] = []
    with native.Engine(model) as engine:
        plan = native.Plan([engine.info().bos_id, 7, 9], pages=0, max_new_tokens=len(script), loop_history=0, **guard)
        with engine.begin(plan) as run:
            run.force_token(script[0])
            for event in run.events():
                if event.kind == native.TOKEN and event.done < len(script):
                    found.append(list(run.bans()))
                    run.force_token(script[event.done])
    return found


@pytest.mark.parametrize("unit", [[250], [250, 251, 252, 253]], ids=["one token", "four tokens"])
def test_what_repeats_at_once_is_banned_sooner_than_what_repeats_later(golden_model: Path, unit: list[int]) -> None:
    script = unit * (44 // len(unit))
    found = bans(golden_model, script, ngram_size=35, ngram_cycle=16)
    first = next(number for number, banned in enumerate(found) if banned)
    assert first == 15 + len(unit) and found[first] == [script[first]]
    plain = bans(golden_model, script, ngram_size=35)
    assert next(number for number, banned in enumerate(plain) if banned) == 34 + len(unit)
    later = [*LINE, 100] * 5  # a period of eight is no such run
    assert not any(bans(golden_model, later, ngram_size=35, ngram_cycle=16))


def test_the_built_in_model_has_a_limit_for_such_runs_unless_a_length_is_asked_for() -> None:
    with UnlimitedOCR() as ocr:
        assert ocr.front_end["ngram"]["cycle"] == 16
        for asked, cycle in (({}, 16), ({"ngram_size": 35}, 0), ({"ngram_size": 0}, 0)):
            _, plan = ocr._reader.plan_page(700, 900, ReadSettings(**asked))
            assert (plan.ngram_size, plan.ngram_cycle) == (asked.get("ngram_size", 35), cycle)


def dense_page(folder: Path) -> Path:
    """A page of 6-point text: about 6,000 characters."""
    document = pymupdf.open()
    page = document.new_page(width=420, height=595)
    words = " ".join(f"word{i} number {i * 37 % 101}" for i in range(330))
    assert page.insert_textbox(pymupdf.Rect(20, 20, 400, 590), words, fontsize=6) >= 0
    path = folder / "dense.pdf"
    document.save(path)
    return path


def test_a_page_too_dense_for_its_tokens_keeps_its_text_and_says_so(ocr: UnlimitedOCR, tmp_path: Path) -> None:
    document = ocr.read(dense_page(tmp_path), max_new_tokens=80)
    page = document.pages[0]
    assert page.finish_reason is FinishReason.LENGTH
    assert page.raw_text and len(page.tokens) == 80
    export.export(document, tmp_path / "out.md")
    text = (tmp_path / "out.md").read_text()
    assert "cut short" in text and "limit" in text


@pytest.mark.parametrize("tokens", [1, 5])
def test_a_page_cut_inside_its_first_tag_shows_no_markup(ocr: UnlimitedOCR, tokens: int) -> None:
    """Neither in a text format nor while it streams; `raw_text` alone keeps it."""
    shown, document = "", None
    for event in ocr.stream(SAMPLES / "screenshot.png", max_new_tokens=tokens):
        if isinstance(event, events.BlockEvent) and isinstance(event.event, BlockText):
            shown += event.event.delta
        elif isinstance(event, events.DocumentFinished):
            document = event.document
    assert document is not None and document.pages[0].finish_reason is FinishReason.LENGTH
    assert document.pages[0].raw_text.startswith("<|det|>") and shown == document.pages[0].text == ""
    for format in ("txt", "md", "html"):
        text = export.to_text(document, format)
        assert "det|" not in text and "cut short" in text
    page = json.loads(export.to_text(document, "json"))["documents"][0]["pages"][0]
    assert page["blocks"] == []


def test_a_prompt_that_leaves_no_room_is_refused_with_numbers(ocr: UnlimitedOCR) -> None:
    pages = ocr.info.max_positions // visual_tokens(1024) + 1
    rows = pages * visual_tokens(1024)
    plan = native.Plan([0, *[ocr.info.image_id] * rows, 7], pages=pages)
    with pytest.raises(errors.InvalidRequest, match=str(ocr.info.max_positions)):
        ocr.engine.estimate(plan)


def test_one_pass_over_several_pages_tells_each_page_how_it_ended() -> None:
    with UnlimitedOCR() as ocr:
        ocr.front_end["multi_page"] = False
        with pytest.raises(errors.InvalidRequest, match="several pages in one pass"):
            ocr.read(SAMPLES / "leaflet.pdf", one_pass=True)
        ocr.front_end["multi_page"] = True  # as a model trained for it says
        started = []
        for event in ocr.stream(SAMPLES / "leaflet.pdf", one_pass=True, max_new_tokens=25):
            if isinstance(event, events.PageStarted):
                started.append(event)
            elif isinstance(event, events.DocumentFinished):
                pages = event.document.pages
    assert [e.visual_tokens for e in started] == [3 * visual_tokens(1024)]
    assert [p.finish_reason for p in pages] == [FinishReason.LENGTH, FinishReason.NOT_READ, FinishReason.NOT_READ]
    assert len({(p.width, p.height) for p in pages}) == 1
