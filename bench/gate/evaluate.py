"""Runs choices over pages, page by page, and keeps every result in a file so that a run can go on where it was."""

from __future__ import annotations

import json
import math
import multiprocessing
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, as_completed, wait
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from uocr import native
from uocr.modelfile import ModelFile
from uocr.rereading import read_again_below
from uocr.tokenizer import Tokenizer

from bench.gate.choices import REFERENCE, Choice, Sight
from bench.gate.scoring import Bench, PageResult, compare_forced, compare_readings
from bench.quality.pages import Page

Results = dict[str, dict[int, PageResult]]
"""By choice and page number."""
PageResults = list[tuple[str, PageResult]]
"""Of one page, by choice."""
Work = tuple[int, Page, dict[str, PageResult | None]]
"""A page's number, the page, and the choices wanted of it, the reference perhaps among them; with what is known of
each from before pages were read twice, where only free reading is wanted anew."""


class OutOfTime(RuntimeError):
    """Not one page was measured with every choice."""


def open_bench(path: Path, precision: str, threads: int, below: float, stack: ExitStack) -> Bench:
    with ModelFile.open(path) as file:
        front_end, tokenizer = file.front_end, Tokenizer(file.tokenizer_json, digits=file.front_end.get("digits"))
    engine = stack.enter_context(native.Engine(path, precision=precision, threads=threads))
    return Bench(engine, front_end, tokenizer, below)


def bound_of(path: Path) -> float:
    """The probability below which a model file has a page read again; 0: never."""
    with ModelFile.open(path) as file:
        return read_again_below(file.front_end)


class Journal:
    """Results in a file of JSON lines, bound to what they were measured on."""

    def __init__(self, path: Path, facts: Mapping[str, object]) -> None:
        self.path = path
        self.results: Results = {}
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        # A run that was killed while it wrote leaves a piece of a line.
        lines = text[:text.rfind("\n") + 1].splitlines()
        if lines and json.loads(lines[0]) == facts:
            for line in lines[1:]:
                stored = json.loads(line)
                self._remember(stored["choice"], PageResult.from_stored(stored["result"]))
        else:
            lines = [json.dumps(facts)]
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")

    def _remember(self, choice: str, result: PageResult) -> None:
        self.results.setdefault(choice, {})[result.page] = result

    def known(self, choice: str, page: int) -> PageResult | None:
        return self.results.get(choice, {}).get(page)

    def lacks(self, choice: str, page: int, below: float) -> bool:
        """Whether the page is still to be read by a choice that reads it again by the bound `below`."""
        known = self.known(choice, page)
        return known is None or not known.holds(below)

    def add(self, results: PageResults) -> None:
        """Keep a page's results by choice, in one piece and in place of what was known of them."""
        for choice, result in results:
            self._remember(choice, result)
        with self.path.open("a", encoding="utf-8") as file:
            file.write("".join(json.dumps({"choice": c, "result": asdict(r)}) + "\n" for c, r in results))


@dataclass(frozen=True)
class Task:
    """What is open at once: the reference and choices, by name (file, precision)."""

    reference: Path
    choices: Mapping[str, tuple[Path, str]]
    sights: Mapping[str, Sight]
    """By choice, the reference among them: a page is looked at once for each."""
    threads: int
    along: str
    below: float
    """The bound by which all of them read a page again: the reference's; 0: never."""


class Group:
    """The open models of a task. They share each page's reference."""

    def __init__(self, task: Task, stack: ExitStack) -> None:
        self.task = task
        self.reference = open_bench(task.reference, "exact", task.threads, task.below, stack)
        self.benches = {name: open_bench(path, precision, task.threads, task.below, stack)
                        for name, (path, precision) in task.choices.items()}

    def page(self, number: int, page: Page, wanted: Mapping[str, PageResult | None]) -> PageResults:
        """Results of the choices wanted. What is known of one keeps its figures along the forced text."""
        case = self.reference.case(page, page.markup())
        own = self.reference.readings(case)
        if self.task.along == "reading":
            case = self.reference.case(page, own.first.text)
        forced = self.reference.forced(case, own.first.rows) if None in wanted.values() else None
        rows = {self.task.sights[REFERENCE.name]: own.first.rows}
        found = []
        for name, known in wanted.items():
            bench, sight = self.benches.get(name, self.reference), self.task.sights[name]
            read = own if bench is self.reference else bench.readings(case, rows.get(sight))
            rows[sight] = read.first.rows
            result = PageResult(number) if known is None else replace(known)
            if known is None and forced is not None:
                other = forced if bench is self.reference else bench.forced(case, read.first.rows)
                compare_forced(case, forced, other, result)
            compare_readings(case, own, read, result, self.task.below)
            found.append((name, result))
        return found


_opened: list[Group] = []
"""The models of a worker process, open for as long as it lives."""


