"""What the build makes of the kernels for Apple's device: sources without local includes, one library."""

from __future__ import annotations

import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from host_device import HOST, KERNELS, ROOT, kernels, strict, translate

sys.path.insert(0, str(ROOT / "packaging"))

import metal_library

SOURCES = sorted(KERNELS.glob("*.metal"))
needs_clang = pytest.mark.skipif(not kernels.compiler(), reason=kernels.HOW_TO_GET_IT)


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("joined")
    metal_library.write_sources(folder)
    return folder


def test_every_source_is_there_and_no_local_include_is_left(joined: Path) -> None:
    assert [path.name for path in sorted(joined.iterdir())] == [path.name for path in SOURCES]
    for path in joined.iterdir():
        assert not re.search(r'#\s*include\s*"', path.read_text())
        assert translate.local_includes(path) == []


def test_an_include_stands_where_it_was_asked_for_once_and_lines_keep_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "b.h").write_text('// b\n#include "c.h"\nint b;\n')
    (tmp_path / "c.h").write_text("int c;\n")
    (tmp_path / "a.metal").write_text('#include "b.h"\nint a;\n  #  include "c.h" // again\nint last;\n')
    assert metal_library.joined(tmp_path / "a.metal").splitlines() == [
        '#line 1 "a.metal"',
        '#line 1 "b.h"',
        "// b",
        '#line 1 "c.h"',
        "int c;",
        '#line 3 "b.h"',
        "int b;",
        '#line 2 "a.metal"',
        "int a;",
        '#line 4 "a.metal"',
        "int last;",
    ]


@needs_clang
@pytest.mark.parametrize("path", SOURCES, ids=[path.stem for path in SOURCES])
def test_a_compiler_sees_the_same_tokens_as_in_the_parts(path: Path, joined: Path) -> None:
    """So that all that is proved of the parts, on the host device and by the checker, holds for what ships."""

    def tokens(source: Path) -> list[str]:
        command = [
            str(kernels.compiler()),
            *kernels.COMMON,
            f"-I{HOST}",
            f"-I{source.parent}",
            "-E",
            "-P",
            "-x",
            "c++",
            "-",
        ]
        text = translate.program(source, path.stem)
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=source.parent)
        return done.stdout.split()

    assert tokens(joined / path.name) == tokens(path)
    assert "kernel" in (joined / path.name).read_text()


@needs_clang
@pytest.mark.parametrize("path", SOURCES, ids=[path.stem for path in SOURCES])
def test_the_strict_check_finds_nothing_in_a_joined_source(path: Path, joined: Path) -> None:
    assert [str(finding) for finding in strict.check(joined / path.name)] == []


def fake_tools(folder: Path, metal: str) -> list[str]:
    """A stand-in for xcrun that notes how it is called; `metal` is what its compiler does."""
    tool = folder / "xcrun"
    tool.write_text(
        f'#!/bin/sh\necho "$@" >> {folder}/calls\n'
        'case "$1" in metal) ' + metal + ";; metallib) for last; do :; done; echo library > $last;; esac\n"
    )
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    return [str(tool)]


def test_apples_tools_are_asked_for_metal_3_without_fast_mathematics(joined: Path, tmp_path: Path) -> None:
    target = tmp_path / "uocr.metallib"
    sources = sorted(joined.glob("*.metal"))
    assert metal_library.compile_library(sources, target, fake_tools(tmp_path, ":")) == target
    assert target.read_text() == "library\n" and not list(tmp_path.glob("*.partial"))
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len(calls) == len(SOURCES) + 1
    for call, source in zip(calls, sources, strict=False):
        assert call.startswith("metal -std=metal3.0 -fno-fast-math ") and f"-c {source}" in call
    assert calls[-1].startswith("metallib ") and calls[-1].count(".air") == len(SOURCES)


def test_a_source_that_does_not_compile_leaves_no_library_and_says_why(joined: Path, tmp_path: Path) -> None:
    tools = fake_tools(tmp_path, 'echo "gemm.metal:7:1: error: unknown type" >&2; exit 1')
    with pytest.raises(SystemExit, match=r"gemm\.metal does not compile for Metal:\n.*unknown type"):
        metal_library.compile_library([joined / "gemm.metal"], tmp_path / "uocr.metallib", tools)
    assert not list(tmp_path.glob("uocr.metallib*"))


def test_a_folder_without_kernels_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="holds no kernel source"):
        metal_library.write_sources(tmp_path / "out", tmp_path)


def test_an_older_source_does_not_stay_beside_new_ones(tmp_path: Path) -> None:
    (tmp_path / "gone.metal").write_text("kernel void old() {}")
    metal_library.write_sources(tmp_path)
    assert len(list(tmp_path.iterdir())) == len(SOURCES)
