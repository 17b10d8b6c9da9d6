"""Remedies against endless runs of one mark and other loops, on the device: rows that stumble, and weights of runs.

A model that has only ever seen right text does not know how to go on after a mistake of its own. So in some rows a few
wrong tokens are given in between, of the kinds that loops consist of, and what is wanted after each of them is the
token that was due before: not to begin, and to leave at any time. Half of them are long, since who is lost writes tens
of equal or alternating tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import torch
import torch.nn.functional as F
from torch import Tensor

from training.targets import Vocabulary

MOST = 40
"""Longest stumble, in tokens; well below the decoder's window of 128, so that the right text stays in sight."""

_LEAST = 3
_SHORTER = 12
"""Longest stumble of tokens from elsewhere on the page, and of any tokens; shortest one that goes round and round."""

_MARKS = ("-", "=", "*", "_", ".", "..", "#", "~", "+", "0", "1", "|", "/", "        ", " .", " -", "\n")
_KINDS = (0.1, 0.125, 0.125, 0.1, 0.05, 0.15, 0.2, 0.15)
"""Shares of stumbles: one mark again and again; the last 1 to 8 tokens again and again; text of another page, as the
model invents it where it is lost; a jump elsewhere on the page, behind another occurrence of the last token if there
is one; any tokens. The other half are long and go round and round by 1 to 4 tokens: marks, the last tokens, tokens of
the page."""

_JUMP, _ROUND = 3, 5
"""Numbers of the kinds that jump elsewhere, and from which on they go round and round."""

_LONGEST_CYCLE = 8
_LONGEST_ROUND = 4

_RUN = 4
"""Equal tokens that make a run, whose end counts more."""

_LONG_RUN = 8
"""Equal tokens after which one more says little."""

_END_WEIGHT = 3.5
_INNER_WEIGHT = 0.3


@dataclass(frozen=True)
class Stumble:
    """Wrong tokens put between the tokens of rows."""

    place: Tensor
    """[B] number of the token before which they stand"""
    count: Tensor
    """[B] how many, 0 to MOST"""
    junk: Tensor
    """[B, MOST] their ids; those from `count` on are not used"""


def loop_marks(vocabulary: Vocabulary) -> list[int]:
    """Ids of tokens that runs consist of."""
    return [vocabulary.encode(mark)[0] for mark in _MARKS]


def draw_stumbles(ids: Tensor, length: Tensor, share: float, marks: Tensor, text_ids: range) -> Stumble:
    """Stumbles for a share of the rows, anywhere before their last token.

    ids [B, T] and length [B] of the right text; marks [M] are `loop_marks`; any token is one of `text_ids`. A stumble
    that would begin with the very token that is due is left out: nothing would show that it is wrong."""
    rows, device = len(ids), ids.device

    def below(most: Tensor | float) -> Tensor:
        return (torch.rand(rows, device=device) * most).long()

    def text(source: Tensor, long: Tensor, start: Tensor) -> Tensor:
        return source.gather(1, (start[:, None] + step) % (long - 1).clamp(min=1)[:, None])

    dice = torch.rand(rows, device=device)
    kind = torch.stack([dice >= edge for edge in accumulate(_KINDS[:-1])]).sum(0)
    place = below(length)
    short = length < _LONGEST_CYCLE
    bare = (place < 1) | short | ((kind == 2) & short.roll(1))
    kind = torch.where(bare, torch.where(kind < _ROUND, 0, _ROUND), kind)
    least = torch.where(kind < _ROUND, _LEAST, _SHORTER)
    longest = torch.where((kind == _JUMP) | (kind == _JUMP + 1), _SHORTER, MOST)
    count = least + below(longest - least + 1)
    count = torch.where(torch.rand(rows, device=device) < share, count, 0)
    step = torch.arange(MOST, device=device)[None]
    some = marks[torch.randint(len(marks), (rows, _LONGEST_CYCLE), device=device)]
    tokens = torch.rand(rows, device=device)  # squared, half of those that go round and round repeat one token
    cycle = 1 + torch.where(kind < _ROUND, tokens * _LONGEST_CYCLE, tokens**2 * _LONGEST_ROUND).long()
    turn = step % cycle[:, None]
    back = torch.minimum(cycle, place.clamp(min=1))[:, None]
    again = ids.gather(1, (place[:, None] - back + step % back).clamp(min=0))
    here, other = below(length), text(ids.roll(1, 0), length.roll(1), below(length.roll(1)))
    random = torch.randint(text_ids.start, text_ids.stop, (rows, MOST), device=device)
    page = text(ids, length, here).gather(1, turn)
    jump = text(ids, length, _after_same(ids, length, place, here))
    kinds = [some[:, :1].expand(-1, MOST), again, other, jump, random, some.gather(1, turn), again, page]
    junk = torch.stack(kinds).gather(0, kind[None, :, None].expand(1, -1, MOST))[0]
    count = torch.where(junk[:, 0] == ids.gather(1, place[:, None])[:, 0], 0, count)
    return Stumble(place, count, junk)


def _after_same(ids: Tensor, length: Tensor, place: Tensor, otherwise: Tensor) -> Tensor:
    """[B] for each row the number of a token after another occurrence of the token before `place`, any one of them;
    `otherwise` where there is none."""
    step = torch.arange(ids.shape[1], device=ids.device)[None]
    before = (place - 1).clamp(min=0)[:, None]
    same = (ids == ids.gather(1, before)) & (step != before) & (step < length[:, None] - 2)
    best, at = (same * torch.rand(ids.shape, device=ids.device)).max(1)
    return torch.where(best > 0, at + 1, otherwise)


def wanted_index(stumble: Stumble, width: int) -> Tensor:
    """[B, width + MOST]: number of the token of the right text that is wanted at each place."""
    place, count = stumble.place[:, None], stumble.count[:, None]
    step = torch.arange(width + MOST, device=place.device)[None]
    return torch.where(step < place, step, torch.maximum(step - count, place))


def given_ids(ids: Tensor, stumble: Stumble) -> Tensor:
    """[B, T + MOST]: the text with the wrong tokens in it. The last of a row stand for nothing, like padding."""
    place, count = stumble.place[:, None], stumble.count[:, None]
    width = ids.shape[1]
    step = torch.arange(width + MOST, device=ids.device)[None]
    right = ids.gather(1, torch.where(step < place, step, step - count).clamp(0, width - 1))
    wrong = stumble.junk.gather(1, (step - place).clamp(0, MOST - 1))
    return torch.where((step >= place) & (step < place + count), wrong, right)


def run_weight(ids: Tensor) -> Tensor:
    """[B, T] factors: more for the token that ends a run of equal ones, little for one more inside a long run."""
    step = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
    same = F.pad(ids[:, 1:] == ids[:, :-1], (1, 0))
    begun = torch.where(same, 0, step).cummax(1).values
    before = F.pad((step - begun + 1)[:, :-1], (1, 0))  # equal tokens that stand right before this one
    ends = ~same & (before >= _RUN)
    inner = same & (before >= _LONG_RUN)
    return 1.0 + (_END_WEIGHT - 1.0) * ends - (1.0 - _INNER_WEIGHT) * inner
