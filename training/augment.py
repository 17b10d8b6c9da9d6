"""Colour, light, blur and noise, on the device: ink becomes pictures.

Choices are made per page and hold for all its views, so that crops and global view show the same sheet.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

PAD = 127 / 255
"""Grey around a page that does not fill its view."""


@dataclass
class Look:
    """Appearance of B pages. Colours 0..1; gradient is the change of brightness across the page; blur in
    pixels. shadow [B, 5]: strength, direction (x, y), place of the edge and its softness, in page sides. specks [B]:
    share of pixels hidden by dirt."""

    paper: Tensor
    ink: Tensor
    gradient: Tensor
    noise: Tensor
    blur: Tensor
    shadow: Tensor | None = None
    specks: Tensor | None = None

    def repeat(self, times: int) -> Look:
        """The look of every page, `times` in a row: for its crops."""

        def every(value: Tensor) -> Tensor:
            return value.repeat_interleave(times, 0)

        shadow, specks = (None if value is None else every(value) for value in (self.shadow, self.specks))
        paper, ink, gradient = every(self.paper), every(self.ink), every(self.gradient)
        return Look(paper, ink, gradient, every(self.noise), every(self.blur), shadow, specks)


def draw_look(
    small: Tensor, generator: torch.Generator | None = None, shadows: float = 0.0, dirty: float = 0.0
) -> Look:
    """Random looks for pages, a share of them in a shadow, another with strong grain and specks; `small` [B] bool marks
    pages whose print is too small for strong blur."""
    count, device = small.shape[0], small.device

    def chance(*shape: int) -> Tensor:
        return torch.rand(count, *shape, device=device, generator=generator)

    def maybe(share: float, value: Tensor) -> Tensor:
        hit = chance() < share
        return torch.where(hit.view(-1, *[1] * (value.dim() - 1)), value, torch.zeros_like(value))

    blur = torch.where(chance() < 0.35, chance() * torch.where(small, 0.4, 0.9) + 0.3, torch.full_like(chance(), 0.05))
    form = chance()
    base = torch.where(form < 0.45, 1.0, torch.where(form < 0.88, 1 - chance() * 0.18, 1 - chance() * 0.45))
    paper = (base[:, None] + maybe(0.3, (chance(3) - 0.5) * 0.16)).clamp(0, 1)
    darkness = torch.where(chance() < 0.5, chance() * 0.1, chance() * 0.4) * paper.mean(1)
    ink = (darkness[:, None] + maybe(0.2, (chance(3) - 0.5) * 0.5)).clamp(0, 0.62)
    ink = torch.minimum(ink, paper - 0.3).clamp(0, 1)
    dark = (chance() < 0.07)[:, None]
    paper, ink = torch.where(dark, ink * 0.5, paper), torch.where(dark, paper, ink)
    gradient, noise = maybe(0.25, (chance(2) - 0.5) * 0.25), maybe(0.5, chance() * 0.05)
    if not shadows:
        return Look(paper, ink, gradient, noise, blur)
    angle = chance() * 2 * math.pi
    strength = maybe(shadows, 0.15 + 0.35 * chance())
    edge, soft = (chance() - 0.5) * 0.7, 0.02 + 0.1 * chance()
    shadow = torch.stack([strength, angle.cos(), angle.sin(), edge, soft], 1)
    dirt = chance() < dirty
    noise = torch.where(dirt & (chance() < 0.7), torch.where(small, 0.03, 0.05) + chance() * 0.06, noise)
    specks = torch.where(dirt & (chance() < 0.7), 1e-4 + chance() ** 2 * 3.5e-3, torch.zeros_like(noise))
    return Look(paper, ink, gradient, noise, blur, shadow, specks)


def _blurred(ink: Tensor, sigma: Tensor) -> Tensor:
    """Gaussian blur of [B, S, S] with a sigma for each page, five taps an axis."""
    count, side = ink.shape[0], ink.shape[-1]
    taps = torch.arange(-2, 3, device=ink.device).float()
    kernel = torch.exp(-(taps**2)[None] / (2 * sigma[:, None] ** 2 + 1e-6))
    kernel = (kernel / kernel.sum(1, keepdim=True)).to(ink.dtype)
    out = F.conv2d(ink.view(1, count, side, side), kernel.view(count, 1, 1, 5), padding=(0, 2), groups=count)
    return F.conv2d(out, kernel.view(count, 1, 5, 1), padding=(2, 0), groups=count).view(count, side, side)


def paint(ink: Tensor, look: Look, across: Tensor, down: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Pictures [B, 3, S, S] in 0..1, rounded to 8 bits. ink: [B, S, S] uint8; across, down: [B, S] page
    coordinates, -0.5..0.5 from edge to edge; outside that range lies grey padding."""
    dtype = torch.bfloat16 if ink.is_cuda else torch.float32
    cover = _blurred(ink.to(dtype) / 255, look.blur)[:, None]
    colour = look.paper[:, :, None, None].to(dtype) + (look.ink - look.paper)[:, :, None, None].to(dtype) * cover
    light = look.gradient[:, 0, None, None] * down[:, :, None] + look.gradient[:, 1, None, None] * across[:, None]
    colour = colour + light[:, None].to(dtype)
    if look.shadow is not None:
        strength, x, y, edge, soft = look.shadow.T[..., None, None]
        lit = torch.sigmoid((across[:, None] * x + down[:, :, None] * y - edge) / soft)
        colour = colour * (1 - strength * lit)[:, None].to(dtype)
    grain = torch.randn(colour.shape, device=ink.device, dtype=dtype, generator=generator)
    colour = colour + grain * look.noise[:, None, None, None].to(dtype)
    if look.specks is not None:
        colour = _specked(colour, look.specks, generator)
    colour = (colour.clamp(0, 1) * 255).round() / 255
    inside = ((down.abs() <= 0.5)[:, :, None] & (across.abs() <= 0.5)[:, None])[:, None]
    return torch.where(inside, colour, torch.full((), PAD, device=ink.device, dtype=dtype))


