"""Triton kernels of attention over a grid of patches with decomposed relative positions.

The score of query m and key n, which stands in row i and column j of the grid, is scale * q[m].k[n] + bias_h[i, m] +
bias_w[j, m]. A block of keys is a whole number of rows. So a block's column biases are the same for every block and
stay in registers, and its row biases are one number per query and row. The passes are those of FlashAttention-2
(Dao, 2023): the forward pass keeps the logarithm of each query's sum; the backward pass has a kernel that goes through
the keys of a block of queries (gradients of q and of both biases) and one that goes through the queries of a block of
keys (gradients of k and v). No atomics: equal inputs give equal gradients.

Scores are kept in base 2, as the hardware's exponential is. Places of a block that hold no key have a bias of minus
infinity. Shapes: B batch, H heads, N = rows * cols; q, k, v [B, H, N, D] with any strides but the last;
bias_h [B, H, rows, N] and bias_w [B, H, cols, N] contiguous, queries last, so that all passes read them in order.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from training.strides import by_token

_LOG2E = tl.constexpr(1.4426950408889634)


@dataclass(frozen=True)
class Tiling:
    """How one pass over one grid is cut up: rows of the grid in a block of keys, queries in a block, warps of a
    program, blocks in flight."""

    rows: int
    queries: int
    warps: int
    stages: int


@dataclass(frozen=True)
class Plan:
    """Tilings of the three passes."""

    forward: Tiling
    queries: Tiling
    keys: Tiling


PLANS = {
    (64, 64): Plan(Tiling(1, 64, 4, 3), Tiling(1, 64, 4, 3), Tiling(1, 64, 4, 3)),
    (40, 40): Plan(Tiling(3, 64, 4, 3), Tiling(3, 64, 4, 2), Tiling(3, 64, 8, 3)),
    (14, 14): Plan(Tiling(4, 64, 4, 2), Tiling(4, 64, 4, 1), Tiling(4, 64, 4, 2)),
}
"""For every grid of attention.GRIDS (rows, cols): the fastest of training.measure on one H200."""


@triton.jit
def _inside(index, count, WHOLE: tl.constexpr):
    """index < count, known to be true when all blocks are whole."""
    if WHOLE:
        return tl.full(index.shape, True, tl.int1)
    return index < count


@triton.jit
def _column_bias(bias, query, key, count, inside, COLS: tl.constexpr, ROWS: tl.constexpr):
    """Column biases of a block; query, key and inside are broadcast against each other."""
    found = tl.load(bias + (key % COLS) * count + query, mask=inside & (key < ROWS * COLS), other=float("-inf"))
    return found.to(tl.float32)


@triton.jit
def _row_bias(
    bias, row, rows, query, key, count, inside, COLS: tl.constexpr, ROWS: tl.constexpr, AXIS: tl.constexpr
):  # fmt: skip
    """Row biases of the block of keys that begins with `row`, in base 2; minus infinity past the last row. query and
    inside are vectors, which become tiles along AXIS."""
    found = tl.load(bias + row * count + query, mask=inside, other=0.0).to(tl.float32) * _LOG2E
    found = tl.expand_dims(found, AXIS)
    for r in tl.static_range(1, ROWS):
        below = tl.load(bias + tl.minimum(row + r, rows - 1) * count + query, mask=inside, other=0.0).to(tl.float32)
        below = tl.where(row + r < rows, below * _LOG2E, float("-inf"))
        found = tl.where(key >= r * COLS, tl.expand_dims(below, AXIS), found)
    return found


@triton.jit
def _forward(
    q, k, v, bias_h, bias_w, out, lse, scale,
    q_batch, q_head, q_row, k_batch, k_head, k_row, v_batch, v_head, v_row, o_batch, o_head, o_row,
    heads, count, rows,
    COLS: tl.constexpr, ROWS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DEPTH: tl.constexpr,
    WHOLE_M: tl.constexpr, WHOLE_N: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    blocks = tl.cdiv(count, BLOCK_M)
    pair = (tl.program_id(0) // blocks).to(tl.int64)
    batch, head = pair // heads, pair % heads
    m = tl.program_id(0) % blocks * BLOCK_M + tl.arange(0, BLOCK_M)
    n, d = tl.arange(0, BLOCK_N), tl.arange(0, DEPTH)
    real = _inside(m, count, WHOLE_M)
    q += batch * q_batch + head * q_head
    k += batch * k_batch + head * k_head
    v += batch * v_batch + head * v_head
    bias_h += pair * rows * count
    bias_w += pair * COLS * count
    query = tl.load(q + m[:, None] * q_row + d[None], mask=real[:, None], other=0.0)
    columns = _column_bias(bias_w, m[:, None], n[None], count, real[:, None], COLS, ROWS) * _LOG2E
    top = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    mixed = tl.zeros([BLOCK_M, DEPTH], tl.float32)
    for row in tl.range(0, rows, ROWS, num_stages=STAGES):
        place = row * COLS + n
        there = _inside(place, count, WHOLE_N)
        key = tl.load(k + place[None] * k_row + d[:, None], mask=there[None], other=0.0)
        value = tl.load(v + place[:, None] * v_row + d[None], mask=there[:, None], other=0.0)
        lines = _row_bias(bias_h, row, rows, m, n[None], count, real, COLS, ROWS, 1)
        score = tl.dot(query, key) * (scale * _LOG2E) + (columns + lines)
        higher = tl.maximum(top, tl.max(score, 1))
        weight = tl.exp2(score - higher[:, None])
        shrink = tl.exp2(top - higher)
        total = total * shrink + tl.sum(weight, 1)
        mixed = tl.dot(weight.to(value.dtype), value, mixed * shrink[:, None])
        top = higher
    mixed = mixed / total[:, None]
    out += batch * o_batch + head * o_head
    tl.store(out + m[:, None] * o_row + d[None], mixed.to(out.dtype.element_ty), mask=real[:, None])
    tl.store(lse + pair * count + m, top + tl.log2(total), mask=real)


@triton.jit
def _backward_queries(
    q, k, v, bias_h, bias_w, out, lse, d_out, delta, d_q, d_bias_h, d_bias_w, scale,
    q_batch, q_head, q_row, k_batch, k_head, k_row, v_batch, v_head, v_row, o_batch, o_head, o_row,
    g_batch, g_head, g_row, dq_batch, dq_head, dq_row,
    heads, count, rows,
    COLS: tl.constexpr, ROWS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_C: tl.constexpr,
    DEPTH: tl.constexpr, WHOLE_M: tl.constexpr, WHOLE_N: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Gradients of a block of queries and of its biases; also writes delta = sum(out * d_out), which the keys need."""
    blocks = tl.cdiv(count, BLOCK_M)
    pair = (tl.program_id(0) // blocks).to(tl.int64)
    batch, head = pair // heads, pair % heads
    m = tl.program_id(0) % blocks * BLOCK_M + tl.arange(0, BLOCK_M)
    n, d = tl.arange(0, BLOCK_N), tl.arange(0, DEPTH)
    real = _inside(m, count, WHOLE_M)
    q += batch * q_batch + head * q_head
    k += batch * k_batch + head * k_head
    v += batch * v_batch + head * v_head
    out += batch * o_batch + head * o_head
    d_out += batch * g_batch + head * g_head
    bias_h += pair * rows * count
    d_bias_h += pair * rows * count
    query = tl.load(q + m[:, None] * q_row + d[None], mask=real[:, None], other=0.0)
    wanted = tl.load(d_out + m[:, None] * g_row + d[None], mask=real[:, None], other=0.0)
    mixed = tl.load(out + m[:, None] * o_row + d[None], mask=real[:, None], other=0.0)
    even = tl.sum(mixed.to(tl.float32) * wanted.to(tl.float32), 1)
    tl.store(delta + pair * count + m, even, mask=real)
    total = tl.load(lse + pair * count + m, mask=real, other=0.0)
    columns = _column_bias(bias_w + pair * COLS * count, m[:, None], n[None], count, real[:, None], COLS, ROWS) * _LOG2E
    grad = tl.zeros([BLOCK_M, DEPTH], tl.float32)
    grad_columns = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for row in tl.range(0, rows, ROWS, num_stages=STAGES):
        place = row * COLS + n
        there = _inside(place, count, WHOLE_N)
        key = tl.load(k + place[None] * k_row + d[:, None], mask=there[None], other=0.0)
        value = tl.load(v + place[None] * v_row + d[:, None], mask=there[None], other=0.0)
        lines = _row_bias(bias_h, row, rows, m, n[None], count, real, COLS, ROWS, 1)
        weight = tl.exp2(tl.dot(query, key) * (scale * _LOG2E) + columns - (total[:, None] - lines))
        change = weight * (tl.dot(wanted, value) - even[:, None])
        grad = tl.dot(change.to(key.dtype), tl.trans(key), grad)
        grad_columns += change
        for r in tl.static_range(ROWS):
            line = change if ROWS == 1 else tl.where((n[None] >= r * COLS) & (n[None] < (r + 1) * COLS), change, 0.0)
            here = d_bias_h + (row + r) * count + m
            tl.store(here, tl.sum(line, 1).to(d_bias_h.dtype.element_ty), mask=real & (row + r < rows))
    d_q += batch * dq_batch + head * dq_head
    tl.store(d_q + m[:, None] * dq_row + d[None], (grad * scale).to(d_q.dtype.element_ty), mask=real[:, None])
    c = tl.arange(0, BLOCK_C)
    if ROWS > 1:  # add up the rows of a block
        fold = ((n[:, None] % COLS == c[None]) & (n[:, None] < ROWS * COLS)).to(query.dtype)
        grad_columns = tl.dot(grad_columns.to(query.dtype), fold)
    here = d_bias_w + pair * COLS * count + c[None] * count + m[:, None]
    tl.store(here, grad_columns.to(d_bias_w.dtype.element_ty), mask=real[:, None] & (c[None] < COLS))


@triton.jit
def _backward_keys(
    q, k, v, bias_h, bias_w, lse, d_out, delta, d_k, d_v, scale,
    q_batch, q_head, q_row, k_batch, k_head, k_row, v_batch, v_head, v_row, g_batch, g_head, g_row,
    dk_batch, dk_head, dk_row, dv_batch, dv_head, dv_row,
    heads, count, rows,
    COLS: tl.constexpr, ROWS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DEPTH: tl.constexpr,
    WHOLE_M: tl.constexpr, WHOLE_N: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Gradients of a block of keys and values. Tiles are [keys, queries]."""
    blocks = tl.cdiv(rows, ROWS)
    pair = (tl.program_id(0) // blocks).to(tl.int64)
    batch, head = pair // heads, pair % heads
    row = tl.program_id(0) % blocks * ROWS
    n, d = tl.arange(0, BLOCK_N), tl.arange(0, DEPTH)
    place = row * COLS + n
    there = _inside(place, count, WHOLE_N)
    q += batch * q_batch + head * q_head
    k += batch * k_batch + head * k_head
    v += batch * v_batch + head * v_head
    d_out += batch * g_batch + head * g_head
    bias_h += pair * rows * count
    bias_w += pair * COLS * count
    key = tl.load(k + place[:, None] * k_row + d[None], mask=there[:, None], other=0.0)
    value = tl.load(v + place[:, None] * v_row + d[None], mask=there[:, None], other=0.0)
    grad_key = tl.zeros([BLOCK_N, DEPTH], tl.float32)
    grad_value = tl.zeros([BLOCK_N, DEPTH], tl.float32)
    for begin in tl.range(0, count, BLOCK_M, num_stages=STAGES):
        m = begin + tl.arange(0, BLOCK_M)
        real = _inside(m, count, WHOLE_M)
        query = tl.load(q + m[:, None] * q_row + d[None], mask=real[:, None], other=0.0)
        wanted = tl.load(d_out + m[:, None] * g_row + d[None], mask=real[:, None], other=0.0)
        columns = _column_bias(bias_w, m[None], n[:, None], count, real[None], COLS, ROWS)
        lines = _row_bias(bias_h, row, rows, m, n[:, None], count, real, COLS, ROWS, 0)
        total = tl.load(lse + pair * count + m, mask=real, other=0.0)
        even = tl.load(delta + pair * count + m, mask=real, other=0.0)
        score = tl.dot(key, tl.trans(query)) * scale + columns
        weight = tl.exp2(score * _LOG2E - (total[None] - lines))
        grad_value = tl.dot(weight.to(wanted.dtype), wanted, grad_value)
        change = weight * (tl.dot(value, tl.trans(wanted)) - even[None])
        grad_key = tl.dot(change.to(query.dtype), query, grad_key)
    d_k += batch * dk_batch + head * dk_head
    d_v += batch * dv_batch + head * dv_head
    stored = (there & (n < ROWS * COLS))[:, None]
    tl.store(d_k + place[:, None] * dk_row + d[None], (grad_key * scale).to(d_k.dtype.element_ty), mask=stored)
    tl.store(d_v + place[:, None] * dv_row + d[None], grad_value.to(d_v.dtype.element_ty), mask=stored)


def _steps(*tensors: Tensor) -> list[int]:
    """Strides of batch, head and token of every tensor; elements of a token are neighbours."""
    for tensor in tensors:
        if tensor.stride(3) != 1:
            raise ValueError(f"strides {tensor.stride()}: the last must be 1")
    return [step for tensor in tensors for step in tensor.stride()[:3]]


def _shape(q: Tensor, rows: int, tiling: Tiling) -> dict[str, int | bool]:
    """Compile-time arguments of a pass."""
    count, depth = q.shape[2:]
    cols = count // rows
    block = triton.next_power_of_2(max(16, tiling.rows * cols))
    last = (rows - 1) // tiling.rows * tiling.rows * cols
    return {
        "COLS": cols,
        "ROWS": tiling.rows,
        "BLOCK_M": tiling.queries,
        "BLOCK_N": block,
        "DEPTH": depth,
        "WHOLE_M": count % tiling.queries == 0,
        "WHOLE_N": last + block <= count,
        "STAGES": tiling.stages,
        "num_warps": tiling.warps,
    }


def forward(q: Tensor, k: Tensor, v: Tensor, bias_h: Tensor, bias_w: Tensor, tiling: Tiling) -> tuple[Tensor, Tensor]:
    """Attention [B, H, N, D], stored by token, and the logarithms (base 2) of the sums [B, H, N] in float32."""
    batch, heads, count, depth = q.shape
    rows = bias_h.shape[2]
    out, lse = by_token(q), q.new_empty(batch, heads, count, dtype=torch.float32)
    grid = (triton.cdiv(count, tiling.queries) * batch * heads,)
    _forward[grid](
        q, k, v, bias_h, bias_w, out, lse, depth**-0.5, *_steps(q, k, v, out), heads, count, rows,
        **_shape(q, rows, tiling),
    )  # fmt: skip
    return out, lse


def backward_queries(
    q: Tensor, k: Tensor, v: Tensor, bias_h: Tensor, bias_w: Tensor, out: Tensor, lse: Tensor, d_out: Tensor,
    tiling: Tiling,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of q and both biases, and delta [B, H, N] in float32 for `backward_keys`."""
    batch, heads, count, depth = q.shape
    rows = bias_h.shape[2]
    d_q, d_bias_h, d_bias_w = by_token(q), torch.empty_like(bias_h), torch.empty_like(bias_w)
    delta = torch.empty_like(lse)
    shape = _shape(q, rows, tiling)
    columns = shape["BLOCK_N"] if tiling.rows == 1 else triton.next_power_of_2(max(16, count // rows))
    grid = (triton.cdiv(count, tiling.queries) * batch * heads,)
    _backward_queries[grid](
        q, k, v, bias_h, bias_w, out, lse, d_out, delta, d_q, d_bias_h, d_bias_w, depth**-0.5,
        *_steps(q, k, v, out, d_out, d_q), heads, count, rows, BLOCK_C=columns, **shape,
    )  # fmt: skip
    return d_q, d_bias_h, d_bias_w, delta


def backward_keys(
    q: Tensor, k: Tensor, v: Tensor, bias_h: Tensor, bias_w: Tensor, lse: Tensor, d_out: Tensor, delta: Tensor,
    tiling: Tiling,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Gradients of k and v."""
    batch, heads, count, depth = q.shape
    rows = bias_h.shape[2]
    d_k, d_v = by_token(k), by_token(v)
    grid = (triton.cdiv(rows, tiling.rows) * batch * heads,)
    _backward_keys[grid](
        q, k, v, bias_h, bias_w, lse, d_out, delta, d_k, d_v, depth**-0.5,
        *_steps(q, k, v, d_out, d_k, d_v), heads, count, rows, **_shape(q, rows, tiling),
    )  # fmt: skip
    return d_k, d_v
