"""What is measured, and a peer's process seen from outside.

A contender answers the name of a piece of work with seconds and units (tokens, views). Most are processes that load
their weights once and then answer a line each (`Lines`): turns are short, and no turn pays for loading.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

PROMPT = 293  # tokens before the first decoded one: a page of 1024 pixels and a short instruction
DECODED = 64  # tokens timed; llama.cpp has no ring of generated tokens, so the count stays below the ring's 128
PREFILL = 300


@dataclass(frozen=True, slots=True)
class Work:
    """One row of the comparison. `rate`: more is better, units a second; else seconds a unit."""

    name: str
    about: str
    rate: bool
    target: str  # what the project asks of itself with one thread, in words


WORK = {w.name: w for w in (
    Work("decode_q4", f"decode q4, prompt {PROMPT}", True, ">= 60"),
    Work("decode_q8", f"decode q8, prompt {PROMPT}", True, ">= 38"),
    Work("prefill_q4", f"prefill {PREFILL}, q4", True, ">= 110"),
    Work("view_1024", "1024 view", False, "<= 16"),
    Work("view_640", "640 tile", False, "<= 5.5"),
    Work("view_1024_integer", "1024 view, ours in INTEGER", False, "<= 11"),
    Work("view_640_integer", "640 tile, ours in INTEGER", False, "<= 4"),
)}


def is_view(work: str) -> bool:
    return work.startswith("view")


def precision(work: str) -> str:
    """Of our engine; a peer has one way to do a view."""
    return "integer" if work.endswith("_integer") else "fast"


class PeerFailed(Exception):
    """A peer ended or answered nonsense; the message says what it said last."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Seconds for `units` tokens or views."""

    seconds: float
    units: int


class Contender(Protocol):
    """Something that does work in turn with others."""

    def run(self, work: str) -> Answer: ...

    def about(self) -> dict[str, object]:
        """Versions, files and their bytes, settings: whatever a reader needs to repeat it."""
        ...

    def close(self) -> None: ...


class Lines:
    """A process that answers a line of work with a line of JSON, after one line that says it is ready."""

    def __init__(self, name: str, command: Sequence[str | Path], environment: dict[str, str] | None = None) -> None:
        self.name = name
        self._process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, text=True, env=environment)
        self.ready: object = self._answer()["ready"]

    def _answer(self) -> dict[str, object]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise PeerFailed(f"{self.name} ended with status {self._process.wait()}; what it said stands above.")
        try:
            found = json.loads(line)
        except json.JSONDecodeError:
            raise PeerFailed(f"{self.name} answered {line.strip()!r}, which is not JSON.") from None
        if not isinstance(found, dict):
            raise PeerFailed(f"{self.name} answered {line.strip()!r}, which is not an object.")
        return found

    def run(self, work: str) -> Answer:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(work.removesuffix("_integer") + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise PeerFailed(f"{self.name} ended with status {self._process.wait()}.") from None
        found = self._answer()
        try:
            answer = Answer(float(str(found["seconds"])), int(str(found["units"])))
        except (KeyError, ValueError):
            raise PeerFailed(f"{self.name} answered {found!r} without seconds and units.") from None
        if answer.seconds <= 0 or answer.units <= 0:
            raise PeerFailed(f"{self.name} answered {found!r}; both numbers must be positive.")
        return answer

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
