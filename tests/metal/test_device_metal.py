"""The Metal device on Linux: its own source over a mock of Apple's frameworks, and linked for arm64 Macs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import metal_device
import pytest
from host_device import ENGINE, GROUND, HERE, OPERATOR_TESTS, ROOT, library
from host_device import missing as host_missing
from PIL import Image

sys.path.insert(0, str(ROOT / "packaging"))

import macho

needs_compiler = pytest.mark.skipif(bool(metal_device.missing()), reason=metal_device.missing() or "all is there")
needs_host = pytest.mark.skipif(
    bool(host_missing() or metal_device.missing()), reason=host_missing() or metal_device.missing() or "all is there"
)
needs_zig = pytest.mark.skipif(not metal_device.zig(), reason="not linked for a Mac: ziglang (PyPI) is not installed")
SANITIZERS = ("-O1", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
ENVIRONMENT = {"ASAN_OPTIONS": "detect_stack_use_after_return=1", "UBSAN_OPTIONS": "halt_on_error=1"}
NAMES_OF_THE_LINKER = {"_mh_dylib_header", "__dso_handle"}  # which ziglang's exports and Apple's does not
ALONE = [ENGINE / "status.c", ENGINE / "sha256.c"]


def run(command: list[str | Path], timeout: float = 300, **environment: str) -> str:
    """What the program printed; it must succeed."""
    done = subprocess.run(
        command,
        env={**os.environ, **ENVIRONMENT, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )
    assert done.returncode == 0, f"{done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@needs_compiler
def test_calls_come_in_order_with_right_sizes_every_error_is_told_and_nothing_leaks(tmp_path: Path) -> None:
    # ziglang has no address sanitizer for Linux; objects and memory are counted by the mock all the same.
    flags = SANITIZERS if metal_device.clang() != metal_device.zig() else ("-O1",)
    sources = [HERE / "test_device_metal.c", *ALONE]
    mock = [path for path in metal_device.MOCK if path.name != "host.c"]  # the program looks back by itself
    files = [metal_device.METAL, metal_device.BESIDE, *mock, *sources]
    objects = [metal_device.compiled(path, flags) for path in files]
    program = tmp_path / "test_device_metal"
    metal_device.finished([*metal_device.clang(), *flags, *objects, "-o", program, "-lm", "-ldl"], "the test")
    (tmp_path / "folder").mkdir()
    assert re.search(r"^[1-9]\d{3} checks held, 0 failed$", run([program, tmp_path / "folder"]), re.MULTILINE)


@needs_compiler
def test_the_model_is_cut_into_views_that_hold_every_tensor_whole(tmp_path: Path) -> None:
    flags = SANITIZERS if metal_device.clang() != metal_device.zig() else ("-O1",)
    program = tmp_path / "test_metal_views"
    views = metal_device.compiled(HERE / "test_metal_views.c", flags)
    metal_device.finished([*metal_device.clang(), *flags, views, "-o", program], "the test")
    assert " checks held, 0 failed" in run([program])


@pytest.fixture(scope="module")
def operators(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The table of operators over the Metal device, kernels beside it."""
    sources = [HERE / "test_gpu_ops.c", HERE / "gpu_table.c", *OPERATOR_TESTS, *metal_device.PORTABLE, *GROUND]
    folder = tmp_path_factory.mktemp("operators")
    metal_library(folder)
    return metal_device.program(folder / "test_gpu_ops", sources)


@needs_host
def test_every_operator_is_right_through_the_metal_device(operators: Path, tmp_path: Path) -> None:
    """The kernels themselves run, on the host, with what the device bound: places, sizes, constants, threads."""
    output = run([operators, "--small"], UOCR_HOST_KERNELS=str(library()), UOCR_CACHE=str(tmp_path))
    counts = [int(number) for number in re.findall(r"(\d+) checks, 0 failures", output)]
    assert len(counts) == 2 and min(counts) > 400
    (kept,) = (tmp_path / "pipelines").iterdir()
    assert kept.suffix == ".metalarchive" and "gemm" in kept.read_text()


