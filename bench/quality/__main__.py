"""`python -m bench.quality MODEL.uocr --out DIR`: read sets; write quality.json, confidence.json, plots, readings.

Readings are kept in readings.jsonl: a run in the same folder reads only what is missing there, so peers need not read
the pages again for another model."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from uocr import models, native

from bench.machine import processors
from bench.quality import confidence, documents, generated, plots, readers, table_pages
from bench.quality.kept import Kept, read_pages
from bench.quality.pack import ensure_pack
from bench.quality.pages import Page, PageCache, PageSet, default_cache
from bench.quality.scores import PageScore, Reading, score, summary
from bench.quality.stored import model_facts, write

AIM = 0.9
"""Share of the wrong words that the threshold must catch on calibration pages, so that 0.8 holds on others: on pages in
fonts and texts that training never saw up to ten points fewer are caught."""


def all_sets() -> dict[str, PageSet]:
    return {s.name: s for s in (*generated.sets(), *table_pages.sets(), *documents.sets())}


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.quality", description=__doc__)
    parser.add_argument("model", nargs="?", help="model file or name; default: the built-in model")
    parser.add_argument("--set", action="append", dest="sets", metavar="NAME", help="only this set (may be repeated)")
    parser.add_argument("--list", action="store_true", help="name the sets and stop")
    parser.add_argument("--pages", type=int, help="pages of every set; default: each set's own number")
    parser.add_argument("--peers", default="", help=f"readers to compare with, of {', '.join(readers.PEERS)}")
    parser.add_argument("--only-confidence", action="store_true", help="no sets, the doubtful-word threshold alone")
    parser.add_argument("--confidence-pages", type=int, default=80, metavar="N",
                        help="pages to choose and to check the doubtful-word threshold on; 0 leaves it out")
    parser.add_argument("--jobs", type=int, default=1, help="processes of every reader, which share the pages")
    parser.add_argument("--precision", choices=("fast", "exact"), default="fast")
    parser.add_argument("--threads", type=int, default=0, help="of every process; 0: the processors, shared out")
    parser.add_argument("--pack", type=Path, help="fonts and texts; default: collected into the cache at first use")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="where pages are kept")
    parser.add_argument("--out", type=Path, help="folder for the report")
    return parser.parse_args(arguments)


def judged(pairs: Iterable[tuple[Page, Reading]]) -> confidence.Judged:
    return sum((confidence.judge(reading.words, page.text) for page, reading in pairs), confidence.NONE)


def run(args: argparse.Namespace) -> None:
    """Read everything that `args` asks for and write the reports."""
    sets = all_sets()
    unknown = sorted(set(args.sets or ()) - set(sets))
    if unknown:
        raise SystemExit(f"There is no set {unknown[0]!r}; --list names them.")
    path = models.resolve(args.model)
    threads = args.threads or max(1, processors() // args.jobs)
    ours = readers.model(path, args.precision, threads, "uocr", args.jobs)
    peers = [readers.peer(name, threads, args.jobs) for name in args.peers.split(",") if name]
    used = [ours, *peers]
    cache = PageCache(args.cache, ensure_pack(args.pack, args.cache), args.jobs)
    facts: dict[str, Any] = {
        "model": model_facts(path, args.precision), "engine": native.version(),
        "peers": {peer.name: peer.identity for peer in peers}, "machine": platform.machine(),
        "processors": processors(), "jobs": args.jobs, "load_at_start": os.getloadavg()[0], "pages_key": cache.key}
    args.out.mkdir(parents=True, exist_ok=True)
    kept = Kept(args.out / "readings.jsonl", cache.key)
    if not args.only_confidence:
        read_sets(args, cache, {name: sets[name] for name in args.sets or sets}, used, facts, kept)
    if args.confidence_pages:
        known, fresh = (read_pages(list(cache.pages(s, args.confidence_pages)), [ours], kept)
                        for s in (generated.calibration(), generated.held_out_words()))
        found = confidence.report(judged(known), judged(fresh), AIM)
        write(args.out / "confidence.json", facts | {"pages": args.confidence_pages} | found)
        print("doubtful words:", json.dumps(found["held_out"]), flush=True)
    for reader in used:
        reader.close()
    if plots.available():
        plots.draw(args.out)
    else:
        print("no plots: matplotlib is not installed (pip install 'leggio[bench]')")


def read_sets(args: argparse.Namespace, cache: PageCache, sets: dict[str, PageSet],
              used: Sequence[readers.Reader], facts: dict[str, Any], kept: Kept) -> None:
    """Figures by set and reader; written after each set, so that a run cut short leaves its part."""
    report: dict[str, Any] = {}
    for name, page_set in sets.items():
        begin = time.monotonic()
        pages = list(cache.pages(page_set, args.pages or page_set.pages))
        by_reader: dict[str, list[PageScore]] = {}
        for page, reading in read_pages(pages, used, kept):
            by_reader.setdefault(reading.reader, []).append(score(page, reading))
        report[name] = {"about": page_set.about, "preset": page_set.preset,
                        "readers": {reader: summary(found) for reader, found in by_reader.items()}}
        shown = {r: f.get("character_error_rate", f.get("pages_with_inventions")) for r, f in
                 report[name]["readers"].items()}
        write(args.out / "quality.json", facts | {"sets": report})
        print(f"{time.monotonic() - begin:7.1f} s  {name}: {shown}", flush=True)


def main() -> int:
    args = parse()
    if args.list:
        for page_set in all_sets().values():
            print(f"{page_set.name:22} {page_set.pages:3} pages, {page_set.preset:6} {page_set.about}")
        return 0
    if args.out is None:
        raise SystemExit("Say with --out DIR where the report goes.")
    try:
        run(args)
    except readers.MissingReader as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
