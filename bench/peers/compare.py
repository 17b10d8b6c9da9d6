"""Runs the contenders of each piece of work in turn and keeps every figure.

A round is one turn of each, right after another, so that a change of the machine's mood meets all of them; a ratio is
taken inside a round. Figures are units a second where more is better, else seconds a unit; a ratio is always how many
times as fast ours is.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from bench import machine
from bench.peers.work import WORK, Answer, Contender, Work

OURS = "ours"
Open = Callable[[int], Contender]
"""Starts a contender with so many threads."""


@dataclass(slots=True)
class Row:
    """One piece of work with one number of threads: figures and ratios of every round, by contender."""

    work: str
    threads: int
    figures: dict[str, list[float]]
    ratios: dict[str, list[float]]  # ours against a peer, in each round
    load: list[float] = field(default_factory=list)  # before each round
    about: dict[str, dict[str, object]] = field(default_factory=dict)


def figure(work: Work, answer: Answer) -> float:
    return answer.units / answer.seconds if work.rate else answer.seconds / answer.units


def ratio(work: Work, ours: float, peer: float) -> float:
    """How many times as fast ours is."""
    return ours / peer if work.rate else peer / ours


def spread(values: Sequence[float]) -> tuple[float, float, float]:
    """Least, median, most."""
    return min(values), statistics.median(values), max(values)


def in_turn(work: Work, threads: int, rounds: int, contenders: Mapping[str, Contender]) -> Row:
    """`rounds` rounds over contenders that are open; each has one turn before that is not counted."""
    row = Row(work.name, threads, {name: [] for name in contenders},
              {name: [] for name in contenders if name != OURS and OURS in contenders})
    for contender in contenders.values():
        contender.run(work.name)
    for _ in range(rounds):
        row.load.append(machine.load())
        for name, contender in contenders.items():
            row.figures[name].append(round(figure(work, contender.run(work.name)), 4))
        for name, values in row.ratios.items():
            values.append(round(ratio(work, row.figures[OURS][-1], row.figures[name][-1]), 3))
    row.about = {name: contender.about() for name, contender in contenders.items()}
    return row


def run(works: Sequence[str], threads: Sequence[int], rounds: int, openers: Mapping[str, Mapping[str, Open]],
        say: Callable[[str], None]) -> list[dict[str, object]]:
    """Every work with every number of threads. `openers` maps a work to its contenders, ours first."""
    rows = []
    for count in threads:
        for name in works:
            contenders: dict[str, Contender] = {}
            try:
                for who, opener in openers[name].items():
                    contenders[who] = opener(count)
                row = in_turn(WORK[name], count, rounds, contenders)
            finally:
                for contender in contenders.values():
                    contender.close()
            say(line(row))
            rows.append(asdict(row))
    return rows


def line(row: Row) -> str:
    """One row in words, for the terminal."""
    unit = "per s" if WORK[row.work].rate else "s"
    parts = [f"{name} {spread(values)[1]:.2f} {unit} ({min(values):.2f} to {max(values):.2f})"
             for name, values in row.figures.items()]
    parts += [f"{spread(values)[1]:.2f} times {name} ({min(values):.2f} to {max(values):.2f})"
              for name, values in row.ratios.items()]
    return f"{WORK[row.work].about}, {row.threads} threads: {'; '.join(parts)}; load {row.load}"
