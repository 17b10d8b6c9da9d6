"""Limits and operators put together; the measuring programs are built and run."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from bench.roofline import build, model
from bench.roofline.model import Bound, Limits, Operator

LIMITS = Limits(read={model.MAPPED: 40e9, model.HEAP: 20e9, "anonymous memory, large pages": 50e9},
                f32={"a": 100e9, "b": 90e9}, int8={"c": 400e9})


def operator(name: str = "experts", integer: bool = True, seconds: float = 0.01, nbytes: float = 120e6,
             flops: float = 450e6) -> Operator:
    return Operator(name, integer, 11, seconds, nbytes, flops)


def test_the_limit_that_takes_longer_bounds() -> None:
    assert model.bound(operator(), LIMITS) == Bound("memory", 0.003, pytest.approx(0.3))  # 120 MB at 40 GB/s
    assert model.bound(operator(flops=4e9), LIMITS) == Bound("int8", 0.01, pytest.approx(1.0))
    assert model.bound(operator(integer=False, flops=4e9, seconds=0.08), LIMITS) == Bound("float32", 0.04, 0.5)


def test_keys_and_values_come_from_the_heap() -> None:
    assert model.bound(operator("attention"), LIMITS).seconds == pytest.approx(0.006)  # 120 MB at 20 GB/s


def test_floors_of_a_pass() -> None:
    rows = [operator(), operator("q, k, v", integer=False, nbytes=0, flops=1e9)]
    assert model.floors(rows, LIMITS) == {
        "as_run": pytest.approx(0.003 + 0.01), "float32": pytest.approx(0.0045 + 0.01),
        "int8": pytest.approx(0.003 + 0.0025)}


def test_limits_are_read_by_number_of_threads() -> None:
    lines = [json.dumps({"kind": kind, "name": f"{kind} {n}", "threads": n, "value": 1e9 * n})
             for n in (1, 2) for kind in ("read", "f32", "int8")]
    found = model.parse_limits(lines)
    assert found[2] == Limits({"read 2": 2e9}, {"f32 2": 2e9}, {"int8 2": 2e9})
    with pytest.raises(ValueError, match="No limit of int8 was measured with 1 threads"):
        model.parse_limits(lines[:2])


def test_a_pass_is_stored_and_shown() -> None:
    tiny = Operator("norm", False, 25, 0.00001, 0, 10)
    record = model.pass_record("decode q4", 1, "avx2", [operator(), tiny], LIMITS)
    assert record["seconds"] == pytest.approx(0.01001) and record["rows"][0]["share"] == 0.3
    table = model.pass_table(record)
    assert "| experts | 11 | 10.00 | 99.9% | 120.0 | 12.0 | 45.0 | memory | 30% |" in table
    assert "| the rest | | 0.01 | 0.1% |" in table and "norm" not in table
    assert "| **all** | | **10.01** | | | | | | **30%** |" in table


def test_a_table_of_limits() -> None:
    stored = {"1": {"read": {"mapped file": 40e9}, "f32": {"AVX2 FMA": 100e9}, "int8": {"VNNI": 400e9}},
              "2": {"read": {"mapped file": 41e9}, "f32": {"AVX2 FMA": 200e9}, "int8": {"VNNI": 800e9}}}
    assert model.limits_table(stored).splitlines() == [
        "| limit | 1 thread | 2 threads |", "|---|---|---|", "| read, mapped file | 40.0 GB/s | 41.0 GB/s |",
        "| float32, AVX2 FMA | 100.0 GFLOP/s | 200.0 GFLOP/s |", "| int8, VNNI | 400.0 GOP/s | 800.0 GOP/s |"]


# -- the programs --


def has_compiler() -> bool:
    try:
        build.compiler()
    except build.CannotBuild:
        return False
    return True


needs_compiler = pytest.mark.skipif(not has_compiler(),
                                    reason="no C compiler: install one, or the PyPI package ziglang")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("roofline")


@needs_compiler
def test_this_machines_limits_are_measured(cache: Path) -> None:
    limits = model.parse_limits(model.run(build.machine(cache), ["--small", "1", "2"]))
    assert set(limits) == {1, 2}
    for limit in limits.values():
        assert set(limit.read) == {model.MAPPED, model.HEAP, "anonymous memory, large pages"}
        assert min([*limit.read.values(), *limit.f32.values(), *limit.int8.values()]) > 1e6
    assert build.machine(cache).is_file()


@needs_compiler
@pytest.mark.parametrize("arguments", [[], ["0"], ["-1"], ["257"], ["many"]])
def test_numbers_of_threads_that_make_no_sense_are_refused(cache: Path, arguments: list[str]) -> None:
    done = subprocess.run([build.machine(cache), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr.startswith("machine: give ")


def test_a_program_that_fails_says_why(tmp_path: Path) -> None:
    script = tmp_path / "fails"
    script.write_text("#!/bin/sh\necho broken >&2\nexit 3\n")
    script.chmod(0o755)
    with pytest.raises(RuntimeError, match="fails ended with status 3: broken"):
        model.run(script, [])


def test_without_a_compiler_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr("subprocess.run", lambda *_, **__: subprocess.CompletedProcess([], 1))
    with pytest.raises(build.CannotBuild, match="install one"):
        build.compiler()


@needs_compiler
@pytest.mark.slow
def test_every_operator_of_the_full_shapes_is_measured(cache: Path) -> None:
    simd, passes = model.parse_passes(model.run(build.operators(cache), ["1", "--quick", "--json"]))
    assert simd and set(passes) == {"decode q4", "prefill q4", "decode q8", "prefill q8", "view 1024", "view 640"}
    decode = {o.name: o for o in passes["decode q4"]}
    assert set(decode) == {"norm", "q, k, v", "rope, append", "attention", "attention output", "dense layer", "router",
                           "experts", "shared experts", "head", "choose"}
    assert decode["experts"].calls == 11 and decode["norm"].calls == 25
    assert decode["experts"].flops == 11 * 6 * 6 * 1280 * 896  # layers, experts, three products of two
    assert decode["experts"].bytes == 11 * 6 * 3 * 1280 * 896 * 34 / 64  # 32 bytes and a scale a group
    assert decode["q, k, v"].bytes == 12 * 3 * 1280 * 1280 * 66 / 64
    assert decode["head"].flops == 2 * 129280 * 1280
    assert decode["experts"].integer and not decode["attention"].integer
    prefill = {o.name: o for o in passes["prefill q4"]}
    assert prefill["attention"].flops == 12 * 4 * 1280 * 300 * 301 / 2  # queries see what is before them
    assert prefill["q, k, v"].flops == 300 * decode["q, k, v"].flops
    view = {o.name: o for o in passes["view 1024"]}
    assert view["SAM q, k, v"].flops == 12 * 2 * 4096 * 768 * 2304
    assert view["SAM MLP in, gelu"].calls == 48 and view["SAM MLP in, gelu"].flops == 12 * 2 * 4096 * 768 * 3072
    assert view["SAM attention, global"].flops == 4 * 4 * 4096 * 4096 * 768
    assert view["CLIP MLP out"].flops == 24 * 2 * 257 * 4096 * 1024
    assert all(o.seconds > 0 for rows in passes.values() for o in rows)
