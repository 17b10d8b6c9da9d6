"""Pages read to their end that a person should not trust: an unsure model, ink on which no text was found.

Each is decided once, kept with the page, and told by the command line and by every format.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import docx
import pymupdf
import pytest
from export_samples import document, page, page_picture
from PIL import Image
from uocr import UnlimitedOCR
from uocr.document import Block, Box, FinishReason, Page, Token, Word
from uocr.errors import OutputFailed
from uocr.export import FORMATS, export, load_json, to_text
from uocr.export.content import notice_of
from uocr.journal import Journal
from uocr.modelfile import ModelFile
from uocr.tokenizer import Tokenizer

from tests.conftest import BUILT_IN, SAMPLES, models_say

SCREENSHOT = str(SAMPLES / "screenshot.png")
FULL = Box(100, 100, 900, 200)


def read_page(confidence: float = 0.432, threshold: float = 0.5, **more: object) -> Page:
    """The third page of a PDF, with one block."""
    return page(Block("text", (FULL,), "words", [], confidence), index=2, confidence_threshold=threshold, **more)


UNSURE = "Page 3: the model is unsure (confidence 0.43); the text may be wrong."
WHY = "the page may be turned, too small or blurred, or in a script or hand that the model does not read"
INK = f"Page 3: no text was found, though there is ink on it; {WHY}."


# -- the rule and its words ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("confidence", "threshold", "unsure"),
    [(0.432, 0.5, True), (0.5, 0.5, False), (0.9, 0.5, False), (0.432, 0.0, False), (None, 0.5, False)],
)
def test_a_page_is_unsure_below_the_models_threshold(confidence, threshold, unsure):
    made = read_page(confidence, threshold)
    assert made.unsure is unsure
    assert notice_of(made) == (UNSURE if unsure else None)


@pytest.mark.parametrize(
    ("sure", "of", "hardly"), [(0, 8, True), (2, 8, True), (3, 8, False), (8, 8, False), (0, 0, False)]
)
def test_an_unsure_page_without_sure_words_says_what_can_be_the_matter(sure, of, hardly):
    made = read_page()
    made.blocks[0].words = [Word("w", 0, 0.5 if i < sure else 0.49) for i in range(of)]
    assert made.hardly_sure is hardly
    assert notice_of(made) == (f"{UNSURE[:-1]}, as hardly any word is sure: {WHY}." if hardly else UNSURE)


def test_a_table_without_a_word_is_hardly_sure():
    table = Block("table", (FULL,), "<table><tr><td></td></tr></table>", [], 0.432)
    made = page(table, confidence_threshold=0.5, tokens=[Token(7, -1.0)])
    assert made.hardly_sure and not page(table, confidence_threshold=0.4, tokens=[Token(7, -1.0)]).hardly_sure


def test_what_a_person_corrected_is_no_longer_the_models_doubt():
    made = read_page()
    made.blocks[0] = Block("text", (FULL,), "other words", [], None)
    assert not made.unsure


def test_a_page_that_is_cut_short_and_unsure_says_both():
    assert notice_of(read_page(finish=FinishReason.LOOP)) == (
        f"Page 3 is cut short: the model began to repeat itself. {UNSURE}"
    )


def test_located_words_may_not_be_there():
    made = page(index=2, located="two words", tokens=[Token(7, math.log(0.4))], confidence_threshold=0.5)
    assert notice_of(made) == "Page 3: the model is unsure (confidence 0.40); the words may not be there."


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (page(index=2, has_ink=True), INK),
        (page(Block("image", (FULL,), ""), index=2, has_ink=True), INK),
        (page(index=2, has_ink=False), None),
        (page(index=2), None),
        (page(("text", "words"), index=2, has_ink=True), None),
        (page(index=2, has_ink=True, located="words"), None),
        (page(index=2, has_ink=True, finish=FinishReason.NOT_READ), "Page 3 was not read."),
    ],
)
def test_ink_without_text_is_told(made, told):
    assert notice_of(made) == told


# -- every format ----------------------------------------------------------------------------------------------


def shown(path: Path) -> str:
    """What a reader of the file sees, and a PDF's notes."""
    if path.suffix == ".docx":
        return "\n".join(paragraph.text for paragraph in docx.Document(str(path)).paragraphs)
    if path.suffix == ".pdf":
        with pymupdf.open(path) as made:
            return "\n".join(note.info["content"] for sheet in made for note in sheet.annots())
    return path.read_text("utf-8")


