"""Whole models through the GPU back end on the host device: the published network's numbers, a page."""

from __future__ import annotations

from pathlib import Path

import pytest
from host_device import KERNELS, ROOT, kernels, missing, over_gpu, run_over_gpu
from uocr.score import character_error_rate

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "all is there")
GOLDEN = str(ROOT / "tests" / "golden")
SAMPLES = ROOT / "resources" / "samples"
F16_SCALE = 300
"""Half precision in the reference code lands at 240 tolerances of the float32 numbers."""


def ratios(profile: str, precision: str, part: str, *cases: str) -> list[tuple[str, float, bool]]:
    results = over_gpu("golden", GOLDEN, profile, precision, part, *cases)
    assert len(results) > 10
    return [(name, ratio, network) for name, ratio, network in results]


def test_decoder_in_exact_precision_is_within_every_tolerance_with_equal_tokens() -> None:
    assert [r for r in ratios("f32", "exact", "decoder") if r[1] > 1] == []


def test_decoder_in_half_precision_stays_within_its_scale() -> None:
    worst = [
        ratio for name, ratio, network in ratios("f16", "fast", "decoder") if network and "idx" not in name
    ]
    assert 1 < max(worst) < F16_SCALE


def test_vision_in_exact_precision_is_within_every_tolerance() -> None:
    """A view whose position table is resized; `make check` looks at the others."""
    assert [r for r in ratios("f32", "exact", "vision", "small640") if r[1] > 1] == []


def test_vision_in_half_precision_stays_within_its_scale() -> None:
    assert max(r[1] for r in ratios("f16", "fast", "vision", "base")) < F16_SCALE


def test_a_page_of_1024_pixels_reads_as_on_the_cpu_in_the_memory_that_was_promised() -> None:
    page = over_gpu("page", str(SAMPLES / "screenshot.png"), "0", "base", "24", "free")
    assert page["gpu"] == page["cpu"]
    assert len(page["cpu"]) == 24
    assert page["peak"] == page["estimate"]


def test_a_trace_counts_what_a_view_and_a_token_ask_of_the_device() -> None:
    trace = over_gpu("trace", "3")
    phases = {phase["phase"]: phase for phase in trace["phases"]}
    assert trace["backend"] == "host" and list(phases) == ["vision", "prefill", "decode"]
    assert phases["vision"]["units"] == 1 and phases["decode"]["units"] == 3
    # Three choices: norm and head, two kernels of the choice, the history. Two tokens are fed back: embedding, five
    # kernels in the dense layer, six in each of five with experts.
    assert phases["decode"]["dispatches"] == 3 * 4 + 2 * (1 + 5 + 5 * 6)
    assert phases["decode"]["command_buffers"] == 3
    assert all(phase["read"] > phase["dispatches"] and phase["written"] > 0 for phase in phases.values())
    assert "a view of 512 pixels" in trace["shown"] and "command buffers" in trace["shown"]


def test_a_missing_kernel_is_one_clear_error(tmp_path: Path) -> None:
    rows_alone = kernels.build(tmp_path / "rows.so", False, [KERNELS / "rows.metal"])
    done = run_over_gpu("page", str(SAMPLES / "screenshot.png"), "0", "tiny", "1", "free", over=rows_alone)
    assert done.returncode != 0
    said = "The host back end failed during vision: the library has no kernel gemm."
    assert said in done.stderr


def test_without_kernels_the_engine_does_not_open(tmp_path: Path) -> None:
    done = run_over_gpu(
        "page", str(SAMPLES / "screenshot.png"), "0", "tiny", "1", "free", over=tmp_path / "none.so"
    )
    assert done.returncode != 0
    assert "The kernels cannot be loaded" in done.stderr


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("profile", "precision", "bound"), [("f32", "exact", 1), ("f16", "fast", F16_SCALE)])
def test_every_golden_view_is_within_its_tolerance(profile: str, precision: str, bound: float) -> None:
    assert [r for r in ratios(profile, precision, "vision") if r[1] > bound] == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("follow", ["forced", "free"])
@pytest.mark.parametrize(
    ("name", "number"),
    [("screenshot.png", 0), ("scan.jpg", 0), ("leaflet.pdf", 0), ("leaflet.pdf", 1), ("leaflet.pdf", 2)],
)
def test_whole_pages_agree_with_the_cpu(name: str, number: int, follow: str) -> None:
    """Fed the same ids, the first choice is the same wherever the CPU's leads by more than 0.05.

    Pages that the model can read: on others it guesses, and one rounding decides how a guess goes on.
    """
    page = over_gpu("page", str(SAMPLES / name), str(number), "base", "0", follow, timeout=3500)
    assert len(page["cpu"]) > 50
    if follow == "forced":
        doubtful = [i for i, same in enumerate(page["agree"]) if not same and page["margins"][i] > 0.05]
        assert doubtful == []
    else:  # free-running, tokens chosen ahead: at most 0.1 points more or fewer wrong characters
        assert abs(character_error_rate(page["texts"][1], page["texts"][0])) <= 0.001