def _open(task: Task) -> None:
    _opened.append(Group(task, ExitStack()))


def _score(number: int, page: Page, wanted: Mapping[str, PageResult | None]) -> PageResults:
    return _opened[0].page(number, page, wanted)


def _convert(choice: Choice, checkpoint: Path, folder: Path) -> Path:
    return choice.convert(checkpoint, folder)


class Evaluation:
    """Scores choices of types for one checkpoint. `along` is "truth" or "reading" (the reference's own). With more
    than one job, worker processes take pages as they get free, each with all models open (files are mapped, so that
    their bytes lie in memory once). Pages are begun in order and none after `until` (time.monotonic())."""

    def __init__(self, checkpoint: Path, folder: Path, journal: Journal, *, threads: int, along: str,
                 one_at_a_time: bool, jobs: int = 1, until: float = math.inf) -> None:
        self.checkpoint, self.folder, self.journal = checkpoint, folder, journal
        self.threads, self.along, self.one_at_a_time, self.jobs = threads, along, one_at_a_time, jobs
        self.until = until
        self.bytes: dict[str, int] = {}
        self.below = 0.0
        """The reference's bound for reading a page again, once it was converted; choices are held to the same."""
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, profile: str) -> Path:
        """The model file of a profile as the type policy has it."""
        return Choice(profile, profile).convert(self.checkpoint, self.folder)

    def run(self, choices: Sequence[Choice], pages: Sequence[Page]) -> Results:
        """Results of all choices, the reference among them, for the pages that all of them were measured on: all
        pages, unless time ran out. Raises OutOfTime when there is none."""
        groups = [[c] for c in choices] if self.one_at_a_time else [list(choices)]
        for group in groups:
            self._run_group(group, pages)
            if self.one_at_a_time:
                group[0].convert(self.checkpoint, self.folder).unlink()
        names = [c.name for c in (REFERENCE, *choices)]
        whole = [n for n in range(len(pages)) if not any(self.journal.lacks(name, n, self.below) for name in names)]
        if not whole:
            raise OutOfTime(f"Time ran out before one page was measured with {', '.join(names[1:])}; give --seconds "
                            f"more, or run again in the same folder to go on.")
        results = {name: {n: self.journal.results[name][n] for n in whole} for name in names}
        if self.below:
            return results
        return {name: {n: replace(r, kept=None) for n, r in by_page.items()} for name, by_page in results.items()}

    def _converted(self, choices: Sequence[Choice]) -> dict[str, Path]:
        """Model files by choice, the reference among them."""
        each = list({choice.stem: choice for choice in (REFERENCE, *choices)}.values())
        if self.jobs > 1:
            with ProcessPoolExecutor(min(self.jobs, len(each)), multiprocessing.get_context("spawn")) as pool:
                list(pool.map(partial(_convert, checkpoint=self.checkpoint, folder=self.folder), each))
        paths = {c.name: c.convert(self.checkpoint, self.folder) for c in (REFERENCE, *choices)}
        self.bytes |= {name: path.stat().st_size for name, path in paths.items()}
        self.below = bound_of(paths[REFERENCE.name])
        return paths

    def _run_group(self, choices: Sequence[Choice], pages: Sequence[Page]) -> None:
        """Score what the journal lacks."""
        paths = self._converted(choices)
        task = Task(paths[REFERENCE.name], {c.name: (paths[c.name], c.precision) for c in choices},
                    {c.name: c.sight(paths[c.name]) for c in (REFERENCE, *choices)}, self.threads, self.along,
                    self.below)
        work: list[Work] = []
        for number, page in enumerate(pages):
            wanted = {c.name: self.journal.known(c.name, number) for c in (REFERENCE, *choices)
                      if self.journal.lacks(c.name, number, self.below)}
            if wanted:
                work.append((number, page, wanted))
        begin = time.monotonic()
        for count, results in enumerate(self._scored(task, work), 1):
            self.journal.add(results)
            print(f"{time.monotonic() - begin:7.1f} s  {count} of {len(work)} pages", flush=True)

    def _scored(self, task: Task, work: Sequence[Work]) -> Iterator[PageResults]:
        """Results page by page, in no order."""
        jobs = min(self.jobs, len(work))
        if not work:
            return
        if jobs == 1:
            with ExitStack() as stack:
                group = Group(task, stack)
                for item in work:
                    if time.monotonic() > self.until:
                        break
                    yield group.page(*item)
            return
        with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _open, (task,)) as pool:
            waiting: set[Future[PageResults]] = set()
            for item in work:
                if time.monotonic() > self.until:
                    break
                # Only as many as there are processes: whatever is handed over would be measured after the time, too.
                waiting.add(pool.submit(_score, *item))
                if len(waiting) == jobs:
                    done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    yield from (future.result() for future in done)
            yield from (future.result() for future in as_completed(waiting))