@pytest.mark.parametrize("per_page", [False, True], ids=["one file", "a file a page"])
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(("made", "told"), [(read_page(), UNSURE), (page(index=2, has_ink=True), INK)])
def test_every_format_tells_it_once_with_its_page(tmp_path, format, made, told, per_page):
    sure = page(("text", "sure"), index=1)
    done = export(
        document(sure, made), tmp_path / f"a.{format}", page_images=page_picture, per_page=per_page, pictures=False
    )
    text = "\n".join(map(shown, done.files))
    assert text.count(told) == 1 and text.count("Page 2") == 0
    if per_page:
        assert told in shown(done.files[-1])


def test_text_formats_show_it_as_they_show_a_page_cut_short():
    made = document(read_page())
    assert to_text(made, "md") == f"words\n\n> **{UNSURE}**\n"
    assert to_text(made, "txt") == f"words\n\n[{UNSURE}]\n"
    assert f'<p class="notice">{UNSURE}</p>' in to_text(made, "html")


def test_json_keeps_what_was_decided_and_how(tmp_path):
    made = document(read_page(), page(index=3, has_ink=True), page(index=4, has_ink=False), page(index=5))
    export(made, tmp_path / "a.json")
    records = json.loads((tmp_path / "a.json").read_text())["documents"][0]["pages"]
    assert [(r["confidence_threshold"], r["unsure"], r["blank"], r["has_ink"]) for r in records] == [
        (0.5, True, False, None), (0.0, False, True, True), (0.0, False, True, False), (0.0, False, True, None),
    ]
    assert load_json(tmp_path / "a.json") == [made]
    for record in records:  # as it was written before these fields were
        for name in ("confidence_threshold", "unsure", "has_ink"):
            del record[name]
    older = {"schema": "leggio-reading", "schema_version": 1, "documents": [
        {"source": "scan.pdf", "model": "", "model_id": "", "settings": {}, "pages": records}]}
    (tmp_path / "older.json").write_text(json.dumps(older))
    assert [notice_of(p) for p in load_json(tmp_path / "older.json")[0].pages] == [None] * 4


def test_a_journal_keeps_it(tmp_path):
    pages = [read_page(), page(index=3, has_ink=True)]
    with Journal.open(tmp_path / "j", {"file": "f"}) as log:
        for made in pages:
            log.append(made)
    with Journal.open(tmp_path / "j", {"file": "f"}) as log:
        assert [(p.unsure, p.ink_without_text) for p in log.pages] == [(True, False), (False, True)]


