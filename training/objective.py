"""What is minimised: next-token loss, and auxiliary heads that exist only in training.

The auxiliary heads name the characters under each patch (from SAM's features and from the projected visual
tokens) and the place on the page where the next token will be read (from two decoder layers). They start
afresh in every leg.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from training.augment import draw_look, paint_tiles, paint_view
from training.charset import CLASSES
from training.decoder import run_layer
from training.loader import Batch
from training.loops import Stumble, draw_stumbles, given_ids, loop_marks, run_weight, wanted_index
from training.model import Reader
from training.pages.kinds import SMALLEST
from training.pages.views import SLOTS
from training.targets import Task, Vocabulary

_IGNORE = -100
_PLACES = 64
_INNER = 128
_EMPTY_SHARE = 0.06
"""Share of empty patches that count in the character loss; most patches are empty."""

_FILLER = 255
"""Label of views that only fill up a chunk."""

_SHADOWED = 0.12
"""Share of pages that lie partly in a shadow."""

_TURN_WEIGHT = 2.0
"""Weight of a token that is read from another row of patches than the one before it: that is where lines are skipped or
read twice."""

_FOUND_WEIGHT = 4.0
"""Weight, among the tokens of an answer to a question, of the first one, which says whether the words are on the page,
and of those from the box on. The others repeat the question."""

_BOX_TOKENS = 13
"""How many those are: two brackets, four numbers and three commas, two brackets, the tag's end, the page's end."""

_DIRTY = 0.14
"""Share of pages with strong grain or specks."""


@dataclass(frozen=True)
class Weights:
    """Factors of the auxiliary losses, the share of input tokens replaced by random ones, and that of rows that stumble
    (see `loops`)."""

    characters: float = 0.1
    places: float = 0.1
    balance: float = 0.01
    noise: float = 0.06
    stumbles: float = 0.35


class AuxiliaryHeads(nn.Module):
    def __init__(self, width: int, sam_width: int) -> None:
        super().__init__()
        self.patch = nn.Linear(sam_width, SLOTS * CLASSES)
        self.unfold = nn.Linear(width, 16 * _INNER)
        self.token = nn.Linear(_INNER, SLOTS * CLASSES)
        self.place = nn.ModuleList(nn.Linear(width, 2 * _PLACES) for _ in range(2))


def _characters(heads: AuxiliaryHeads, tokens: Tensor, patches: Tensor, labels: Tensor) -> Tensor:
    """Character loss of views: [sum over counted slots, their number], the sum over both heads.

    labels: [N, G, G, SLOTS]; tokens [N, g, g, C] unfold into the 4 x 4 patches they cover."""
    counted = (labels[..., :1] > 0) | (torch.rand(labels.shape[:3], device=labels.device)[..., None] < _EMPTY_SHARE)
    wanted = torch.where(counted & (labels != _FILLER), labels.long(), _IGNORE).flatten()
    direct = heads.patch(F.layer_norm(patches, patches.shape[-1:]))
    views, side = tokens.shape[:2]
    inner = heads.unfold(F.layer_norm(tokens, tokens.shape[-1:]))
    inner = (
        inner.view(views, side, side, 4, 4, _INNER).permute(0, 1, 3, 2, 4, 5).reshape(views, side * 4, side * 4, _INNER)
    )
    through = heads.token(F.gelu(inner))
    sums = [
        F.cross_entropy(logits.reshape(-1, CLASSES).float(), wanted, ignore_index=_IGNORE, reduction="sum")
        for logits in (direct, through)
    ]
    return torch.stack([sums[0] + sums[1], (wanted != _IGNORE).sum().float()])


class TokenTargets(NamedTuple):
    """What is wanted at each position; _IGNORE where nothing is."""

    wanted: Tensor
    """[B, T] ids"""
    places: Tensor
    """[B, T, 2] patch coordinates"""
    weight: Tensor
    """[B, T] weight of a token in both losses; more where reading goes on in another row of patches"""


class Sums(NamedTuple):
    """Mean losses of the tokens of a batch, and the share predicted right."""

    language: Tensor
    places: Tensor
    right: Tensor


def _tokens(net: Reader, heads: AuxiliaryHeads, hidden: Tensor, tapped: list[Tensor], batch: TokenTargets) -> Sums:
    """Losses at the positions that predict tokens. hidden, tapped: [B, T, C]."""
    logits = net.lm_head(hidden).float()
    weight = batch.weight.flatten()
    language = F.cross_entropy(logits.flatten(0, 1), batch.wanted.flatten(), ignore_index=_IGNORE, reduction="none")
    language = (language * weight).sum() / weight.sum()
    placed = (batch.places[..., 0] != _IGNORE).flatten() * weight
    where = torch.zeros((), device=hidden.device)
    for head, x in zip(heads.place, tapped, strict=True):
        guess = head(F.rms_norm(x, x.shape[-1:])).float().unflatten(-1, (2, _PLACES)).reshape(-1, _PLACES)
        loss = F.cross_entropy(guess, batch.places.flatten(), ignore_index=_IGNORE, reduction="none")
        where = where + (loss.view(-1, 2).sum(-1) * placed).sum() / placed.sum().clamp(min=1)
    with torch.no_grad():
        valid = batch.wanted != _IGNORE
        right = ((logits.argmax(-1) == batch.wanted) & valid).sum() / valid.sum()
    return Sums(language, where, right)


def token_targets(batch: Batch) -> TokenTargets:
    ids, places = batch.ids.long(), batch.places.long()
    position = torch.arange(ids.shape[1], device=ids.device)[None]
    valid = position < batch.length[:, None]
    if batch.asked is not None:
        valid &= position >= batch.asked[:, None]
    somewhere = (valid & (places[..., 0] < _PLACES))[..., None]
    row = places[..., 1]
    turned = F.pad((row[:, 1:] != row[:, :-1]) & (row[:, 1:] < _PLACES), (1, 0))
    weight = valid * (1.0 + (_TURN_WEIGHT - 1.0) * turned) * run_weight(ids)
    if batch.task is Task.LOCATE and batch.asked is not None:
        telling = (position == batch.asked[:, None]) | (position >= batch.length[:, None] - _BOX_TOKENS)
        weight = torch.where(valid & telling, _FOUND_WEIGHT, weight)
    return TokenTargets(torch.where(valid, ids, _IGNORE), torch.where(somewhere, places, _IGNORE), weight)


def stumbled(targets: TokenTargets, length: Tensor, stumble: Stumble) -> TokenTargets:
    """Targets of rows that stumble: after each wrong token what was wanted before the first, then what follows it."""
    width = targets.wanted.shape[1]
    index = wanted_index(stumble, width)
    valid = torch.arange(index.shape[1], device=index.device)[None] < (length + stumble.count)[:, None]
    index = index.clamp(max=width - 1)
    return TokenTargets(
        torch.where(valid, targets.wanted.gather(1, index), _IGNORE),
        torch.where(valid[..., None], targets.places.gather(1, index[..., None].expand(-1, -1, 2)), _IGNORE),
        valid * targets.weight.gather(1, index),
    )


class Objective:
    """Losses of a batch. Views go through the tower in chunks; once compiled, the last chunk is filled up with blank
    views, so that the tower sees two shapes only. Large chunks, since launching a call costs more than a blank view."""

    VIEW_CHUNK = 48
    TILE_CHUNK = 96

    def __init__(self, net: Reader, heads: AuxiliaryHeads, vocabulary: Vocabulary, weights: Weights) -> None:
        self.net, self.heads, self.vocabulary, self.weights = net, heads, vocabulary, weights
        layers = net.config["num_hidden_layers"]
        self.taps = (1, 3) if layers >= 6 else (0, 1)
        self.characters: Callable[..., Tensor] = _characters
        self.tokens: Callable[..., Sums] = _tokens
        self._tower: Callable[..., tuple[Tensor, Tensor]] | None = None
        self.marks = loop_marks(vocabulary)
        self._constants: dict[tuple[torch.device, tuple[int, ...]], Tensor] = {}
        self.filled = False
        """Whether chunks are filled up."""

    def compile(self, tower_alone: bool = False) -> None:
        """Compile what a step spends its time on, or of that the tower alone. Shapes of views are fixed, lengths of
        the decoder are not."""
        self.filled = True
        self._tower = self._tower or torch.compile(self.net.tower, dynamic=False)
        self.net.tower = self._tower  # type: ignore[method-assign]
        if tower_alone:
            self.net.run_layer, self.characters, self.tokens = run_layer, _characters, _tokens
        else:
            self.net.run_layer = torch.compile(run_layer, dynamic=True)
            self.characters = torch.compile(_characters, dynamic=False)
            self.tokens = torch.compile(_tokens, dynamic=True)

    def _encode(self, views: Tensor, labels: Tensor, chunk: int) -> tuple[Tensor, Tensor]:
        """Visual tokens [N, g, g, C] of views, and their character loss."""
        count = len(views)
        spare = -count % chunk
        if self.filled and spare:
            views = torch.cat([views, views.new_zeros(spare, *views.shape[1:])])
            labels = torch.cat([labels, labels.new_full((spare, *labels.shape[1:]), _FILLER)])
        tokens, losses = [], []
        for part, wanted in zip(views.split(chunk), labels.split(chunk), strict=True):
            seen = self.net.encode(part)
            tokens.append(seen.tokens)
            losses.append(self.characters(self.heads, seen.tokens, seen.patches, wanted))
        total = torch.stack(losses).sum(0)
        return torch.cat(tokens)[:count], total[0] / total[1].clamp(min=1)

    def _look(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Visual rows [B, N, C] of the pages, and the character loss of all their views."""
        with torch.no_grad():
            look = draw_look(batch.level == SMALLEST, shadows=_SHADOWED, dirty=_DIRTY)
            views = paint_view(batch.view, batch.rect, look)
        tokens, loss = self._encode(views, batch.labels, self.VIEW_CHUNK)
        if batch.tiles is None or batch.tile_labels is None or batch.grid is None:
            return self.net.arrange(tokens, None).unflatten(0, (-1, batch.together)).flatten(1, 2), loss
        with torch.no_grad():
            tiles = paint_tiles(batch.tiles, batch.grid, look)
        near, more = self._encode(tiles, batch.tile_labels.flatten(0, 1), self.TILE_CHUNK)
        columns, rows = batch.grid
        return self.net.arrange(tokens, near.unflatten(0, (-1, rows, columns))), loss + more

    def _on(self, device: torch.device, ids: Sequence[int]) -> Tensor:
        """Ids [N] on the device. Copied once: at a copy the host waits for all that the device has been given to do."""
        key = device, tuple(ids)
        if key not in self._constants:
            self._constants[key] = torch.tensor(ids, dtype=torch.long, device=device)
        return self._constants[key]

    def _course(self, batch: Batch) -> tuple[Tensor, TokenTargets]:
        """Ids that are given, and what is wanted before each of them: the text, with stumbles in some rows. Answers to
        questions are too short to stumble in."""
        ids, targets = batch.ids.long(), token_targets(batch)
        if not self.weights.stumbles or batch.task is Task.LOCATE:
            return ids, targets
        marks = self._on(ids.device, self.marks)
        stumble = draw_stumbles(ids, batch.length, self.weights.stumbles, marks, self.vocabulary.text_ids)
        return given_ids(ids, stumble), stumbled(targets, batch.length, stumble)

    def _inputs(self, visual: Tensor, ids: Tensor, task: Task, asked: Tensor | None) -> tuple[Tensor, int]:
        """Embeddings of bos, pages, prompt and all but the last target token (some replaced, but none of a question),
        and the prompt's length."""
        embed, config = self.net.model.embed_tokens, self.net.config
        batch, device = ids.shape[0], ids.device
        bos = torch.full((batch, 1), config["bos_token_id"], device=device)
        prompt = self._on(device, self.vocabulary.prompts[task]).expand(batch, -1)
        given = ids[:, :-1]
        span = self.vocabulary.text_ids
        wrong = torch.randint(span.start, span.stop, given.shape, device=device)
        replaced = torch.rand(given.shape, device=device) < self.weights.noise
        if asked is not None:
            replaced &= torch.arange(given.shape[1], device=device)[None] >= asked[:, None]
        given = torch.where(replaced, wrong, given)
        parts = [embed(bos), visual.float(), embed(prompt), embed(given)]
        inputs = torch.cat(parts, 1)
        fill = -inputs.shape[1] % 8
        return F.pad(inputs, (0, 0, 0, fill)), 1 + visual.shape[1] + prompt.shape[1]

    def __call__(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss to differentiate, and its parts with the share of tokens predicted right."""
        visual, characters = self._look(batch)
        given, targets = self._course(batch)
        inputs, prompt = self._inputs(visual, given, batch.task, batch.asked)
        hidden, tapped, loads = self.net.decode(inputs, prompt, self.taps)
        span = slice(prompt - 1, prompt - 1 + given.shape[1])
        found = self.tokens(self.net, self.heads, hidden[:, span], [x[:, span] for x in tapped], targets)
        even = torch.stack(loads).mean() if loads else found.places.new_zeros(())
        w = self.weights
        loss = found.language + w.characters * characters + w.places * found.places + w.balance * even
        return loss, {
            "lm": found.language.detach(),
            "characters": characters.detach(),
            "places": found.places.detach(),
            "right": found.right,
        }
