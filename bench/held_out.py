"""The engine against the PyTorch weights on held-out pages: `python -m bench.held_out CHECKPOINT --out DIR`.

Reads the same generated pages (four densities in turn) with a model file in FAST precision and with the checkpoint's
weights in float32 in PyTorch (extra `parity`), and compares character errors, paired by page, and boxes. Both sides
read as the product does: greedily, with the repeat guard and the loop verdict, and a second time with margins where a
side's own first reading calls for it. The bounds are held to the readings that are kept; first readings are told beside
them. Readings are kept page by page in the folder, so that an interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from uocr import UnlimitedOCR, document, models, rereading
from uocr.document import Block, Box, FinishReason, Token
from uocr.markup import MarkupParser
from uocr.score import bootstrap_difference, box_iou, character_errors, same_box
from uocr.settings import ReadSettings
from uocr.views import make_views

from bench.quality.generated import in_turn
from bench.quality.pack import ensure_pack
from bench.quality.pages import Page, PageCache, default_cache, weights_hash
from bench.quality.stored import model_facts, write

MOST = 1800
"""Tokens after which a page is cut short, on both sides."""
BATCH = 8
"""Pages that PyTorch decodes together."""
BOUND = 0.2
"""Percentage points that the upper end of the interval may reach."""
EQUAL_BOXES = 95.0
"""Percent of blocks whose coordinates must agree within 2 of 999."""


@dataclass
class Pair:
    """One page read on both sides."""

    set: str
    number: int
    truth: str
    engine: str
    torch: str
    blocks: int
    """Blocks that PyTorch found; `equal` of them have a block of the engine within 2 of 999 at each side."""
    equal: int
    same_text: bool
    ended: bool
    """Both readings ended by themselves."""
    engine_twice: bool = False
    torch_twice: bool = False
    """Whether the side made a second reading, and this is of the likelier one."""


PERIOD = 4
"""Ids that repeat at once with a period of at most this may go on for the guard's `cycle` ids."""


def banned(ids: Sequence[int], size: int, window: int, cycle: int) -> set[int]:
    """Ids that the repeat guard keeps from coming next: those that would end a copy of `size` ids (`cycle` for the
    shortest periods) whose original began within the last `window` ids. None if `size` is 0."""
    found = set[int]()
    if not size:
        return found
    for distance in range(1, min(window - size + 1, len(ids)) + 1):
        known = (cycle or size if distance <= PERIOD else size) - 1
        # Compared from the newest id on: nearly always the first pair says no.
        if len(ids) >= known + distance and all(ids[-n] == ids[-n - distance] for n in range(1, known + 1)):
            found.add(ids[-distance])
    return found


class Guard:
    """The repeat guard and the loop verdict over pages decoded together, as a hook of the head: what it bans gets no
    logit, and a page that goes in circles is ended."""

    def __init__(self, pages: int, end: int, rules: Mapping[str, int]) -> None:
        settings = ReadSettings()
        self.hits, self.history, self.end = settings.loop_guard_hits, settings.loop_history, end
        self.size, self.window, self.cycle = rules.get("size", 35), rules.get("window", 128), rules.get("cycle", 0)
        self.live = list(range(pages))
        self.ids: list[list[int]] = [[] for _ in range(pages)]
        self.acted: list[list[bool]] = [[] for _ in range(pages)]

    def looped(self, page: int) -> bool:
        return sum(self.acted[page][-self.history:]) >= self.hits

    def __call__(self, module: object, inputs: object, logits: Any) -> Any:
        """Logits [pages still decoded, vocabulary] as the choice is made from them."""
        if len(logits) < len(self.live):  # pages that have ended leave the batch now and then
            self.live = [page for page in self.live if self.end not in self.ids[page]]
        logits, best = logits.clone(), logits.argmax(-1).tolist()
        for place, page in enumerate(self.live):
            if self.end in self.ids[page]:
                continue
            if self.looped(page):
                logits[place, self.end] = float("inf")
            else:
                bans = banned(self.ids[page], self.size, self.window, self.cycle)
                logits[place, list(bans)] = -float("inf")
                self.acted[page].append(best[place] in bans)
            self.ids[page].append(int(logits[place].argmax()))
        return logits


