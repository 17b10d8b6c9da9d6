"""Imports run one way: capabilities know only those before them, the window comes last, and nothing is below uocr."""

from __future__ import annotations

import ast
from pathlib import Path

import leggio

ROOT = Path(leggio.__file__).parent
ORDER = (
    "look",
    "processes",
    "settings",
    "sources",
    "models",
    "pages",
    "history",
    "reading",
    "transcript",
    "memory",
    "export",
    "application",
    "window",
    "selftest",
    "start_checks",
    "main",
)
"""Packages and modules of leggio; each may import what stands before it, and itself."""


def imports(file: Path) -> set[str]:
    """Modules that a file imports, wherever in it; `from a import b` counts as a and a.b."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def part(module: str) -> str:
    return module.partition(".")[2].partition(".")[0]


def test_every_part_has_its_place_in_the_order():
    assert {p.stem for p in ROOT.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()} == {*ORDER, "__init__"}


def test_no_part_imports_one_that_comes_after_it():
    wrong = []
    for file in sorted(ROOT.rglob("*.py")):
        own = file.relative_to(ROOT).parts[0].removesuffix(".py")
        for module in imports(file):
            other = part(module)
            if module.startswith("leggio.") and other in ORDER and ORDER.index(other) > ORDER.index(own):
                wrong.append(f"{file.relative_to(ROOT)} imports {module}")
    assert wrong == []


def test_no_module_imports_itself_through_others():
    modules = {".".join(("leggio", *f.relative_to(ROOT).with_suffix("").parts)): f for f in ROOT.rglob("*.py")}
    needs = {name: imports(file) & set(modules) for name, file in modules.items()}

    def reached(start: str) -> set[str]:
        found: set[str] = set()
        waiting = list(needs[start])
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += needs[name]
        return found

    assert [name for name in modules if name in reached(name)] == []


def test_the_window_knows_nothing_below_uocr():
    below = {"cffi", "ctypes", "uocr.native", "uocr._declarations"}
    allowed = {("export/clipboard.py", "ctypes")}  # asks the X server, not the engine
    found = {
        (str(file.relative_to(ROOT)), module)
        for file in ROOT.rglob("*.py")
        for module in imports(file)
        if module in below
    }
    assert found == allowed
