"""Rows that stumble, and weights of runs. Needs torch: skipped without it."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch==2.13.0")

from training import loops  # noqa: E402
from training.loops import MOST, Stumble, draw_stumbles, given_ids, loop_marks, run_weight, wanted_index  # noqa: E402
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


def test_wrong_tokens_are_runs_repetitions_text_of_this_and_of_other_pages_and_any_tokens() -> None:
    case, length, marks = drawn(4000, 1.0)
    kinds = Counter[str]()
    for number, (place, count, long, row) in enumerate(
        zip(case.place.tolist(), case.count.tolist(), length.tolist(), case.junk.tolist(), strict=True)
    ):
        junk, first = row[:count], 100 + 100 * (number % 2)
        before = list(range(first, first + place))
        text = [token % 100 for token in junk]
        if len(set(junk)) == 1 and junk[0] in marks.tolist():
            kind = "run"
        elif any(junk == (before[-cycle:] * MOST)[:count] for cycle in range(1, min(place, 8) + 1)):
            kind = "again"
        elif max(text) < 49 and all(b == (a + 1) % 49 for a, b in pairwise(text)) and max(junk) < 300:
            kind = "this page" if junk[0] // 100 == first // 100 else "another page"
        else:
            kind = "any"
        kinds[kind] += 1
        assert long > 1 or kind == "run", "a blank page has no text to repeat"
        assert count <= (MOST if kind in ("run", "again", "another page") else 12)
    assert set(kinds) == {"run", "again", "this page", "another page", "any"}
    assert all(count > 200 for count in kinds.values()), kinds


def test_the_end_of_a_run_counts_more_and_one_more_inside_a_long_run_less() -> None:
    ids = torch.tensor([[1, 1, 1, 2, 5, 5, 5, 5, 6, 7], [9, 9, 9, 9, 9, 9, 9, 9, 9, 9]])
    wanted = [[1, 1, 1, 1, 1, 1, 1, 1, 3.5, 1], [1, 1, 1, 1, 1, 1, 1, 1, 0.3, 0.3]]
    assert torch.allclose(run_weight(ids), torch.tensor(wanted))
