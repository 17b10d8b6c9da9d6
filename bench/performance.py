"""docs/performance.md from stored figures: `python -m bench.performance docs/figures > docs/performance.md`.

The folder holds what four commands wrote: page.json (bench.one_page), peers.json (bench.peers), roofline.json and
roofline.png (bench.roofline), speed.json (bench.speed). A part whose file is missing says which command makes it.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import machine, one_page, speed
from bench.peers.work import DECODED, PREFILL, WORK, Work
from bench.roofline import model

COMMANDS = {"page": "python -m bench.one_page --out docs/figures/page.json",
            "peers": "python -m bench.peers --build --out docs/figures/peers.json",
            "roofline": "python -m bench.roofline --out docs/figures",
            "speed": "python -m bench.speed --out docs/figures/speed.json"}
_PEERS = ("llama.cpp", "transformers")
_PASSES = {"decode_q4": "decode q4", "decode_q8": "decode q8", "prefill_q4": "prefill q4", "view_1024": "view 1024",
           "view_640": "view 640", "view_1024_integer": "view 1024 INTEGER", "view_640_integer": "view 640 INTEGER"}
"""The pass of bench.roofline whose floor belongs to a piece of work."""

HEAD = f"""# Speed

Made by `python -m bench.performance docs/figures > docs/performance.md` from figures that these commands stored:

```sh
{COMMANDS['page']}             # a page read by the command line
{COMMANDS['peers']}   # with llama.cpp and transformers, in turn
{COMMANDS['roofline']}                       # this machine's limits, and every operator's share
{COMMANDS['speed']}               # the engine alone
```

