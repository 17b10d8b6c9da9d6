"""`python -m bench.quality.one_pass MODEL.uocr --out FILE`: held-out documents of two and three pages, read in one pass
and, for comparison, page by page with preset base. Other readers know no such pass, so this is no set of the bench.
"""

from __future__ import annotations

import argparse
import io
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from uocr import UnlimitedOCR, models
from uocr.score import character_errors

from bench.quality import looks
from bench.quality.generated import SEED, blocks_of, ink_of
from bench.quality.pack import ensure_pack
from bench.quality.pages import default_cache
from bench.quality.scores import plain
from bench.quality.stored import model_facts, write
from training.pages import Kind, PageMaker

_NUMBER = 30
"""Document i comes from seed SEED + 1000 * _NUMBER + i, like page i of a set with this number."""

_KINDS = (Kind(1), Kind(2), Kind(2, genre="document"))
PAGE_MARK = "<PAGE>"
WAYS: dict[str, dict[str, Any]] = {"one pass": {"one_pass": True}, "page by page": {"preset": "base"}}


@dataclass(frozen=True)
class Papers:
    """A document: its pages as the frames of one TIFF, and what each holds."""

    tiff: bytes
    texts: tuple[str, ...]


def papers(pack: Path, number: int) -> Papers:
    """Two pages if the number is even, three if it is odd."""
    seed = SEED + 1000 * _NUMBER + number
    maker, rng = PageMaker(pack, "test", seed), np.random.default_rng(seed)
    pictures: list[Image.Image] = []
    texts = []
    for _ in range(2 + number % 2):
        sample = maker.sample(maker.rng.choice(_KINDS))
        pictures.append(looks.ordinary(ink_of(sample, None), rng)[0])
        texts.append("\n".join(b.text for b in blocks_of(maker.vocabulary.decode(sample.ids.tolist()))))
    file = io.BytesIO()
    pictures[0].save(file, "TIFF", save_all=True, append_images=pictures[1:])
    return Papers(file.getvalue(), tuple(texts))


def figures(ocr: UnlimitedOCR, documents: Sequence[Papers], way: dict[str, Any]) -> dict[str, Any]:
    """What a way of reading makes of the documents. Text counts on the page it belongs to: on another it is wrong
    twice. Rates in percent; `page_marks_right` counts documents."""
    errors = characters = right = whole = 0
    seconds = []
    for document in documents:
        begin = time.perf_counter()
        pages = ocr.read(document.tiff, **way).pages
        seconds.append(time.perf_counter() - begin)
        for page, text in zip(pages, document.texts, strict=True):
            found = character_errors(plain(page.text), plain(text))
            errors, characters = errors + found.count, characters + found.length
        right += sum(page.raw_text.count(PAGE_MARK) for page in pages) == len(pages)
        whole += all(page.complete for page in pages)
    found_right = {"page_marks_right": right} if way.get("one_pass") else {}
    return {"documents": len(documents), "pages": sum(len(d.texts) for d in documents), "characters": characters,
            "character_error_rate": round(100 * errors / characters, 3), **found_right, "complete": whole,
            "seconds_a_document": round(float(np.median(seconds)), 3)}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.quality.one_pass", description=__doc__)
    parser.add_argument("model", nargs="?", help="model file or name; default: the built-in model")
    parser.add_argument("--documents", type=int, default=10)
    parser.add_argument("--precision", choices=("fast", "exact"), default="fast")
    parser.add_argument("--threads", type=int, default=0, help="0: as many as processors")
    parser.add_argument("--pack", type=Path, help="fonts and texts; default: collected into the cache at first use")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="where the pack is kept")
    parser.add_argument("--out", type=Path, required=True, help="report, JSON")
    args = parser.parse_args(arguments)
    path = models.resolve(args.model)
    with UnlimitedOCR(path, precision=args.precision, threads=args.threads) as ocr:
        if not ocr.front_end.get("multi_page"):
            raise SystemExit(f"{path} was not trained to read several pages in one pass (its front end says multi_page "
                             "false); name another model.")
        pack = ensure_pack(args.pack, args.cache)
        documents = [papers(pack, number) for number in range(args.documents)]
        report = {name: figures(ocr, documents, way) for name, way in WAYS.items()}
    write(args.out, model_facts(path, args.precision) | {"ways": report})
    for name, found in report.items():
        print(f"{name}: {json.dumps(found)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
