"""Strict check of kernel sources: what clang's types can see with real address spaces, and rules on the text.

    python3 strict.py [FILE.metal ...]      all of metal/ by default; exit status 1 when anything is found

The rules are the subset that every target takes (docs/metal.md): Apple's compiler has the last word.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from kernel_library import COMMON, HERE, HOW_TO_GET_IT, KERNELS, compiler
from translate import ATTRIBUTE, COMMENT, TranslationError, blank, local_includes, program

FLAGS = [
    *(flag for flag in COMMON if flag not in ("-fPIC", "-g1")),
    "-DMSL_STRICT",
    "-fsyntax-only",
    "-fno-caret-diagnostics",
    "-ferror-limit=0",
    "-Wno-undefined-inline",
    "-Wno-undefined-internal",
    "-Wno-null-dereference",
]
BANNED = {
    r"\bdouble\b": "no double",
    r"\bstd\s*::": "no std::",
    r"\b(?:try|catch|throw)\b": "no exceptions",
    r"\b(?:new|delete)\b": "no new or delete",
    r"\bvirtual\b": "no virtual functions",
    r"\b(?:dynamic_cast|typeid)\b": "no run-time types",
    r"\bgoto\b": "no goto",
    r"\bbfloat\w*\b": "no bfloat: the language version is 3.0",
    r"\bthread_elements\b": "no thread_elements: their layout is not documented",
    r"\bif\s+constexpr\b": "no if constexpr: the language is C++14",
}
SPACES = {"device", "constant", "threadgroup", "thread"}
TYPES = r"(?:bool|u?char|u?short|u?int|u?long|half|float|size_t|void|u?int(?:8|16|32|64)_t)[234]?"
FUNCTION = re.compile(r"\b(\w+)\s*\(([^(){};]*(?:\([^()]*\)[^(){};]*)*)\)\s*(?:const\s*)?\{")
KEYWORDS = {"if", "for", "while", "switch", "return", "sizeof"}
NOTE = re.compile(r"^(.*?):(\d+):\d+: note: in instantiation of ")
DIAGNOSTIC = re.compile(r"^(.*?):(\d+):\d+: (?:fatal )?(error|warning): (.*)$")


class Finding(NamedTuple):
    """One thing that is wrong, at a line of a file."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


def line_of(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def banned_words(name: str, text: str) -> list[Finding]:
    return [
        Finding(name, line_of(text, found.start()), rule)
        for pattern, rule in BANNED.items()
        for found in re.finditer(pattern, text)
    ]


def bare_pointers(name: str, text: str) -> list[Finding]:
    """Parameters and variables that point or refer without naming an address space."""
    structs = "|".join(re.findall(r"\bstruct\s+(\w+)", text))
    types = f"(?:{TYPES}|{structs})" if structs else TYPES
    declared = re.compile(rf"\b{types}\s*(?:const\s*)?[*&]\s*(?=\w|\()")
    found = []
    for match in declared.finditer(text):
        start = max(text.rfind(mark, 0, match.start()) for mark in "(,;{}")
        before = set(re.findall(r"\w+", text[start + 1 : match.start()]))
        expression = re.search(r"[=+\-/]|\breturn\b", text[start + 1 : match.start()])
        if not before & SPACES and not expression and not re.match(r"\(\s*&", text[match.end() :]):
            found.append(
                Finding(name, line_of(text, match.start()), "a pointer or reference without an address space")
            )
    return found


def recursion(name: str, text: str) -> list[Finding]:
    """Functions that reach themselves."""
    calls: dict[str, set[str]] = {}
    lines: dict[str, int] = {}
    for found in FUNCTION.finditer(text):
        if found[1] in KEYWORDS:
            continue
        depth, end = 1, found.end()
        while depth and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        called = set(re.findall(r"\b(\w+)\s*(?:<[^<>;]*>)?\s*\(", text[found.end() : end]))
        calls.setdefault(found[1], set()).update(called)
        lines.setdefault(found[1], line_of(text, found.start()))
    findings = []
    for function in calls:
        seen: set[str] = set()
        waiting = list(calls[function])
        while waiting:
            callee = waiting.pop()
            if callee in calls and callee not in seen:
                seen.add(callee)
                waiting += calls[callee]
        if function in seen:
            findings.append(Finding(name, lines[function], f"{function} calls itself"))
    return findings


def types(path: Path) -> list[Finding]:
    """What clang says, and casts from one address space to another, which it would let pass."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "strict.cpp"
        try:
            source.write_text(program(path, path.stem, register=False))
        except TranslationError as error:
            return [Finding(path.name, 1, str(error))]
        command = [str(compiler()), *FLAGS, f"-I{HERE}", f"-I{path.parent}", f"-I{KERNELS}", str(source)]
        said = subprocess.run(command, capture_output=True, text=True, check=False).stderr
        dump = [*command, "-w", "-Xclang", "-ast-dump", "-fno-color-diagnostics"]
        tree = subprocess.run(dump, capture_output=True, text=True, check=False).stdout
    findings = located(said)
    findings += [
        Finding(path.name, line, "a cast from one address space to another") for line in space_casts(tree)
    ]
    return findings


def located(said: str) -> list[Finding]:
    """clang's errors and warnings. One inside our headers belongs to the line that asked for the template."""
    findings: list[Finding] = []
    inside = ""
    for line in said.splitlines():
        found = DIAGNOSTIC.match(line)
        asked = NOTE.match(line)
        if found:
            file, text = Path(found[1]), found[4]
            inside = text if file.parent == HERE else ""
            if not inside:
                findings.append(Finding(file.name, int(found[2]), text))
        elif asked and inside and Path(asked[1]).parent != HERE:
            findings.append(Finding(Path(asked[1]).name, int(asked[2]), inside))
            inside = ""
    return findings


def space_casts(tree: str) -> list[int]:
    """Lines of the file itself with C-style casts that change the address space, from clang's tree."""
    lines: set[int] = set()
    here = 0
    for node in tree.splitlines():
        place = re.search(r"<(?:[^<>]*?(?:line|\.metal):(\d+):\d+)", node)
        if place:
            here = int(place[1])
        if "CStyleCastExpr" in node and "<AddressSpaceConversion>" in node:
            lines.add(here)
    return sorted(lines)


def check(path: Path) -> list[Finding]:
    """Everything wrong with one source and the files that it includes, one finding a line."""
    if not compiler():
        raise SystemExit(HOW_TO_GET_IT)
    findings = []
    for file in [path, *(f for f in local_includes(path) if f.name != "arguments.h")]:
        text = ATTRIBUTE.sub(blank, COMMENT.sub(blank, file.read_text()))
        for rule in (banned_words, bare_pointers, recursion):
            findings += rule(file.name, text)
    findings += types(path)
    first: dict[tuple[str, int], Finding] = {}
    for finding in findings:
        first.setdefault((finding.file, finding.line), finding)
    return sorted(first.values())


def main() -> int:
    paths = [Path(argument).resolve() for argument in sys.argv[1:]] or sorted(KERNELS.glob("*.metal"))
    findings = [finding for path in paths for finding in check(path)]
    for finding in findings:
        print(finding)
    print(f"{len(paths)} files, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
