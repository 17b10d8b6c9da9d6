"""Remedies against endless runs of one mark and other loops, on the device: rows that stumble, and weights of runs.

A model that has only ever seen right text does not know how to go on after a mistake of its own. So in some rows a few
wrong tokens are given in between, of the kinds that loops consist of, and what is wanted after each of them is the
token that was due before: not to begin, and to leave at any time.
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
"""Longest stumble of tokens from elsewhere on the page, and of any tokens."""

_MARKS = ("-", "=", "*", "_", ".", "..", "#", "~", "+", "0", "1", "|", "/", "        ", " .", " -", "\n")
_KINDS = (0.3, 0.25, 0.25, 0.1, 0.1)
"""Shares of stumbles: one mark again and again; the last 1 to 8 tokens again and again; text of another page, as the
model invents it where it is lost; tokens from elsewhere on the page; any tokens."""

_LONGEST_CYCLE = 8

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

    ids [B, T] and length [B] of the right text; marks [M] are `loop_marks`; any token is one of `text_ids`."""
    rows, device = len(ids), ids.device

    def below(most: Tensor | float) -> Tensor:
        return (torch.rand(rows, device=device) * most).long()

    dice = torch.rand(rows, device=device)
    kind = torch.stack([dice >= edge for edge in accumulate(_KINDS[:-1])]).sum(0)
    place = below(length)
    short = length < _LONGEST_CYCLE
    kind = torch.where((place < 1) | short | ((kind == 2) & short.roll(1)), 0, kind)
    longest = torch.where(kind < 3, MOST, _SHORTER)
    count = _LEAST + below(longest - _LEAST + 1)
    count = torch.where(torch.rand(rows, device=device) < share, count, 0)
    step = torch.arange(MOST, device=device)[None]
    one = marks[torch.randint(len(marks), (rows, 1), device=device)].expand(-1, MOST)
    cycle = torch.minimum(1 + below(_LONGEST_CYCLE), place.clamp(min=1))[:, None]
    again = ids.gather(1, (place[:, None] - cycle + step % cycle).clamp(min=0))
    slices = []
    for text, long in ((ids.roll(1, 0), length.roll(1)), (ids, length)):
        slices.append(text.gather(1, (below(long)[:, None] + step) % (long - 1).clamp(min=1)[:, None]))
    random = torch.randint(text_ids.start, text_ids.stop, (rows, MOST), device=device)
    junk = torch.stack([one, again, *slices, random]).gather(0, kind[None, :, None].expand(1, -1, MOST))[0]
    return Stumble(place, count, junk)


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