class TorchReader:
    """The checkpoint's weights in float32. `rules`: the front end's `ngram`."""

    def __init__(self, checkpoint: Path, threads: int, rules: Mapping[str, int]) -> None:
        import torch

        from bench.golden import load
        from training.targets import Vocabulary

        if threads:
            torch.set_num_threads(threads)
        self.torch, self.net, self.rules = torch, load(checkpoint), rules
        self.vocabulary = Vocabulary(checkpoint / "tokenizer.json")

    def read(self, pages: Sequence[Page]) -> list[document.Page]:
        """First readings of the pages through their base views. Decoded together."""
        pictures = [_picture(page) for page in pages]
        return self._read(pictures, [picture.size for picture in pictures])

    def again(self, page: Page, first: document.Page) -> document.Page:
        """The surer of the first reading and one of the page with margins around it."""
        around = rereading.surrounded(_picture(page))
        kept = replace(first)
        second = self._read([around], [around.size], guarded=not rereading.guard_acted(first))[0]
        rereading.settle(kept, second, [], (first.width, first.height))
        return kept

    def _read(
        self, pictures: Sequence[Image.Image], sizes: Sequence[tuple[int, int]], guarded: bool = True
    ) -> list[document.Page]:
        guard = Guard(len(pictures), self.vocabulary.end, self.rules if guarded else {"size": 0})
        with self.torch.inference_mode():
            rows = self.torch.cat([self._look(picture) for picture in pictures])
            hook = self.net.lm_head.register_forward_hook(guard)
            ids = self.net.generate(rows, self.vocabulary.prompt, MOST)
            hook.remove()
            chances = [self._logprobs(rows[n:n + 1], row) for n, row in enumerate(ids)]
        return [self._page(sizes[n], row, chances[n], guard.acted[n], guard.looped(n)) for n, row in enumerate(ids)]

    def _page(self, size: tuple[int, int], ids: list[int], logprobs: list[float], acted: list[bool],
              looped: bool) -> document.Page:
        ended, text = ids[-1] == self.vocabulary.end, self.vocabulary.decode(ids)
        tokens = [Token(*one) for one in zip(ids[:len(ids) - ended], logprobs, acted, strict=False)]
        finish = FinishReason.LOOP if looped else FinishReason.EOS if ended else FinishReason.LENGTH
        return document.Page("", 0, *size, blocks=blocks_of(text), raw_text=text, tokens=tokens, finish_reason=finish)

    def _logprobs(self, rows: Any, ids: list[int]) -> list[float]:
        """Natural log-probabilities of generated ids behind visual rows [1, N, C]."""
        table = self.net.model.embed_tokens.weight
        before = table[[self.net.config["bos_token_id"]]][None]
        x = self.torch.cat([before, rows, table[self.vocabulary.prompt + ids[:-1]][None]], 1)
        prompt = x.shape[1] - len(ids) + 1
        logits = self.net.lm_head(self.net.decode(x, prompt)[0][0, prompt - 1:])
        return logits.log_softmax(-1)[range(len(ids)), ids].tolist()

    def _look(self, picture: Image.Image) -> Any:
        """Visual rows [1, N, C] of a picture; pixels as x / 127.5 - 1."""
        pixels = make_views(picture, "base").views[0]
        view = self.torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1)))[None].float() / 127.5 - 1
        return self.net.arrange(self.net.encode(view).tokens, None)


def _picture(page: Page) -> Image.Image:
    with Image.open(page.picture) as picture:
        return picture.convert("RGB")


def blocks_of(markup: str) -> list[Block]:
    """The blocks of an output, as the engine's own parser takes it apart."""
    parser = MarkupParser(1024, 1024, expected_pages=1)
    parser.push(markup, [])
    parser.finish()
    return parser.pages[0].blocks


def text_of(blocks: Sequence[Block]) -> str:
    return "\n".join(block.text.strip() for block in blocks if block.text.strip())


def equal_boxes(mine: Sequence[Block], theirs: Sequence[Block]) -> int:
    """How many of their blocks have their nearest block of ours within 2 of 999 at each side."""
    ours: list[Box] = [box for block in mine for box in block.boxes]
    count = 0
    for block in theirs:
        for box in block.boxes[:1]:
            nearest = max(ours, key=partial(box_iou, box), default=None)
            count += nearest is not None and same_box(box, nearest)
    return count


def compare(page: Page, mine: document.Page, theirs: document.Page) -> Pair:
    engine, torch = text_of(mine.blocks), text_of(theirs.blocks)
    return Pair(page.set, page.number, page.text, engine, torch, sum(bool(b.boxes) for b in theirs.blocks),
                equal_boxes(mine.blocks, theirs.blocks), engine == torch, mine.complete and theirs.complete,
                mine.readings > 1, theirs.readings > 1)


