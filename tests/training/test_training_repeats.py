"""Pages on which passages stand twice: what repeats what, on which pages, and that all of it is to be written."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from PIL import Image

from training.pages import Kind, PageMaker, documents, elements, typewriter
from training.repeats import Repeats
from training.smoke import smoke_pack
from training.words import Words


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return smoke_pack(tmp_path_factory.mktemp("training") / "pack")


def passages(way: str, seed: int = 3) -> list[list[str]]:
    """Eight passages of a page that repeats in one way, made from words that each come once."""
    repeats = Repeats(random.Random(seed))
    repeats.begin(1.0)
    repeats._way = getattr(repeats, way)
    return [repeats.passage([f"{number}.{word}" for word in range(12)]) for number in range(8)]


def runs(text: list[str], length: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(text[at : at + length]) for at in range(len(text) - length + 1))


@pytest.mark.parametrize("way", ["_passage", "_whole", "_begin", "_end", "_record", "_in_a_row", "_shuffled"])
def test_words_of_a_page_stand_there_again(way: str) -> None:
    found = [passages(way, seed) for seed in range(20)]
    assert sum(max(runs([w for p in page for w in p], 3).values()) > 1 for page in found) >= 17
    assert all(page[0] == [f"0.{word}" for word in range(12)] for page in found), "the first has nothing to repeat"


def test_passages_begin_or_end_alike_or_differ_by_few_words() -> None:
    first, *more = passages("_begin")
    assert sum(words[:3] == first[:3] for words in more) >= 3
    first, *more = passages("_end")
    assert sum(words[-3:] == first[-3:] for words in more) >= 3
    records = passages("_record")
    alike = [sum(a == b for a, b in zip(x, y, strict=True)) for n, x in enumerate(records) for y in records[:n]]
    assert max(alike) in range(8, 12), "most words are the same, and not all"


def test_words_stand_several_times_one_after_the_other() -> None:
    counts = set[int]()
    for seed in range(60):
        for words in passages("_in_a_row", seed)[1:]:
            counts |= set(Counter(words).values())
    assert counts == {1, 2, 3, 4, 5, 6}


def test_sentences_stand_in_several_places_each_time_between_others() -> None:
    goes_on, cut = dict[str, set[str]](), 0
    for seed in range(10):
        repeats = Repeats(random.Random(seed))
        repeats.begin(1.0)
        repeats._way = repeats._shuffled
        page: list[str] = []
        for number in range(12):
            page += repeats.passage([f"{seed}.{number}.{w}{'.' if w % 6 == 5 else ''}" for w in range(24)])
        for word, after in pairwise(page):
            if word.endswith("."):
                goes_on.setdefault(word, set()).add(after)
            else:  # within a sentence the words stay together
                cut += int(after.rstrip(".").rsplit(".", 1)[1]) != int(word.rsplit(".", 1)[1]) + 1
    assert cut < 40, "few sentences are parted: those that a stop did not end in time"
    assert sum(len(after) > 1 for after in goes_on.values()) > 0.2 * len(goes_on)


def test_lines_are_repeated_in_a_row_or_further_down_and_none_is_lost() -> None:
    rng, kept, rows, later = random.Random(1), 0, set[int](), 0
    for _ in range(400):
        repeats = Repeats(rng)
        repeats.begin(1.0)
        lines = repeats.lines(list(range(6)))
        assert set(lines) == set(range(6))
        kept += lines == list(range(6))
        counts = Counter(lines)
        if all(b - a in (0, 1) for a, b in pairwise(lines)):
            rows.add(max(counts.values()))
        else:
            later += lines[:6] == list(range(6)) and max(counts.values()) > 1
    assert 200 < kept < 330 and rows == {1, 2, 3, 4, 5, 6} and later > 40


def test_some_pages_of_training_repeat_and_none_of_the_held_out_ones(pack: Path) -> None:
    for split, (low, high) in {"train": (150, 250), "test": (0, 0), "prose": (0, 0)}.items():
        words, found = Words(pack, split, random.Random(2)), 0
        before = words.rng.getstate()
        for _ in range(1000):
            words.begin_page()
            found += words.repeats._way is not None
        assert low <= found <= high, split
        assert split == "train" or words.rng.getstate() == before, "nothing is drawn"
        words.repeats.end()
        assert words.repeats.passage(["a"]) == ["a"] and words.repeats.lines([1]) == [1]


@pytest.mark.parametrize("genre", ["prose", "document"])
def test_what_stands_twice_on_a_page_is_written_twice(pack: Path, genre: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Documents of one kind of elements, and lists and listings whose lines begin alike, repeat things of their own.
    monkeypatch.setattr(documents, "_ALIKE", 0.0)
    monkeypatch.setattr(typewriter, "_ALIKE_LINES", 0.0)
    monkeypatch.setattr(elements, "_ALIKE_ITEMS", 0.0)

    def most(share: float) -> int:
        monkeypatch.setattr(Repeats.begin, "__defaults__", (share,))
        maker = PageMaker(pack, "train", 9)
        again = 0
        for _ in range(24):
            blocks = maker._filled(Image.new("L", (900, 1200)), Kind(2, genre=genre), 22, 1100, 1.0)
            assert all(len(block.text) == len(block.points) for block in blocks)
            text = [word for block in blocks if block.label != "table" for word in block.text.split()]
            again += sum(count - 1 for count in runs(text, 8).values())
        return again

    assert most(1.0) > 1.2 * most(0.0)


def test_the_page_after_one_with_repetitions_has_none(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Repeats.begin, "__defaults__", (1.0,))
    maker = PageMaker(pack, "train", 9)
    for kind in (Kind(2), Kind(2, genre="document")):
        maker.sample(kind)
        assert maker.words.repeats._way is None
