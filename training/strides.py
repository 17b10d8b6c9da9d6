"""How the tensors of attention lie in memory."""

from __future__ import annotations

from torch import Tensor


def by_token(like: Tensor) -> Tensor:
    """An empty [B, H, N, D] tensor that lies in memory as [B, N, H, D], as a projection wants it."""
    batch, heads, count, depth = like.shape
    return like.new_empty(batch, count, heads, depth).transpose(1, 2)