They need `pip install 'leggio[bench,parity]'`, a C compiler and, for llama.cpp, cmake and a C++ compiler. Run them on
a machine that does nothing else. Weights are random, in the published shapes: speed does not depend on their values.
FAST precision. Every median has its lowest and highest beside it.
"""


def spread(values: Sequence[float], digits: int) -> str:
    return speed.cell(values, digits)


def _unit(work: Work) -> str:
    return "tokens/s" if work.rate else "s"


def floor(work: str, threads: int, roofline: Mapping[str, Any] | None) -> str:
    """What the limits of bench.roofline allow, in the unit of the work; a dash without figures."""
    for record in (roofline or {}).get("passes", ()):
        if record["pass"] == _PASSES[work] and record["threads"] == threads:
            tokens = PREFILL if work.startswith("prefill") else 1
            kinds = ["float32", "int8"] if work.startswith("prefill") else ["as_run"]
            values = [(tokens / record["floors"][kind] if WORK[work].rate else record["floors"][kind], kind)
                      for kind in kinds]
            return ", ".join(f"{value:.{0 if value >= 20 else 1}f}{'' if kind == 'as_run' else ' ' + kind}"
                             for value, kind in values)
    return "–"


def peers(report: Mapping[str, Any], roofline: Mapping[str, Any] | None) -> str:
    text = [
        "## Beside other engines\n",
        f"{machine.sentence(report['machine'])}. `{report['made_by']}`: {report['rounds']} rounds, each engine once "
        f"a round, right after another; load {report['load_at_start']} before and {report['load_at_end']} after. "
        f"Decoding is {DECODED} tokens after the prompt. A ratio is taken inside a round: how many times as fast ours "
        "is. Roof: what this machine's limits (below) allow our types; for prefill, were all products float32 or int8. "
        "The weights of vision are q8 in ours (float32 products in FAST, 8-bit ones in INTEGER), f16 in llama.cpp, "
        "float32 in transformers.\n",
        "| work (full shapes) | threads | peer | roof | ours | times the peer | aim, one thread |",
        "|---|---|---|---|---|---|---|"]
    for row in report["rows"]:
        work = WORK[row["work"]]
        figures = row["figures"]
        names = [name for name in _PEERS if name in figures] or ["–"]
        for i, name in enumerate(names):
            first = i == 0
            peer = f"{name} {spread(figures[name], 1)} {_unit(work)}" if name in figures else "–"
            ratio = spread(row["ratios"][name], 2) if row["ratios"].get(name) else "–"
            text.append(
                f"| {work.about if first else ''} | {row['threads'] if first else ''} | {peer} | "
                f"{floor(work.name, row['threads'], roofline) if first else ''} | "
                f"{spread(figures['ours'], 1) + ' ' + _unit(work) if first else ''} | {ratio} | "
                f"{work.target if first and row['threads'] == 1 else ''} |")
    text += ["", *settings(report)]
    text += [f"\n{sentence}" for sentence in report["missing"]]
    return "\n".join(text) + "\n"


def settings(report: Mapping[str, Any]) -> list[str]:
    """What each engine ran, once for each different thing said."""
    lines: dict[str, None] = {}
    for row in report["rows"]:
        for name, about in row["about"].items():
            parts = [str(about.get("version", ""))]
            parts += [f"{key} {about[key]}" for key in ("quantisation", "precision", "simd", "dtype", "cpu")
                      if key in about]
            if "bytes" in about:
                parts.append(f"weights {about['bytes'] / 1e6:.0f} MB")
            if isinstance(about.get("settings"), dict):
                parts += [f"{key} {value}" for key, value in about["settings"].items()]
            what = row["work"].partition("_")[0]
            lines[f"- {name} ({what}): {', '.join(parts)}."] = None
    return list(lines)


def roofline(report: Mapping[str, Any]) -> str:
    text = [
        "## This machine's limits, and the share reached\n",
        f"{machine.sentence(report['machine'])}. `{report['made_by']}`, load {report['load_at_start']} to "
        f"{report['load_at_end']}. A limit is the best of several repetitions. An operator cannot be faster than its "
        "weights, K and V can be read, nor than its operations can be done; the share is of the longer of the two. "
        "Bytes of activations are not counted, so that small operators (norms, rotation) have no meaningful share.\n",
        model.limits_table(report["limits"]),
        "\n![Share of the limit that each operator reaches](figures/roofline.png)\n"]
    one = min(record["threads"] for record in report["passes"])
    for record in report["passes"]:
        if record["threads"] == one:
            text.append(f"### {record['pass']}, {one} thread, {record['simd']}\n\n{model.pass_table(record)}\n")
    more = [record for record in report["passes"] if record["threads"] != one]
    if more:
        text += ["### More threads\n", "| pass | threads | ms | share of the limits | times one thread |",
                 "|---|---|---|---|---|"]
        alone = {record["pass"]: record["seconds"] for record in report["passes"] if record["threads"] == one}
        text += [f"| {r['pass']} | {r['threads']} | {1e3 * r['seconds']:.1f} | "
                 f"{r['floors']['as_run'] / r['seconds']:.0%} | {alone[r['pass']] / r['seconds']:.2f} |" for r in more]
    return "\n".join(text) + "\n"


def alone(report: Mapping[str, Any]) -> str:
    return (f"## The engine alone\n\n{machine.sentence(report['machine'])}, libuocr {report['engine']}; load "
            f"{report['load_at_start']} to {report['load_at_end']}. A prompt of 277 tokens, 64 tokens decoded; median "
            f"of {report['runs']} runs in fresh processes.\n\n{speed.tables(report)}\n")


def whole_page(report: Mapping[str, Any]) -> str:
    return (f"## One page, everything included\n\n{machine.sentence(report['machine'])}, libuocr {report['engine']}; "
            f"load {report['load_at_start']} to {report['load_at_end']}. `uocr read page.png --preset base` with the "
            f"built-in model: 1024 x 1024 pixels, {report['characters']} characters; {report['runs']} fresh processes, "
            "each from the start of the interpreter to its end. Median, lowest and highest; the processor's time is "
            f"that of all threads.\n\n{one_page.table(report)}\n")


def two_threads(report: Mapping[str, Any]) -> str:
    """How the work gains from threads, where it was measured with several numbers of them."""
    medians: dict[str, dict[int, float]] = {}
    for row in report["rows"]:
        medians.setdefault(row["work"], {})[row["threads"]] = statistics.median(row["figures"]["ours"])
    parts = []
    for name, by_threads in medians.items():
        one, most = min(by_threads), max(by_threads)
        if one != most:
            gain = by_threads[most] / by_threads[one] if WORK[name].rate else by_threads[one] / by_threads[most]
            parts.append(f"{WORK[name].about} {gain:.2f}")
    return f"Times as fast with the most threads as with the fewest: {'; '.join(parts)}.\n" if parts else ""


def page(folder: Path) -> str:
    """The whole page, from the files that are there."""
    found: dict[str, Any] = {}
    for name in COMMANDS:
        path = folder / f"{name}.json"
        found[name] = json.loads(path.read_text()) if path.exists() else None
    parts = [HEAD]
    writers = {"page": whole_page, "peers": lambda f: peers(f, found["roofline"]) + "\n" + two_threads(f),
               "roofline": roofline, "speed": alone}
    for name, write in writers.items():
        parts.append(write(found[name]) if found[name] else
                     f"`{name}.json` is not stored yet; `{COMMANDS[name]}` makes it.\n")
    return "\n".join(parts)


def main() -> int:
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        print("Give the folder of stored figures: python -m bench.performance docs/figures", file=sys.stderr)
        return 2
    print(page(Path(sys.argv[1])), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
