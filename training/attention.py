"""Attention over a grid of patches with decomposed relative positions, the bulk of the tower's work.

As written, q and k are extended so that a plain dot product holds the biased score; the kernels that PyTorch has for
such head sizes are slow. On a GPU, `use_kernels(True)` puts the project's own in their place (kernels.py), for bfloat16
and the grids they are made for; `check_kernels` says whether they compute the same on this device.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from training.strides import by_token

HEAD = 64
"""Head size that the kernels are made for."""

GRIDS = ((64, 64), (40, 40), (14, 14))
"""Grids (rows, cols) that have kernels: views of 1024 and 640 pixels, and windows."""

_TOLERANCE = 0.03
"""Largest relative error of a result in bfloat16 against float32."""

_kernels = False


def use_kernels(on: bool) -> None:
    """Use the kernels from now on, where they apply, or leave them."""
    global _kernels
    _kernels = on


def _served(q: Tensor, rows: int, cols: int) -> bool:
    """Whether the kernels are made for q and its grid."""
    return q.is_cuda and q.dtype == torch.bfloat16 and q.shape[-1] == HEAD and (rows, cols) in GRIDS


def relative_attention(q: Tensor, k: Tensor, v: Tensor, rel_h: Tensor, rel_w: Tensor, rows: int, cols: int) -> Tensor:
    """Attention over a rows x cols grid with bias q.Rh[i - i'] + q.Rw[j - j'].

    q, k, v: [B, heads, rows * cols, d]; rel_h: [2 * rows - 1, d]; rel_w: [2 * cols - 1, d].
    """
    batch, heads, count, depth = q.shape
    device, dtype = q.device, q.dtype
    row, col = torch.arange(rows, device=device), torch.arange(cols, device=device)
    table_h = rel_h.to(dtype)[row[:, None] - row[None] + rows - 1]
    table_w = rel_w.to(dtype)[col[:, None] - col[None] + cols - 1]
    grid = q.reshape(batch, heads, rows, cols, depth)
    if _kernels and _served(q, rows, cols):
        bias_h = torch.einsum("bnhwc,hkc->bnkhw", grid, table_h).reshape(batch, heads, rows, count)
        bias_w = torch.einsum("bnhwc,wkc->bnkhw", grid, table_w).reshape(batch, heads, cols, count)
        mixed: Tensor = biased_attention(q, k, v, bias_h.contiguous(), bias_w.contiguous())[0]
        return mixed
    bias_h = torch.einsum("bnhwc,hkc->bnhwk", grid, table_h).reshape(batch, heads, count, rows)
    bias_w = torch.einsum("bnhwc,wkc->bnhwk", grid, table_w).reshape(batch, heads, count, cols)
    return extended_attention(q, k, v, bias_h, bias_w)


def extended_attention(q: Tensor, k: Tensor, v: Tensor, bias_h: Tensor, bias_w: Tensor) -> Tensor:
    """Attention with biases [B, heads, N, rows] and [B, heads, N, cols] of the keys' rows and columns.

    The bias is exact, not materialised: q is extended by it, k by one-hot rows and columns, so that the extended dot
    product is the biased score.
    """
    batch, heads, _, depth = q.shape
    rows, cols = bias_h.shape[-1], bias_w.shape[-1]
    one_h = torch.eye(rows, device=q.device, dtype=q.dtype).repeat_interleave(cols, 0)
    one_w = torch.eye(cols, device=q.device, dtype=q.dtype).repeat(rows, 1)
    one = torch.cat([one_h, one_w], 1).expand(batch, heads, -1, -1)
    fill = -(depth + rows + cols) % 32  # attention kernels want head sizes that are multiples of 32
    query = F.pad(torch.cat([q * depth**-0.5, bias_h, bias_w], -1), (0, fill))
    key = F.pad(torch.cat([k, one], -1), (0, fill))
    return F.scaled_dot_product_attention(query, key, v, scale=1.0)


# Compiled code calls the two operators below as they stand, knowing only the shapes and strides of what they answer.


@torch.library.custom_op("leggio::biased_attention", mutates_args=())
def biased_attention(q: Tensor, k: Tensor, v: Tensor, bias_h: Tensor, bias_w: Tensor) -> tuple[Tensor, Tensor]:
    """Attention and the logarithms of its sums, by kernels; shapes as in kernels.py."""
    from training import kernels

    plan = kernels.PLANS[bias_h.shape[2], bias_w.shape[2]]
    return kernels.forward(q, k, v, bias_h, bias_w, plan.forward)


@biased_attention.register_fake
def _(q: Tensor, k: Tensor, v: Tensor, bias_h: Tensor, bias_w: Tensor) -> tuple[Tensor, Tensor]:
    return by_token(q), q.new_empty(q.shape[:3], dtype=torch.float32)


@torch.library.custom_op("leggio::biased_attention_backward", mutates_args=())
def _biased_attention_backward(
    q: Tensor, k: Tensor, v: Tensor, bias_h: Tensor, bias_w: Tensor, out: Tensor, lse: Tensor, grad: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    from training import kernels

    plan = kernels.PLANS[bias_h.shape[2], bias_w.shape[2]]
    if grad.stride(3) != 1:
        grad = grad.contiguous()
    d_q, d_h, d_w, delta = kernels.backward_queries(q, k, v, bias_h, bias_w, out, lse, grad, plan.queries)
    d_k, d_v = kernels.backward_keys(q, k, v, bias_h, bias_w, lse, grad, delta, plan.keys)
    return d_q, d_k, d_v, d_h, d_w


@_biased_attention_backward.register_fake
def _(
    q: Tensor, k: Tensor, v: Tensor, bias_h: Tensor, bias_w: Tensor, out: Tensor, lse: Tensor, grad: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    return by_token(q), by_token(k), by_token(v), torch.empty_like(bias_h), torch.empty_like(bias_w)


def _keep(ctx: torch.autograd.function.FunctionCtx, inputs: tuple[Tensor, ...], output: tuple[Tensor, Tensor]) -> None:
    ctx.save_for_backward(*inputs, *output)


def _gradients(ctx: torch.autograd.function.FunctionCtx, grad: Tensor, _: Tensor | None) -> tuple[Tensor, ...]:
    found: tuple[Tensor, ...] = _biased_attention_backward(*ctx.saved_tensors, grad)  # type: ignore[attr-defined]
    return found


biased_attention.register_autograd(_gradients, setup_context=_keep)


def random_case(batch: int, heads: int, rows: int, cols: int, device: torch.device) -> list[Tensor]:
    """q, k, v as a projection leaves them, both biases as the kernels take them, and a gradient of the result."""
    count = rows * cols
    projected = torch.randn(batch, count, 3, heads, HEAD, device=device, dtype=torch.bfloat16)
    bias_h = torch.randn(batch, heads, rows, count, device=device, dtype=torch.bfloat16)
    bias_w = torch.randn(batch, heads, cols, count, device=device, dtype=torch.bfloat16)
    grad = torch.randn(batch, count, heads, HEAD, device=device, dtype=torch.bfloat16).transpose(1, 2)
    return [*projected.permute(2, 0, 3, 1, 4).unbind(0), bias_h, bias_w, grad]


def errors(case: list[Tensor]) -> dict[str, float]:
    """Relative errors of the kernels' result and gradients on a random case, against float32 arithmetic."""
    *inputs, grad = case
    mine = [x.detach().requires_grad_() for x in inputs]
    right = [x.detach().float().requires_grad_() for x in inputs]
    out = biased_attention(*mine)[0]
    q, k, v, bias_h, bias_w = right
    wanted = extended_attention(q, k, v, bias_h.mT, bias_w.mT)
    out.backward(grad)
    wanted.backward(grad.float())
    pairs = {"out": (out.detach(), wanted.detach())}
    for name, x, y in zip(("q", "k", "v", "bias_h", "bias_w"), mine, right, strict=True):
        assert x.grad is not None and y.grad is not None
        pairs[name] = (x.grad, y.grad)
    return {name: float((x.float() - y).norm() / y.norm()) for name, (x, y) in pairs.items()}


def check_kernels(device: torch.device) -> str:
    """Why the kernels must not be used on this device; an empty text when they compute what they should."""
    if device.type != "cuda":
        return "the kernels need a GPU"
    state = torch.cuda.get_rng_state(device)
    try:
        for rows, cols in GRIDS:
            worst = errors(random_case(2, 2, rows, cols, device))
            if not all(error < _TOLERANCE for error in worst.values()):  # one that is no number fails too
                return f"relative errors on a grid of {rows} x {cols}: {worst}"
    except Exception as error:  # whatever a compiler or a driver raises, a leg goes on without the kernels
        return f"{type(error).__name__}: {error}"[:500]
    finally:
        torch.cuda.set_rng_state(state, device)
    return ""
