"""What is written down: one line of JSON a step for programs, the same as text for people.

The report is meant to be sent to others. Names of the person and the machine and the home folder are taken out of
every line, and no step writes down what a document says.
"""

from __future__ import annotations

import getpass
import json
import os
import platform
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

State = Literal["ok", "failed", "skipped"]
MOST_LINES = 60
"""Of what a command printed, its last ones."""
SHORTEST_NAME = 3
"""Shorter names of people or machines are left: they are too often something else."""


@dataclass
class Command:
    """One program that was run."""

    line: str
    status: int
    seconds: float
    output: str = ""
    """Its last lines; empty for one that did well."""


@dataclass
class Step:
    """One step of the check and what came of it."""

    name: str
    title: str
    state: State = "ok"
    seconds: float = 0.0
    problem: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    commands: list[Command] = field(default_factory=list)


class Scrubber:
    """Takes out of a text what tells who and where."""

    def __init__(self, root: Path) -> None:
        self._places = [(str(root), "."), (str(Path.home()), "~")]
        host = platform.node()
        names = {_user(): "USER", host: "HOST", host.split(".")[0]: "HOST"}
        self._names = [
            (re.compile(rf"(?<!\w){re.escape(name)}(?!\w)"), word)  # "max" is a person, "max_threads" is none
            for name, word in names.items()
            if len(name) >= SHORTEST_NAME and name not in ("root", "localhost")
        ]

    def text(self, text: str) -> str:
        for place, word in self._places:
            text = text.replace(place, word)
        for name, word in self._names:
            text = name.sub(word, text)
        return re.sub(r"/(?:private/)?var/folders/[\w/+-]+", "TMP", text)

    def value(self, value: Any) -> Any:
        """The same for texts inside lists and dictionaries."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(str(key)): self.value(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(inner) for inner in value]
        return value


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


@dataclass
class Report:
    """All steps, in their order."""

    version: str
    commit: str
    steps: list[Step] = field(default_factory=list)

    @property
    def failed(self) -> list[Step]:
        return [step for step in self.steps if step.state == "failed"]

    def as_dict(self) -> dict[str, Any]:
        return {"format": 1, "leggio": self.version, "commit": self.commit, "steps": [asdict(s) for s in self.steps]}

    def write(self, folder: Path, scrubber: Scrubber) -> tuple[Path, Path]:
        """`mac-report.txt` and `mac-report.json`, over what is there; after each step, so that a crash loses one."""
        folder.mkdir(parents=True, exist_ok=True)
        clean = scrubber.value(self.as_dict())
        texts = {"txt": _text(clean), "json": json.dumps(clean, indent=1, ensure_ascii=False) + "\n"}
        paths = []
        for ending, text in texts.items():
            path = folder / f"mac-report.{ending}"
            partial = path.with_name(path.name + ".partial")
            partial.write_text(text, "utf-8")
            os.replace(partial, path)
            paths.append(path)
        return paths[0], paths[1]


def _text(report: dict[str, Any]) -> str:
    steps = report["steps"]
    counts = ", ".join(f"{sum(s['state'] == state for s in steps)} {state}" for state in ("ok", "failed", "skipped"))
    lines = [f"Leggio {report['leggio']} ({report['commit']}) on a Mac: {counts}", ""]
    for step in steps:
        lines.append(f"[{step['state']}] {step['title']} ({step['seconds']:.1f} s)")
        if step["problem"]:
            lines.append(f"    {step['problem']}")
        lines += [f"    {line}" for line in _facts(step["facts"])]
        for command in step["commands"]:
            if command["status"] != 0:
                lines.append(f"    $ {command['line']}   (status {command['status']})")
                lines += [f"      {line}" for line in command["output"].splitlines()]
        lines.append("")
    return "\n".join(lines)


def _facts(facts: dict[str, Any], depth: str = "") -> list[str]:
    lines = []
    for key, value in facts.items():
        if isinstance(value, dict):
            lines += [f"{depth}{key}:", *_facts(value, depth + "  ")]
        elif isinstance(value, list):
            lines.append(f"{depth}{key}: {', '.join(map(str, value)) or 'none'}")
        else:
            lines.append(f"{depth}{key}: {value:.4g}" if isinstance(value, float) else f"{depth}{key}: {value}")
    return lines


def last_lines(text: str) -> str:
    return "\n".join(text.rstrip().splitlines()[-MOST_LINES:])
