"""Limits and operators put together: which limit bounds an operator, and what share of it is reached.

The time an operator cannot go below is the longer of two: its bytes at the rate this memory is read, its operations
at the rate this processor computes. Bytes are those of weights, K and V, as the engine's profile counts them;
activations are not counted, so that the bound of norms and the like is far too low: their share says nothing, their
part of the pass is what matters.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAPPED, HEAP = "mapped file", "anonymous memory, 4 KB pages"
_FROM_HEAP = ("attention",)  # reads K and V, which the engine allocates; all others read the mapped file


@dataclass(frozen=True, slots=True)
class Limits:
    """What this machine can do with one number of threads: bytes and operations a second, by name."""

    read: Mapping[str, float]
    f32: Mapping[str, float]
    int8: Mapping[str, float]

    def read_rate(self, operator: str) -> float:
        return self.read[HEAP if operator in _FROM_HEAP else MAPPED]

    @property
    def f32_rate(self) -> float:
        return max(self.f32.values())

    @property
    def int8_rate(self) -> float:
        return max(self.int8.values())


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator of a pass: `calls` calls took `seconds` in total. `integer`: its activations are 8-bit."""

    name: str
    integer: bool
    calls: int
    seconds: float
    bytes: float
    flops: float


@dataclass(frozen=True, slots=True)
class Bound:
    """The limit that is met first: its name, the seconds it allows, the share that is reached (1 = all of it)."""

    by: str
    seconds: float
    share: float


def bound(operator: Operator, limits: Limits) -> Bound:
    return _bound(operator, limits, "int8" if operator.integer else "float32",
                  limits.int8_rate if operator.integer else limits.f32_rate)


def _bound(operator: Operator, limits: Limits, kind: str, rate: float) -> Bound:
    memory, arithmetic = operator.bytes / limits.read_rate(operator.name), operator.flops / rate
    by, seconds = ("memory", memory) if memory >= arithmetic else (kind, arithmetic)
    return Bound(by, seconds, seconds / operator.seconds)


def floors(operators: Iterable[Operator], limits: Limits) -> dict[str, float]:
    """Least seconds of a pass: with the types it has, and were all of its products float32 or int8."""
    operators = list(operators)
    return {"as_run": sum(bound(o, limits).seconds for o in operators),
            "float32": sum(_bound(o, limits, "float32", limits.f32_rate).seconds for o in operators),
            "int8": sum(_bound(o, limits, "int8", limits.int8_rate).seconds for o in operators)}


def parse_limits(lines: Sequence[str]) -> dict[int, Limits]:
    """From machine.c's output, by number of threads. ValueError when a kind is missing."""
    found: dict[int, dict[str, dict[str, float]]] = {}
    for line in lines:
        row = json.loads(line)
        found.setdefault(row["threads"], {"read": {}, "f32": {}, "int8": {}})[row["kind"]][row["name"]] = row["value"]
    for threads, kinds in found.items():
        empty = [kind for kind, rows in kinds.items() if not rows]
        if empty:
            raise ValueError(f"No limit of {', '.join(empty)} was measured with {threads} threads; this processor has "
                             "none of the instruction sets that machine.c knows.")
    return {threads: Limits(**kinds) for threads, kinds in found.items()}


def parse_passes(lines: Sequence[str]) -> tuple[str, dict[str, list[Operator]]]:
    """From operators.c's output: the instruction set in use, and operators by pass, in order."""
    head, *rows = [json.loads(line) for line in lines]
    passes: dict[str, list[Operator]] = {}
    for row in rows:
        passes.setdefault(row["pass"], []).append(Operator(
            row["operator"], row["integer"], row["calls"], row["seconds"], row["bytes"], row["flops"]))
    return head["simd"], passes


def run(program: Path, arguments: Sequence[str]) -> list[str]:
    """The lines a program printed; RuntimeError with what it said when it failed."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{program.name} ended with status {done.returncode}: {done.stderr.strip()}")
    return done.stdout.splitlines()


def pass_record(name: str, threads: int, simd: str, operators: Sequence[Operator], limits: Limits) -> dict[str, Any]:
    """One pass as it is stored: figures, bounds, floors."""
    rows = []
    for operator in operators:
        found = bound(operator, limits)
        rows.append({"operator": operator.name, "calls": operator.calls, "seconds": round(operator.seconds, 7),
                     "bytes": round(operator.bytes), "flops": round(operator.flops), "bound": found.by,
                     "bound_seconds": round(found.seconds, 7), "share": round(found.share, 3)})
    return {"pass": name, "threads": threads, "simd": simd, "rows": rows,
            "seconds": round(sum(o.seconds for o in operators), 6),
            "floors": {kind: round(seconds, 6) for kind, seconds in floors(operators, limits).items()}}


# -- Markdown --


def limits_table(stored: Mapping[str, Any]) -> str:
    """One row a limit, one column a number of threads."""
    threads = list(stored)
    lines = ["| limit | " + " | ".join(f"{t} thread{'s' if t != '1' else ''}" for t in threads) + " |",
             "|---|" + "---|" * len(threads)]
    for kind, words, unit in (("read", "read, {}", "GB/s"), ("f32", "float32, {}", "GFLOP/s"),
                              ("int8", "int8, {}", "GOP/s")):
        for name in stored[threads[0]][kind]:
            cells = (f"{stored[t][kind][name] / 1e9:.1f} {unit}" for t in threads)
            lines.append(f"| {words.format(name)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def pass_table(record: Mapping[str, Any], least: float = 0.003) -> str:
    """One row an operator; those below `least` of the pass are added up in one row."""
    rows, rest = [], 0.0
    for row in record["rows"]:
        part = row["seconds"] / record["seconds"]
        if part < least:
            rest += row["seconds"]
            continue
        rows.append(f"| {row['operator']} | {row['calls']} | {1e3 * row['seconds']:.2f} | {part:.1%} "
                    f"| {row['bytes'] / 1e6:.1f} | {row['bytes'] / row['seconds'] / 1e9:.1f} "
                    f"| {row['flops'] / row['seconds'] / 1e9:.1f} | {row['bound']} | {row['share']:.0%} |")
    if rest:
        rows.append(f"| the rest | | {1e3 * rest:.2f} | {rest / record['seconds']:.1%} | | | | | |")
    share = record["floors"]["as_run"] / record["seconds"]
    rows.append(f"| **all** | | **{1e3 * record['seconds']:.2f}** | | | | | | **{share:.0%}** |")
    head = ["| operator | calls | ms | of the pass | MB read | GB/s | GFLOP/s | bound by | share of that limit |",
            "|---|---|---|---|---|---|---|---|---|"]
    return "\n".join(head + rows)
