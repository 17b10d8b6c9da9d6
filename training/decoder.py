"""The decoder: attention with a window over generated tokens (R-SWA), a dense first layer, then mixtures of
experts.

Experts are held as three stacked tensors and all computed, with exact top-k gates: at this size that is
faster on a GPU than dispatching tokens. Module names are those of the checkpoint, the stacked experts apart
(see export.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from training.config import Config


@dataclass
class Cache:
    """Keys and values of one layer [B, heads, slots, d]; rows are written at `slot`, `used` slots are
    attended to."""

    keys: Tensor
    values: Tensor
    slot: int = 0
    used: int = 0


class RmsNorm(nn.Module):
    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x.float(), (x.shape[-1],), self.weight.float(), self.eps).to(x.dtype)


class Mlp(nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(width, inner, bias=False)
        self.up_proj = nn.Linear(width, inner, bias=False)
        self.down_proj = nn.Linear(inner, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Router(nn.Module):
    def __init__(self, experts: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(experts, width))
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))

    def forward(self, x: Tensor) -> Tensor:
        """Probabilities in float32, whatever the surrounding precision."""
        with torch.autocast(x.device.type, enabled=False):
            return F.linear(x.float(), self.weight.float()).softmax(-1)


class Experts(nn.Module):
    """Softmax router, greedy top-k without renormalisation, plus shared experts that are always on."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width, inner, count = (
            config["hidden_size"],
            config["moe_intermediate_size"],
            config["n_routed_experts"],
        )
        self.chosen = config["num_experts_per_tok"]
        self.gate = Router(count, width)
        self.ex_gate = nn.Parameter(torch.empty(count, inner, width))
        self.ex_up = nn.Parameter(torch.empty(count, inner, width))
        self.ex_down = nn.Parameter(torch.empty(count, width, inner))
        self.shared_experts = Mlp(width, inner * config["n_shared_experts"])

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """x: [B, N, C] -> output, and how evenly the experts are loaded (1 = perfectly even)."""
        count, inner, width = self.ex_gate.shape
        probability = self.gate(x)
        weight, index = probability.topk(self.chosen, -1)
        gate = torch.zeros_like(probability).scatter(-1, index, weight)
        load = (gate > 0).float().mean((0, 1)) * count / self.chosen
        even = (load * probability.mean((0, 1))).sum()
        h = F.silu(F.linear(x, self.ex_gate.view(-1, width))) * F.linear(x, self.ex_up.view(-1, width))
        h = (h.unflatten(-1, (count, inner)) * gate.unsqueeze(-1).to(h.dtype)).flatten(-2)
        return F.linear(h, self.ex_down.permute(1, 0, 2).reshape(width, -1)) + self.shared_experts(x), even


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary positions, half-split: element i pairs with i + d / 2."""
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


class Attention(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        width, self.heads, self.depth = (
            config["hidden_size"],
            config["num_attention_heads"],
            config["head_dim"],
        )
        self.q_proj = nn.Linear(width, self.heads * self.depth, bias=False)
        self.k_proj = nn.Linear(width, self.heads * self.depth, bias=False)
        self.v_proj = nn.Linear(width, self.heads * self.depth, bias=False)
        self.o_proj = nn.Linear(self.heads * self.depth, width, bias=False)

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, self.depth)).transpose(1, 2)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor | None, cache: Cache | None) -> Tensor:
        v = self._split(self.v_proj(x))
        q = rotate(self._split(self.q_proj(x)), cos, sin).to(v.dtype)
        k = rotate(self._split(self.k_proj(x)), cos, sin).to(v.dtype)
        if cache is not None:
            cache.keys[:, :, cache.slot : cache.slot + x.shape[1]] = k
            cache.values[:, :, cache.slot : cache.slot + x.shape[1]] = v
            k, v = cache.keys[:, :, : cache.used], cache.values[:, :, : cache.used]
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.o_proj(mixed.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, config: Config, index: int) -> None:
        super().__init__()
        width, eps = config["hidden_size"], config["rms_norm_eps"]
        self.input_layernorm = RmsNorm(width, eps)
        self.self_attn = Attention(config)
        self.post_attention_layernorm = RmsNorm(width, eps)
        dense = index < config["first_k_dense_replace"]
        self.mlp: Mlp | Experts = Mlp(width, config["intermediate_size"]) if dense else Experts(config)

    def forward(
        self,
        x: Tensor,
        cos: Tensor,
        sin: Tensor,
        mask: Tensor | None = None,
        cache: Cache | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """The next hidden states, and the load of the experts where the layer has any."""
        x = x + self.self_attn(self.input_layernorm(x), cos, sin, mask, cache)
        h = self.post_attention_layernorm(x)
        if isinstance(self.mlp, Experts):
            mixed, even = self.mlp(h)
            return x + mixed, even
        return x + self.mlp(h), None


def run_layer(layer: Layer, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor) -> tuple[Tensor, Tensor | None]:
    """A layer without a cache, as a function: compiled once, it serves all layers of a kind and all lengths."""
    out: tuple[Tensor, Tensor | None] = layer(x, cos, sin, mask)
    return out


def rotary_table(config: Config, positions: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Cosines and sines [N, head_dim] of absolute positions [N], computed in float32."""
    depth = config["head_dim"]
    step = torch.arange(0, depth, 2, device=positions.device).float() / depth
    angle = positions.float()[:, None] / config["rope_theta"] ** step
    angle = torch.cat((angle, angle), -1)
    return angle.cos().to(dtype), angle.sin().to(dtype)


def window_mask(prompt: int, length: int, window: int, device: torch.device) -> Tensor:
    """[length, length] bool: a query sees all earlier prompt positions and the last `window` generated
    ones."""
    query = torch.arange(length, device=device)[:, None]
    key = torch.arange(length, device=device)[None]
    return (key <= query) & ((key < prompt) | (query - key < window))
