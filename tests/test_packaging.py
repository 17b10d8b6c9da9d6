"""What is built and shipped: the C library for C programs, the wheel, the build without a compiler."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT

needs_cmake = pytest.mark.skipif(
    shutil.which("cmake") is None or shutil.which("cc") is None, reason="needs cmake and a C compiler on this machine"
)


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """libuocr installed as a C programmer would, with warnings as errors."""
    build, prefix = tmp_path_factory.mktemp("cmake"), tmp_path_factory.mktemp("prefix")
    for command in (
        ["cmake", "-S", ROOT, "-B", build, "-DUOCR_WERROR=ON"],
        ["cmake", "--build", build, "-j2"],
        ["cmake", "--install", build, "--prefix", prefix],
    ):
        subprocess.run(command, check=True, capture_output=True)
    return prefix


@needs_cmake
def test_a_c_program_reads_a_page_with_header_and_library_alone(prefix: Path, tmp_path: Path, ocr) -> None:
    from PIL import Image
    from uocr.views import make_views

    from tests.conftest import BUILT_IN, SAMPLES

    library = next(prefix.rglob("libuocr.so*"), None) or next(prefix.rglob("libuocr.dylib"))
    program = tmp_path / "read_page"
    subprocess.run(
        [
            "cc",
            "-std=c11",
            "-Wall",
            "-Werror",
            ROOT / "examples" / "read_page.c",
            "-o",
            program,
            f"-I{prefix / 'include'}",
            f"-L{library.parent}",
            "-luocr",
            f"-Wl,-rpath,{library.parent}",
        ],
        check=True,
    )
    image = Image.open(SAMPLES / "screenshot.png").convert("RGB")
    raw = tmp_path / "view.rgb"
    raw.write_bytes(make_views(image, "base").views[0].tobytes())
    prompt = [0, *[2035] * 273, 70, 403, 903, 386, 85, 343, 16]
    result = subprocess.run(
        [program, BUILT_IN, raw, "1024", *map(str, prompt)], check=True, capture_output=True, text=True
    )
    tokens = [int(t) for t in re.findall(r"\d+", result.stdout)]
    assert "Weekly report" in ocr.tokenizer.decode(t for t in tokens if t != 1)
    for arguments, words in (
        ([], "usage: "),
        ([BUILT_IN, raw, "1000", "0"], "SIZE is 1000; give 512, 640, 1024 or 1280."),
        ([BUILT_IN, raw, "big", "0"], "big is not a whole number."),
        ([BUILT_IN, raw, "1024", "0", "4294967296"], "4294967296 is not a whole number."),
        ([BUILT_IN, raw, "640", "0"], "does not hold 640 x 640 pixels"),
        ([BUILT_IN, tmp_path / "none", "640", "0"], "none cannot be opened: No such file or directory."),
        ([tmp_path / "none.uocr", raw, "1024", "0"], "none.uocr"),
    ):
        refused = subprocess.run([program, *arguments], capture_output=True, text=True)
        assert refused.returncode in (1, 2) and refused.stdout == "", arguments
        assert words in refused.stderr and refused.stderr.count("\n") == 1, refused.stderr


@needs_cmake
def test_installed_files_are_header_library_and_pkg_config(prefix: Path) -> None:
    names = {p.name for p in prefix.rglob("*") if p.is_file()}
    assert {"uocr.h", "uocr_inspect.h", "uocr.pc"} <= names


def test_the_public_header_stays_small() -> None:
    assert (ROOT / "engine" / "include" / "uocr.h").stat().st_size < 10_240


@needs_cmake
def test_the_library_exports_only_its_interface(prefix: Path) -> None:
    if shutil.which("nm") is None:
        pytest.skip("needs nm")
    library = next(prefix.rglob("libuocr.so*"), None)
    if library is None:
        pytest.skip("looks at an ELF library")
    table = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    exported = {line.split()[-1] for line in table.splitlines()}
    headers = "".join((ROOT / "engine" / "include" / h).read_text() for h in ("uocr.h", "uocr_inspect.h"))
    assert exported == set(re.findall(r"\b(uocr_\w+)\(", headers)) & exported
    assert {"uocr_run_step", "uocr_engine_open"} <= exported


@pytest.mark.slow
def test_the_wheel_holds_library_declarations_and_built_in_model(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp_path, ROOT], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for wanted in (
        "uocr/_declarations.py",
        "uocr/resources/models/built-in.uocr",
        "uocr/cli/app.py",
        "leggio/main.py",
        "uocr/convert/policy.toml",
    ):
        assert wanted in names
    assert any(re.fullmatch(r"uocr/libuocr\.(so|dylib)", n) for n in names)
    assert not any(n.startswith("tests/") or n.endswith((".c", ".h")) for n in names)


@pytest.mark.slow
def test_a_machine_without_a_compiler_builds_and_reads(tmp_path: Path) -> None:
    """The build takes the compiler of the PyPI package ziglang when there is no other."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("make", "uname", "sh", "env", "rm", "mkdir", "touch", "find"):
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    environment = {k: v for k, v in os.environ.items() if k not in ("CC", "CXX")} | {"PATH": str(tools)}
    assert shutil.which("cc", path=str(tools)) is None
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    python = venv / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", ROOT], check=True, env=environment)
    text = subprocess.run(
        [venv / "bin" / "uocr", "read", "-q", ROOT / "resources" / "samples" / "screenshot.png"],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    ).stdout
    assert "Weekly report" in text


def test_declarations_are_made_of_the_headers(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("declare", ROOT / "packaging" / "declare.py")
    declare = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(declare)
    text, macros = declare.declarations((ROOT / "engine" / "include" / "uocr.h").read_text())
    import cffi

    ffi = cffi.FFI()
    ffi.cdef(text)
    assert macros["UOCR_ABI_VERSION"] == 1
    assert ffi.sizeof("uocr_event") == 64


def test_nothing_in_the_tree_names_this_or_another_machine() -> None:
    """Files speak of the software alone: no absolute path of a builder's home, no registry host."""
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    if not tracked:
        pytest.skip("not a git checkout")
    forbidden = re.compile("|".join([r"/wo" r"rk/", r"/ro" r"ot/", r"files\.pythonho" r"sted", r"py" r"pi\.org"]))
    for name in tracked:
        path = ROOT / name
        if path.suffix in (".py", ".c", ".h", ".md", ".toml", ".txt", ".yml", "") and path.is_file():
            assert not forbidden.search(path.read_text("utf-8", "ignore")), name
