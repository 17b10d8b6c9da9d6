"""Program text: what is taken of source files, and pages of listings on which every line stands as it is written."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from training import fonts, sources
from training.charset import CHARSET
from training.listings import Listings
from training.pages import Kind, PageMaker
from training.pages.code import CodeSetter, pieces, wrapped
from training.pages.documents import DocumentSetter
from training.pages.ink import FontShelf
from training.pages.maker import MOST_TOKENS
from training.pages.sheet import Sheet
from training.sessions import Sessions
from training.smoke import smoke_pack
from training.sources import Sources, passages
from training.words import Words

PROGRAM = """def turn(page, by=1):
    # The next page, or none.
    if page["number"] + by > LAST:
        return None

    return {"number": page["number"] + by, "side": "left" if by % 2 else "right"}


for n in range(3):
\tprint(turn({"number": n}), end="; ")
"""


def _pack(folder: Path, coded: bool) -> Path:
    pack = smoke_pack(folder)
    if coded:
        tree = folder.parent / "root" / "usr"
        tree.mkdir(parents=True)
        for number in range(4):
            (tree / f"turn{number}.py").write_text(PROGRAM.replace("turn", f"turn{number}") * 3)
        kinds = {"python": (("usr/*.py",), 9000)}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sources, "KINDS", kinds)
            counts = sources.build(tree.parent, pack)
        assert counts["python"] > 1000
    return pack


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _pack(tmp_path_factory.mktemp("training") / "pack", True)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pack without program text."""
    return _pack(tmp_path_factory.mktemp("training") / "pack", False)


def _setter(pack: Path, seed: int) -> CodeSetter:
    rng = random.Random(seed)
    shelf, words = FontShelf(pack, fonts.load(pack, "train"), rng), Words(pack, "train", rng)
    return CodeSetter(rng, shelf, words, DocumentSetter(rng, shelf, words, 0.6))


def _sheet(setter: CodeSetter, size: int = 16) -> Sheet:
    return setter.documents.sheet(Image.new("L", (1240, 1754)), size, 4000, 1)


def _words(lines: list[str]) -> list[list[str]]:
    return [line.split() for line in lines if line.strip()]


def test_passages_keep_lines_and_their_blanks_and_end_where_a_line_cannot_be_set() -> None:
    (lines,) = passages(PROGRAM)
    assert lines[1] == "    # The next page, or none."
    assert lines[-1] == '        print(turn({"number": n}), end="; ")', "a tab is as wide as eight blanks"
    assert lines.count("") == 2 and "" not in (lines[0], lines[-1]), "of several empty lines one is left"
    foreign = PROGRAM + "Ω = 1;\n" + PROGRAM + "x" * 200 + "\n" + PROGRAM + "# See LICENSE.\n#\n"
    assert list(passages(foreign)) == [lines, lines, lines]


def test_licences_and_data_are_no_passages() -> None:
    assert not list(passages("\n".join(["This program comes without any warranty to the extent of the law"] * 20)))
    assert not list(passages("\n".join(["{{{{}}}};;;;,,,,"] * 20)))


def test_a_pack_without_the_files_of_a_kind_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "KINDS", {"python": (("*.py",), 100)})
    with pytest.raises(SystemExit, match=r"'python'.*download the packages first"):
        sources.build(tmp_path, tmp_path / "pack")


def test_what_is_drawn_from_a_pack_are_lines_that_follow_one_another(pack: Path) -> None:
    source = Sources(pack / "code", random.Random(1))
    for count in (1, 3, 8, 100) * 5:
        name, lines = source.passage(count)
        assert 0 < len(lines) <= count and all((lines[0], lines[-1]))
        number = name.removesuffix(".py")[-1]
        whole = "\n".join(line.strip() for line in PROGRAM.replace("turn", f"turn{number}").split("\n"))
        whole = re.sub(r"\n{2,}", "\n\n", whole * 3)
        assert "\n".join(line.strip() for line in lines) in whole


def test_words_and_tokens_of_a_line_make_the_line_again() -> None:
    for text in (*PROGRAM.expandtabs(8).split("\n"), "a = 'it''s' // \"b\" -- #c", "<!-- x --> %d;; \"open", "\\'\"'"):
        for styled in (False, True):
            again, end = "", 0
            for piece in pieces(text, styled):
                assert piece.column >= end and piece.glued == (piece.column == end and end > 0)
                again += " " * (piece.column - end) + piece.text
                end = len(again)
            assert again == text.rstrip()


def test_too_long_lines_are_cut_or_go_on_in_the_next_line() -> None:
    text = "    return {page: number for page, number in shown.items()}"
    assert wrapped(text, 80, "soft") == [text]
    assert wrapped(text, 20, "cut") == ["    return {page: nu"]
    for wrap in ("hard", "soft"):
        lines = wrapped(text, 24, wrap, 2)
        assert len(lines) > 2 and max(map(len, lines)) <= 24
        joint = "" if wrap == "hard" else " "
        assert re.sub(r"\s+", joint, " ".join(lines)).strip() == re.sub(r"\s+", joint, text).strip()
    assert wrapped(text, 24, "soft", 2)[1].startswith("      ") and not wrapped(text, 24, "soft", 2)[1][6].isspace()


