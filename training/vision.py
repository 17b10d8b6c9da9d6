"""The vision tower: SAM with decomposed relative positions, the neck, and CLIP over SAM's feature map.

Module names are those of the checkpoint. Shapes: B views, G = side / 16 patches a side, g = G / 4 tokens a
side.
"""

from __future__ import annotations

from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from training.attention import relative_attention
from training.config import Config
from training.resample import cubic_matrix, linear_matrix, resize_grid


class SamAttention(nn.Module):
    def __init__(self, width: int, heads: int, span: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.rel_pos_h = nn.Parameter(torch.zeros(2 * span - 1, width // heads))
        self.rel_pos_w = nn.Parameter(torch.zeros(2 * span - 1, width // heads))

    def forward(self, x: Tensor, resize: Tensor | None) -> Tensor:
        """x: [B, H, W, C]; resize: [2 H - 1, rows of the table] when the grid is not the trained one."""
        batch, rows, cols, width = x.shape
        qkv = self.qkv(x).view(batch, rows * cols, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        rel_h: Tensor = self.rel_pos_h
        rel_w: Tensor = self.rel_pos_w
        if resize is not None:
            rel_h, rel_w = resize @ rel_h.float(), resize @ rel_w.float()
        mixed = relative_attention(q, k, v, rel_h, rel_w, rows, cols)
        return self.proj(mixed.transpose(1, 2).reshape(batch, rows, cols, width))


class SamMlp(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.lin1 = nn.Linear(width, 4 * width)
        self.lin2 = nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.lin2(F.gelu(self.lin1(x)))


class SamBlock(nn.Module):
    """Pre-norm block; window 0 means attention over the whole grid."""

    def __init__(self, width: int, heads: int, window: int, grid: int) -> None:
        super().__init__()
        self.window = window
        self.norm1 = nn.LayerNorm(width, eps=1e-6)
        self.attn = SamAttention(width, heads, window or grid)
        self.norm2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp = SamMlp(width)

    def _windowed(self, h: Tensor) -> Tensor:
        """Attention in windows. Padding is zero vectors before qkv, unmasked: upstream's windows see it
        too."""
        side = self.window
        batch, rows, cols, width = h.shape
        h = F.pad(h, (0, 0, 0, -cols % side, 0, -rows % side))
        down, across = h.shape[1] // side, h.shape[2] // side
        h = h.view(batch, down, side, across, side, width).permute(0, 1, 3, 2, 4, 5).reshape(-1, side, side, width)
        h = self.attn(h, None).view(batch, down, across, side, side, width).permute(0, 1, 3, 2, 4, 5)
        return h.reshape(batch, down * side, across * side, width)[:, :rows, :cols]

    def forward(self, x: Tensor, resize: Tensor | None) -> Tensor:
        h = self.norm1(x).to(x.dtype)
        x = x + (self._windowed(h) if self.window else self.attn(h, resize))
        return x + self.mlp(self.norm2(x).to(x.dtype))


class LayerNorm2d(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x.permute(0, 2, 3, 1), (x.shape[1],), self.weight, self.bias, 1e-6).permute(0, 3, 1, 2)


class PatchEmbed(nn.Module):
    """A stride-16 convolution, computed as one matrix product."""

    def __init__(self, width: int, patch: int) -> None:
        super().__init__()
        self.proj = nn.Conv2d(3, width, patch, patch)
        self.patch = patch

    def forward(self, x: Tensor) -> Tensor:
        batch, channels, height, width = x.shape
        p = self.patch
        x = x.view(batch, channels, height // p, p, width // p, p).permute(0, 2, 4, 1, 3, 5)
        return F.linear(x.flatten(3), self.proj.weight.flatten(1), self.proj.bias)


class Sam(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        shape = config["vision_config"]["width"]["sam_vit_b"]
        width, heads, neck = shape["width"], shape["heads"], shape["out_chans"]
        first, second = shape["downsample_channels"]
        self.grid = config["vision_config"]["image_size"] // 16
        self.patch_embed = PatchEmbed(width, 16)
        self.pos_embed = nn.Parameter(torch.zeros(1, self.grid, self.grid, width))
        self.blocks = nn.ModuleList(
            SamBlock(width, heads, 0 if i in shape["global_attn_indexes"] else shape["window_size"], self.grid)
            for i in range(shape["layers"])
        )
        self.neck = nn.Sequential(
            nn.Conv2d(width, neck, 1, bias=False),
            LayerNorm2d(neck),
            nn.Conv2d(neck, neck, 3, padding=1, bias=False),
            LayerNorm2d(neck),
        )
        self.net_2 = nn.Conv2d(neck, first, 3, 2, 1, bias=False)
        self.net_3 = nn.Conv2d(first, second, 3, 2, 1, bias=False)

    def forward(self, x: Tensor, cubic: Tensor | None, linear: Tensor | None) -> tuple[Tensor, Tensor]:
        """x: [B, 3, S, S] -> feature map [B, C2, g, g] and patch features [B, G, G, C]."""
        x = self.patch_embed(x)
        positions = self.pos_embed[0]
        if cubic is not None:
            positions = resize_grid(positions, x.shape[1], cubic)
        x = x + positions.to(x.dtype)
        for block in self.blocks:
            x = block(x, linear)
        return self.net_3(self.net_2(self.neck(x.permute(0, 3, 1, 2)))), x


class ClipAttention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv_proj = nn.Linear(width, 3 * width)
        self.out_proj = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, count, width = x.shape
        qkv = self.qkv_proj(x).view(batch, count, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        return self.out_proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, count, width))


class ClipMlp(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(width, 4 * width)
        self.fc2 = nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        h = self.fc1(x)
        return self.fc2(h * torch.sigmoid(1.702 * h))


class ClipBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.layer_norm1 = nn.LayerNorm(width, eps=1e-5)
        self.self_attn = ClipAttention(width, heads)
        self.layer_norm2 = nn.LayerNorm(width, eps=1e-5)
        self.mlp = ClipMlp(width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.self_attn(self.layer_norm1(x))
        return x + self.mlp(self.layer_norm2(x))


class ClipEmbeddings(nn.Module):
    def __init__(self, width: int, positions: int) -> None:
        super().__init__()
        self.class_embedding = nn.Parameter(torch.randn(width) * 0.02)
        self.position_embedding = nn.Embedding(positions, width)


class ClipLayers(nn.Module):
    def __init__(self, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(ClipBlock(width, heads) for _ in range(layers))


class Clip(nn.Module):
    """CLIP's transformer; SAM's feature map stands where patch embeddings would be."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        shape = config["vision_config"]["width"]["clip-l-14-224"]
        width = shape["width"]
        self.grid = round((shape["num_positions"] - 1) ** 0.5)
        self.embeddings = ClipEmbeddings(width, shape["num_positions"])
        self.pre_layrnorm = nn.LayerNorm(width, eps=1e-5)
        self.transformer = ClipLayers(width, shape["heads"], shape["layers"])

    def forward(self, features: Tensor, cubic: Tensor | None) -> Tensor:
        """features: [B, C, g, g] -> [B, g * g + 1, C], class token first."""
        batch, _, side, _ = features.shape
        table = self.embeddings.position_embedding.weight
        if cubic is not None:
            grid = resize_grid(table[1:].view(self.grid, self.grid, -1), side, cubic)
            table = torch.cat([table[:1], grid.reshape(side * side, -1).to(table.dtype)])
        first = self.embeddings.class_embedding.expand(batch, 1, -1).to(features.dtype)
        x = self.pre_layrnorm(torch.cat([first, features.flatten(2).transpose(1, 2)], 1) + table)
        for block in self.transformer.layers:
            x = block(x)
        return x


@lru_cache(maxsize=32)
def resize_matrices(side: int, sam_grid: int, clip_grid: int, device: torch.device) -> tuple[Tensor | None, ...]:
    """The three matrices a view of `side` pixels needs (SAM cubic, SAM linear, CLIP cubic); None where
    sizes agree. Kept on the device: at a copy the host would wait for all that the device has been given to do."""
    patches, tokens = side // 16, side // 64
    sam = None if patches == sam_grid else cubic_matrix(patches, sam_grid).to(device)
    rel = None if patches == sam_grid else linear_matrix(2 * patches - 1, 2 * sam_grid - 1).to(device)
    clip = None if tokens == clip_grid else cubic_matrix(tokens, clip_grid).to(device)
    return sam, rel, clip
