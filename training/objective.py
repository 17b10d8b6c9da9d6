"""What is minimised: next-token loss, and auxiliary heads that exist only in training.

The auxiliary heads name the characters under each patch (from SAM's features and from the projected visual
tokens) and the place on the page where the next token will be read (from two decoder layers). They start
afresh in every leg.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from training.augment import draw_look, paint_tiles, paint_view
from training.charset import CLASSES
from training.loader import Batch
from training.model import Features, Reader
from training.pages.kinds import SMALLEST
from training.pages.views import SLOTS
from training.targets import Vocabulary

_IGNORE = -100
_PLACES = 64
_INNER = 128
_EMPTY_SHARE = 0.06
"""Share of empty patches that count in the character loss; most patches are empty."""


@dataclass(frozen=True)
class Weights:
    """Factors of the auxiliary losses, and the share of input tokens replaced by random ones."""

    characters: float = 0.1
    places: float = 0.05
    balance: float = 0.01
    noise: float = 0.06


class AuxiliaryHeads(nn.Module):
    def __init__(self, width: int, sam_width: int) -> None:
        super().__init__()
        self.patch = nn.Linear(sam_width, SLOTS * CLASSES)
        self.unfold = nn.Linear(width, 16 * _INNER)
        self.token = nn.Linear(_INNER, SLOTS * CLASSES)
        self.place = nn.ModuleList(nn.Linear(width, 2 * _PLACES) for _ in range(2))


def _characters(heads: AuxiliaryHeads, seen: Features, labels: Tensor) -> Tensor:
    """Character loss of views. labels: [N, G, G, SLOTS]; tokens unfold into the 4 x 4 patches they cover."""
    counted = (labels[..., :1] > 0) | (torch.rand(labels.shape[:3], device=labels.device)[..., None] < _EMPTY_SHARE)
    wanted = torch.where(counted, labels.long(), _IGNORE).flatten()
    direct = heads.patch(F.layer_norm(seen.patches, seen.patches.shape[-1:]))
    views, side = seen.tokens.shape[:2]
    inner = heads.unfold(F.layer_norm(seen.tokens, seen.tokens.shape[-1:]))
    inner = (
        inner.view(views, side, side, 4, 4, _INNER).permute(0, 1, 3, 2, 4, 5).reshape(views, side * 4, side * 4, _INNER)
    )
    through = heads.token(F.gelu(inner))
    return sum(
        (
            F.cross_entropy(logits.reshape(-1, CLASSES).float(), wanted, ignore_index=_IGNORE)
            for logits in (direct, through)
        ),
        torch.zeros((), device=labels.device),
    )


class Objective:
    """Losses of a batch. Views go through the tower in fixed chunks, so that a compiled tower sees two
    shapes only."""

    VIEW_CHUNK = 16
    TILE_CHUNK = 32

    def __init__(self, net: Reader, heads: AuxiliaryHeads, vocabulary: Vocabulary, weights: Weights) -> None:
        self.net, self.heads, self.vocabulary, self.weights = net, heads, vocabulary, weights
        layers = net.config["num_hidden_layers"]
        self.taps = (1, 3) if layers >= 6 else (0, 1)

    def _encode(self, views: Tensor, chunk: int) -> Features:
        seen = [self.net.encode(part) for part in views.split(min(chunk, len(views)))]
        return Features(torch.cat([s.tokens for s in seen]), torch.cat([s.patches for s in seen]))

    def _look(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Visual rows [B, N, C] of the pages, and the character loss of all their views."""
        with torch.no_grad():
            look = draw_look(batch.level == SMALLEST)
            views = paint_view(batch.view, batch.rect, look)
        seen = self._encode(views, self.VIEW_CHUNK)
        loss = _characters(self.heads, seen, batch.labels)
        if batch.tiles is None or batch.tile_labels is None or batch.grid is None:
            return self.net.arrange(seen.tokens, None), loss
        with torch.no_grad():
            tiles = paint_tiles(batch.tiles, batch.grid, look)
        near = self._encode(tiles, self.TILE_CHUNK)
        loss = loss + _characters(self.heads, near, batch.tile_labels.flatten(0, 1))
        columns, rows = batch.grid
        return self.net.arrange(seen.tokens, near.tokens.unflatten(0, (-1, rows, columns))), loss

    def _inputs(self, visual: Tensor, ids: Tensor) -> tuple[Tensor, int]:
        """Embeddings of bos, page, prompt and all but the last target token (some replaced), and the
        prompt's length."""
        embed, config = self.net.model.embed_tokens, self.net.config
        batch, device = ids.shape[0], ids.device
        bos = torch.full((batch, 1), config["bos_token_id"], device=device)
        prompt = torch.tensor(self.vocabulary.prompt, device=device).expand(batch, -1)
        given = ids[:, :-1]
        span = self.vocabulary.text_ids
        wrong = torch.randint(span.start, span.stop, given.shape, device=device)
        given = torch.where(torch.rand(given.shape, device=device) < self.weights.noise, wrong, given)
        parts = [embed(bos), visual.float(), embed(prompt), embed(given)]
        inputs = torch.cat(parts, 1)
        fill = -inputs.shape[1] % 8
        return F.pad(inputs, (0, 0, 0, fill)), 1 + visual.shape[1] + prompt.shape[1]

    def __call__(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss to differentiate, and its parts with the share of tokens predicted right."""
        visual, characters = self._look(batch)
        ids = batch.ids.long()
        inputs, prompt = self._inputs(visual, ids)
        balance: list[Tensor] = []
        hidden, tapped = self.net.decode(inputs, prompt, self.taps, balance)
        span = slice(prompt - 1, prompt - 1 + ids.shape[1])
        valid = torch.arange(ids.shape[1], device=ids.device)[None] < batch.length[:, None]
        wanted = torch.where(valid, ids, _IGNORE)
        logits = self.net.lm_head(hidden[:, span]).float()
        language = F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=_IGNORE)
        places = batch.places.long()
        somewhere = (valid & (places[..., 0] < _PLACES))[..., None]
        target = torch.where(somewhere, places, _IGNORE).flatten()
        where = torch.zeros((), device=ids.device)
        for head, x in zip(self.heads.place, tapped, strict=True):
            guess = head(F.rms_norm(x[:, span], x.shape[-1:])).float().unflatten(-1, (2, _PLACES))
            where = where + 2 * F.cross_entropy(guess.reshape(-1, _PLACES), target, ignore_index=_IGNORE)
        even = torch.stack(balance).mean() if balance else where.new_zeros(())
        w = self.weights
        loss = language + w.characters * characters + w.places * where + w.balance * even
        with torch.no_grad():
            right = ((logits.argmax(-1) == ids) & valid).sum() / valid.sum()
        return loss, {
            "lm": language.detach(),
            "characters": characters.detach(),
            "places": where.detach(),
            "right": right,
        }
