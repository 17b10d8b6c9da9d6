"""The program that runs the table of operators on a Mac's own GPU: it runs over any device, and links for Macs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import macho
import pytest
from mac_check import engine
from mac_files import ROOT

TESTS = ROOT / "tests" / "metal"


def test_it_runs_over_any_device_and_its_lines_are_understood() -> None:
    """Here over the host device: one family, each precision twice."""
    sys.path.insert(0, str(TESTS))
    import host_device

    if host_device.missing():
        pytest.skip(host_device.missing())
    sources = [ROOT / "packaging" / "mac_check" / "operators.c", TESTS / "gpu_table.c"]
    sources += [*host_device.OPERATOR_TESTS, *host_device.GPU, *host_device.GROUND]
    said = host_device.run(host_device.program("mac_check_operators", sources), "rope")
    runs = engine.CHECKS.findall(said)
    assert [(precision, failures) for precision, _, failures, _ in runs] == [
        ("fast", "0"), ("fast", "0"), ("exact", "0"), ("exact", "0")]
    assert all(int(checks) > 20 for _, checks, _, _ in runs)


@pytest.mark.slow
def test_it_links_for_arm64_macs_with_the_metal_device(tmp_path: Path) -> None:
    """Over the headers and stubs of tests/metal/apple; on a Mac, Apple's own take their place."""
    zig = (sys.executable, "-m", "ziglang")
    if subprocess.run([*zig, "version"], capture_output=True, check=False).returncode != 0:
        pytest.skip("nothing was linked: the PyPI package ziglang is not installed")
    apple = TESTS / "apple"
    places = (f"-I{apple / 'include'}", f"-F{apple / 'stubs'}", f"-L{apple / 'stubs'}")
    compiler = (*zig, "cc", "-target", "aarch64-macos.13.0", "-mcpu=apple_m1", *places)
    command = engine.operators_command(ROOT, tmp_path / "operators", compiler)
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (image,) = macho.read(tmp_path / "operators")
    assert (image.arch, image.kind, image.minimum_macos) == ("arm64", "executable", (13, 0))
    frameworks = {Path(name).name for name in image.libraries if ".framework/" in name}
    assert set(engine.FRAMEWORKS) <= frameworks
