"""The parser of the model's output grammar."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from uocr.document import Block, Box, Token
from uocr.markup import BlockFinished, BlockStarted, BlockText, MarkupParser, PageMark, Problem, parse
from uocr.markup.parser import PROBLEM_LIMIT, TAG_LIMIT


def blocks_of(text: str) -> list[tuple[str, tuple[tuple[int, int, int, int], ...], str]]:
    return [(b.label, tuple((x.x1, x.y1, x.x2, x.y2) for x in b.boxes), b.text) for b in parse(text).blocks]


def test_det_blocks_have_label_box_and_content():
    text = (
        "<|det|>title [120, 60, 880, 95]<|/det|>Harbour log\n"
        "<|det|>text [120, 110, 880, 300]<|/det|>Depth was  \\( d = 3.2 \\)  m.\n"
        "<|det|>image [200, 320, 800, 640]<|/det|>\n"
        "<|det|>table [120, 660, 880, 900]<|/det|><table><tr><td>Hour</td></tr></table>"
    )
    assert blocks_of(text) == [
        ("title", ((120, 60, 880, 95),), "Harbour log"),
        ("text", ((120, 110, 880, 300),), "Depth was  \\( d = 3.2 \\)  m."),
        ("image", ((200, 320, 800, 640),), ""),
        ("table", ((120, 660, 880, 900),), "<table><tr><td>Hour</td></tr></table>"),
    ]
    assert parse(text).problems == []


PLACE_UNKNOWN = "the place of a paragraph is not known; its text is kept"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "<|ref|>total<|/ref|><|det|>[[600, 700, 760, 730]]<|/det|>\n12.50",
            [("total", ((600, 700, 760, 730),), "12.50")],
        ),
        (
            "<|ref|>the small print<|/ref|><|det|>[[1, 2, 3, 4], [5, 6, 7, 8]]<|/det|>x",
            [("the small print", ((1, 2, 3, 4), (5, 6, 7, 8)), "x")],
        ),
        (
            "<|ref|> image <|/ref|> \n<|det|>[10, 10, 300, 300]<|/det|>",
            [("image", ((10, 10, 300, 300),), "")],
        ),
        ("<|det|>text [[1, 2, 3, 4]]<|/det|>a", [("text", ((1, 2, 3, 4),), "a")]),
        (
            "<|det|>  image\n [ 10,20 , 500,  600 ] \t<|/det|>caption",
            [("image", ((10, 20, 500, 600),), "caption")],
        ),
        (
            "<|det|>été [1, 2, 3, 4]<|/det|>b<|det|>2col [1, 1, 9, 9]<|/det|>d",
            [("été", ((1, 2, 3, 4),), "b"), ("2col", ((1, 1, 9, 9),), "d")],
        ),
        ("<|det|>page number [1, 2, 3, 4]<|/det|>7", [("page number", ((1, 2, 3, 4),), "7")]),
        ("no tags at all\n\nsecond line", [("text", (), "no tags at all\n\nsecond line")]),
        ("", []),
        (" \n\t ", []),
    ],
)
def test_accepted_forms(text, expected):
    assert blocks_of(text) == expected
    assert parse(text).problems == []


@pytest.mark.parametrize(
    ("tag", "box", "problem"),
    [
        ("[10.4, 20.6, 30, 40]", (10, 21, 30, 40), None),
        ("[-5, 10, 20, 30]", (0, 10, 20, 30), "goes beyond the page; it was cut"),
        ("[0, 0, 1400, 1200]", (0, 0, 999, 999), "goes beyond the page; it was cut"),
        (f"[1, 2, 3, {'9' * 4000}]", (1, 2, 3, 999), "goes beyond the page; it was cut"),
        ("[800, 700, 200, 100]", (200, 100, 800, 700), "corners swapped; they were put in order"),
        ("[5, 5, 5, 9]", (5, 5, 5, 9), "no width or no height; its text is kept"),
        ("[1, 2, 3]", None, PLACE_UNKNOWN),
        ("[1, 2, 3, 4, 5, 6, 7, 8]", None, PLACE_UNKNOWN),
        ("[1, 2, x, 4]", None, PLACE_UNKNOWN),
        ("[__import__('os').getcwd(), 2, 3, 4]", None, PLACE_UNKNOWN),
        ("[1e2, nan, inf, 0x10]", None, PLACE_UNKNOWN),
        ("[]", None, PLACE_UNKNOWN),
        ("[[1, 2, 3, 4], [5, 6]]", (1, 2, 3, 4), "one of the places of a paragraph is not known; its text is kept"),
    ],
)
def test_odd_boxes_keep_the_block_and_are_reported(tag, box, problem):
    parsed = parse(f"<|det|>text {tag}<|/det|>kept")
    (block,) = parsed.blocks
    assert block.text == "kept"
    assert block.label == "text"
    assert block.boxes == ((Box(*box),) if box else ())
    if problem is None:
        assert parsed.problems == []
    else:
        assert len(parsed.problems) == 1
        assert problem in parsed.problems[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "<|det|>text [12, 30, 400, 60]<|/det|>ok\n<|det|>text [12, 70, 400",
            [("text", ((12, 30, 400, 60),), "ok")],
        ),
        ("<|det|>text [1, 2, 3, 4]<|/det|>ok<|de", [("text", ((1, 2, 3, 4),), "ok")]),
        (
            "<|det|>text [1, 2, 3, 4] lost\n<|det|>text [5, 6, 7, 8]<|/det|>b",
            [("text", (), "lost"), ("text", ((5, 6, 7, 8),), "b")],
        ),
        (
            "<|ref|>a<|/ref|> stray <|ref|>image<|/ref|><|det|>[[1, 2, 3, 4]]<|/det|> tail",
            [("text", (), "stray"), ("image", ((1, 2, 3, 4),), "tail")],
        ),
        (
            "<|ref|>broken <|det|>text [1, 2, 3, 4]<|/det|>x",
            [("text", ((1, 2, 3, 4),), "x")],
        ),
        ("<|ref|>two words<|/ref|>and more", [("text", (), "two words and more")]),
        ("<|det|>text<|/det|>no box", [("text", (), "no box")]),
        ("<|det|>not a label<|/det|>no box", [("text", (), "not a label no box")]),
        (
            "<|det|>text [1, 2, 3, 4] Hello<|/det|>x",
            [("text", (), "Hello x")],
        ),
        ("<|ref|>image<|/ref|><|det|>[[1, 2, 3, 4], [5, 6\n12.50", [("text", (), "12.50")]),
        ("<|det|>text [[1, 2, 3, 4], [5, 6, 7, 8]] 12.50", [("text", (), "12.50")]),
        ("<|det|>text [1, 2, see [note] below<|/det|>", [("text", (), "see [note] below")]),
        ("<|det|>text [see the note", [("text", (), "text [see the note")]),
        ("<|det|>text [150, , , , , 83, 0, 037, , ], , ]], , 434, ,<|/det|>ok", [("text", (), "ok")]),
        ("<|det|>title [31, , 74 [47, , 100, [ [, , ,", []),
        ("<|det|>title [, , , 5 apples, 6 pears", [("text", (), "apples, 6 pears")]),
        ("<|det|>text [1, 2, 3 12 apples [4, 5]", [("text", (), "12 apples [4, 5]")]),
        ("<|det|>text [] 12, 13", [("text", (), "text [] 12, 13")]),
        ("a<|/det|>b<|/ref|> c", [("text", (), "a b c")]),
        ("<|det|>title [1, 2, 3, 4]<|/det|>a<|/det|><|/ref|>\nb", [("title", ((1, 2, 3, 4),), "a\nb")]),
    ],
)
def test_a_broken_tag_gives_only_its_words_and_is_reported(text, expected):
    assert blocks_of(text) == expected
    assert parse(text).problems


BROKEN_BOXES = ("<|det|>text [172, 677, 934, 688]", "<|det|>text [[172, 677, 934, 688], [172, 699, 934, 710]]",
                "<|ref|>total<|/ref|><|det|>[[172, 677, 934, 688]]")  # fmt: skip


@pytest.mark.parametrize("mark", ["<|det|>", "<|ref|>", "<|det|><|det|>"])
@pytest.mark.parametrize("tag", BROKEN_BOXES)
def test_a_mark_inside_the_boxes_of_a_tag_lets_no_coordinate_into_the_text(tag, mark):
    text = "1.2.4 Contrôle, 12, [8, 9] 677, 5]"
    for place in range(tag.rindex("<|det|>") + len("<|det|>"), len(tag) + 1):
        for again in (0, 1, 4, 9):  # characters to the next break
            broken = tag[:place] + mark + tag[place:]
            if again and place + again <= len(tag):
                broken = tag[:place] + mark + tag[place:place + again] + mark + tag[place + again:]
            parsed = parse(f"{broken}<|/det|>{text}<|det|>text [1, 2, 3, 4]<|/det|>more")
            *kept, last = parsed.blocks
            assert [block.text for block in kept] == [text], broken
            assert (last.text, last.boxes) == ("more", (Box(1, 2, 3, 4),))
            assert parsed.problems


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("<|det|>text [172<|det|>, 677, 934, 688] 12 apples, 5", "12 apples, 5"),
        ("<|det|>text [172, 677, 934, 688<|det|>] [8, 9] apples", "[8, 9] apples"),
        ("<|det|>text [172, <|det|>12 apples", "12 apples"),
        ("<|det|>text [172, 677, 934, 688]<|det|>1.2.4, 5 Contrôle", "1.2.4, 5 Contrôle"),
        ("<|det|>text [172<|det|>, 677, 934, 688]<|/det|>, 12, [13]", ", 12, [13]"),
        ("<|det|>text [172<|det|>, 677<|/det|>a<|det|>, 12 b", "a , 12 b"),
    ],
)
def test_numbers_of_the_page_behind_a_broken_tag_are_kept(text, kept):
    assert [block.text for block in parse(text).blocks] == [kept]


@pytest.mark.parametrize(
    "tag",
    [
        "<|det|>",
        "<|det|>title",
        "<|det|>title [",
        "<|det|>title [12, 70, 400",
        "<|det|>text [[1, 2, 3, 4], [5",
        "<|det|>title [12, 70, 400, 90]",
        "<|det|>title [12, 70, 400, 90]<",
        "<|det|>title [12, 70, 400, 90]<|/de",
        "<|ref|>total",
        "<|ref|>total<|/re",
        "<|ref|>total<|/ref|>",
        "<|ref|>total<|/ref|> <|",
        "<|ref|>total<|/ref|><|det|>[[1, 2",
        "<|de",
        "<|",
        "<PAG",
    ],
)
def test_a_tag_in_which_the_output_was_cut_off_gives_no_text(tag):
    for before, texts in (("", []), ("<|det|>text [1, 2, 3, 4]<|/det|>ok \n", ["ok"]), ("plain ", ["plain"])):
        for pieces in ([before + tag], list(before + tag)):
            parser = MarkupParser()
            events = [event for piece in pieces for event in parser.push(piece)]
            assert [block.text for block in parser.finish(cut=True)] == texts
            events += parser.last_events
            assert "".join(e.delta for e in events if isinstance(e, BlockText)) == "".join(texts)
            assert parser.pages[0].problems == [
                "the output was cut off inside the tag of a block; that block is left out"
            ]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a <", "a <"),
        ("half a sen", "half a sen"),
        ("<|det|>text [see the note below", "text [see the note below"),
        ("<|det|>text [1, 2, 3, 4] Hello", "Hello"),
        ("<|det|>text [1, 2, 3, 4] Hello<|/de", "Hello"),
        ("<|det|>" + "word " * 20, ("word " * 20).strip()),
        ("<|ref|>" + "word " * 20, ("word " * 20).strip()),
    ],
)
@pytest.mark.parametrize("cut", [True, False])
def test_the_end_never_takes_what_may_be_text_of_the_page(text, kept, cut):
    parser = MarkupParser()
    parser.push(text)
    assert [block.text for block in parser.finish(cut=cut)] == [kept]


def test_a_trailing_end_of_sequence_mark_is_dropped_by_parse():
    assert blocks_of("  \n<|det|>text [1, 2, 3, 4]<|/det|> kept \n<｜end▁of▁sentence｜>") == [
        ("text", ((1, 2, 3, 4),), "kept")
    ]


def test_a_box_smaller_than_a_pixel_is_reported():
    text = "<|det|>text [10, 10, 11, 11]<|/det|>tiny"
    assert "smaller than a pixel of the 500 x 400 page" in parse(text, 500, 400).problems[0]
    assert parse(text, 5000, 4000).problems == []


# Pages

TWO = "<PAGE><|det|>text [10, 10, 500, 40]<|/det|>First\n<PAGE><|det|>text [10, 10, 500, 40]<|/det|>Second"


def page_texts(text: str, expected: int | None = None) -> list[list[str]]:
    return [[b.text for b in page.blocks] for page in parse(text, expected_pages=expected).pages]


@pytest.mark.parametrize(
    ("text", "expected_pages", "pages", "problem"),
    [
        (TWO, None, [["First"], ["Second"]], None),
        (TWO, 2, [["First"], ["Second"]], None),
        (TWO, 3, [["First"], ["Second"], []], "2 <PAGE> marks for 3 pages"),
        (TWO, 1, [["First", "Second"]], "2 <PAGE> marks for 1 page"),
        ("intro <PAGE>\nA<PAGE>B<PAGE>C", 2, [["intro", "A"], ["B", "C"]], "before the first <PAGE>"),
        ("intro <PAGE>\nA<PAGE>B", 2, [["intro", "A"], ["B"]], "before the first <PAGE>"),
        ("A<PAGE>B", 2, [["A"], ["B"]], "1 <PAGE> marks for 2 pages"),
        ("nothing marked", 2, [["nothing marked"], []], "0 <PAGE> marks for 2 pages"),
        ("nothing marked", 1, [["nothing marked"]], None),
        ("<PAGE>one", 1, [["one"]], None),
        ("<PAGE><PAGE>b", 2, [[], ["b"]], None),
        ("<PAGE>\n\n<|det|>text [1, 1, 2, 2]<|/det|>C", None, [["C"]], None),
        ("", 2, [[], []], "0 <PAGE> marks for 2 pages"),
    ],
)
def test_page_marks(text, expected_pages, pages, problem):
    assert page_texts(text, expected_pages) == pages
    problems = parse(text, expected_pages=expected_pages).problems
    assert any(problem in p for p in problems) if problem else problems == []


def test_a_page_mark_ends_an_open_tag():
    assert page_texts("<PAGE><|det|>text [1, 2<PAGE>next") == [[], ["next"]]


def test_expected_pages_must_be_positive():
    with pytest.raises(ValueError, match="expected_pages is 0"):
        MarkupParser(expected_pages=0)


# Streaming


def test_blocks_stream_while_they_are_written():
    parser = MarkupParser()
    assert parser.push("<PAGE>") == [PageMark(0)]
    assert parser.push("<|det|>text [1, 2,") == []
    assert parser.push(" 3, 4]<|/det|>Hel") == [
        BlockStarted(0, 0, "text", (Box(1, 2, 3, 4),)),
        BlockText(0, "Hel"),
    ]
    assert parser.push("lo ") == [BlockText(0, "lo")]
    assert parser.push("you\n") == [BlockText(0, " you")]
    finished, started = parser.push("<|det|>image [5, 6, 7, 8]<|/det|>\n")
    assert finished == BlockFinished(0, Block("text", (Box(1, 2, 3, 4),), "Hello you"))
    assert started == BlockStarted(1, 0, "image", (Box(5, 6, 7, 8),))
    assert [b.label for b in parser.finish()] == ["text", "image"]
    assert parser.last_events == [BlockFinished(1, Block("image", (Box(5, 6, 7, 8),), ""))]
    with pytest.raises(ValueError, match="after finish"):
        parser.push("more")


def test_only_a_possible_mark_is_held_back():
    parser = MarkupParser()
    assert parser.push("a <b> <") == [BlockStarted(0, 0, "text", ()), BlockText(0, "a <b>")]
    assert parser.push("PAGE") == []
    assert parser.push("S>") == [BlockText(0, " <PAGES>")]


def test_text_after_a_ref_without_det_is_not_held_back():
    parser = MarkupParser()
    events = parser.push("<|ref|>a<|/ref|> and so on")
    assert BlockText(0, "and so on") in events
    assert any(isinstance(event, Problem) for event in events)


FRAGMENTS = st.sampled_from(
    [
        "<|det|>",
        "<|/det|>",
        "<|ref|>",
        "<|/ref|>",
        "<PAGE>",
        "<|det|>text [1, 2, 30, 40]<|/det|>",
        "[1, 2, 3, 4]",
        "[[1, 2, 3, 4], [5, 6, 7, 8]]",
        "[9, 9, 1",
        "text ",
        "\n",
        "  ",
        "word",
        "é",
        "<table><tr><td>",
        "<",
        "|",
        "<|",
        "<|ref|>two words<|/ref|><|det|>[[1, 2, 3, 4]]<|/det|>",
        "x" * 1500,
        "日本語",
    ]
)
OUTPUTS = st.lists(FRAGMENTS, max_size=14).map("".join)


@settings(deadline=None)
@given(OUTPUTS, st.data())
def test_any_split_gives_the_same_blocks_problems_and_text(text, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=12)))
    token = Token(1, -0.5)

    def run(pieces: list[str]) -> tuple[list[Block], list[list[str]], dict[int, str]]:
        parser = MarkupParser(100, 100, expected_pages=2)
        events = [event for piece in pieces for event in parser.push(piece, [token])]
        blocks = parser.finish()
        events += parser.last_events
        streamed: dict[int, str] = {}
        for event in events:
            if isinstance(event, BlockStarted):
                streamed[event.index] = ""
            elif isinstance(event, BlockText):
                streamed[event.index] += event.delta
        finished = {e.index: e.block for e in events if isinstance(e, BlockFinished)}
        assert streamed == {i: block.text for i, block in finished.items()}
        assert [finished[i] for i in sorted(finished)] == blocks
        return blocks, [p.problems for p in parser.pages], streamed

    whole = run([text])
    assert run([text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]) == whole
    assert run(list(text)) == whole


GOOD_TAGS = [
    "<PAGE>",
    "<|det|>text [1, 2, 30, 40]<|/det|>",
    "<|ref|>two words<|/ref|><|det|>[[1, 2, 3, 4]]<|/det|>",
]
NO_TAGS = [
    "word ",
    " ",
    "\n",
    "[1, 2, 3, 4]",
    "<",
    "|>",
    "<table>",
    "\\( x \\)",
]
BROKEN_TAGS = ["<|/ref|>", "<|det|>nothing<|/det|>", "<|/det|>"]


@settings(deadline=None)
@given(st.lists(st.sampled_from(GOOD_TAGS + NO_TAGS + BROKEN_TAGS), max_size=30))
def test_everything_but_tags_and_page_marks_is_in_the_blocks(pieces):
    kept = "".join(b.text for b in parse("".join(pieces)).blocks)
    expected = "".join(piece for piece in pieces if piece in NO_TAGS)
    assert "".join(kept.split()) == "".join(expected.split())


@settings(deadline=None)
@given(OUTPUTS, st.booleans())
def test_no_mark_reaches_a_text(text, cut):
    parser = MarkupParser()
    parser.push(text)
    assert not re.search(r"<\|/?(ref|det)\|>|<PAGE>", " ".join(block.text for block in parser.finish(cut=cut)))


@settings(deadline=None)
@given(st.text(alphabet=st.characters(exclude_characters="<"), max_size=200))
def test_prose_is_one_block_with_the_same_text(text):
    assert "".join(b.text for b in parse(text).blocks) == text.strip()


# Hostile text


def work(text: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Characters that the parser cuts and searches for `text`: its work, independent of the machine."""
    total = 0
    original_drop = MarkupParser._drop
    original_settle = MarkupParser._settle

    def drop(self: MarkupParser, end: int) -> None:
        nonlocal total
        total += len(self._buffer)
        original_drop(self, end)

    def settle(self: MarkupParser) -> None:
        nonlocal total
        total += len(self._buffer)
        original_settle(self)

    with monkeypatch.context() as patch:
        patch.setattr(MarkupParser, "_drop", drop)
        patch.setattr(MarkupParser, "_settle", settle)
        parse(text)
    return total


