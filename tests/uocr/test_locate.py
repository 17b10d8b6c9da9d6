"""Where words stand: the question, its answers as lines, blocks and files, and passes over more pages than trained.

The built-in model is asked with the front end of one that knows the question; its answers are forced token by token.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image
from uocr import UnlimitedOCR, cli, errors, events, export
from uocr.cli import read as read_command
from uocr.cli.view import page_warnings
from uocr.document import Block, Box, Document, FinishReason, Page, Token
from uocr.modelfile import ModelFile
from uocr.prompt import locate_prompt
from uocr.settings import ReadSettings
from uocr.tokenizer import Tokenizer

from tests.conftest import BUILT_IN, models_say

TEMPLATE = "<image>Locate <|ref|>{words}<|/ref|> in the image."
FOUND = "<|ref|>two words<|/ref|><|det|>[[100, 200, 599, 300]]<|/det|>"
LINE = "two words: 40, 40, 239, 60"
"""Box and pixels of a page of 400 x 200: 100 / 999 * 400 = 40.04, 599 / 999 * 400 = 239.8, 300 / 999 * 200 = 60.06."""

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    with ModelFile.open(BUILT_IN) as file:
        return Tokenizer(file.tokenizer_json, digits=file.front_end.get("digits"))


@pytest.fixture
def knowing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Model files that are opened know the question, with at most 20 characters."""
    with ModelFile.open(BUILT_IN) as file:
        prompts = file.front_end["prompts"] | {"locate": TEMPLATE}
    models_say(monkeypatch, {
        "prompts": prompts, "locate_most": 20, "multi_page": True, "multi_page_most": 2,
        "trained_presets": ["tiny", "base"],
        "confidence_threshold": 0.0,  # of an answer that is forced the model is never sure
    })


@pytest.fixture
def answering(knowing: None, tokenizer: Tokenizer, forced: Callable[[list[int]], None]) -> Callable[[str], None]:
    """Called with a text: whatever is asked from then on, the model writes that and the end token."""
    return lambda text: forced([*tokenizer.encode(text), 1])


@pytest.fixture
def run(run: Run) -> Run:
    """Runs `uocr read ARGUMENTS --preset tiny -q`."""
    return lambda *arguments: run("read", *arguments, "--preset", "tiny", "-q")


@pytest.fixture
def paper(tmp_path: Path) -> str:
    Image.new("RGB", (400, 200), "white").save(tmp_path / "paper.png")
    return str(tmp_path / "paper.png")


def located(*blocks: Block, first: float = 0.9, width: int = 1000, height: int = 500) -> Page:
    """A page on which "two words" were located; `first` is the probability of the answer's first token."""
    page = Page("a.pdf", 6, width, height, list(blocks), finish_reason=FinishReason.EOS, located="two words")
    page.tokens = [Token(2037, math.log(first)), Token(9, -3.0)] if blocks else []
    return page


def test_the_words_are_put_into_the_models_own_prompt(tokenizer: Tokenizer) -> None:
    front_end = {"prompts": {"locate": TEMPLATE}}
    assert locate_prompt(front_end, tokenizer, " two\n words ") == (
        "<image>Locate <|ref|>two words<|/ref|> in the image."
    )
    assert "<|ref|>{words} 5<|/ref|>" in locate_prompt(front_end, tokenizer, "{words} 5")


@pytest.mark.parametrize("front_end", [{}, {"prompts": {"single": "<image>a"}}, {"prompts": {"locate": ""}}])
def test_a_model_without_the_prompt_says_so(tokenizer: Tokenizer, front_end: dict[str, object]) -> None:
    with pytest.raises(errors.InvalidRequest, match="'small' was not trained to say where words stand; read the page"):
        locate_prompt(front_end | {"name": "small"}, tokenizer, "total")


