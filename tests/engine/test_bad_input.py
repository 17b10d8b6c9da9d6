"""Shapes at their ends, and machines that have less than usual.

Numbers that hurt (denormals, zeros, equal groups, scales at f16's ends, Inf and NaN) are in ops_rows.c and
test_twins.c; threads in test_twins.py; quotas of control groups in test_processors.c.
"""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from c_programs import ADDRESS, compiler, run, sanitizes
from uocr import native
from uocr.cli import check
from whole_engine import X86, build_with_engine

BUILT_IN = Path(__file__).resolve().parents[2] / "resources" / "models" / "built-in.uocr"

needs_compiler = pytest.mark.skipif(not compiler(),
                                    reason="no C compiler: install one, or the PyPI package ziglang")


@needs_compiler
def test_thirty_two_thousand_rows_are_what_they_are_alone() -> None:
    program = build_with_engine("test_long_inputs", ADDRESS if sanitizes(ADDRESS) else "")
    try:
        output = run(program)
    finally:
        program.unlink()
    assert re.search(r"^[1-9]\d* checks held, 0 failed$", output, re.MULTILINE), output


@needs_compiler
@pytest.mark.skipif(not X86, reason="this machine's architecture has no processors without vector code")
def test_a_processor_without_avx2_reads_with_plain_code() -> None:
    """An instruction it does not have would end the program (SIGILL)."""
    qemu = shutil.which("qemu-x86_64")
    if qemu is None:
        pytest.skip("a processor without AVX2 was not tried: qemu-x86_64 (package qemu-user) is not installed")
    program = build_with_engine("count_work")
    try:
        for processor, table in (("Nehalem", "portable"), ("Haswell", "avx2")):
            command = [qemu, "-cpu", processor, str(program)]
            named = subprocess.run([*command, "gemv", "baseline"], capture_output=True, text=True, check=False)
            assert (named.returncode, named.stdout.strip()) == (0, table), named.stderr
            read = subprocess.run([*command, "run", str(BUILT_IN), "2", "8", "0", "3"], capture_output=True, text=True,
                                  check=False, timeout=300)
            assert read.returncode == 0, read.stderr
    finally:
        program.unlink()


def test_the_doctor_says_that_plain_code_is_in_use(monkeypatch: pytest.MonkeyPatch,
                                                   capsys: pytest.CaptureFixture[str]) -> None:
    known = native.Engine.info
    monkeypatch.setattr(native.Engine, "info", lambda self: dataclasses.replace(known(self), simd="portable"))
    assert check.doctor(None, False) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "vector code portable" in said
    assert "This processor has no vector code of ours: reading works and is several times slower." in said


def test_the_doctor_says_nothing_of_it_where_there_is_vector_code(monkeypatch: pytest.MonkeyPatch,
                                                                  capsys: pytest.CaptureFixture[str]) -> None:
    known = native.Engine.info
    monkeypatch.setattr(native.Engine, "info", lambda self: dataclasses.replace(known(self), simd="avx2"))
    assert check.doctor(None, False) == 0
    assert "no vector code" not in " ".join(capsys.readouterr().out.split())
