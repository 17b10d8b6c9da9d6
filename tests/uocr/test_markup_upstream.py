"""The tag matches of the reference implementation, exact, and in linear time."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from uocr.markup import parse, upstream, upstream_matches

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "postprocess.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", GOLDEN["single"], ids=lambda case: case["name"])
def test_tag_matches_equal_the_golden_ones(case):
    found = upstream_matches(case["text"])
    assert [list(match) for match in found.matches] == case["re_match"]["matches"]
    assert found.image == case["re_match"]["image"]
    assert found.other == case["re_match"]["other"]


@pytest.mark.parametrize("case", GOLDEN["single"] + GOLDEN["multi"], ids=lambda case: case["name"])
def test_our_parser_loses_no_text_that_upstream_keeps(case):
    """Upstream's Markdown without pictures and page marks is contained in ours, word by word."""
    words = re.sub(r"!\[\]\([^)]*\)|<PAGE>", " ", case["markdown"])
    words = words.replace(":=", "\\coloneqq").replace("=:", "\\eqqcolon")
    ours = "".join("".join(b.text.split()) for b in parse(case["text"]).blocks)
    if case["name"] in ("unicode_label", "preamble_lost"):
        tag_left_in_text = r"<\|det\|>\w+ \[[^]]*\]<\|/det\|>"
        assert "".join(re.sub(tag_left_in_text, " ", words).split()) in ours
    elif case["name"] == "ref_spans":
        assert ours == "straytail"  # upstream took the stray words for a label and lost them
    elif case["name"] == "truncated":
        assert ours == "ok"  # upstream keeps the tag that was cut off as text
    elif case["name"] == "no_marker":
        assert ours == "nothingmarked"  # upstream loses it all
    else:
        assert ours == "".join(words.split())


# What upstream does, written the obvious (and quadratic) way: right for short texts.
REF = re.compile(r"(<\|ref\|>(.*?)<\|/ref\|><\|det\|>(.*?)<\|/det\|>)", re.DOTALL)
DET = re.compile(r"(<\|det\|>\s*([A-Za-z_][\w-]*)\s*(\[[^\]]*\])\s*<\|/det\|>)")


PIECES = ["<|ref|>", "<|/ref|>", "<|det|>", "<|/det|>", "image", " ", "\n", "[1, 2]", "[", "]", "x-1", "é"]


@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_matches_equal_two_plain_regular_expressions(text):
    assert upstream_matches(text).matches == REF.findall(text) + DET.findall(text)


class CountingText(str):
    """A string that counts how far its searches look."""

    looked = 0

    def find(self, what: str, start: int = 0) -> int:  # type: ignore[override]
        place = super().find(what, start)
        CountingText.looked += (place if place >= 0 else len(self)) - start + 1
        return place


@pytest.mark.parametrize(
    "unit",
    [
        "<|ref|>",
        "<|det|>",
        "<|ref|>a<|/ref|><|det|>",
        "<|det|>a[",
        "<|det|>a [1]",
        "<|/det|>",
    ],
)
def test_searches_look_at_each_character_a_bounded_number_of_times(unit):
    text = CountingText(unit * 20_000)
    CountingText.looked = 0
    upstream._ref_form(text)
    upstream._det_form(text)
    assert CountingText.looked <= 8 * len(text)
