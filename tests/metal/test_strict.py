"""The strict check of kernel sources: nothing in ours, every planted fault; the files as a set."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from host_device import HERE, KERNELS, kernels, strict, translate

pytestmark = pytest.mark.skipif(not kernels.compiler(), reason=kernels.HOW_TO_GET_IT)
SOURCES = sorted(KERNELS.glob("*.metal"))


@pytest.mark.parametrize("path", SOURCES, ids=[path.stem for path in SOURCES])
def test_a_kernel_source_has_nothing_wrong(path: Path) -> None:
    assert [str(finding) for finding in strict.check(path)] == []


def test_every_planted_fault_is_found_and_nothing_else() -> None:
    path = HERE / "planted.metal"
    planted = [i for i, line in enumerate(path.read_text().splitlines(), 1) if "// FAULT" in line]
    assert len(planted) == 16
    assert [finding.line for finding in strict.check(path)] == planted


def test_kernels_have_names_of_their_own_and_argument_places_are_used_once() -> None:
    seen: dict[str, str] = {}
    for path in SOURCES:
        for kernel, codes in translate.translate(path.read_text()).codes.items():
            assert kernel not in seen, f"{kernel} in {path.name} and {seen[kernel]}"
            seen[kernel] = path.name
            assert len(set(codes)) == len(codes), f"{kernel} binds a place twice"
            assert max(code for code in codes if code < 31) < 16
    assert len(seen) == 22


def test_local_includes_hold_no_kernels_and_lie_beside_the_kernels() -> None:
    """So that a build can join each source and its includes into one text."""
    for path in SOURCES:
        for include in translate.local_includes(path):
            assert include.parent == KERNELS and include.exists()
            assert not re.search(r"\bkernel\s+void\b", include.read_text())