@pytest.mark.parametrize(
    "unit",
    [
        "<|det|>",
        "<|ref|>",
        "<|ref|>a<|/ref|>",
        "<|/det|>",
        "<|det|>text [",
        "<|det|>a[1",
        "<",
        "<|",
        "[",
        " ",
        "<|det|>text [1, 2, 3, 4]<|/det|>",
        "<PAGE>",
        "<table ",
        "<|det|> ",
    ],
)
def test_work_grows_in_step_with_hostile_text(unit, monkeypatch):
    size = 60_000 // len(unit)
    assert work(unit * size * 4, monkeypatch) < 4.5 * work(unit * size, monkeypatch) + 20_000


def test_a_megabyte_of_openings_is_left_out_with_a_bounded_list_of_problems():
    parsed = parse("<|det|>" * 150_000)
    assert parsed.blocks == []
    assert len(parsed.problems) == PROBLEM_LIMIT + 1
    assert parsed.problems[-1] == f"{150_000 - PROBLEM_LIMIT} more problems of the same kinds"


def test_a_tag_that_never_closes_holds_back_a_bounded_text():
    parser = MarkupParser()
    seen = ""
    for _ in range(3 * TAG_LIMIT // 10):
        for event in parser.push("<|det|>te " if not seen and parser._received == 0 else "0123456789"):
            seen += event.delta if isinstance(event, BlockText) else ""
    assert parser._received - len(seen) <= TAG_LIMIT + 10


# Confidence


def feed(*pieces: tuple[str, float]) -> list[Block]:
    parser = MarkupParser()
    for i, (text, probability) in enumerate(pieces):
        parser.push(text, [Token(i, math.log(probability))])
    return parser.finish()


def test_a_word_is_as_sure_as_its_weakest_token():
    (block,) = feed(
        ("<|det|>", 1.0),
        ("text [1, 2, 3, 4]", 1.0),
        ("<|/det|>", 1.0),
        ("Har", 0.9),
        ("bour", 0.5),
        (" log", 0.8),
    )
    assert [(w.text, w.start) for w in block.words] == [("Harbour", 0), ("log", 8)]
    assert [w.confidence for w in block.words] == pytest.approx([0.5, 0.8])


def test_a_block_has_the_geometric_mean_of_its_tokens_and_its_box_apart():
    (block,) = feed(
        ("<|det|>", 0.1),
        ("text", 0.2),
        (" [", 0.3),
        ("10", 0.9),
        (", ", 0.1),
        ("20", 0.8),
        (", ", 0.1),
        ("30", 0.7),
        (", ", 0.1),
        ("40", 0.6),
        ("]", 0.1),
        ("<|/det|>", 0.1),
        ("a", 0.5),
        (" b", 0.25),
        ("\n", 0.01),
    )
    assert block.confidence == pytest.approx((0.5 * 0.25) ** 0.5)
    assert block.box_confidence == pytest.approx((0.9 * 0.8 * 0.7 * 0.6) ** 0.25)


def test_a_character_of_several_tokens_is_touched_by_all_of_them():
    parser = MarkupParser()
    parser.push("a ", [Token(1, math.log(0.9))])
    parser.push("", [Token(2, math.log(0.4))])
    parser.push("", [Token(3, math.log(0.7))])
    parser.push("語", [Token(4, math.log(0.8))])
    (block,) = parser.finish()
    assert [w.confidence for w in block.words] == pytest.approx([0.9, 0.4])
    assert block.confidence == pytest.approx((0.9 * 0.4 * 0.7 * 0.8) ** 0.25)


def test_table_markup_is_no_word():
    (block,) = feed(
        ("<table><tr>", 0.1),
        ("<td>Hour", 0.9),
        ("</td>", 0.95),
        ("<td colspan=2>x<y", 0.8),
        ("</td></tr></table>", 0.95),
    )
    assert [w.text for w in block.words] == ["Hour", "x<y"]
    assert all(block.text[w.start :].startswith(w.text) for w in block.words)
    assert [w.confidence for w in block.words] == pytest.approx([0.9, 0.8])


def test_a_cell_that_was_broken_off_makes_its_last_word_doubtful():
    """No other token tells that "6" stands where the page has "6.00"."""
    pieces = [("<table><tr>", 0.1)]
    for end, sure in (("</td>", 0.1), ("<td>", 0.2), ("</tr>", 0.3)):
        pieces += [("<td>", 0.1), ("1 ", 0.99), ("6", 0.99), (end, sure)]
    pieces += [("<td>", 0.1), ("7", 0.9), ("<br>", 0.1), ("8", 0.8), ("</td>", 0.95), ("</table>", 0.1)]
    (block,) = feed(*pieces)
    assert [w.text for w in block.words] == ["1", "6"] * 3 + ["7", "8"]
    assert [w.confidence for w in block.words] == pytest.approx([0.99, 0.1, 0.99, 0.2, 0.99, 0.3, 0.9, 0.8])


@pytest.mark.parametrize(
    ("start", "rest"),
    [("<|det|>", "text [1, 2, 3, 4]<|/det|>"), ("<|ref|>", "a<|/ref|><|det|>[1, 2, 3, 4]<|/det|>"), ("<PAGE>", "")],
)
def test_a_block_that_was_broken_off_makes_its_last_word_doubtful(start, rest):
    block, *_ = feed(("Total 6", 0.9), ("\n", 0.5), (start, 0.1), (rest, 0.2), ("words", 0.95))
    assert [w.confidence for w in block.words] == pytest.approx([0.9, 0.1])


@pytest.mark.parametrize("guarded", [True, False])
def test_a_word_that_the_repeat_guard_broke_off_with_white_space_is_doubtful(guarded):
    parser = MarkupParser()
    pieces = [("0", 0.9, False), (" ", 0.3, False), ("6", 0.9, False), (" ", 0.1, guarded), ("7", 0.8, False)]
    for i, (text, sure, acted) in enumerate(pieces):
        parser.push(text, [Token(i, math.log(sure), acted)])
    (block,) = parser.finish()
    assert [w.confidence for w in block.words] == pytest.approx([0.9, 0.1 if guarded else 0.9, 0.8])


def test_without_tokens_there_is_no_confidence():
    (block,) = parse("<|det|>text [1, 2, 3, 4]<|/det|>word").blocks
    assert (block.words, block.confidence, block.box_confidence) == ([], None, None)


def table(*rows: str, end: str = "</table>") -> str:
    """A table block; each letter of a row is a cell."""
    cells = ("".join(f"<td>{letter}</td>" for letter in row) for row in rows)
    return f"<|det|>table [1, 2, 3, 4]<|/det|><table>{''.join(f'<tr>{row}</tr>' for row in cells)}{end}"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (table("abc", "def"), None),
        (table("abc", "de", "fgh", "i"), "in the table of block 2, 2 of 4 rows have fewer cells than the widest row"),
        (table("ab", "c"), "in the table of block 2, 1 of 2 rows has fewer cells"),
        (table("abc", "de", "fg", end=""), "in the table of block 2, 1 of 2 rows has fewer"),  # "fg" was cut short
        (table("abc", "de", end=""), None),
        ("<table><tr><td colspan=2>a</td><td>b</td></tr><tr><td>c</td><td>d</td><td>e</td></tr></table>", None),
        ("<table><tr><td rowspan=2>a</td><td>b</td></tr><tr><td>c</td></tr></table>", None),
        ("<table><tr><td rowspan=2>a</td><td>b</td><td>c</td></tr><tr><td>d</td></tr></table>", "block 2, 1 of 2"),
    ],
)
def test_a_table_that_lost_cells_is_told(text, told):
    """An empty cell that is left out moves the others of its row, and the text looks whole."""
    tag = "<|det|>table [1, 2, 3, 4]<|/det|>"
    (page,) = parse(f"<|det|>title [1, 2, 3, 4]<|/det|>a < b{tag}{text.removeprefix(tag)}").pages
    assert len(page.blocks) == 2
    if told is None:
        assert page.problems == []
    else:
        (problem,) = page.problems
        assert told in problem and problem.endswith("values may stand in the wrong column; compare it with the page")


def test_a_table_that_lost_cells_is_told_with_its_own_page():
    first, second = parse(f"<PAGE>{table('ab', 'c')}<PAGE>{table('ab', 'cd')}{table('a', 'bc')}").pages
    assert [problem[:24] for problem in first.problems] == ["in the table of block 1,"]
    assert [problem[:24] for problem in second.problems] == ["in the table of block 2,"]
