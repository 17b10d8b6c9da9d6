"""The whole model: vision tower, layout of the visual tokens, decoder, greedy generation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from training.config import Config
from training.decoder import Cache, Layer, RmsNorm, rotary_table, run_layer, window_mask
from training.vision import Clip, Sam, resize_matrices


class Projector(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        shape = config["projector_config"]
        self.layers = nn.Linear(shape["input_dim"], shape["n_embed"])

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class Backbone(nn.Module):
    """Everything under `model.` in the checkpoint."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config["hidden_size"]
        self.embed_tokens = nn.Embedding(config["vocab_size"], width)
        self.layers = nn.ModuleList(Layer(config, i) for i in range(config["num_hidden_layers"]))
        self.norm = RmsNorm(width, config["rms_norm_eps"])
        self.sam_model = Sam(config)
        self.vision_model = Clip(config)
        self.projector = Projector(config)
        self.image_newline = nn.Parameter(torch.randn(width) * width**-0.5)
        self.view_seperator = nn.Parameter(torch.randn(width) * width**-0.5)  # the checkpoint's spelling


@dataclass
class Features:
    """What the tower says about views: projected tokens [B, g, g, C] and SAM's patch features [B, G, G,
    Cs]."""

    tokens: Tensor
    patches: Tensor


class Reader(nn.Module):
    """The model. `encode` looks, `arrange` lays tokens out, `decode` predicts, `generate` reads greedily."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.model = Backbone(config)
        self.lm_head = nn.Linear(config["hidden_size"], config["vocab_size"], bias=False)
        self.run_layer: Callable[..., tuple[Tensor, Tensor | None]] = run_layer
        _initialise(self)

    def encode(self, views: Tensor) -> Features:
        """views: [B, 3, S, S] in [-1, 1], S = 1024 or 640."""
        m = self.model
        sam, rel, clip = resize_matrices(views.shape[-1], m.sam_model.grid, m.vision_model.grid, views.device)
        return Features(*self.tower(views, sam, rel, clip))

    def tower(
        self, views: Tensor, sam: Tensor | None, rel: Tensor | None, clip: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """`encode` as a function of tensors alone, so that it can be compiled."""
        features, patches = self.model.sam_model(views, sam, rel)
        words = self.model.vision_model(features, clip)[:, 1:]
        joined = torch.cat((words, features.flatten(2).transpose(1, 2)), -1)
        side = features.shape[-1]
        return self.model.projector(joined).unflatten(1, (side, side)), patches

    def arrange(self, view: Tensor, tiles: Tensor | None) -> Tensor:
        """Visual rows of pages [B, N, C]: local mosaic (if any), global view, separator.

        view: [B, g, g, C]; tiles: [B, h, w, t, t, C], crops in row-major order. A newline ends every row of
        each block.
        """
        m = self.model
        batch, _, _, width = view.shape

        def block(grid: Tensor) -> Tensor:
            newline = m.image_newline.to(grid.dtype).expand(batch, grid.shape[1], 1, width)
            return torch.cat([grid, newline], 2).flatten(1, 2)

        parts = [block(view), m.view_seperator.to(view.dtype).expand(batch, 1, width)]
        if tiles is not None:
            parts.insert(0, block(tiles.transpose(2, 3).flatten(3, 4).flatten(1, 2)))
        return torch.cat(parts, 1)

    def decode(
        self, embeddings: Tensor, prompt: int, taps: tuple[int, ...] = ()
    ) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        """Hidden states [B, L, C] after the final norm, those after the layers named in `taps`, and the load of
        the experts of every layer that has some."""
        length, device = embeddings.shape[1], embeddings.device
        cos, sin = rotary_table(self.config, torch.arange(length, device=device), embeddings.dtype)
        mask = window_mask(prompt, length, self.config["sliding_window_size"], device)[None, None]
        x, tapped, loads = embeddings, [], []
        for index, layer in enumerate(self.model.layers):
            x, load = self.run_layer(layer, x, cos, sin, mask)
            if index in taps:
                tapped.append(x)
            if load is not None:
                loads.append(load)
        return self.model.norm(x), tapped, loads

    @torch.no_grad()
    def generate(self, visual: Tensor, prompt_ids: list[int], most: int) -> list[list[int]]:
        """Greedy ids of each page (the end token, when reached, is the last). visual: [B, N, C]; at most
        `most` ids.

        Keys of the prompt stay; those of generated tokens live in a ring of `sliding_window_size` slots. Rows
        that have ended leave the batch.
        """
        m, device, dtype = self.model, visual.device, visual.dtype
        eos, bos, window = (self.config[k] for k in ("eos_token_id", "bos_token_id", "sliding_window_size"))
        batch = visual.shape[0]
        embed = m.embed_tokens.weight
        first = embed[torch.tensor([bos], device=device)].to(dtype).expand(batch, 1, -1)
        last = embed[torch.tensor(prompt_ids, device=device)].to(dtype).expand(batch, len(prompt_ids), -1)
        x = torch.cat([first, visual, last], 1)
        prompt = x.shape[1]
        cos, sin = rotary_table(self.config, torch.arange(prompt + most, device=device), dtype)
        shape = (batch, self.config["num_attention_heads"], prompt + window, self.config["head_dim"])
        caches = [
            Cache(torch.zeros(shape, device=device, dtype=dtype), torch.zeros(shape, device=device, dtype=dtype))
            for _ in m.layers
        ]
        mask: Tensor | None = window_mask(prompt, prompt, window, device)[None, None]
        out = torch.full((batch, most), eos, dtype=torch.long, device=device)
        live = torch.arange(batch, device=device)
        begin = 0
        for step in range(most):
            end = prompt + step
            for layer, cache in zip(m.layers, caches, strict=True):
                cache.slot = 0 if step == 0 else prompt + (step - 1) % window
                cache.used = min(end, prompt + window)
                x, _ = layer(x, cos[begin:end], sin[begin:end], mask, cache)
            token = self.lm_head(m.norm(x[:, -1])).float().argmax(-1)
            out[live, step] = token
            if step % 8 == 0:  # looking at the device costs a wait, so only now and then
                keep = (out[live, : step + 1] != eos).all(1)
                if not bool(keep.any()):
                    break
                live, token = live[keep], token[keep]
                for cache in caches:
                    cache.keys, cache.values = cache.keys[keep], cache.values[keep]
            x, mask, begin = embed[token].to(dtype)[:, None], None, end
        rows = out[:, : step + 1].tolist()
        return [row[: row.index(eos) + 1] if eos in row else row for row in rows]


def _initialise(net: Reader) -> None:
    """Scaled truncated normal weights; output projections shrink with depth so that residual streams start
    small."""
    width = net.config["vision_config"]["width"]
    depth = {
        ("attn.proj.weight", "lin2.weight"): width["sam_vit_b"]["layers"],
        ("out_proj.weight", "fc2.weight"): width["clip-l-14-224"]["layers"],
        ("o_proj.weight", "down_proj.weight", "ex_down"): net.config["num_hidden_layers"],
    }
    for name, parameter in net.named_parameters():
        if name.endswith("bias"):
            nn.init.zeros_(parameter)
        elif "rel_pos" in name or "position_embedding" in name or "pos_embed" in name or "lm_head" in name:
            nn.init.trunc_normal_(parameter, std=0.02)
        elif "embed_tokens" in name:
            nn.init.trunc_normal_(parameter, std=0.06)
        elif parameter.dim() >= 2 and "mlp.gate.weight" not in name:
            fan = parameter.shape[-1] if "ex_" in name else parameter[0].numel()
            std = (1.0 if any(k in name for k in ("neck", "net_", "projector")) else 0.6) * fan**-0.5
            for endings, layers in depth.items():
                if name.endswith(endings):
                    std /= math.sqrt(2 * layers)
            nn.init.trunc_normal_(parameter, std=std, a=-3 * std, b=3 * std)
