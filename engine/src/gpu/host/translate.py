"""Kernels in the Metal Shading Language -> C++ that msl.h understands, and the table of their arguments.

Lines stay where they are. Only these spellings change:
  threadgroup T x[N];                          a local in threadgroup memory  -> MSL_THREADGROUP(T, x, [N]);
  constant uint X [[function_constant(3)]];    -> MSL_CONSTANT(uint, X, 3);
  1.0h                                         -> half(1.0f)
  [[attributes]]                               are read and blanked
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

BUILT_INS = {
    "thread_position_in_grid": 200,
    "thread_position_in_threadgroup": 201,
    "thread_index_in_threadgroup": 202,
    "threadgroup_position_in_grid": 203,
    "threads_per_threadgroup": 204,
    "threadgroups_per_grid": 205,
    "thread_index_in_simdgroup": 206,
    "simdgroup_index_in_threadgroup": 207,
    "simdgroups_per_threadgroup": 208,
}
THREADGROUP_CODE = 100
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
ATTRIBUTE = re.compile(r"\[\[(.*?)\]\]", re.DOTALL)
FUNCTION_CONSTANT = re.compile(
    r"\bconstant\s+(\w+)\s+(\w+)\s*\[\[\s*function_constant\s*\(\s*(\d+)\s*\)\s*\]\]\s*;"
)
LOCAL = re.compile(r"(?<=[;{}])(\s*)threadgroup\s+([\w:<>, ]+?)\s+(\w+)((?:\s*\[[^\]]*\])+)\s*;")
HALF = re.compile(r"\b(\d+\.\d*|\.\d+)h\b")
KERNEL = re.compile(r"\bkernel\s+void\s+(\w+)\s*\(")


class TranslationError(Exception):
    """A kernel that this pass cannot read; the text says where and why."""


@dataclass
class Translation:
    """C++ text, `codes[kernel]` of its arguments in order, `constants[name]` = index."""

    text: str
    codes: dict[str, list[int]] = field(default_factory=dict)
    constants: dict[str, int] = field(default_factory=dict)


def blank(match: re.Match[str]) -> str:
    """As many lines as before, nothing on them."""
    return "\n" * match[0].count("\n") or " "


def closing(text: str, start: int) -> int:
    """Place of the bracket that closes the one before `start`."""
    depth = 1
    for place in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return place
    raise TranslationError("a bracket is never closed")


def parameters(text: str) -> list[str]:
    """Splits at commas outside brackets."""
    parts, depth, part = [], 0, ""
    for character in text:
        depth += {"(": 1, "[": 1, "<": 1, ")": -1, "]": -1, ">": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += character
    return [*parts, part]


def argument_code(kernel: str, parameter: str) -> int:
    found = ATTRIBUTE.search(parameter)
    if not found:
        raise TranslationError(f"{kernel}: `{parameter.strip()}` has no attribute")
    attribute = found[1].strip()
    bound = re.fullmatch(r"(buffer|threadgroup)\s*\(\s*(\d+)\s*\)", attribute)
    if bound:
        return int(bound[2]) + (THREADGROUP_CODE if bound[1] == "threadgroup" else 0)
    if attribute not in BUILT_INS:
        raise TranslationError(f"{kernel}: attribute [[{attribute}]] is unknown")
    return BUILT_INS[attribute]


def translate(source: str) -> Translation:
    text = COMMENT.sub(blank, source)
    result = Translation("")
    for found in KERNEL.finditer(text):
        inside = text[found.end() : closing(text, found.end())]
        result.codes[found[1]] = [argument_code(found[1], parameter) for parameter in parameters(inside)]
    result.constants = {found[2]: int(found[3]) for found in FUNCTION_CONSTANT.finditer(text)}
    text = FUNCTION_CONSTANT.sub(r"MSL_CONSTANT(\1, \2, \3);", text)
    text = ATTRIBUTE.sub(blank, text)
    text = LOCAL.sub(r"\1MSL_THREADGROUP(\2, \3, \4);", text)
    result.text = HALF.sub(r"half(\1f)", text)
    return result


def local_includes(path: Path) -> list[Path]:
    """Files that `path` includes by "name", themselves and through each other, each once."""
    found: list[Path] = []
    waiting = [path]
    while waiting:
        here = waiting.pop()
        for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', here.read_text(), re.MULTILINE):
            target = here.parent / name
            if target not in found:
                found.append(target)
                waiting.append(target)
    return found


def program(path: Path, identity: str, register: bool = True) -> str:
    """One source file as C++, with the registration of its kernels unless it is only to be looked at."""
    translation = translate(path.read_text())
    lines = [
        f'#define MSL_FILE "{identity}"',
        "#include <metal_stdlib>",
        f'#line 1 "{path}"',
        translation.text,
    ]
    for kernel, codes in translation.codes.items() if register else ():
        numbers = ", ".join(map(str, codes))
        lines.append(
            f'static msl::registered<&{kernel}, {numbers}> {kernel}_registered("{kernel}", MSL_FILE);'
        )
    return "\n".join(lines) + "\n"
