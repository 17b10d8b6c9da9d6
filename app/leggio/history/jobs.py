"""Documents being read, written down so that a killed program can go on.

`queue-PROCESS.json` names what is to be read; every document has a journal (`uocr.journal`) with its pages
that are done, bound to the hashes of file, settings, model and engine. A document that is read leaves the
queue and its journal goes.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from uocr.document import Page
from uocr.errors import UocrError
from uocr.journal import Journal, discard

from leggio.processes import ProcessFile

log = logging.getLogger(__name__)

_BOUND = (
    "preset",
    "prompt",
    "dpi",
    "max_new_tokens",
    "ngram_size",
    "ngram_window",
    "guard_allow",
    "loop_guard_hits",
    "loop_history",
    "compat",
    "one_pass",
    "read_again",
    "rotate",
)
"""Settings that change what is read; the password and page range do not."""


@dataclass(slots=True)
class Job:
    """A document being read. `pages` are numbers from 0 in reading order, `rotate` degrees by page number."""

    input: str
    name: str
    pages: list[int]
    rotate: dict[str, int] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return hashlib.sha256(self.input.encode("utf-8", "surrogateescape")).hexdigest()[:24]


def job_key(sha256: str, settings: Mapping[str, Any], model_id: str, engine: str) -> dict[str, str]:
    """What the pages of a job depend on, as `uocr.journal` wants it."""
    chosen = sorted((name, settings.get(name)) for name in _BOUND if name != "rotate")
    return {
        "file": sha256,
        "settings": hashlib.sha256(repr(chosen).encode()).hexdigest(),
        "model": model_id,
        "engine": engine,
    }


class JobStore:
    """Queue and journals in one folder. Journals are touched on the engine's thread alone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._queue = ProcessFile(folder, "queue")
        self._journals: dict[str, Journal] = {}

    # -- the queue -----------------------------------------------------------------------------------------

    def write_queue(self, jobs: Iterable[Job]) -> None:
        """What is still to be read. A folder that cannot be written costs the resume, not the reading."""
        self._queue.write([asdict(job) for job in jobs])

    def unfinished(self) -> list[Job]:
        """Jobs of programs that are gone."""
        jobs: dict[str, Job] = {}
        for record in self._queue.orphaned():
            try:
                job = Job(**record)
            except TypeError as error:
                log.info("a job is passed over: %s", error)
                continue
            jobs[job.id] = job
        return list(jobs.values())

    def adopt(self) -> None:
        """The unfinished jobs are now this program's (queued anew, or given up)."""
        self._queue.adopt()

    # -- journals ------------------------------------------------------------------------------------------

    def journal_path(self, job: Job) -> Path:
        return self._folder / f"{job.id}.jsonl"

    def append(self, job: Job, key: Mapping[str, str], page: Page) -> None:
        """A page is done: on the disk when this returns. Raises JournalMismatch, OutputFailed."""
        self._journal(job, key).append(page)

    def resume(self, job: Job, key: Mapping[str, str]) -> list[Page]:
        """The pages done so far, exactly as they were. Raises JournalMismatch, saying what changed."""
        return list({page.index: page for page in self._journal(job, key).pages}.values())

    def finish(self, job: Job) -> None:
        """The document is read, or given up: its journal goes."""
        journal = self._journals.pop(job.id, None)
        try:
            if journal is not None:
                journal.close(finished=True)
            discard(self.journal_path(job))
        except UocrError as error:
            log.info("a journal could not be removed: %s", error)

    def count_done(self, job: Job) -> int:
        """Pages in the journal, without opening it."""
        try:
            with self.journal_path(job).open("rb") as file:
                return max(0, sum(1 for line in file if line.endswith(b"\n")) - 1)
        except OSError:
            return 0

    def close(self) -> None:
        for journal in self._journals.values():
            journal.close()
        self._journals.clear()

    def _journal(self, job: Job, key: Mapping[str, str]) -> Journal:
        if job.id not in self._journals:
            self._journals[job.id] = Journal.open(self.journal_path(job), key)
        return self._journals[job.id]


def remaining(job: Job, done: Sequence[Page]) -> list[int]:
    """Page numbers still to read, in order."""
    have = {page.index for page in done}
    return [number for number in job.pages if number not in have]