@needs_host
def test_products_by_apples_library_are_right_and_keep_what_half_tiles_cannot_hold(
    operators: Path, tmp_path: Path
) -> None:
    environment = {"UOCR_HOST_KERNELS": str(library()), "UOCR_CACHE": str(tmp_path), "UOCR_METAL_MPS": "1"}
    done = subprocess.run(
        [operators, "--small", "linear"], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert re.search(r"^exact,.* checks, 0 failures", done.stdout, re.MULTILINE), done.stdout + done.stderr
    assert re.search(r"^fast,.* checks, 1 failures", done.stdout, re.MULTILINE), done.stdout + done.stderr
    (failure,) = re.findall(r"^FAIL (.*)$", done.stdout, re.MULTILINE)
    assert "beyond half is Inf where tiles are half" in failure  # floats stay floats there


@pytest.fixture(scope="module")
def whole_engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """libuocr over the Metal device over the mock, kernels beside it."""
    folder = tmp_path_factory.mktemp("engine")
    metal_library(folder)
    return metal_device.engine(folder / "libuocr.so")


def through(engine: Path, cache: Path, *command: str) -> Any:
    """What `over_gpu.py` answers over this engine."""
    run_it: list[str | Path] = [sys.executable, HERE / "over_gpu.py", engine, *command]
    return json.loads(run(run_it, UOCR_HOST_KERNELS=str(library()), UOCR_CACHE=str(cache)))


@needs_host
def test_the_published_network_is_right_through_views_of_its_file(whole_engine: Path, tmp_path: Path) -> None:
    """Opened like any engine: weights where the file is mapped, private caches."""
    results = through(whole_engine, tmp_path, "golden", str(ROOT / "tests" / "golden"), "f32", "exact", "decoder")
    assert len(results) > 10 and [name for name, ratio, _ in results if ratio > 1] == []


@needs_host
def test_a_page_reads_as_on_the_cpu_in_the_memory_that_was_promised(whole_engine: Path, tmp_path: Path) -> None:
    """Vision, prompt, and tokens that the device chooses ahead of the host."""
    picture = tmp_path / "corner.png"  # large enough print that the model writes at 512 pixels, whatever it makes of it
    with Image.open(ROOT / "resources" / "samples" / "screenshot.png") as whole:
        whole.crop((0, 0, whole.width * 6 // 10, whole.height // 2)).save(picture)
    page = through(whole_engine, tmp_path, "page", str(picture), "0", "tiny", "12", "free")
    assert page["gpu"] == page["cpu"] and len(page["cpu"]) == 12
    assert page["peak"] == page["estimate"]


@needs_zig
def test_the_library_for_arm64_macs_is_what_it_must_be(tmp_path: Path) -> None:
    sources = [*sorted(ENGINE.glob("*.c")), *sorted((ENGINE / "cpu").glob("*.c")), *metal_device.PORTABLE]
    (image,) = macho.read(metal_device.for_mac(tmp_path / "libuocr.dylib", sources))
    assert (image.arch, image.kind, image.minimum_macos) == ("arm64", "library", (13, 0))
    assert image.install_name == "@rpath/libuocr.dylib" and image.rpaths == []
    headers = "".join((ROOT / "engine" / "include" / name).read_text() for name in ("uocr.h", "uocr_inspect.h"))
    public = set(re.findall(r"^[^/ *#].*?\b(uocr_\w+)\(", headers, re.MULTILINE))
    assert len(public) > 20 and image.exports - NAMES_OF_THE_LINKER == public
    assert {Path(path).name for path in image.libraries} == {
        "CoreGraphics",
        "Foundation",
        "Metal",
        "MetalPerformanceShaders",
        "libSystem.B.dylib",
        "libobjc.A.dylib",
    }
    assert all(path.startswith(("/System/Library/", "/usr/lib/")) for path in image.libraries)
    signature = image.signature
    assert signature is not None and signature.ad_hoc and signature.bad_pages == 0
    assert signature.identifier == "libuocr.dylib"
    assert {"MTLCreateSystemDefaultDevice", "OBJC_CLASS_$_MTLComputePipelineDescriptor"} <= image.undefined


def metal_library(folder: Path) -> None:
    run([sys.executable, ROOT / "packaging" / "metal_library.py", folder, "--sources-only"])
