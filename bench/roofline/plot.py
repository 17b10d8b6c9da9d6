"""The share of its limit that each operator reaches, one panel a pass, as docs/figures/roofline.png."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_COLOURS = {"memory": "#2a6f97", "float32": "#c1762f", "int8": "#7a4f9a"}
_LEAST = 0.02  # of a pass: smaller operators are left out


def draw(path: Path, passes: Sequence[Mapping[str, Any]], title: str) -> None:
    """A bar an operator, as thick as its part of the pass is large. Needs matplotlib (extra "bench")."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    columns = 2
    rows = -(-len(passes) // columns)
    figure, axes = pyplot.subplots(rows, columns, figsize=(13, 4.2 * rows), squeeze=False, layout="constrained")
    for axis, record in zip(axes.flat, passes, strict=False):
        _panel(axis, record)
    for axis in axes.flat[len(passes):]:
        axis.set_visible(False)
    handles = [pyplot.Rectangle((0, 0), 1, 1, color=colour) for colour in _COLOURS.values()]
    figure.legend(handles, [f"bound by {name}" for name in _COLOURS], loc="outside lower center", ncols=3)
    figure.suptitle(title)
    partial = path.with_name(path.name + ".partial")
    figure.savefig(partial, dpi=110, format="png", metadata={"Software": None})
    pyplot.close(figure)
    os.replace(partial, path)


def _panel(axis: Any, record: Mapping[str, Any]) -> None:
    top, ticks, names = 0.0, [], []
    for row in record["rows"]:
        part = row["seconds"] / record["seconds"]
        if part < _LEAST:
            continue
        height = max(part, 0.045)
        axis.barh(top + height / 2, row["share"], height=0.92 * height, color=_COLOURS[row["bound"]])
        axis.text(min(row["share"], 1.0) + 0.01, top + height / 2, f"{row['share']:.0%}", va="center", fontsize=8)
        ticks.append(top + height / 2)
        names.append(f"{row['operator']} ({part:.0%})")
        top += height
    axis.set_yticks(ticks, names, fontsize=8)
    axis.invert_yaxis()
    axis.set_xlim(0, 1.12)
    axis.axvline(1, color="black", linewidth=0.8)
    axis.set_xlabel("share of the limit that bounds it")
    axis.set_title(f"{record['pass']}, {record['threads']} thread{'s' if record['threads'] != 1 else ''}: "
                   f"{1e3 * record['seconds']:.1f} ms", fontsize=10)
