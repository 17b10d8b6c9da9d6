"""Muon for matrices: momentum whose update is made nearly orthogonal (Newton-Schulz), next to AdamW for the
rest.

Method: Keller Jordan, "Muon: an optimizer for hidden layers in neural networks" (2024), with the scale of Liu
et al. 2025.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn


def orthogonalised(update: Tensor, steps: int = 5) -> Tensor:
    """Nearest semi-orthogonal matrices of a stack [n, rows, cols], approximately; float32."""
    x = update.bfloat16() if update.is_cuda else update
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    tall = x.shape[-2] > x.shape[-1]
    x = x.mT if tall else x
    for _ in range(steps):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=-4.7750, alpha=2.0315), x, beta=3.4445)
    return (x.mT if tall else x).float()


def matrices(name: str, tensor: Tensor) -> Tensor:
    """The matrices a parameter (or its gradient) consists of, as a view [n, rows, cols]: q, k, v of a joint projection,
    each expert of a stack, a flattened kernel."""
    if tensor.dim() == 4:
        return tensor.flatten(1)[None]
    if tensor.dim() == 3:
        return tensor
    return tensor.unflatten(0, (3, -1)) if "qkv" in name else tensor[None]


class Muon:
    """Keeps momentum for matrices grouped by shape; state is a list of tensors in a fixed order."""

    def __init__(self, named: Iterable[tuple[str, nn.Parameter]]) -> None:
        self.groups: dict[tuple[int, ...], list[tuple[str, nn.Parameter]]] = {}
        for name, parameter in named:
            self.groups.setdefault(tuple(matrices(name, parameter).shape[1:]), []).append((name, parameter))
        self.momenta: dict[tuple[int, ...], Tensor] = {}

    @torch.no_grad()
    def step(self, rate: float, decay: float, momentum: float) -> None:
        """One update from the gradients at hand."""
        for shape, members in self.groups.items():
            gradients = [matrices(name, p.grad) for name, p in members if p.grad is not None]
            gradient = torch.cat(gradients).float()
            mean = self.momenta.setdefault(shape, torch.zeros_like(gradient))
            mean.lerp_(gradient, 1 - momentum)
            update = orthogonalised(gradient.lerp(mean, momentum)) * (0.2 * max(shape) ** 0.5)
            weights = [matrices(name, p.data) for name, p in members]
            torch._foreach_mul_(weights, 1 - rate * decay)
            torch._foreach_add_(weights, list(update.split([len(each) for each in weights])), alpha=-rate)

    def state_dict(self) -> dict[str, Any]:
        return {"momenta": self.momenta}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state["momenta"].keys() - self.groups.keys():
            raise ValueError("the saved optimiser belongs to a model of another shape; start without --resume")
        self.momenta = state["momenta"]