@pytest.mark.parametrize("seed", range(8))
def test_lines_that_are_shown_are_the_lines_of_the_target_in_order(
    pack: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    setter = _setter(pack, seed)
    sheet = _sheet(setter)
    look = setter._look(sheet, 16, 12)
    look.wrap = "hard"
    given: list[list[str]] = []
    kept = setter.sessions.lines

    def lines(count: int) -> tuple[str, list[str]]:
        given.append(kept(count)[1])
        return "", given[-1]

    monkeypatch.setattr(setter.sessions, "lines", lines)
    blocks = setter.listing(sheet, look, 30)
    (texts,) = given
    shown = [line for block in blocks for line in block.text.split("\n")]
    if look.numbered:
        numbers = [int(line.split()[0]) for line in shown if re.match(r"\d+\b", line)]
        assert numbers[0] in range(1, 1501) and len(blocks) == 1 and len(shown) >= len(texts)
    else:
        glued = "".join("".join(words) for words in _words(texts))
        assert "".join("".join(words) for words in _words(shown)) == glued
        whole = re.sub(r"\n{2,}", "\n\n", "\n".join(texts).strip())
        assert len(blocks) == len(whole.split("\n\n")), "empty lines end blocks"
    for block in blocks:
        assert len(block.points) == len(block.text) and "  " not in block.text
        heights = [y for (_, y), char in zip(block.points, block.text, strict=True) if char != "\n"]
        assert heights == sorted(heights), "lines go down the page"


def test_line_numbers_are_text_and_stand_before_every_line(pack: Path) -> None:
    setter = _setter(pack, 3)
    sheet = _sheet(setter)
    look = setter._look(sheet, 14, 12)
    look.numbered, look.wrap = True, "cut"
    (block,) = setter.listing(sheet, look, 12)
    numbers = [int(line.split()[0]) for line in block.text.split("\n")]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_pages_of_code_are_of_the_charset_full_of_marks_and_where_their_points_are(
    pack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training.pages.maker._CODE", 1.0)
    maker, text = PageMaker(pack, "train", 4), ""
    for _ in range(12):
        sample = maker.sample(Kind(3, (2, 3), genre="document"))
        assert 0 < len(sample.ids) <= MOST_TOKENS and sample.level in (3, 4)
        for block in sample.blocks:
            assert not set(block.text) - set(CHARSET) - {" ", "\n"}
            text += block.text
    printed = re.sub(r"\s", "", text)
    assert sum(not char.isalnum() for char in printed) > 0.14 * len(printed)


def test_characters_of_listings_stand_out_from_their_ground(pack: Path) -> None:
    shown = list[bool]()
    for seed in range(12):
        setter = _setter(pack, seed)
        sheet = _sheet(setter)
        blocks = setter.listing(sheet, setter._look(sheet, 18, 12), 20)
        ink = np.asarray(sheet.page)
        for block in blocks:
            for (x, y), printed in zip(block.points, block.printed(), strict=True):
                if printed:
                    around = ink[max(0, int(y) - 9) : int(y) + 10, max(0, int(x) - 9) : int(x) + 10]
                    shown.append(int(around.max()) - int(around.min()) > 60)
    assert len(shown) > 1500 and np.mean(shown) > 0.99


def test_shares_of_pages_of_code(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    kept = CodeSetter.page
    monkeypatch.setattr(CodeSetter, "page", lambda self, *rest: made.append(1) or kept(self, *rest))
    for kind, (low, high) in {
        Kind(3, (2, 2), genre="document"): (10, 32),
        Kind(3, genre="document"): (8, 30),
        Kind(1, genre="document"): (0, 0),
        Kind(3, genre="prose"): (0, 0),
    }.items():
        maker = PageMaker(pack, "train", 5)
        made.clear()
        for _ in range(100):
            maker._drawn(kind)
        assert low <= len(made) <= high, kind
    maker = PageMaker(pack, "test", 5)
    assert maker.code is None and maker.words.sources is None, "held-out pages are the pictures they always were"


def test_half_of_the_made_up_listings_become_lines_of_programs(pack: Path, plain: Path) -> None:
    for folder, (low, high) in ((pack, (70, 130)), (plain, (0, 0))):
        rng = random.Random(6)
        words = Words(folder, "train", rng)
        listings = Listings(words.technical, words.sources)
        known = {line.strip() for number in range(4)
                 for line in PROGRAM.replace("turn", f"turn{number}").split("\n") if line.strip()}
        real = sum(all(line.strip() in known for line in listings.lines(6)) for _ in range(200))
        assert low <= real <= high


def test_without_program_text_listings_are_made_up(plain: Path) -> None:
    setter = _setter(plain, 7)
    assert setter.sessions.sources is None
    for maker in (setter.sessions.lines, setter.sessions.patch, setter.sessions.session, setter.sessions.log):
        lines = maker(10)[1]
        assert 0 < len(lines) <= 12 and not set("".join(lines)) - set(CHARSET) - {" "}
    assert setter.page(Image.new("L", (1240, 1754)), 16, 12, 3000)


def test_logs_have_few_beginnings_and_no_slot_is_left(pack: Path) -> None:
    rng = random.Random(8)
    words = Words(pack, "train", rng)
    sessions = Sessions(Listings(words.technical, words.sources), words.sources)
    for _ in range(60):
        lines = sessions.log(30)[1]
        assert len(lines) == 30 and not set("".join(lines)) - set(CHARSET) - {" "}
        assert "‹" not in "".join(lines)
        assert len({line[:3] for line in lines}) < 30