def figures(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Figures of all pages, and the difference over those that ended by themselves on both sides."""
    ended = [p for p in pairs if p.ended]
    return _figures(pairs) | {"ended_pages": len(ended),
                              "ended_difference": _figures(ended)["difference"] if ended else None}


def _figures(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Error rates of both sides, their paired difference in percentage points, boxes."""
    mine = [character_errors(p.engine, p.truth) for p in pairs]
    theirs = [character_errors(p.torch, p.truth) for p in pairs]
    difference = bootstrap_difference([e.count for e in mine], [e.count for e in theirs], 1,
                                      lengths=[e.length for e in mine])
    blocks = sum(p.blocks for p in pairs)
    by_set: dict[str, list[float]] = {}
    for name in dict.fromkeys(p.set for p in pairs):
        chosen = [n for n, p in enumerate(pairs) if p.set == name]
        length = sum(mine[n].length for n in chosen)
        by_set[name] = [round(100 * sum(e[n].count for n in chosen) / length, 3) for e in (mine, theirs)]
    return {
        "pages": len(pairs), "characters": sum(e.length for e in mine),
        "engine_rate": round(100 * sum(e.count for e in mine) / sum(e.length for e in mine), 3),
        "torch_rate": round(100 * sum(e.count for e in theirs) / sum(e.length for e in theirs), 3),
        "difference": [round(100 * v, 3) for v in (difference.difference, difference.low, difference.high)],
        "by_set": by_set, "blocks": blocks,
        "equal_boxes": round(100 * sum(p.equal for p in pairs) / max(blocks, 1), 2),
        "pages_with_equal_text": sum(p.same_text for p in pairs), "bound": BOUND, "boxes_bound": EQUAL_BOXES,
    }


Both = tuple[Pair, Pair]
"""A page's first readings, and its readings with second ones where a side's first called for it."""


def report_of(both: Sequence[Both], below: float) -> dict[str, Any]:
    """The figures that bounds are held to; where `below` asks for second readings also those of the first, `first`."""
    report = figures([kept for _, kept in both]) | {"read_again_below": below}
    if not below:
        return report
    twice = [sum(kept.engine_twice for _, kept in both), sum(kept.torch_twice for _, kept in both)]
    return report | {"read_twice": twice, "first": figures([first for first, _ in both])}


def run(args: argparse.Namespace) -> dict[str, Any]:
    path = models.resolve(args.model)
    cache = PageCache(args.cache, ensure_pack(args.pack, args.cache))
    facts: dict[str, Any] = {"model": model_facts(path, "fast"), "pages_key": cache.key,
                             "checkpoint": weights_hash(args.checkpoint)}
    args.out.mkdir(parents=True, exist_ok=True)
    kept = args.out / "held-out-readings.jsonl"
    begin = time.monotonic()
    with UnlimitedOCR(path, threads=args.threads) as ocr:
        torch_reader = TorchReader(args.checkpoint, args.threads, ocr.front_end.get("ngram", {}))
        below = rereading.read_again_below(ocr.front_end)
        both = resumed(kept, facts | {"read_again_below": below, "guard": torch_reader.rules})
        pages = list(in_turn(cache, args.pages))[len(both):]
        for part in (pages[n:n + BATCH] for n in range(0, len(pages), BATCH)):
            for page, theirs in zip(part, torch_reader.read(part), strict=True):
                both.append(read_both(ocr, torch_reader, page, theirs, below))
                keep(kept, both[-1])
            now = report_of(both, below)
            print(f"{time.monotonic() - begin:7.1f} s  {now['pages']} pages: {now['engine_rate']} and "
                  f"{now['torch_rate']} %, boxes {now['equal_boxes']} %", flush=True)
    report = facts | report_of(both[:args.pages], below)
    write(args.out / "held-out.json", report)
    return report


def read_both(ocr: UnlimitedOCR, torch_reader: TorchReader, page: Page, theirs: document.Page, below: float) -> Both:
    """A page of which `theirs` is PyTorch's first reading; each side goes by its own first reading."""
    def read(again: bool) -> document.Page:
        return ocr.read(page.picture, preset="base", max_new_tokens=MOST, read_again=again).pages[0]

    mine = read(again=False)
    return compare(page, mine, theirs), compare(
        page, read(again=True) if rereading.looks_lost(mine, below) else mine,
        torch_reader.again(page, theirs) if rereading.looks_lost(theirs, below) else theirs)


def keep(kept: Path, pairs: Both) -> None:
    with kept.open("a", encoding="utf-8") as file:
        file.write(json.dumps([asdict(pair) for pair in pairs], ensure_ascii=False) + "\n")


def resumed(kept: Path, facts: dict[str, Any]) -> list[Both]:
    """What an earlier run with the same model, checkpoint and pages compared; anything else is begun anew."""
    lines = kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []
    if lines and json.loads(lines[0]) == facts:
        return [(Pair(**first), Pair(**second)) for first, second in map(json.loads, lines[1:])]
    kept.write_text(json.dumps(facts) + "\n", encoding="utf-8")
    return []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", type=Path, help="folder of the weights the model file was converted from")
    parser.add_argument("--model", help="model file; default: the built-in model")
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--pack", type=Path, help="fonts and texts; default: collected into the cache at first use")
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--out", type=Path, required=True)
    report = run(parser.parse_args())
    print(json.dumps({k: v for k, v in report.items() if k != "model"}))
    return int(report["difference"][2] > BOUND or report["equal_boxes"] < EQUAL_BOXES)


if __name__ == "__main__":
    raise SystemExit(main())
