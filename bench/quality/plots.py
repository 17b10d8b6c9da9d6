"""One page of plots from stored figures: error rates, time, reliability. Needs matplotlib (extra `bench`)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def available() -> bool:
    try:
        __import__("matplotlib")
    except ImportError:
        return False
    return True


def draw(folder: Path) -> None:
    """Write quality.png from what is there of quality.json and confidence.json."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    stored = {name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
              for name in ("quality", "confidence") if (folder / f"{name}.json").exists()}
    if not stored:
        return
    report, words = stored.get("quality", {"sets": {}}), stored.get("confidence")
    model = next(iter(stored.values()))["model"]
    figure, axes = pyplot.subplots(2, 2, figsize=(11.7, 8.3), layout="constrained")
    _bars(axes[0, 0], report, "character_error_rate", "character errors, %", logarithmic=True)
    _bars(axes[0, 1], report, "word_error_rate", "word errors, %", logarithmic=True)
    _bars(axes[1, 0], report, "cpu_seconds_a_page", "processor seconds a page (median)", logarithmic=True)
    if words:
        _reliability(axes[1, 1], words)
    else:
        axes[1, 1].set_axis_off()
    figure.suptitle(f"{model['name']} ({model['quantisation']}, {model['precision']})")
    partial = folder / "quality.png.partial"
    figure.savefig(partial, format="png", dpi=110, metadata={"Software": None})
    pyplot.close(figure)
    os.replace(partial, folder / "quality.png")


def _bars(axis: Any, report: dict[str, Any], figure: str, label: str, logarithmic: bool) -> None:
    """Horizontal bars, one group a set, one colour a reader; sets without the figure are left out."""
    names = [n for n, s in report["sets"].items() if any(r.get(figure) is not None for r in s["readers"].values())]
    readers = list(dict.fromkeys(r for n in names for r in report["sets"][n]["readers"]))
    height = 0.8 / max(len(readers), 1)
    for index, reader in enumerate(readers):
        values = [report["sets"][n]["readers"].get(reader, {}).get(figure) or 0 for n in names]
        places = [row + (index - (len(readers) - 1) / 2) * height for row in range(len(names))]
        axis.barh(places, [max(v, 0.01) if logarithmic else v for v in values], height, label=reader)
    axis.set_yticks(range(len(names)), names, fontsize=8)
    axis.invert_yaxis()
    axis.set_xlabel(label)
    if logarithmic:
        axis.set_xscale("log")
    if len(readers) > 1:
        axis.legend(fontsize=8)


def _reliability(axis: Any, confidence: dict[str, Any]) -> None:
    rows = confidence["reliability"]
    axis.plot([0, 1], [0, 1], color="grey", linewidth=0.8, linestyle="--")
    axis.plot([r["confidence"] for r in rows], [r["right"] for r in rows], marker="o")
    for row in rows:
        axis.annotate(str(row["words"]), (row["confidence"], row["right"]), fontsize=7, xytext=(3, -9),
                      textcoords="offset points")
    axis.axvline(confidence["threshold"], color="tab:red", linewidth=0.8)
    axis.set_xlabel("confidence of a word (line: marked as doubtful below)")
    axis.set_ylabel("share of right words")
