"""The headers that the Metal device is compiled against here say what Apple's say.

``apple/facts.json`` holds the facts, taken from wheels on PyPI by ``apple/facts.py``; the last test takes them again.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from host_device import CACHE, ENGINE, HERE

APPLE = HERE / "apple"
sys.path.insert(0, str(APPLE))

import facts  # noqa: E402

OURS = facts.of_headers()
TABLE = json.loads(facts.TABLE.read_text())
SOURCE = "".join(path.read_text() for path in sorted((ENGINE / "gpu").glob("device_metal*")))
# PyObjC keeps no record of methods whose types it can read from the system, and metal-cpp has no MPS.
IN_NO_WHEEL = {
    ("MPSMatrixMultiplication", "encodeToCommandBuffer:leftMatrix:rightMatrix:resultMatrix:"),
    ("NSObject", "alloc"),
    ("NSObject", "new"),
}
WHEELS = [
    "mlx-metal==0.32.4",
    "pyobjc-framework-Metal==12.2.2",
    "pyobjc-framework-MetalPerformanceShaders==12.2.2",
    "pyobjc-framework-Cocoa==12.2.2",
]


def test_every_selector_is_one_of_apples_with_the_same_types() -> None:
    unknown = set()
    for owner, methods in OURS.methods.items():
        for selector, types in methods.items():
            theirs = TABLE["methods"].get(owner, {}).get(selector)
            if theirs is None:
                unknown.add((owner, selector))
                continue
            mine = [f"{owner}*" if kind == "self" else kind for kind in types]
            assert len(mine) == len(theirs)
            for ours, apples in zip(mine, theirs, strict=True):
                same = ours == apples or apples is None or (apples == "NSObject*" and str(ours).endswith("*"))
                assert same, f"{owner} {selector}: {ours} is {apples}"
    assert unknown == IN_NO_WHEEL
    assert sum(len(methods) for methods in TABLE["methods"].values()) > 60


def test_every_number_of_an_enumeration_is_apples() -> None:
    assert OURS.enums == {key: TABLE["enums"][key] for key in OURS.enums} and len(OURS.enums) > 15
    known = {key: TABLE["enum_types"][key] for key in OURS.enum_types if key != "MPSDataType"}
    assert {key: base for key, base in OURS.enum_types.items() if key != "MPSDataType"} == known


def test_functions_classes_and_the_names_to_link_with_are_apples() -> None:
    assert sorted(OURS.functions) == TABLE["functions"]
    assert sorted(OURS.classes) == TABLE["classes"]
    stubs = "".join(path.read_text() for path in (APPLE / "stubs").rglob("*.tbd"))
    listed = [
        name.strip()
        for names in re.findall(r"objc-classes:\s*\[(.*?)\]", stubs, re.DOTALL)
        for name in names.split(",")
    ]
    assert set(listed) <= set(TABLE["classes"])
    assert {name for name in re.findall(r"\b_(MTL\w+)", stubs)} == set(TABLE["functions"])


def test_nothing_is_declared_that_the_device_does_not_use() -> None:
    names = {key for key in OURS.enums} | set(OURS.functions)
    for methods in OURS.methods.values():
        for selector in methods:
            first = selector.split(":")[0]
            names.add(first if not first.startswith("set") or first + ":" in SOURCE else first[3].lower() + first[4:])
    assert [name for name in sorted(names) if not re.search(rf"\b{name}\b", SOURCE)] == []


def test_the_mock_answers_selectors_that_are_declared_and_nothing_else() -> None:
    mock = "".join(path.read_text() for path in (APPLE / "mock").glob("*.c"))
    answered = set(re.findall(r'MOCK_METHOD\(\s*"([^"]+)"', mock))
    declared = {selector for methods in OURS.methods.values() for selector in methods}
    assert answered <= declared
    assert {selector for selector in declared - answered if not re.match(r"[a-z]\w*$", selector)} == set()


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ("(NSUInteger)length options", "(uint32_t)length options"),
        ("atIndex:(NSUInteger)index", "atPlace:(NSUInteger)index"),
        ("MTLGPUFamilyApple7 = 1007", "MTLGPUFamilyApple7 = 1008"),
        ("- (void)commit;", "- (BOOL)commit;"),
    ],
)
def test_a_header_that_differs_is_found(
    change: str, finding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (APPLE / "include" / "Metal" / "Metal.h").read_text()
    assert change in text
    for path in (APPLE / "include").rglob("*.h"):
        (tmp_path / path.name).write_text(path.read_text().replace(change, finding))
    monkeypatch.setattr(sys.modules[__name__], "OURS", facts.of_headers(tmp_path))
    with pytest.raises((AssertionError, KeyError)):
        test_every_selector_is_one_of_apples_with_the_same_types()
        test_every_number_of_an_enumeration_is_apples()


@pytest.mark.slow
def test_the_table_is_what_the_wheels_say() -> None:
    folder = CACHE / "apple-wheels"
    folder.mkdir(parents=True, exist_ok=True)
    if len(list(folder.glob("*.whl"))) < len(WHEELS):
        platforms = [f"--platform={name}" for name in ("macosx_14_0_arm64", "macosx_10_9_universal2")]
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", *platforms]
        done = subprocess.run(
            [*command, "--python-version=3.11", "-d", folder, *WHEELS],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        if done.returncode != 0:
            pytest.skip(f"the wheels with Apple's names were not downloaded (45 MB from PyPI): {done.stderr[-200:]}")
    sources, names = facts.of_wheels(folder)
    assert facts.table(OURS, sources, names) == TABLE
