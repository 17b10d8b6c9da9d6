"""One page, everything included: `python -m bench.one_page [--threads 1,2] [--runs 9] [--out docs/figures/page.json]`.

Draws a page of 1024 x 1024 pixels with about 500 characters and reads it with the command line and the built-in model,
each time in a fresh process: interpreter, libraries, model, picture, vision, text, printing. Vision, prompt and text
are by the engine's clock; everything else is the rest. The processor's time is told beside the wall's, because only it
means something on a machine that does other things too. `readings` in the stored figures is 2 if the page
was read twice.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont
from uocr import native

from bench import machine
from bench.speed import cell

SIDE = 1024
RUNS = 9
LINES = (
    "The ferry leaves the island",
    "at half past seven each day,",
    "and it carries forty people",
    "with bags and bicycles.",
    "In winter the last boat goes",
    "one hour before sunset, for",
    "the harbour has no lights.",
    "",
    "Tickets are sold on board or",
    "in the small green office on",
    "the quay. Children under six",
    "travel without a ticket.",
    "",
    "Please tell the crew about",
    "dogs, prams and heavy boxes.",
    "They will find a dry place",
    "below deck for all of them.",
    "",
    "When the wind is strong the",
    "boat may stay in port. Look",
    "at the board near the steps.",
)
PARTS = {"vision": "vision_s", "prompt": "prefill_s", "text": "decode_s"}
"""Column: the engine's own time in the page's JSON."""


def draw(path: Path) -> int:
    """The page as a PNG file; how many characters are on it, spaces inside lines included."""
    image = Image.new("L", (SIDE, SIDE), 255)
    pen = ImageDraw.Draw(image)
    font = ImageFont.load_default(34)
    for number, line in enumerate(LINES):
        pen.text((110, 60 + 43 * number), line, 0, font=font)
    image.save(path)
    return len(" ".join(" ".join(LINES).split()))


def measure(page: Path, threads: int, runs: int) -> dict[str, Any]:
    """Seconds of `runs` fresh processes, whole and by part; the first process, which fills caches, is not counted."""
    command = [sys.executable, "-m", "uocr.cli", "read", str(page), "--preset", "base", "--threads", str(threads),
               "--json", "--quiet"]
    seconds: dict[str, list[float]] = {name: [] for name in ("wall", "processor", *PARTS, "the rest")}
    tokens = readings = 0
    for run in range(runs + 1):
        before, begun = os.times(), time.perf_counter()
        shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        wall, after = time.perf_counter() - begun, os.times()
        if not run:
            continue
        read = json.loads(shown)["documents"][0]["pages"][0]
        timings, readings = read["timings"], read["readings"]
        tokens = timings["generated_tokens"]
        found = {name: timings[key] for name, key in PARTS.items()}
        found |= {"wall": wall, "the rest": wall - sum(found.values()),
                  "processor": after.children_user + after.children_system
                  - before.children_user - before.children_system}
        for name, value in found.items():
            seconds[name].append(round(value, 4))
    return {"threads": threads, "tokens": tokens, "readings": readings, "seconds": seconds}


def table(report: Mapping[str, Any]) -> str:
    """Medians with lowest and highest, a row a number of threads."""
    names = list(report["rows"][0]["seconds"])
    lines = ["| threads | tokens | " + " | ".join(f"{name}, s" for name in names) + " |",
             "|---|---|" + "---|" * len(names)]
    for row in report["rows"]:
        cells = [cell(seconds, 2) for seconds in row["seconds"].values()]
        lines.append(f"| {row['threads']} | {row['tokens']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.one_page", description=__doc__)
    machine.add_threads(parser)
    parser.add_argument("--runs", type=int, default=RUNS, help="processes that are counted")
    parser.add_argument("--out", type=Path, help="where to store the figures as JSON")
    chosen = parser.parse_args()
    if chosen.runs < 1:
        parser.error("--runs is below 1")
    report: dict[str, Any] = {"made_by": "python -m bench.one_page", "machine": machine.describe(),
                              "engine": native.version(), "runs": chosen.runs, "load_at_start": machine.load()}
    with tempfile.TemporaryDirectory(prefix="uocr-page-") as folder:
        page = Path(folder) / "page.png"
        report["characters"] = draw(page)
        report["rows"] = [measure(page, threads, chosen.runs) for threads in chosen.threads]
    report["load_at_end"] = machine.load()
    machine.tell(report, table(report), chosen.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
