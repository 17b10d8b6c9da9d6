"""docs/quality.md from stored figures: `python -m bench.report docs/figures > docs/quality.md`.

The folder holds what the benches wrote: quality.json, confidence.json and quality.png (bench.quality), held-out.json
(bench.held_out), gate.json (bench.gate). A part whose file is missing says which command makes it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bench.gate.choices import MODULES
from bench.gate.pick import BOUNDS

HEAD = """# How well it reads

Made by `python -m bench.report docs/figures > docs/quality.md` from figures that these commands stored:

```sh
python -m bench.quality MODEL.uocr --peers tesseract,rapidocr --out OUT   # every set; --list names them
python -m bench.held_out CHECKPOINT --out OUT                             # the engine against PyTorch
python -m bench.gate CHECKPOINT --pages 300 --out OUT                     # which module may have fewer bits
```

They need `pip install 'leggio[bench]'`; `held_out` also `leggio[parity]`; tesseract, fonts and texts come from Debian
packages (apt-get).
Pages are drawn from seeds and kept in the cache folder; fonts and texts of generated pages are held out from training.
"""


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; None is shown as a dash."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join("–" if cell is None else str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def missing(name: str, command: str) -> str:
    return f"`{name}` is not stored yet; `{command}` makes it.\n"


def quality(report: dict[str, Any]) -> str:
    model = report["model"]
    versions = "".join(f"; {version}" for version in report.get("peers", {}).values())
    parts = [
        f"## Sets of pages\n\nModel `{model['name']}`, {model['quantisation']}, {model['precision'].upper()}, "
        f"{model['bytes'] / 1e6:.1f} MB (model {model['model_id'][:16]}); libuocr {report['engine']}"
        f"{versions}. {report['processors']} processors, load at the start {report['load_at_start']:.1f}. Readers read "
        f"each page in turn, {report['jobs']} pages at once.\nCER and WER: character and word errors in percent over a "
        "whole set, with the 95 % interval of pages drawn anew. Order: share of pairs of words in the right order. "
        "IoU: mean overlap of boxes. "
        "s: processor seconds a page, median; MB: most resident memory. loop, cut, failed: pages that ended so. "
        "rapidocr finds lines, no blocks: they are put in order row by row.\n"]
    rows = []
    for name, page_set in report["sets"].items():
        for reader, f in page_set["readers"].items():
            ours = reader == "uocr"
            low_high = f.get("character_error_interval")
            rate = f.get("character_error_rate")
            rows.append([
                f"{name} ({page_set['preset']}): {page_set['about']}" if ours else "", f["pages"], reader,
                f"{rate:.2f} ({low_high[0]:.2f} to {low_high[1]:.2f})" if low_high else
                f"inventions on {f['pages_with_inventions']} pages",
                f.get("word_error_rate") and f"{f['word_error_rate']:.2f}", f["reading_order"], f["box_iou"],
                f["cpu_seconds_a_page"], round(f["peak_mebibytes"]), f"{f['loops']}, {f['cut_short']}, {f['failed']}"])
    parts.append(table(["set", "pages", "reader", "CER %", "WER %", "order", "IoU", "s", "MB", "loop, cut, failed"],
                       rows))
    teds = [(name, reader, f["table_teds"]) for name, s in report["sets"].items() for reader, f in s["readers"].items()
            if f["table_teds"] is not None]
    if teds:
        by_set = "; ".join(f"{name}: " + ", ".join(f"{reader} {value}" for of, reader, value in teds if of == name)
                           for name in dict.fromkeys(name for name, _, _ in teds))
        parts.append(f"\nTables, mean TEDS (0 to 1) of the pages that hold any: {by_set}.\n")
    return "\n".join(parts) + "\n"


def doubtful(found: dict[str, Any]) -> str:
    chosen, checked = found["calibration"], found["held_out"]
    text = (
        f"## Doubtful words\n\nA word is marked when its confidence (the weakest of its tokens) is below "
        f"**{found['threshold']}**. The value was chosen on pages in training's fonts and texts as the smallest that "
        f"catches {found['aim']:.0%} of the wrong words there.\n")
    rows = [[name, f["words"], f["wrong"], *(f"{f[n]:.1%}" for n in ("caught", "marked", "wrong_among_marked"))]
            for name, f in (("calibration", chosen), ("held out", checked))]
    text += "\n" + table(["pages", "words", "wrong", "wrong words marked", "all words marked (flag rate)",
                          "wrong among marked"], rows)
    rows = [[point["threshold"], f"{point['held_out'][0]:.1%}", f"{point['held_out'][1]:.1%}"]
            for point in found["curve"]]
    text += "\n\nOther thresholds, on the held-out pages:\n\n" + table(
        ["threshold", "wrong words marked", "all words marked"], rows)
    rows = [[f"{r['from']} to {r['to']}", r["words"], r["confidence"], r["right"]] for r in found["reliability"]]
    text += ("\n\nReliability on the held-out pages (mean distance between the last two columns, weighted by words: "
             f"{found['calibration_error']}); plotted in [quality.png](figures/quality.png):\n\n"
             + table(["confidence", "words", "mean confidence", "right"], rows))
    return text + "\n"


def held_out(report: dict[str, Any]) -> str:
    first = report.get("first")

    def told(found: dict[str, Any]) -> str:
        difference, ended = ("{:+.3f} points ({:+.3f} to {:+.3f})".format(*found[key])
                             for key in ("difference", "ended_difference"))
        return f"{difference}, over the {found['ended_pages']} pages that ended by themselves on both sides {ended}"

    rows = [[name, *values, *(first["by_set"][name] if first else ())] for name, values in report["by_set"].items()]
    rows.append(["all", *(f[key] for f in (report, first) if f for key in ("engine_rate", "torch_rate"))])
    head = ["set", "engine", "PyTorch", *(["engine, first readings", "PyTorch, first readings"] if first else [])]
    twice = ""
    if first:
        twice = (
            " Both sides read as the product does, with its repeat guard: either reads a page a second time, with "
            "margins, where in its own first reading the guard had to act or the mean probability of a token is below "
            f"{report['read_again_below']}, and keeps the likelier reading; the engine {report['read_twice'][0]} "
            f"pages, PyTorch {report['read_twice'][1]}. The bounds are held to that.")
    return (
        f"## The engine against the PyTorch weights\n\n{report['pages']} held-out pages, {report['characters']:,} "
        f"characters: `{report['model']['name']}` in {report['model']['quantisation']}, "
        f"{report['model']['precision'].upper()}, and the same "
        f"checkpoint in float32 in PyTorch (weights {report['checkpoint'][:16]}).{twice} Character errors "
        f"in percent:\n\n"
        + table(head, rows)
        + f"\n\nDifference, with the 95 % interval of the paired bootstrap: {told(report)} (upper end allowed: "
        f"{report['bound']})."
        + (f" First readings alone: {told(first)}." if first else "")
        + f" Boxes equal (each coordinate within 2 of 999): {report['equal_boxes']} % of {report['blocks']} blocks "
        f"(asked: {report['boxes_bound']:.0f} %). Text equal to the character on {report['pages_with_equal_text']} "
        "pages.\n")


def gate(report: dict[str, Any]) -> str:
    by_name = {c["choice"]: c for c in report["choices"]}
    below = report["read_again_below"]

    def points(change: Sequence[float]) -> str:
        return "{:+.3f} ({:+.3f} to {:+.3f})".format(*change)

    def free(f: dict[str, Any]) -> list[object]:
        return [f"{f['boxes_equal']:.1f}", f"{f['error_rate']:.3f}", points(f["error_change"]),
                f"{f['pages_changed']}; {f['largest_page'][1]:+.3f}", f["not_ended"]]

    def row(c: dict[str, Any]) -> list[object]:
        change = c["nll_change"]
        return [c["choice"], c["pages"], f"{c['bytes'] / 2**20:.1f}" if c["bytes"] else None,
                f"{change[0]:+.2f} ({change[1]:+.2f} to {change[2]:+.2f})", f"{c['kl']:.6f}", f"{c['agreement']:.2f}",
                f"{c['digit_nll_change']:+.2f}, {c['digit_agreement']:.2f}",
                f"{c['box_nll_change']:+.2f}, {c['box_agreement']:.2f}"]

    forced = ["choice", "pages", "MiB", "NLL %", "KL, nats", "same token %", "digits: NLL %, same %",
              "coordinates: NLL %, same %"]
    freely = ["boxes equal %", "CER %", "CER change, points", "pages changed; largest", "not ended"]
    twice = [[c["choice"], c["pages"], reading, number, *free(f)] for c in report["choices"] for reading, number, f in
             ((("first", None, c["first"]), ("as read", c["read_twice"], c)) if below else
              (("first", None, c["first"]),))]
    text = [
        f"## The quantisation gate\n\n{report['pages']} held-out pages, {by_name['f32']['tokens']:,} tokens "
        f"forced along {'the text of the pages' if report['along'] == 'truth' else 'what f32 reads'}; checkpoint "
        f"{report['checkpoint'][:16]}. Choices run in EXACT precision unless FAST or INTEGER is named; a module's row "
        "changes that module alone. Changes are against f32 on the same pages, with the 95 % interval of the paired "
        "bootstrap over pages."
        + (" f32 (FAST) tells what FAST changes without quantised weights." if "f32 (FAST)" in by_name else "") + "\n",
        table(forced, [row(c) for c in report["choices"]]),
        "\nThe same pages read freely as users read them, with the repeat guard and the loop verdict. "
        + (f"*As read*: what the product gives. f32 and every choice alike read a page a second time where the repeat "
           f"guard had to act or the mean probability of a token is below {below}, and keep the likelier reading. "
           "*First*: the first readings alone. **The bound on CER is judged as the product reads.** " if below else
           "The model reads every page once, and the bound on CER is judged on that. ")
        + "Pages changed: those with more or fewer errors than in f32, and what the largest such page alone makes of "
        "the change, in points: a page on which the model is lost may be read in quite other words after any small "
        "change, so that only many pages make the interval narrow.\n",
        table(["choice", "pages", "reading", "read twice", *freely], twice), ""]
    kept = {"exact": "exact_kept", "fast": "kept", "integer": "integer_kept"}

    def held(precision: str, keeps: bool, c: dict[str, Any]) -> str:
        return f"{precision.upper()} {'kept' if keeps else 'NOT KEPT'} on {c['pages']} pages"

    for profile, picked in report["picks"].items():
        bounds = picked["bounds"]
        types = ", ".join(f"{module} {dtype}" for module, dtype in picked["types"].items())
        size = f", at most {bounds['bytes'] / 2**20:.0f} MiB" if bounds["bytes"] else ""
        measured = {p: by_name[picked[p]] for p in ("exact", "fast", "integer")}
        losses = ", ".join(f"{c['nll_change'][0]:+.2f} % in {p.upper()}" for p, c in measured.items())
        errors = ", ".join(points(c["error_change"]) for c in measured.values())
        first = ", ".join(points(c["first"]["error_change"]) for c in measured.values())
        judged = f"CER ({report['judged_on']}) {errors}" + (f" (first readings alone: {first})" if below else "")
        text.append(
            f"**{profile}** (NLL at most +{bounds['nll']} %, CER at most +{bounds['errors']} points at the "
            f"upper end{size}): {types}. {measured['exact']['bytes'] / 2**20:.1f} MiB; NLL {losses}; {judged}. "
            f"{', '.join(held(p, picked[key], measured[p]) for p, key in kept.items())}"
            f"{'' if picked['size_kept'] else '; TOO LARGE'}.\n")
    return "\n".join(text)


def quality_format() -> str:
    return """### The report on sets

