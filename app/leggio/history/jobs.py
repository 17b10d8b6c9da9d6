"""Documents being read, written down so that a killed program can go on.

`queue-PROCESS.json` names what is to be read; every document has a journal (`uocr.journal`) with its pages
that are done, bound to the hashes of file, settings, model and engine. A document that is read leaves the
queue and its journal goes.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from uocr.document import Page
from uocr.errors import UocrError
from uocr.journal import Journal, discard

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
        self._journals: dict[str, Journal] = {}

    # -- the queue
    # ---------------------------------------------------------------------------------------------

    @property
    def queue_path(self) -> Path:
        return self._folder / f"queue-{os.getpid()}.json"

    def write_queue(self, jobs: Iterable[Job]) -> None:
        """What is still to be read. A folder that cannot be written costs the resume, not the reading."""
        records = [asdict(job) for job in jobs]
        path = self.queue_path
        try:
            if not records:
                path.unlink(missing_ok=True)
                return
            self._folder.mkdir(parents=True, exist_ok=True)
            partial = path.with_name(path.name + ".partial")
            partial.write_text(json.dumps(records), "utf-8", "surrogateescape")
            os.replace(partial, path)
        except OSError as error:
            log.info("the queue is not written down: %s", error)

    def unfinished(self) -> list[Job]:
        """Jobs of programs that are gone."""
        jobs: dict[str, Job] = {}
        for path in self._orphans():
            try:
                found = [Job(**record) for record in json.loads(path.read_text("utf-8", "surrogateescape"))]
            except (OSError, ValueError, TypeError) as error:
                log.info("%s is passed over: %s", path.name, error)
                continue
            jobs |= {job.id: job for job in found}
        return list(jobs.values())

    def adopt(self) -> None:
        """The unfinished jobs are now this program's (queued anew, or given up)."""
        for path in self._orphans():
            path.unlink(missing_ok=True)

    def _orphans(self) -> list[Path]:
        found = []
        for path in sorted(self._folder.glob("queue-*.json")):
            process = path.stem.partition("-")[2]
            if process.isdecimal() and not _alive(int(process)):
                found.append(path)
        return found

    # -- journals
    # ----------------------------------------------------------------------------------------------

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


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
