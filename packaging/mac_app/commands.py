"""Runs other programs, or says exactly what would be run."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


class StepFailed(Exception):
    """A step of the build ended badly. The text is one sentence that says what and what to do."""


@dataclass
class Runner:
    """`dry_run` prints each command as a shell would take it, and each of our own steps as a comment; nothing runs."""

    dry_run: bool = False
    printed: list[str] = field(default_factory=list)

    def run(
        self, command: Sequence[str | Path], *, environment: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> None:
        """Waits for the command. Raises StepFailed with its exit status; its own words have gone to the terminal."""
        words = [str(word) for word in command]
        line = " ".join([*(f"{k}={shlex.quote(v)}" for k, v in (environment or {}).items()), shlex.join(words)])
        self._print(f"cd {shlex.quote(str(cwd))} && {line}" if cwd else line)
        if self.dry_run:
            return
        try:
            done = subprocess.run(words, env={**os.environ, **(environment or {})}, cwd=cwd, check=False)
        except FileNotFoundError:
            raise StepFailed(f"{words[0]} is not on this machine; Xcode and its command line tools bring it.") from None
        if done.returncode != 0:
            raise StepFailed(f"{words[0]} ended with status {done.returncode}: {shlex.join(words)}")

    def step(self, words: str) -> bool:
        """Announces a step of ours; whether it is to be taken."""
        self._print(f"# {words}")
        return not self.dry_run

    def _print(self, line: str) -> None:
        self.printed.append(line)
        print(line, flush=True)