# -- while reading ---------------------------------------------------------------------------------------------


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models are unsure of whatever they are not entirely certain of."""
    models_say(monkeypatch, {"confidence_threshold": 1.0, "multi_page": True})


@pytest.fixture
def silent(forced: Callable[[list[int]], None]) -> None:
    """The model ends every page at once: it finds no text."""
    forced([1])


def sheet(path: Path, ink: bool) -> str:
    """A small page, with six bars of the size of words or with nothing on it."""
    made = Image.new("RGB", (400, 300), "white")
    for top in range(40, 280, 40) if ink else ():
        made.paste("black", (50, top, 150, top + 12))
    made.save(path)
    return str(path)


def test_the_command_line_says_it_once_and_the_file_carries_it(run, strict, tmp_path):
    code, _, err = run("read", SCREENSHOT, "-o", str(tmp_path / "a.md"), "-q")
    assert code == 0
    assert err.count("unsure") == 1 and "screenshot.png, page 1: the model is unsure (confidence" in err
    assert (tmp_path / "a.md").read_text().count("> **Page 1: the model is unsure (confidence") == 1


@pytest.mark.parametrize(("rotate", "tried"), [(0, "180, 90 or 270"), (90, "270, 180 or 0")])
def test_a_page_that_is_upside_down_is_told_with_what_can_be_tried(run, tmp_path, rotate, tried):
    with Image.open(SCREENSHOT) as picture:  # Pillow turns the other way than --rotate
        picture.rotate(180 + rotate, expand=True).save(tmp_path / "turned.png")
    code, out, err = run("read", str(tmp_path / "turned.png"), "--rotate", str(rotate), "-q")
    assert code == 0
    assert out.count("as hardly any word is sure: the page may be turned, too small") == 1
    assert err.count(f"as hardly any word is sure: the page may be turned (try --rotate {tried}), too small") == 1


def test_a_resumed_reading_still_tells_it(run, strict, tmp_path, monkeypatch):
    command = ("read", SCREENSHOT, "--resume", "-q", "--format", "txt")
    with monkeypatch.context() as patch:  # a write that fails leaves the journal
        patch.setattr("uocr.cli.view.write", lambda _: (_ for _ in ()).throw(OutputFailed("Full.")))
        assert run(*command)[0] == OutputFailed.exit_code
    monkeypatch.setattr("uocr.reading.Reader.read_page", pytest.fail)
    code, out, _ = run(*command)
    assert code == 0 and "[Page 1: the model is unsure (confidence" in out


def test_the_command_line_tells_ink_without_text_from_an_empty_sheet(run, silent, tmp_path):
    rotate = WHY.replace("turned", "turned (try --rotate 180, 90 or 270)")
    for ink, told in ((True, f"no text found, though there is ink on the page; {rotate}"), (False, "no text found")):
        path = sheet(tmp_path / f"{ink}.png", ink)
        code, out, err = run("read", path, "-q", "--json")
        (record,) = json.loads(out)["documents"][0]["pages"]
        assert (code, err) == (0, f"{path}, page 1: {told}\n")
        assert (record["blank"], record["has_ink"]) == (True, ink)


@pytest.mark.parametrize(("region", "ink"), [((0, 0, 400, 150), True), ((310, 0, 400, 300), False)])
def test_of_a_region_only_its_own_ink_counts(silent, tmp_path, region, ink):
    path = sheet(tmp_path / "a.png", True)
    with UnlimitedOCR() as ocr:
        assert ocr.read(path, region=region, preset="tiny").pages[0].has_ink is ink


def test_words_that_were_not_found_leave_ink_aside(run, silent, strict, tmp_path, monkeypatch):
    path = sheet(tmp_path / "a.png", True)
    with UnlimitedOCR() as ocr:
        ocr.front_end["prompts"] = ocr.front_end["prompts"] | {"locate": "<image>Locate <|ref|>{words}<|/ref|>."}
        (made,) = ocr.read(path, locate="two words", preset="tiny").pages
    assert made.complete and made.has_ink is None and not made.ink_without_text


def test_pages_of_one_pass_are_decided_one_by_one(strict, tmp_path, forced):
    with ModelFile.open(BUILT_IN) as file:
        ids = [*Tokenizer(file.tokenizer_json, digits=file.front_end.get("digits")).encode(
            "<PAGE><PAGE><PAGE><|det|>text [100, 100, 900, 200]<|/det|>words"), 1]
    forced(ids)
    pages = [Image.open(sheet(tmp_path / f"{i}.png", ink)) for i, ink in enumerate((True, False, True))]
    pages[0].save(tmp_path / "three.tiff", save_all=True, append_images=pages[1:])
    with UnlimitedOCR() as ocr:
        made = ocr.read(tmp_path / "three.tiff", one_pass=True).pages
    assert [(p.has_ink, p.ink_without_text, p.unsure) for p in made] == [
        (True, True, False), (False, False, False), (None, False, True),
    ]
