"""Runs choices over pages, page by page, and keeps every result in a file so that a run can go on where it was."""

from __future__ import annotations

import json
import multiprocessing
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
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


@dataclass(frozen=True)
class Task:
    """What is open at once: the reference and choices, by name (file, precision)."""

    reference: Path
    choices: Mapping[str, tuple[Path, str]]
    as_reference: frozenset[str]
    """Choices for which the reference's visual rows serve."""
    threads: int
    along: str


class Group:
    """The open models of a task. They share each page's reference."""

    def __init__(self, task: Task, stack: ExitStack) -> None:
        self.task = task
        self.reference = open_bench(task.reference, "exact", task.threads, stack)
        self.benches = {name: open_bench(path, precision, task.threads, stack)
                        for name, (path, precision) in task.choices.items()}

    def page(self, number: int, page: Page, wanted: Sequence[str]) -> list[tuple[str, PageResult]]:
        """Results of the reference and of the choices wanted."""
        case = self.reference.case(page, page.markup())
        rows = self.reference.rows(case)
        own, finish = self.reference.free(case, rows)
        if self.task.along == "reading":
            case = self.reference.case(page, own)
        forced = self.reference.forced(case, rows)
        result = PageResult(number)
        compare_forced(case, forced, forced, result)
        compare_free(case, own, own, finish, result)
        found = [(REFERENCE.name, result)]
        for name in wanted:
            bench = self.benches[name]
            seen = rows if name in self.task.as_reference else bench.rows(case)
            result = PageResult(number)
            compare_forced(case, forced, bench.forced(case, seen), result)
            read, finish = bench.free(case, seen)
            compare_free(case, own, read, finish, result)
            found.append((name, result))
        return found


_opened: list[Group] = []
"""The models of a worker process, open for as long as it lives."""


def _open(task: Task) -> None:
    _opened.append(Group(task, ExitStack()))


def _score(number: int, page: Page, wanted: Sequence[str]) -> list[tuple[str, PageResult]]:
    return _opened[0].page(number, page, wanted)


def _convert(choice: Choice, checkpoint: Path, folder: Path) -> Path:
    return choice.convert(checkpoint, folder)


class Evaluation:
    """Scores choices of types for one checkpoint. `along` is "truth" or "reading" (the reference's own). With more
    than one job, worker processes share the pages, each with all models open."""

    def __init__(self, checkpoint: Path, folder: Path, journal: Journal, threads: int, along: str,
                 one_at_a_time: bool, jobs: int = 1) -> None:
        self.checkpoint, self.folder, self.journal = checkpoint, folder, journal
        self.threads, self.along, self.one_at_a_time, self.jobs = threads, along, one_at_a_time, jobs
        self.bytes: dict[str, int] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, profile: str) -> Path:
        """The model file of a profile as the type policy has it."""
        return Choice(profile, profile).convert(self.checkpoint, self.folder)

    def run(self, choices: Sequence[Choice], pages: Sequence[Page]) -> Results:
        """Results of all choices, the reference among them, for all pages."""
        groups = [[c] for c in choices] if self.one_at_a_time else [list(choices)]
        for group in groups:
            self._run_group(group, pages)
            if self.one_at_a_time:
                group[0].convert(self.checkpoint, self.folder).unlink()
        return {c.name: {n: self.journal.results[c.name][n] for n in range(len(pages))} for c in (REFERENCE, *choices)}

    def _converted(self, choices: Sequence[Choice]) -> dict[str, Path]:
        """Model files by choice, the reference among them."""
        each = list({choice.stem: choice for choice in (REFERENCE, *choices)}.values())
        if self.jobs > 1:
            with ProcessPoolExecutor(self.jobs, multiprocessing.get_context("spawn")) as pool:
                list(pool.map(partial(_convert, checkpoint=self.checkpoint, folder=self.folder), each))
        paths = {c.name: c.convert(self.checkpoint, self.folder) for c in (REFERENCE, *choices)}
        self.bytes |= {name: path.stat().st_size for name, path in paths.items()}
        return paths

    def _run_group(self, choices: Sequence[Choice], pages: Sequence[Page]) -> None:
        """Score what the journal lacks."""
        paths = self._converted(choices)
        task = Task(paths[REFERENCE.name], {c.name: (paths[c.name], c.precision) for c in choices},
                    frozenset(c.name for c in choices if c.sees_as_reference), self.threads, self.along)
        work: list[tuple[int, Page, list[str]]] = []
        for number, page in enumerate(pages):
            missing = [c.name for c in choices if number not in self.journal.results.get(c.name, {})]
            if missing or number not in self.journal.results.get(REFERENCE.name, {}):
                work.append((number, page, missing))
        begin = time.monotonic()
        with ExitStack() as stack:
            done: Iterable[list[tuple[str, PageResult]]]
            if self.jobs > 1 and len(work) > 1:
                pool = stack.enter_context(ProcessPoolExecutor(min(self.jobs, len(work)),
                                                               multiprocessing.get_context("spawn"), _open, (task,)))
                done = (future.result() for future in as_completed([pool.submit(_score, *item) for item in work]))
            elif work:
                group = Group(task, stack)
                done = (group.page(*item) for item in work)
            else:
                done = ()
            for count, results in enumerate(done, 1):
                for name, result in results:
                    if result.page not in self.journal.results.get(name, {}):
                        self.journal.add(name, result)
                print(f"{time.monotonic() - begin:7.1f} s  {count} of {len(work)} pages", flush=True)
