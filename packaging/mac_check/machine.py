"""Steps that look at the Mac and its tools. Nothing that names the machine or its owner is asked for."""

from __future__ import annotations

import json
import platform
import shutil
import sys
from typing import Any

from mac_check.run import CheckFailed, Context

SYSCTLS = {
    "model": "hw.model",
    "processor": "machdep.cpu.brand_string",
    "memory bytes": "hw.memsize",
    "fast cores": "hw.perflevel0.physicalcpu",
    "small cores": "hw.perflevel1.physicalcpu",
    "int8 matrix products": "hw.optional.arm.FEAT_I8MM",
}
TOOLS = ("clang", "metal", "metallib", "codesign", "notarytool", "stapler")


def machine(context: Context) -> dict[str, Any]:
    """Which Mac, which macOS, which Python."""
    facts: dict[str, Any] = {
        "macOS": context.run("sw_vers", "-productVersion").out.strip(),
        "build": context.run("sw_vers", "-buildVersion").out.strip(),
        "architecture": platform.machine(),
        "Python": sys.version.split()[0],
    }
    for name, key in SYSCTLS.items():
        answer = context.run("sysctl", "-n", key, check=False)  # not every Mac has every key
        facts[name] = answer.out.strip() if answer.status == 0 else "unknown"
    facts["free bytes"] = shutil.disk_usage(context.root).free
    return facts


def tools(context: Context) -> dict[str, Any]:
    """Apple's tools and their versions. Xcode has them all; its command line tools lack `metal`."""
    facts: dict[str, Any] = {}
    absent = []
    for tool in TOOLS:
        found = context.run("xcrun", "-sdk", "macosx", "--find", tool, check=False)
        if found.status != 0:
            absent.append(tool)
    for name, words in {
        "clang": ("xcrun", "clang", "--version"),
        "metal": ("xcrun", "-sdk", "macosx", "metal", "--version"),
        "SDK": ("xcrun", "--sdk", "macosx", "--show-sdk-version"),
    }.items():
        answer = context.run(*words, check=False)
        facts[name] = answer.out.strip().splitlines()[0] if answer.status == 0 and answer.out.strip() else "none"
    if absent:
        context.step.facts.update(facts)
        raise CheckFailed(
            f"{', '.join(absent)} missing: install Xcode, then `sudo xcode-select -s "
            "/Applications/Xcode.app` and, for metal, `xcodebuild -downloadComponent MetalToolchain`"
        )
    return facts


def document_types(context: Context) -> dict[str, Any]:
    """What this macOS calls files of each ending that Leggio opens, beside what its Info.plist claims."""
    from mac_app.info_plist import DOCUMENT_TYPES

    endings = [ending for each in DOCUMENT_TYPES for ending in each.endings]
    script = (
        "ObjC.import('UniformTypeIdentifiers');"
        f"JSON.stringify({endings!r}.map(e => [e, ObjC.unwrap($.UTType.typeWithFilenameExtension(e).identifier)]))"
    )
    said = dict(json.loads(context.run("osascript", "-l", "JavaScript", "-e", script).out))
    claimed = {ending: each.types for each in DOCUMENT_TYPES for ending in each.endings}
    differing = [f"{e}: {said[e]}" for e in endings if claimed[e] and said.get(e) not in claimed[e]]
    context.step.facts["types"] = said
    if differing:
        raise CheckFailed(f"macOS has other types than Info.plist claims for {', '.join(differing)}")
    return {}
