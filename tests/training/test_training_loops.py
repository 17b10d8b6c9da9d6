"""Rows that stumble, and weights of runs. Needs torch: skipped without it."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch==2.13.0")

from training import loops  # noqa: E402
from training.loops import (  # noqa: E402
    MOST,
    Stumble,
    _after_same,
    draw_stumbles,
    given_ids,
    loop_marks,
    run_weight,
    wanted_index,
)
from training.objective import TokenTargets, stumbled  # noqa: E402
from training.targets import Vocabulary  # noqa: E402

VOCABULARY = Vocabulary(Path(loops.__file__).with_name("tokenizer.json"))
IDS = torch.tensor([[10, 11, 12, 13, 0, 0], [20, 21, 22, 23, 24, 25]])
LENGTH = torch.tensor([4, 6])


def stumble(place: list[int], count: list[int]) -> Stumble:
    return Stumble(torch.tensor(place), torch.tensor(count), torch.arange(900, 900 + MOST).expand(len(place), -1))


def targets() -> TokenTargets:
    """As of LENGTH: places count up, weights are 1 and of token 2 they are 2."""
    valid = torch.arange(6)[None] < LENGTH[:, None]
    places = torch.arange(6)[None, :, None].expand(2, -1, 2)
    weight = valid * torch.tensor([1.0, 1.0, 2.0, 1.0, 1.0, 1.0])
    return TokenTargets(torch.where(valid, IDS, -100), torch.where(valid[..., None], places, -100), weight)


def test_wrong_tokens_stand_in_the_text_and_after_each_of_them_the_token_due_before_is_wanted() -> None:
    case = stumble([2, 5], [3, 1])
    given, found = given_ids(IDS, case), stumbled(targets(), LENGTH, case)
    assert given.shape == found.wanted.shape == (2, 6 + MOST)
    assert given[0, :7].tolist() == [10, 11, 900, 901, 902, 12, 13]
    assert found.wanted[0, :8].tolist() == [10, 11, 12, 12, 12, 12, 13, -100]
    assert found.places[0, :8, 0].tolist() == [0, 1, 2, 2, 2, 2, 3, -100]
    assert found.weight[0, :8].tolist() == [1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 1.0, 0.0]
    assert given[1, :7].tolist() == [20, 21, 22, 23, 24, 900, 25]
    assert found.wanted[1, :8].tolist() == [20, 21, 22, 23, 24, 25, 25, -100]
    assert not bool(found.weight[:, 8:].any()) and bool((found.wanted[:, 8:] == -100).all())


def test_a_row_may_begin_with_a_stumble() -> None:
    case = stumble([0, 0], [2, MOST])
    given, found = given_ids(IDS, case), stumbled(targets(), LENGTH, case)
    assert given[0, :6].tolist() == [900, 901, 10, 11, 12, 13]
    assert found.wanted[0, :7].tolist() == [10, 10, 10, 11, 12, 13, -100]
    assert found.wanted[1, MOST:].tolist() == [20, 21, 22, 23, 24, 25]


def test_rows_without_a_stumble_are_as_they_were() -> None:
    case = stumble([2, 5], [0, 0])
    given, found, before = given_ids(IDS, case), stumbled(targets(), LENGTH, case), targets()
    assert torch.equal(wanted_index(case, 6), torch.arange(6 + MOST).expand(2, -1))
    assert torch.equal(given[:, :6], IDS)
    for name in TokenTargets._fields:
        assert torch.equal(getattr(found, name)[:, :6], getattr(before, name)), name


def drawn(rows: int, share: float) -> tuple[Stumble, Any, Any]:
    torch.manual_seed(3)
    ids = torch.arange(100, 160) + 100 * (torch.arange(rows)[:, None] % 2)
    length = torch.where(torch.arange(rows) % 5 == 0, 1, 50)  # blank pages among them
    marks = torch.tensor(loop_marks(VOCABULARY))
    return draw_stumbles(ids, length, share, marks, VOCABULARY.text_ids), length, marks


def test_the_share_of_rows_asked_for_stumbles_within_the_text() -> None:
    case, length, _ = drawn(4000, 0.25)
    assert float((case.count > 0).float().mean()) == pytest.approx(0.25, abs=0.03)
    assert set(case.count.tolist()) <= {0, *range(3, MOST + 1)} and int(case.count.max()) == MOST
    assert bool((case.place >= 0).all()) and bool((case.place < length).all())
    assert int(case.place.max()) == 49


def period(junk: list[int], most: int) -> int | None:
    """The shortest period of at most `most` tokens that a stumble has, going round at least twice."""
    return next((n for n in range(1, most + 1) if 2 * n <= len(junk) and junk[n:] == junk[:-n]), None)


def test_wrong_tokens_are_runs_repetitions_text_of_this_and_of_other_pages_and_any_tokens() -> None:
    case, length, marks = drawn(4000, 1.0)
    known, kinds, rounds = set(marks.tolist()), Counter[str](), Counter[int]()
    for number, (place, count, long, row) in enumerate(
        zip(case.place.tolist(), case.count.tolist(), length.tolist(), case.junk.tolist(), strict=True)
    ):
        junk, first = row[:count], 100 + 100 * (number % 2)
        before = list(range(first, first + place))
        text = [token % 100 for token in junk]
        if count >= 12 and (turn := period(junk, 4)):
            rounds[turn] += 1
        if set(junk) <= known and period(junk, 4):
            kind = "run"
        elif any(junk == (before[-cycle:] * MOST)[:count] for cycle in range(1, min(place, 8) + 1)):
            kind = "again"
        elif max(text) < 49 and all(b == (a + 1) % 49 for a, b in pairwise(text)) and max(junk) < 300:
            kind = "this page" if junk[0] // 100 == first // 100 else "another page"
        elif period(junk, 4) and {token // 100 for token in junk} == {first // 100}:
            kind = "round"
        else:
            kind = "any"
        kinds[kind] += 1
        assert long > 1 or kind == "run", "a blank page has no text to repeat"
        assert count <= (MOST if kind in ("run", "again", "another page", "round") else 12)
        assert count >= 12 or kind != "round"
    assert set(kinds) == {"run", "again", "this page", "another page", "any", "round"}
    assert all(count > 130 for count in kinds.values()), kinds
    assert sum(rounds.values()) > 2000, "half of them and more are long and go round and round"
    assert all(rounds[turn] > 150 for turn in (1, 2, 3, 4)), rounds


def test_a_jump_goes_on_as_the_text_does_after_the_last_token_elsewhere() -> None:
    torch.manual_seed(4)
    ids = torch.tensor([[9, 1, 2, 3, 9, 4, 5, 6, 9, 7, 8, 0, 0, 0], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]])
    length, places = torch.tensor([11, 14]), torch.tensor([9, 5])
    found = torch.stack([_after_same(ids, length, places, torch.tensor([3, 7])) for _ in range(50)])
    assert set(found[:, 0].tolist()) == {1, 5}, "what follows the other two, not what is due"
    assert set(found[:, 1].tolist()) == {7}, "a token that stands once has no other place"


def test_no_stumble_begins_with_the_token_that_is_due() -> None:
    torch.manual_seed(5)
    marks = torch.tensor(loop_marks(VOCABULARY))
    ids = marks[:1].expand(500, 40)
    case = draw_stumbles(ids, torch.full((500,), 40), 1.0, marks[:3], VOCABULARY.text_ids)
    assert bool((case.count[case.junk[:, 0] == marks[0]] == 0).all())
    assert 20 < int((case.count > 0).sum()) < 300


def test_the_end_of_a_run_counts_more_and_one_more_inside_a_long_run_less() -> None:
    ids = torch.tensor([[1, 1, 1, 2, 5, 5, 5, 5, 6, 7], [9, 9, 9, 9, 9, 9, 9, 9, 9, 9]])
    wanted = [[1, 1, 1, 1, 1, 1, 1, 1, 3.5, 1], [1, 1, 1, 1, 1, 1, 1, 1, 0.3, 0.3]]
    assert torch.allclose(run_weight(ids), torch.tensor(wanted))
