"""The kernels of attention, run by Triton's interpreter on the CPU. Needs torch and triton: skipped without them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch==2.13.0")
_before = os.environ.get("TRITON_INTERPRET")
os.environ["TRITON_INTERPRET"] = "1"  # looked at when triton and the kernels are first imported
pytest.importorskip("triton", reason="triton is not installed: pip install triton==3.6.0")

from torch import Tensor  # noqa: E402

from training import attention, kernels  # noqa: E402
from training.attention import biased_attention, extended_attention, relative_attention  # noqa: E402
from training.kernels import Plan, Tiling  # noqa: E402

if _before is None:
    del os.environ["TRITON_INTERPRET"]
else:
    os.environ["TRITON_INTERPRET"] = _before

_PLANS = {
    "two rows in a block, whole blocks": ((8, 8), Plan(Tiling(2, 16, 4, 2), Tiling(2, 16, 4, 2), Tiling(2, 16, 4, 2))),
    "a row is a block": ((4, 16), Plan(Tiling(1, 32, 4, 2), Tiling(1, 32, 4, 2), Tiling(1, 32, 4, 2))),
    "a row is narrower than a block": ((5, 11), Plan(Tiling(1, 16, 4, 2), Tiling(1, 16, 4, 2), Tiling(1, 16, 4, 2))),
    "places without a key, a last block with fewer rows": (
        (7, 5),
        Plan(Tiling(3, 16, 4, 2), Tiling(2, 16, 4, 2), Tiling(3, 16, 4, 2)),
    ),
    "more rows in a block than there are": (
        (3, 10),
        Plan(Tiling(4, 32, 4, 2), Tiling(4, 32, 4, 2), Tiling(4, 32, 4, 2)),
    ),
    "passes cut up each in its own way": (
        (6, 14),
        Plan(Tiling(4, 32, 4, 2), Tiling(1, 64, 4, 2), Tiling(2, 16, 4, 2)),
    ),
}


@pytest.fixture(autouse=True)
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")  # parts of triton are imported late


@pytest.fixture(params=list(_PLANS))
def grid(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, int]]:
    """Rows and columns of a small grid that has kernels."""
    side, plan = _PLANS[request.param]
    monkeypatch.setitem(kernels.PLANS, side, plan)
    yield side


def _case(rows: int, cols: int, dtype: Any) -> list[Tensor]:
    torch.manual_seed(rows)
    found = attention.random_case(2, 2, rows, cols, torch.device("cpu"))
    return [x.to(dtype) for x in found]


def _by_definition(q: Tensor, k: Tensor, v: Tensor, bias_h: Tensor, bias_w: Tensor) -> Tensor:
    """The bias written out, in float64."""
    rows, cols = bias_h.shape[2], bias_w.shape[2]
    bias = bias_h.mT.repeat_interleave(cols, -1) + bias_w.mT.repeat(1, 1, 1, rows)
    return (q @ k.mT * q.shape[-1] ** -0.5 + bias).softmax(-1) @ v


@pytest.mark.parametrize(("dtype", "most"), [(torch.float32, 2e-6), (torch.float16, 3e-3)])
def test_result_and_all_gradients_are_those_of_the_definition(grid: tuple[int, int], dtype: Any, most: float) -> None:
    *inputs, grad = _case(*grid, dtype)
    mine = [x.detach().requires_grad_() for x in inputs]
    right = [x.detach().double().requires_grad_() for x in inputs]
    out, wanted = biased_attention(*mine)[0], _by_definition(*right)
    out.backward(grad)
    wanted.backward(grad.double())
    assert out.dtype == dtype
    found = [out, *(x.grad for x in mine)]
    for name, x, y in zip(("out", "q", "k", "v", "h", "w"), found, [wanted, *(x.grad for x in right)], strict=True):
        assert x is not None and y is not None
        assert float((x.detach().double() - y.detach()).norm()) < most * float(y.detach().norm()), name


def test_attention_as_written_follows_the_definition() -> None:
    q, k, v, bias_h, bias_w, _ = _case(7, 5, torch.float64)
    found = extended_attention(q, k, v, bias_h.mT, bias_w.mT)
    assert torch.allclose(found, _by_definition(q, k, v, bias_h, bias_w), atol=1e-12)


def test_large_scores_neither_overflow_nor_vanish(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(kernels.PLANS, (7, 5), _PLANS["places without a key, a last block with fewer rows"][1])
    q, k, v, bias_h, bias_w, _ = _case(7, 5, torch.float32)
    bias_h = bias_h * 200
    wanted = _by_definition(*(x.double() for x in (q, k, v, bias_h, bias_w)))
    assert torch.allclose(biased_attention(q, k, v, bias_h, bias_w)[0].double(), wanted, atol=1e-4)


def test_the_tower_gets_the_same_from_tables_by_kernels_and_as_written(
    grid: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, cols = grid
    q, k, v, _, _, grad = _case(rows, cols, torch.float32)
    tables = [torch.randn(2 * n - 1, attention.HEAD) * 0.1 for n in grid]
    found = []
    monkeypatch.setattr(attention, "_served", lambda *_: True)
    for on in (False, True):
        monkeypatch.setattr(attention, "_kernels", on)
        leaves = [x.detach().clone().requires_grad_() for x in (q, k, v, *tables)]
        a, b, c, rel_h, rel_w = leaves
        out = relative_attention(a, b, c, rel_h, rel_w, rows, cols)
        out.backward(grad)
        found.append([out.detach(), *(x.grad for x in leaves)])
    for written, by_kernels in zip(*found, strict=True):
        assert float((written - by_kernels).norm()) < 1e-5 * float(written.norm())


def test_the_operators_promise_what_they_keep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shapes, strides and gradients that compiled code relies on; and compiled code gets what plain code gets."""
    side, plan = _PLANS["two rows in a block, whole blocks"]
    monkeypatch.setitem(kernels.PLANS, side, plan)
    *inputs, grad = _case(*side, torch.float32)
    leaves = [x.detach().requires_grad_() for x in inputs]
    torch.library.opcheck(biased_attention, tuple(leaves))
    out, lse = biased_attention(*inputs)
    torch.library.opcheck(attention._biased_attention_backward, (*inputs, out, lse, grad))

    def attend(*tensors: Tensor) -> Tensor:
        return biased_attention(*tensors)[0].transpose(1, 2).flatten(2).sin()

    attend(*leaves).sum().backward()
    plain = [x.grad for x in leaves]
    for x in leaves:
        x.grad = None
    torch.compile(attend, dynamic=False, fullgraph=True, backend="aot_eager")(*leaves).sum().backward()
    for x, wanted in zip(leaves, plain, strict=True):
        assert x.grad is not None and wanted is not None
        assert torch.allclose(x.grad, wanted, atol=1e-6)


def test_every_grid_has_a_plan_and_none_computes_twice_what_is_needed() -> None:
    assert set(kernels.PLANS) == set(attention.GRIDS)
    for (rows, cols), plan in kernels.PLANS.items():
        for tiling in (plan.forward, plan.queries, plan.keys):
            shape = kernels._shape(torch.empty(1, 1, rows * cols, attention.HEAD), rows, tiling)
            places = -(-rows // tiling.rows) * shape["BLOCK_N"]
            assert places < 2 * rows * cols, f"{rows} x {cols}: {tiling}"


def test_without_a_gpu_the_kernels_are_refused_in_words() -> None:
    assert attention.check_kernels(torch.device("cpu")) == "the kernels need a GPU"