def _specked(colour: Tensor, share: Tensor, generator: torch.Generator | None) -> Tensor:
    """Specks of one and of 2 x 2 pixels, dark and light, over pictures [B, C, S, S] of even side."""
    count, _, side, _ = colour.shape
    share = share[:, None, None, None]
    for size in (1, 2):
        where = torch.rand((count, 1, side // size, side // size), device=colour.device, generator=generator)
        where = where.repeat_interleave(size, -1).repeat_interleave(size, -2)
        tone = torch.where(where < 0.4 * share, 0.92, 0.08).to(colour.dtype)
        colour = torch.where(where < share / size**3, tone, colour)
    return colour


def paint_view(ink: Tensor, rect: Tensor, look: Look, generator: torch.Generator | None = None) -> Tensor:
    """Global views in [-1, 1]. ink: [B, S, S] uint8; rect: [B, 4] (x, y, w, h) of the page in its view."""
    axis = torch.arange(ink.shape[-1], device=ink.device)[None] + 0.5
    across = (axis - rect[:, 0:1]) / rect[:, 2:3] - 0.5
    down = (axis - rect[:, 1:2]) / rect[:, 3:4] - 0.5
    return (paint(ink, look, across, down, generator) - 0.5) / 0.5


def paint_tiles(ink: Tensor, grid: tuple[int, int], look: Look, generator: torch.Generator | None = None) -> Tensor:
    """Crops in [-1, 1]: [B, tiles, S, S] uint8 -> [B * tiles, 3, S, S]. grid: (columns, rows)."""
    batch, tiles, side, _ = ink.shape
    columns, rows = grid
    number = torch.arange(tiles, device=ink.device).repeat(batch)[:, None]
    axis = (torch.arange(side, device=ink.device)[None] + 0.5) / side
    across = (number % columns + axis) / columns - 0.5
    down = (number // columns + axis) / rows - 0.5
    return (paint(ink.flatten(0, 1), look.repeat(tiles), across, down, generator) - 0.5) / 0.5
