"""What the command line says of a page and of what it was asked: doubtful words, flags by their names."""

from __future__ import annotations

from pathlib import Path

import pymupdf
import pytest
from export_samples import page
from uocr import UnlimitedOCR, demo, errors
from uocr.cli import options, view
from uocr.document import Block, Box, FinishReason, Page, Word
from uocr.flags import with_flags

from tests.conftest import SAMPLES, models_say

SCREENSHOT = str(SAMPLES / "screenshot.png")


def doubting(*confidences: float, threshold: float = 0.9, **more: object) -> Page:
    """A page with one text block; word n is called "wn"."""
    words = [Word(f"w{n}", 3 * n, confidence) for n, confidence in enumerate(confidences)]
    text = " ".join(word.text for word in words)
    block = Block("text", (Box(1, 1, 900, 900),), text, words, min(confidences, default=1.0))
    return page(block, confidence_threshold=threshold, **more)


# -- doubtful words --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("confidences", "line"),
    [
        ((0.95, 0.9), None),  # at the threshold a word is sure
        ((0.95, 0.899), '1 doubtful word: "w1" (0.90)'),
        ((0.54, 0.95, 0.42, 1.0), '2 doubtful words: "w0" (0.54), "w2" (0.42)'),
        ((), None),
    ],
)
def test_doubtful_words_are_named_in_reading_order(confidences: tuple[float, ...], line: str | None) -> None:
    told = [line for line in view.page_lines(doubting(*confidences)) if "doubtful" in line]
    assert told == ([] if line is None else [line])


def test_words_of_tables_are_among_them() -> None:
    made = doubting(0.95, 0.3)
    cells = "<table><tr><td>Aty</td><td>22</td></tr></table>"
    made.blocks.append(Block("table", (Box(1, 1, 9, 9),), cells, [Word("Aty", 15, 0.42), Word("22", 27, 0.99)], 0.9))
    assert view.doubtful_line(made) == '2 doubtful words: "w1" (0.30), "Aty" (0.42)'


def test_of_many_doubtful_words_eight_are_named() -> None:
    line = view.doubtful_line(doubting(*[0.5] * 9, *[0.95] * 20))
    assert line is not None and line.startswith("9 doubtful words: ") and line.endswith('"w7" (0.50) and 1 more')
    line = view.doubtful_line(doubting(*[0.5] * 8, *[0.95] * 20))
    assert line is not None and line.endswith('"w7" (0.50)')


def test_a_page_that_is_hardly_sure_names_no_words_and_located_words_have_none() -> None:
    assert view.doubtful_line(doubting(0.1, 0.2, 0.3)) is None
    assert view.doubtful_line(doubting(0.1, 0.95, 0.95, located="w")) is None


def test_a_doubtful_word_never_spoils_the_line() -> None:
    made = doubting(0.95, 0.5)
    made.blocks[0].words[1] = Word("a\x1b[2J" + "." * 100, 3, 0.5)
    line = view.doubtful_line(made)
    assert line is not None and "\x1b" not in line and line.endswith('…" (0.50)') and len(line) < 80


@pytest.fixture
def demanding(monkeypatch: pytest.MonkeyPatch) -> None:
    """The built-in model calls every word doubtful that is not all but certain."""
    models_say(monkeypatch, {"confidence_threshold": 0.999, "read_again_below": 0})


def test_reading_and_the_demo_show_them_and_quiet_does_not(run, demanding, tmp_path, capsys) -> None:
    base = ("--preset", "base")
    code, text, err = run("read", SCREENSHOT, *base)
    line = next(line for line in err.splitlines() if "doubtful word" in line)
    first = line.split('"')[1]
    assert code == 0 and first in text
    assert "doubtful" not in run("read", SCREENSHOT, *base, "-q")[2]
    with UnlimitedOCR() as ocr:
        demo.read_sample(ocr, Path(SCREENSHOT), tmp_path)
    assert "doubtful word" in capsys.readouterr().out


# -- how a page ended ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "line"),
    [(FinishReason.CANCELLED, "finish reason: cancelled"), (FinishReason.EOS, "finish reason: eos (complete)"),
     (FinishReason.ERROR, "finish reason: error (failed)")],
)
def test_a_finish_reason_is_not_explained_by_itself(reason: FinishReason, line: str) -> None:
    assert view.page_lines(page(finish=reason))[0] == line


