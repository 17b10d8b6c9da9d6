"""Runs choices over pages, page by page, and keeps every result in a file so that a run can go on where it was."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from uocr import native
from uocr.modelfile import ModelFile
from uocr.tokenizer import Tokenizer

from bench.gate.choices import REFERENCE, Choice
from bench.gate.scoring import Bench, PageResult, compare_forced, compare_free
from bench.quality.pages import Page

Results = dict[str, dict[int, PageResult]]
"""By choice and page number."""


def open_bench(path: Path, precision: str, threads: int, stack: ExitStack) -> Bench:
    with ModelFile.open(path) as file:
        front_end, tokenizer = file.front_end, Tokenizer(file.tokenizer_json, digits=file.front_end.get("digits"))
    engine = stack.enter_context(native.Engine(path, precision=precision, threads=threads))
    return Bench(engine, front_end, tokenizer)


class Journal:
    """Results in a file of JSON lines, bound to what they were measured on."""

    def __init__(self, path: Path, facts: dict[str, object]) -> None:
        self.path = path
        self.results: Results = {}
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        if lines and json.loads(lines[0]) == facts:
            for line in lines[1:]:
                stored = json.loads(line)
                result = PageResult(**stored["result"])
                self.results.setdefault(stored["choice"], {})[result.page] = result
        else:
            path.write_text(json.dumps(facts) + "\n", encoding="utf-8")

    def add(self, choice: str, result: PageResult) -> None:
        self.results.setdefault(choice, {})[result.page] = result
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"choice": choice, "result": asdict(result)}) + "\n")


class Evaluation:
    """Scores choices of types for one checkpoint. `along` is "truth" or "reading" (the reference's own)."""

    def __init__(self, checkpoint: Path, folder: Path, journal: Journal, threads: int, along: str,
                 one_at_a_time: bool) -> None:
        self.checkpoint, self.folder, self.journal = checkpoint, folder, journal
        self.threads, self.along, self.one_at_a_time = threads, along, one_at_a_time
        self.bytes: dict[str, int] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def run(self, choices: Sequence[Choice], pages: Sequence[Page]) -> Results:
        """Results of all choices, the reference among them, for all pages."""
        groups = [[c] for c in choices] if self.one_at_a_time else [list(choices)]
        for group in groups:
            self._run_group(group, pages)
            if self.one_at_a_time:
                group[0].convert(self.checkpoint, self.folder).unlink()
        return {c.name: {n: self.journal.results[c.name][n] for n in range(len(pages))} for c in (REFERENCE, *choices)}

    def _run_group(self, choices: Sequence[Choice], pages: Sequence[Page]) -> None:
        """All models of the group are open at once and share each page's reference."""
        begin = time.monotonic()
        with ExitStack() as stack:
            paths = {c.name: c.convert(self.checkpoint, self.folder) for c in (REFERENCE, *choices)}
            self.bytes |= {name: path.stat().st_size for name, path in paths.items()}
            reference = open_bench(paths[REFERENCE.name], "exact", self.threads, stack)
            benches = {c.name: open_bench(paths[c.name], c.precision, self.threads, stack) for c in choices}
            for number, page in enumerate(pages):
                missing = [c for c in choices if number not in self.journal.results.get(c.name, {})]
                if missing or number not in self.journal.results.get(REFERENCE.name, {}):
                    self._page(number, page, reference, {c.name: benches[c.name] for c in missing}, missing)
                    print(f"{time.monotonic() - begin:7.1f} s  page {number + 1} of {len(pages)}", flush=True)

    def _page(self, number: int, page: Page, reference: Bench, benches: dict[str, Bench],
              choices: Sequence[Choice]) -> None:
        text = page.markup()
        case = reference.case(page, text)
        rows = reference.rows(case)
        own, finish = reference.free(case, rows)
        if self.along == "reading":
            case = reference.case(page, own)
        forced = reference.forced(case, rows)
        if number not in self.journal.results.get(REFERENCE.name, {}):
            result = PageResult(number)
            compare_forced(case, forced, forced, result)
            compare_free(case, own, own, finish, result)
            self.journal.add(REFERENCE.name, result)
        for choice in choices:
            bench = benches[choice.name]
            seen = rows if choice.sees_as_reference else bench.rows(case)
            result = PageResult(number)
            compare_forced(case, forced, bench.forced(case, seen), result)
            read, finish = bench.free(case, seen)
            compare_free(case, own, read, finish, result)
            self.journal.add(choice.name, result)
