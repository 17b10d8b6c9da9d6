"""Takes the steps one after another; what fails is written down, and the rest goes on."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mac_check.report import Command, Report, Scrubber, Step, last_lines

NOT_FOUND, TIMED_OUT = 127, 124


class CheckFailed(Exception):
    """One sentence: what is not as it should be."""


class CheckSkipped(Exception):
    """One sentence: why a step is left out, and how it would be taken."""


@dataclass(frozen=True)
class Output:
    """What a program said."""

    status: int
    out: str
    err: str


@dataclass
class Context:
    """What a step may use. `root`: the source tree; `build`: where everything is made; `step`: the one in hand."""

    root: Path
    build: Path
    quick: bool = False
    step: Step = field(default_factory=lambda: Step("", ""))

    @property
    def python(self) -> Path:
        """The Python with the engine, made by the step that installs."""
        return self.root / ".venv" / "bin" / "python"

    def run(
        self,
        *words: str | Path,
        timeout: float = 600,
        environment: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        check: bool = True,
    ) -> Output:
        """Runs a program in the source tree and writes it down. CheckFailed when it fails, unless `check` is off."""
        command = [str(word) for word in words]
        begun = time.monotonic()
        try:
            done = subprocess.run(
                command,
                cwd=cwd or self.root,
                env={**os.environ, **(environment or {})},
                capture_output=True,
                text=True,
                errors="replace",
                timeout=timeout,
                check=False,
            )
            output = Output(done.returncode, done.stdout, done.stderr)
        except FileNotFoundError:
            output = Output(NOT_FOUND, "", f"{command[0]} is not on this machine")
        except subprocess.TimeoutExpired as late:
            output = Output(TIMED_OUT, _decoded(late.stdout), f"stopped after {timeout:.0f} s")
        said = "\n".join(part.strip() for part in (output.out, output.err) if part.strip())
        said = last_lines(said) if output.status else ""
        self.step.commands.append(Command(shlex.join(command), output.status, time.monotonic() - begun, said))
        if check and output.status:
            raise CheckFailed(f"{Path(command[0]).name} ended with status {output.status}")
        return output


def _decoded(output: bytes | str | None) -> str:
    return output.decode("utf-8", "replace") if isinstance(output, bytes) else output or ""


@dataclass(frozen=True)
class Check:
    """A step: `take` returns facts, or raises. `needs` names steps without which it makes no sense."""

    name: str
    title: str
    take: Callable[[Context], dict[str, Any]]
    needs: tuple[str, ...] = ()


def run_all(checks: Sequence[Check], context: Context, report: Report, folder: Path) -> Report:
    """Takes every check and writes the report after each."""
    scrubber = Scrubber(context.root)
    states: dict[str, str] = {}
    for number, check in enumerate(checks, 1):
        print(f"[{number}/{len(checks)}] {check.title} ...", flush=True)
        context.step = Step(check.name, check.title)
        begun = time.monotonic()
        _take(check, context, states)
        context.step.seconds = time.monotonic() - begun
        states[check.name] = context.step.state
        report.steps.append(context.step)
        report.write(folder, scrubber)
        print(f"    {context.step.state}{': ' + context.step.problem if context.step.problem else ''}", flush=True)
    return report


def _take(check: Check, context: Context, states: dict[str, str]) -> None:
    step = context.step
    missing = [name for name in check.needs if states.get(name, "ok") != "ok"]
    if missing:
        step.state, step.problem = "skipped", f"needs the step {', '.join(missing)}"
        return
    try:
        step.facts.update(check.take(context))
    except CheckSkipped as reason:
        step.state, step.problem = "skipped", str(reason)
    except CheckFailed as problem:
        step.state, step.problem = "failed", str(problem)
    except Exception as error:  # a fault in a step must not cost the report
        step.state = "failed"
        step.problem = f"{type(error).__name__}: {error}"
        step.facts["trace"] = last_lines(traceback.format_exc()).splitlines()