# -- flags by their names --------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [("read", SCREENSHOT), ("bench",), ("bench", "--trace")])
@pytest.mark.parametrize(
    ("flags", "words"),
    [(("--threads", "-3"), "--threads is -3; give a whole number"),
     (("--precision", "best"), "--precision is 'best'; choose one of")],
)
def test_what_the_engine_refuses_names_the_flag(run, command, flags, words) -> None:
    code, _, err = run(*command, *flags)
    assert code == errors.InvalidRequest.exit_code and f"uocr: {words}" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("read", SCREENSHOT, "--dpi", "7"), "--dpi is 7; choose 36 to 1200."),
        (
            ("read", SCREENSHOT, "--ngram-window", "99999999"),
            "--ngram-window is 99999999 ids; with --ngram-size 35 it must be 1 to 65536.",
        ),
        (("read", SCREENSHOT, "--locate", "a", "--one-pass"), "--locate looks at one page at a time"),
        (("check-golden", "tests/golden", "--profile", "q9"), "--profile is 'q9'; choose f32, f16, q8 or q4."),
        (("check-golden", "tests/golden", "--simd", "mmx"), "--simd is 'mmx'; choose one of"),
    ],
)
def test_what_is_refused_later_names_the_flag_too(run, arguments, words: str) -> None:
    code, _, err = run(*arguments)
    assert code == errors.InvalidRequest.exit_code and err.replace("\n", " ").startswith(f"uocr: {words}")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("dpi is 7; choose 36 to 1200.", "--dpi is 7; choose 36 to 1200."),
        ("text_size is 1; max_size and dpi are not.", "--text-size is 1; max_size and dpi are not."),
        ("The prompt of text_size holds dpi.", "The prompt of text_size holds dpi."),
        ("dpi.pdf is a folder.", "dpi.pdf is a folder."),
    ],
)
def test_only_a_refusal_that_begins_with_a_setting_is_told_in_flags(words: str, told: str) -> None:
    assert with_flags(words, ("dpi", "text_size", "prompt")) == told


def test_a_password_that_is_missing_or_wrong_is_one_sentence(run, tmp_path: Path) -> None:
    document = pymupdf.open()
    document.new_page()
    document.save(tmp_path / "a.pdf", encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="sesame")
    file = str(tmp_path / "a.pdf")
    assert run("read", file)[2] == f"uocr: {file} is encrypted and needs a password to be read; use --password.\n"
    assert run("read", file, "--password", "x")[2] == (
        f"uocr: {file} is encrypted and the given password does not open it; give another with --password.\n"
    )


@pytest.mark.parametrize(
    ("name", "then", "now", "words"),
    [
        ("dpi", "300", "200", "--dpi: 300 then, 200 now"),
        ("pages", "null", '"1-3"', '--pages: all pages then, "1-3" now'),
        ("region", "[1,2,3,4]", "null", "--region: [1,2,3,4] then, the whole page now"),
        ("guard_allow", "[]", "[7]", "--guard-allow: nothing then, [7] now"),
        ("locate", "null", '"a"', '--locate: nothing then, "a" now'),
        ("read_again", "true", "false", "--read-again then, --no-read-again now"),
        ("read_again", "unknown", "false", "--read-again: unknown then, false now"),
        ("precision", '"fast"', '"exact"', '--precision: "fast" then, "exact" now'),
        ("engine_version", '"1"', '"2"', 'engine version: "1" then, "2" now'),
    ],
)
def test_a_setting_that_changed_is_named_by_its_flag(name: str, then: str, now: str, words: str) -> None:
    assert options.changed_setting(name, then, now) == words


# -- the model -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("below", "told"), [(0.8, "less than 80 % sure"), (0, None)])
def test_info_says_when_a_page_is_read_again(run, monkeypatch, below: float, told: str | None) -> None:
    models_say(monkeypatch, {"read_again_below": below})
    out = run("info")[1]
    assert ("read again" in out) is (told is not None) and (told or "") in out