@pytest.mark.parametrize("marker", ["<image>", "<PAGE>", "<|ref|>", "<|/ref|>", "<|det|>", "<｜end▁of▁sentence｜>"])
def test_markers_are_refused_by_name(tokenizer: Tokenizer, marker: str) -> None:
    with pytest.raises(errors.InvalidRequest) as refused:
        locate_prompt({"prompts": {"locate": TEMPLATE}}, tokenizer, f"a{marker}b")
    assert f"contain {marker}, which is a marker" in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"locate": ""}, "locate is empty"),
        ({"locate": " \n"}, "locate is empty"),
        ({"locate": "a", "prompt": "b"}, "leave it or the other prompt out"),
        ({"locate": "a", "one_pass": True}, "cannot be combined with one pass"),
        ({"locate": 5}, "give text"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(changes: dict[str, object], words: str) -> None:
    with pytest.raises(errors.InvalidRequest, match=words):
        ReadSettings().with_changes(changes)


def test_a_place_is_one_line_in_pixels_of_the_page() -> None:
    page = located(Block("two words", (Box(100, 200, 599, 300), Box(0, 0, 999, 999)), ""))
    assert page.text == "two words: 100, 100, 599, 150\ntwo words: 0, 0, 1000, 500"
    assert not page.blank and not located().blank and located().text == ""


def test_text_that_the_model_wrote_beside_its_answer_is_kept() -> None:
    page = located(Block("two words", (Box(0, 0, 999, 999),), "and\nmore"), Block("text", (), "else"))
    assert page.text.split("\n") == ["two words: 0, 0, 1000, 500", "and", "more", "else"]


@pytest.mark.parametrize("format", ["txt", "md", "html"])
def test_text_formats_show_the_line(format: str) -> None:
    page = located(Block("image", (Box(100, 200, 599, 300),), ""))
    assert "image: 100, 100, 599, 150" in export.to_text(Document("a.pdf", [page]), format)
    assert "was not found" not in export.to_text(Document("a.pdf", [located()]), format)


def test_json_says_what_was_asked_and_comes_back_as_it_was(tmp_path: Path) -> None:
    document = Document("a.pdf", [located(Block("two words", (Box(100, 200, 599, 300),), "", box_confidence=0.25))])
    export.export(document, tmp_path / "a.json")
    (page,) = json.loads((tmp_path / "a.json").read_text())["documents"][0]["pages"]
    assert page["located"] == "two words" and page["confidence"] == pytest.approx(0.9)
    assert page["blocks"][0]["boxes_px"] == [[100, 100, 599, 150]] and page["blocks"][0]["text"] == ""
    assert export.load_json(tmp_path / "a.json") == [document]
    older = (tmp_path / "a.json").read_text().replace('"located": "two words", ', "")
    (tmp_path / "older.json").write_text(older)
    assert export.load_json(tmp_path / "older.json")[0].pages[0].located is None


def test_the_confidence_is_that_the_words_are_there() -> None:
    page = located(Block("two words", (Box(1, 2, 3, 4),), "", box_confidence=0.1), first=0.6)
    assert page.confidence == pytest.approx(0.6)
    page.confidence_threshold = 0.5
    assert page_warnings(page) == []
    page.confidence_threshold = 0.7
    assert page_warnings(page) == [
        "page 7: the model is unsure (confidence 0.60); the words may not be there"
    ]


def test_the_command_line_prints_the_place(
    run: Run, answering: Callable[[str], None], paper: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(FOUND)
    (page,) = json.loads(run(paper, "--locate", "two words", "--json")[1])["documents"][0]["pages"]
    assert page["raw_text"] == FOUND and page["text"] == LINE
    assert [(b["label"], b["boxes"]) for b in page["blocks"]] == [("two words", [[100, 200, 599, 300]])]
    for streams in (False, True):
        monkeypatch.setattr(read_command.Job, "_streams", streams)
        code, out, err = run(paper, "--locate", "two  words")
        assert (code, out.strip()) == (0, LINE)
        assert "no text found" not in err and "was not found" not in err


def test_a_place_inside_a_region_is_told_in_pixels_of_the_page(
    run: Run, answering: Callable[[str], None], paper: str
) -> None:
    answering(FOUND)
    out = run(paper, "--locate", "two words", "--region", "200,100,400,200")[1]
    assert out.strip() == "two words: 220, 120, 319, 130"  # 200 + 599 / 999 * 200 = 319.9


def test_a_page_of_a_region_is_finished_when_its_places_are_those_of_the_page(
    answering: Callable[[str], None], paper: str
) -> None:
    """What takes a page over when it is told as finished, as a journal does, needs nothing that follows."""
    answering(FOUND)
    told = []
    with UnlimitedOCR() as ocr:
        for event in ocr.stream(paper, locate="two words", region=(200, 100, 400, 200), preset="tiny"):
            if isinstance(event, events.PageFinished):
                told += [block.boxes for block in event.page.blocks]
    assert told == [(Box(550, 600, 799, 650),)]  # (200 + 100 / 999 * 200) / 400 * 999 = 549.5


def test_words_that_are_not_there_are_told_as_an_empty_result(
    run: Run, answering: Callable[[str], None], paper: str, tmp_path: Path
) -> None:
    answering("")
    code, out, err = run(paper, "--locate", "two words")
    assert (code, out, err) == (0, "", f'{paper}, page 1: "two words" was not found\n')
    assert run(paper, "--locate", "two words", "-o", str(tmp_path / "out.txt"))[0] == 0
    assert (tmp_path / "out.txt").read_text() == ""


def test_python_gets_the_same(answering: Callable[[str], None], paper: str) -> None:
    answering(FOUND)
    with UnlimitedOCR() as ocr:
        assert ocr.generate(paper, locate="two words", preset="tiny") == LINE
        document = ocr.read(paper, locate="two words", preset="tiny")
    assert document.settings["locate"] == "two words"
    assert [b.boxes for b in document.pages[0].blocks] == [(Box(100, 200, 599, 300),)]


def test_longer_words_than_trained_are_noted(run: Run, answering: Callable[[str], None], paper: str) -> None:
    answering("")
    assert "characters" not in run(paper, "--locate", "x" * 20)[2]
    assert (
        "The model was trained to find at most 20 characters and these words have 21; give fewer words."
        in run(paper, "--locate", "x" * 21)[2]
    )


def test_refusals_are_told_once_and_before_a_page_is_opened(run: Run, knowing: None, paper: str) -> None:
    for arguments, words in (
        (("--locate", "a<PAGE>"), "contain <PAGE>, which is a marker"),
        (("--locate", ""), "--locate is empty"),
        (("--locate", "a", "--prompt", "b"), "--locate is a prompt of its own; leave it or the other prompt out"),
    ):
        code, out, err = run(paper, *arguments)
        assert (code, out) == (errors.InvalidRequest.exit_code, "")
        assert err.count("\n") == 1 and words in err
    with UnlimitedOCR() as ocr:
        ocr.front_end["prompts"].pop("locate")
        with pytest.raises(errors.InvalidRequest, match="was not trained to say where words stand"):
            next(ocr.stream(Path("no such file"), locate="a"))


@pytest.fixture
def three(tmp_path: Path) -> Iterator[Path]:
    """A document of three small pages."""
    pages = [Image.new("RGB", (60, 40), "white") for _ in range(3)]
    pages[0].save(tmp_path / "three.tiff", save_all=True, append_images=pages[1:])
    return tmp_path / "three.tiff"


@pytest.mark.parametrize(("most", "noted"), [(2, True), (3, False), (0, False), (None, False)])
def test_a_pass_over_more_pages_than_trained_is_read_with_a_note(
    knowing: None, three: Path, most: int | None, noted: bool
) -> None:
    """Without a known limit, as in files of before, there is no note."""
    with UnlimitedOCR() as ocr:
        ocr.front_end.pop("multi_page_most")
        if most is not None:
            ocr.front_end["multi_page_most"] = most
        pages = ocr.read(three, one_pass=True, preset="tiny", max_new_tokens=1).pages
    note = (
        "The model was trained with at most 2 pages in one pass and this pass has 3; read groups of up to 2 pages, "
        "or page by page without one pass."
    )
    assert (note in pages[0].problems) is noted
    assert not any("in one pass and this pass" in p for page in pages[int(noted):] for p in page.problems)


def test_info_says_what_the_model_was_trained_for(
    knowing: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["uocr", "info", str(BUILT_IN)])
    assert cli.main() == 0
    assert "several pages in one pass: yes, up to 2; finds words (--locate): yes\n" in capsys.readouterr().out