`quality.json`: `model`, `engine`, `peers` with versions, `machine`, `processors`, `jobs`, `load_at_start`, `pages_key`
(of fonts, texts and the drawing code), `sets`: by name `about`, `preset`, and `readers`, each with

| field | meaning |
|---|---|
| `pages`, `characters` | what was read; characters of the truth |
| `character_error_rate`, `character_error_interval`, `word_error_rate`, `median_page_rate` | %; not on blank pages |
| `pages_with_inventions`, `invented_characters` | on blank pages only |
| `reading_order`, `box_iou`, `table_teds` | means over pages, 0 to 1; null where nothing is to be compared |
| `loops`, `cut_short`, `failed` | pages that ended as a loop, at the limit of tokens, with an error |
| `seconds_a_page`, `cpu_seconds_a_page`, `peak_mebibytes` | medians, everything included; most resident memory so far |

`readings.jsonl` holds every reading and lets a run go on; `confidence.json` holds doubtful words and reliability.

"""


def report_format() -> str:
    bounds = "; ".join(f"{p}: NLL +{b.nll} %, CER +{b.errors} points" for p, b in BOUNDS.items())
    return f"""### The gate's report

`gate.json`: `checkpoint` (SHA-256 of the weights), `pages_key` (of fonts, texts and the drawing code), `along`
(`truth`: the pages' own text; `reading`: what f32 reads, for checkpoints with another grammar), `engine`, `pages` and
`pages_asked` (fewer are measured where `--seconds` ends the run), `read_again_below` (of the model file; 0: every page
is read once), `judged_on` (which free readings the bound on character errors is held to: "as the product reads", or
"first readings" where pages are read once), `module_weights` (numbers in each module), `choices` (below), `picks` (by
profile: `types` by module, as "q4/q8" where its tensors differ, `expected_loss` as the sum of the single modules, null
where nothing was picked, names of the measured `exact`, `fast` and `integer` choices, `bounds`, whether EXACT, FAST and
INTEGER keep them (`exact_kept`, `kept`, `integer_kept`), each on its own pages, and whether the size is kept).
Modules: {', '.join(MODULES)}. Bounds: {bounds}.

| field of a choice | meaning |
|---|---|
| `bytes`, `pages`, `tokens` | size of the model file; what was measured |
| `nll`, `nll_change` | mean negative log-likelihood of a forced token, nats; change against f32, %: value, low, high |
| `kl` | mean Kullback-Leibler divergence of the next-token distribution from that of f32, in nats a token |
| `agreement` | percent of places where the most likely token is that of f32 |
| `digit_nll_change`, `digit_agreement` | the same over tokens that hold digits of text |
| `box_nll_change`, `box_agreement` | the same over coordinates |
| `read_twice` | pages that the choice read a second time, as the product does |
| `error_rate`, `error_change` | character errors as read freely, %; change against f32 in points: value, low, high |
| `same_text`, `boxes_equal` | % of pages with the same text; % of f32's boxes read within 2 of 999 at each side |
| `not_ended` | pages that did not end by themselves: loops, and texts cut at 1,800 tokens |
| `pages_changed`, `largest_page` | pages with more or fewer errors than f32; the largest change: page, points |
| `first` | the seven from `error_rate` on, over first readings alone; beside it they are as the product reads |

`gate-results.jsonl` holds the sums by page and lets a run go on: of pages kept from before they were read twice, or
read twice by another `read_again_below`, only free reading is done anew. `policy.toml` holds the picks as rules for
`engine/uocr/convert/policy.toml`. How a type is picked: a module's loss is its change of NLL or its KL (in percent of
f32's NLL), whichever is larger, and losses are taken to add up; from every module in the smallest type, bits are given
back one module at a time where a byte buys most, and the cheapest rung that keeps the bounds when measured as a whole
is taken. Pages are shared out to one process a processor; results do not depend on how many there are. Choices that see
a page alike, bit by bit, share its visual rows. Every page is measured with all choices before the next is begun, and
`--seconds` ends a run after whole pages; a run in the same folder goes on. `--compared-pages N` scores EXACT on the
first N pages, and what models are read in (`--many`) on all: intervals are per choice, narrow where it counts.
`--no-pick` holds the types of the policy to the bounds. On the full checkpoint: `--along reading --one-at-a-time`.
"""


def main() -> int:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/figures")
    stored = {path.stem: json.loads(path.read_text("utf-8")) for path in folder.glob("*.json")}
    print(HEAD)
    found = stored.get("quality")
    print(quality(found) if found else missing("quality.json", "python -m bench.quality"))
    print(quality_format(), end="")
    words = stored.get("confidence")
    print(doubtful(words) if words else missing("confidence.json", "python -m bench.quality"))
    compared = stored.get("held-out")
    print(held_out(compared) if compared else missing("held-out.json", "python -m bench.held_out"))
    print(gate(stored["gate"]) if "gate" in stored else missing("gate.json", "python -m bench.gate"))
    print(report_format(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
