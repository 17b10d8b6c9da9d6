"""Muon for matrices: momentum whose update is made nearly orthogonal (Newton-Schulz), next to AdamW for the
rest.

Method: Keller Jordan, "Muon: an optimizer for hidden layers in neural networks" (2024), with the scale of Liu
et al. 2025.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

View = Callable[[Tensor], Tensor]


def orthogonalised(update: Tensor, steps: int = 5) -> Tensor:
    """Nearest semi-orthogonal matrices of a stack [n, rows, cols], approximately; float32."""
    x = update.bfloat16() if update.is_cuda else update
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    tall = x.shape[-2] > x.shape[-1]
    x = x.mT if tall else x
    for _ in range(steps):
        gram = x @ x.mT
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
    return (x.mT if tall else x).float()


def _part(tensor: Tensor, index: int, parts: int) -> Tensor:
    return tensor.view(parts, tensor.shape[0] // parts, -1)[index]


def _row(tensor: Tensor, index: int) -> Tensor:
    return tensor[index]


def _flat(tensor: Tensor) -> Tensor:
    return tensor.flatten(1)


def matrices(name: str, parameter: nn.Parameter) -> list[View]:
    """The matrices a parameter consists of: q, k, v of a joint projection, each expert of a stack, a
    flattened kernel."""
    if parameter.dim() == 4:
        return [_flat]
    if parameter.dim() == 3:
        return [partial(_row, index=i) for i in range(parameter.shape[0])]
    return [partial(_part, index=i, parts=3) for i in range(3)] if "qkv" in name else [partial(_part, index=0, parts=1)]


class Muon:
    """Keeps momentum for matrices grouped by shape; state is a list of tensors in a fixed order."""

    def __init__(self, named: Iterable[tuple[str, nn.Parameter]]) -> None:
        self.groups: dict[tuple[int, ...], list[tuple[nn.Parameter, View]]] = {}
        for name, parameter in named:
            for view in matrices(name, parameter):
                self.groups.setdefault(tuple(view(parameter.data).shape), []).append((parameter, view))
        self.momenta: dict[tuple[int, ...], Tensor] = {}

    @torch.no_grad()
    def step(self, rate: float, decay: float, momentum: float) -> None:
        """One update from the gradients at hand."""
        for shape, members in self.groups.items():
            gradient = torch.stack([view(p.grad) for p, view in members if p.grad is not None]).float()
            mean = self.momenta.setdefault(shape, torch.zeros_like(gradient))
            mean.lerp_(gradient, 1 - momentum)
            update = orthogonalised(gradient.lerp(mean, momentum)) * (0.2 * max(shape) ** 0.5)
            weights = [view(p.data) for p, view in members]
            torch._foreach_mul_(weights, 1 - rate * decay)
            torch._foreach_add_(weights, list(update.unbind(0)), alpha=-rate)

    def state_dict(self) -> dict[str, Any]:
        return {"momenta": self.momenta}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state["momenta"].keys() - self.groups.keys():
            raise ValueError("the saved optimiser belongs to a model of another shape; start without --resume")
        self.momenta = state["momenta"]
