"""Imports run one way: a room of uocr knows only those before it, and no module of uocr or of training knows itself."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
import uocr

ROOT = Path(uocr.__file__).parent
TRAINING = Path(__file__).parents[2] / "training"
ORDER = (
    # what everything stands on
    "errors", "characters", "control", "flags", "foreign", "languages", "document", "modelconfig",
    "modelfile", "tokenizer", "native",
    # from a file to the model's input
    "sources", "views", "prompt", "settings", "advice",
    # from the model's output to a page
    "markup", "events", "ink", "overrun", "paper", "audit", "rereading", "reading",
    # pages into files
    "export", "journal", "score",
    # models
    "hub", "convert", "models",
    # what people and programs call
    "api", "bench", "golden", "cli", "demo",
)  # fmt: skip
"""Packages and modules of uocr; each may import what stands before it, and itself."""


def modules(root: Path) -> dict[str, Path]:
    """Every module of the package at `root`, by its dotted name; a package's own file has the package's name."""
    files = {".".join((root.name, *file.relative_to(root).with_suffix("").parts)): file for file in root.rglob("*.py")}
    return {name.removesuffix(".__init__"): file for name, file in files.items()}


def imports(name: str, known: dict[str, Path]) -> set[str]:
    """Modules among `known` that the module `name` imports, wherever in it, itself left out."""
    package = name if known[name].stem == "__init__" else name.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(ast.parse(known[name].read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[:-node.level + 1 or None] if node.level else []
            base = ".".join((*above, *([node.module] if node.module else [])))
            found |= {inner if (inner := f"{base}.{alias.name}") in known else base for alias in node.names}
    return found & known.keys() - {name}


def room(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


def test_every_room_has_its_place_in_the_order() -> None:
    assert {room(name) for name in modules(ROOT)} == {*ORDER, ""}
    assert len(set(ORDER)) == len(ORDER)


def test_no_room_imports_one_that_comes_after_it() -> None:
    known = modules(ROOT)
    wrong = [
        f"{name} imports {other}"
        for name in sorted(known) if room(name)
        for other in sorted(imports(name, known)) if room(other)
        if ORDER.index(room(other)) > ORDER.index(room(name))
    ]
    assert wrong == []


@pytest.mark.parametrize("root", [ROOT, TRAINING], ids=lambda root: root.name)
def test_no_module_comes_back_to_itself_through_what_it_imports(root: Path) -> None:
    known = modules(root)
    assert len(known) > 20
    graph = {name: imports(name, known) for name in known}
    assert any(graph.values())
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle
