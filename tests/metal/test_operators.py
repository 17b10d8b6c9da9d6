"""The GPU back end's operators over the real kernels, run by the host device, against float64 references."""

from __future__ import annotations

import re

import pytest
from host_device import ENGINE, GPU, GROUND, HERE, OPERATOR_TESTS, missing, program, run

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "all is there")
FAMILIES = ["rows", "decoder", "rope", "linear", "experts", "vision", "attention"]


def operators() -> list:
    return [HERE / "test_gpu_ops.c", HERE / "gpu_table.c", *OPERATOR_TESTS, *GPU, *GROUND]


def counted(output: str) -> list[int]:
    """Numbers of checks of each run; none may have failed."""
    lines = re.findall(r"(\d+) checks, 0 failures", output)
    return [int(number) for number in lines]


def test_every_operator_is_right_and_no_result_depends_on_the_order_of_lanes() -> None:
    counts = counted(run(program("test_gpu_ops", operators())))
    assert len(counts) == 6, "two precisions in three orders"
    assert min(counts) > 600


@pytest.mark.parametrize("family", FAMILIES)
def test_the_checker_has_nothing_to_report(family: str) -> None:
    """Races, bounds, alignment, unfilled threadgroup memory, diverging simdgroups: at most 16 rows a case."""
    counts = counted(run(program("test_gpu_ops", operators()), "--small", family, check=True))
    assert len(counts) == 2 and min(counts) > 20


@pytest.mark.parametrize("check", [False, True], ids=["fast", "checker"])
def test_operators_that_were_put_off_give_the_same_numbers_in_fewer_dispatches(check: bool) -> None:
    output = run(
        program("test_put_off", [HERE / "test_put_off.c", OPERATOR_TESTS[3], *GPU, *GROUND]), check=check
    )
    assert (
        re.findall(r"(\d+) dispatches one by one, (\d+) together", output) == [("30", "17"), ("33", "20")] * 2
    )


@pytest.mark.parametrize("check", [False, True], ids=["fast", "checker"])
def test_the_device_chooses_tokens_by_itself_as_the_engine_does(check: bool) -> None:
    ground = [*GROUND, ENGINE / "ngram.c", ENGINE / "repeats.c"]
    output = run(
        program("test_ahead", [HERE / "test_ahead.c", OPERATOR_TESTS[3], *GPU, *ground]), check=check
    )
    assert int(re.findall(r"the guard acted (\d+) times", output)[0]) > 50
