"""Texts that are held out: nothing of them was trained, and pages of them are no longer than asked."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from training.smoke import smoke_pack
from training.unseen import RUN, runs, unseen
from training.words import Words

TRAINED = "The reader turns the page of the book that lies open on the stand by the window."


def test_runs_are_words_without_case_and_marks() -> None:
    assert RUN == 6
    assert runs("A b, c! D e - f (g)") == [("a", "b", "c", "d", "e", "f"), ("b", "c", "d", "e", "f", "g")]
    assert runs("five words are no run") == []


def test_a_trained_paragraph_with_other_marks_is_seen() -> None:
    again = "the reader TURNS the page (of the book) that lies open; on the stand by the window"
    assert list(unseen([again], [TRAINED])) == []


def test_a_paragraph_that_quotes_a_trained_sentence_is_seen() -> None:
    quoting = f"Somebody wrote down a sentence that was read before, word by word: {TRAINED}"
    assert list(unseen([quoting], [TRAINED])) == []


def test_a_stock_phrase_in_a_long_paragraph_is_no_sign_of_training() -> None:
    words = " ".join(f"word{n}" for n in range(30))
    fresh = f"{words} that lies open on the stand"
    assert len(set(runs(fresh)) & set(runs(TRAINED))) == 1
    assert list(unseen([fresh], [TRAINED])) == [fresh]


def test_what_is_too_short_to_be_judged_is_left_out_and_order_is_kept() -> None:
    first, second = (" ".join(f"{name}{n}" for n in range(8)) for name in ("b", "a"))
    assert list(unseen([first, "two words", second], [TRAINED])) == [first, second]


def test_a_language_without_held_out_prose_is_passed_over(tmp_path: Path) -> None:
    pack = smoke_pack(tmp_path / "pack")
    (pack / "text" / "prose.fr.txt").unlink()
    words = Words(pack, "prose", random.Random(1))
    assert words.languages == ("en", "en", "it", "it", "de", "es", "pt")
    assert Words(pack, "test", random.Random(1)).languages == ("en", "en", "it", "it", "de", "es", "pt", "fr")


def test_a_pack_without_held_out_prose_says_how_to_get_it(tmp_path: Path) -> None:
    pack = smoke_pack(tmp_path / "pack")
    for path in (pack / "text").glob("prose.*.txt"):
        path.unlink()
    with pytest.raises(SystemExit, match=r"no prose text; make the pack again with python -m training\.collect"):
        Words(pack, "prose", random.Random(1))


def test_held_out_prose_is_read_on_pages_of_at_most_1024_tokens(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed: pip install torch==2.13.0")
    from training.evaluate import GROUPS, held_out

    ((group, samples),) = held_out(smoke_pack(tmp_path / "pack"), 0.1, 1, ("prose 3",))
    assert (group.split, group.longest, len(samples)) == ("prose", 1024, 5)
    assert all(len(sample.ids) <= 1024 for sample in samples)
    assert [g.name for g in GROUPS if g.split == "prose"] == [f"prose {level}" for level in range(4)]

    made = iter((1500, 1025, 1024, 8))
    maker: Any = SimpleNamespace(sample=lambda kind: SimpleNamespace(ids=[0] * next(made)))
    assert len(group.page(maker).ids) == 1024
