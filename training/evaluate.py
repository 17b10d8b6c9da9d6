"""Reads the held-out pages greedily and reports error rates: `python -m training.evaluate CHECKPOINT --pack
DIR`.

The pages are made from seeds (fonts and texts the training never shows), so every checkpoint sees the same
pictures. "density" is a book of its own kind; "prose" is more of what training reads (training.texts), at most 1,024
tokens a page: the set that the targets of the densities were set on. "new languages" is prose in those that the first
legs did not train. Beside single pages there are several in one pass and questions where words stand.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from training.augment import draw_look, paint_tiles, paint_view
from training.config import load_config
from training.export import from_checkpoint, read_weights
from training.metrics import Reading, location_summary, several_summary, summary
from training.model import Reader
from training.pages import Exercise, Kind, PageMaker, Sample
from training.pages.kinds import BLANK, SMALLEST
from training.pages.maker import MOST_TOKENS
from training.targets import Task, Vocabulary

SEED = 20261129
MOST_NEW = 1800
"""Tokens after which a page counts as not ended."""

_TOGETHER = (Kind(1), Kind(2), Kind(2, genre="document"), Kind(BLANK))
_TOGETHER_SHARES = (0.35, 0.35, 0.2, 0.1)
"""Kinds of pages in one pass and their shares."""


@dataclass(frozen=True)
class Group:
    """Pages of one kind, read together. `longest` is the most tokens that a page may ask for. For several pages in one
    pass, `pages` counts the passes, each of `together` pages of mixed kinds; for questions it counts these."""

    name: str
    kind: Kind
    pages: int
    most: int = MOST_NEW
    split: str = "test"
    longest: int = MOST_TOKENS
    task: Task = Task.READ
    together: int = 1

    def exercise(self, maker: PageMaker) -> Exercise:
        """The next example."""
        if self.task is Task.READ:
            return Exercise.of(self.page(maker))
        if self.task is Task.LOCATE:
            return maker.exercise(self.task, [self.kind])
        return maker.exercise(self.task, maker.rng.choices(_TOGETHER, _TOGETHER_SHARES, k=self.together))

    def page(self, maker: PageMaker) -> Sample:
        """The next page that is not too long."""
        while len((sample := maker.sample(self.kind)).ids) > self.longest:
            pass
        return sample


GROUPS = (
    *(Group(f"density {level}", Kind(level, clean=True), 50) for level in range(4)),
    Group("blank", Kind(BLANK), 50),
    Group("crops 2x3", Kind(3, (2, 3)), 30),
    Group("small text", Kind(SMALLEST), 30),
    Group("crops 3x4", Kind(3, (3, 4)), 12),
    Group("cluttered", Kind(2), 30),
    Group("crops 2x2", Kind(2, (2, 2)), 16),
    Group("blank, crops 2x3", Kind(BLANK, (2, 3)), 16),
    Group("documents", Kind(2, genre="document"), 30, 2600),
    Group("documents, crops 2x3", Kind(3, (2, 3), genre="document"), 24, 2600),
    Group("tables", Kind(2, genre="table"), 30, 2600),
    *(Group(f"prose {level}", Kind(level, clean=True), 50, split="prose", longest=1024) for level in range(4)),
    Group("two pages", Kind(2), 15, 2600, task=Task.SEVERAL, together=2),
    Group("three pages", Kind(2), 10, 2600, task=Task.SEVERAL, together=3),
    Group("locate", Kind(2), 60, 128, task=Task.LOCATE),
    Group("locate, crops 2x3", Kind(3, (2, 3)), 30, 128, task=Task.LOCATE),
    Group("new languages", Kind(2, clean=True), 50, split="added"),
    Group("office", Kind(2, genre="office"), 30, 2600),
    Group("office, crops 2x3", Kind(3, (2, 3), genre="office"), 24, 2600),
)


def _make(job: tuple[Path, int, Group]) -> list[Exercise]:
    pack, index, group = job
    maker = PageMaker(pack, group.split, SEED + index)
    return [group.exercise(maker) for _ in range(group.pages)]


def held_out(
    pack: Path, share: float, processes: int, only: tuple[str, ...] = ()
) -> Iterator[tuple[Group, list[Exercise]]]:
    """Groups (all, or those named) with their examples; `share` < 1 keeps the first pages of each."""
    wanted = [
        (pack, i, replace(g, pages=max(1, round(g.pages * share))))
        for i, g in enumerate(GROUPS)
        if not only or g.name in only
    ]
    with ProcessPoolExecutor(processes) as pool:
        yield from zip((group for _, _, group in wanted), pool.map(_make, wanted), strict=True)


def pictures(samples: list[Sample], grid: tuple[int, int] | None, seed: int) -> tuple[Tensor, Tensor | None]:
    """Views [B, 3, 1024, 1024] and crops [B * tiles, 3, 640, 640], painted on the CPU from a seed."""
    generator = torch.Generator().manual_seed(seed)
    look = draw_look(torch.tensor([s.level == SMALLEST for s in samples]), generator)
    rect = torch.tensor([s.rect for s in samples])
    view = paint_view(torch.from_numpy(np.stack([s.view for s in samples])), rect, look, generator)
    if grid is None:
        return view, None
    ink = np.stack([s.tiles for s in samples if s.tiles is not None])
    return view, paint_tiles(torch.from_numpy(ink), grid, look, generator)


@torch.no_grad()
def read(
    net: Reader,
    vocabulary: Vocabulary,
    view: Tensor,
    tiles: Tensor | None,
    group: Group,
    questions: list[list[int]],
    chunk: int,
) -> list[tuple[str, bool]]:
    """Output text of each example and whether it ended by itself. `questions` [examples] are ids behind the pages that
    differ (empty ones: the task's own prompt)."""
    tokens, grid = torch.cat([net.encode(part).tokens for part in view.split(chunk)]), group.kind.grid
    near = None
    if tiles is not None and grid is not None:
        near = torch.cat([net.encode(part).tokens for part in tiles.split(chunk)]).unflatten(0, (-1, grid[1], grid[0]))
    visual = net.arrange(tokens, near).unflatten(0, (-1, group.together)).flatten(1, 2)
    if group.task is Task.LOCATE:
        ids = [net.generate(rows, ask, group.most)[0] for rows, ask in zip(visual.split(1), questions, strict=True)]
    else:
        ids = net.generate(visual, vocabulary.prompts[group.task], group.most)
    return [(vocabulary.decode(row), row[-1] == vocabulary.end) for row in ids]


def evaluate(
    checkpoint: Path,
    pack: Path,
    device: torch.device,
    share: float,
    processes: int,
    batch: int,
    deadline: float = float("inf"),
    only: tuple[str, ...] = (),
) -> tuple[dict[str, dict[str, float]], list[Reading]]:
    """Figures by group, and every reading. Groups that would begin after `deadline` seconds are left out."""
    begin = time.monotonic()
    config = load_config(checkpoint)
    net = Reader(config)
    from_checkpoint(net, {key: value.float() for key, value in read_weights(checkpoint).items()})
    net.eval().to(device)
    vocabulary = Vocabulary(pack / "tokenizer.json")
    figures: dict[str, dict[str, float]] = {}
    readings: list[Reading] = []
    figure = {Task.READ: summary, Task.SEVERAL: several_summary, Task.LOCATE: location_summary}
    for group, examples in held_out(pack, share, processes, only):
        if time.monotonic() - begin > deadline:
            print(f"{group.name}: left out, time is up", flush=True)
            continue
        done: list[Reading] = []
        for first in range(0, len(examples), batch):
            part = examples[first : first + batch]
            view, tiles = pictures([page for e in part for page in e.pages], group.kind.grid, SEED + first)
            sent = None if tiles is None else tiles.to(device)
            questions = [e.ids[: e.asked].tolist() for e in part]
            texts = read(net, vocabulary, view.to(device), sent, group, questions, 8)
            for example, (output, ended) in zip(part, texts, strict=True):
                truth = vocabulary.decode(example.ids[example.asked :].tolist())
                done.append(Reading(group.name, output, truth, ended))
        figures[group.name] = figure[group.task](done)
        readings += done
        print(f"{time.monotonic() - begin:6.1f} s  {group.name}: {json.dumps(figures[group.name])}", flush=True)
    return figures, readings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", type=Path, help="folder with config.json and .safetensors files")
    parser.add_argument("--pack", type=Path, required=True)
    parser.add_argument("--out", type=Path, help="report: figures and readings as JSON")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--share", type=float, default=1.0, help="part of each group to read")
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--processes", type=int, default=2, help="page makers")
    parser.add_argument("--deadline", type=float, default=float("inf"), help="seconds after which no group is begun")
    parser.add_argument(
        "--only", nargs="*", default=[], choices=[group.name for group in GROUPS], help="groups to read"
    )
    args = parser.parse_args()
    figures, readings = evaluate(
        args.checkpoint,
        args.pack,
        torch.device(args.device),
        args.share,
        args.processes,
        args.batch,
        args.deadline,
        tuple(args.only),
    )
    if args.out:
        report = {
            "checkpoint": args.checkpoint.name,
            "seed": SEED,
            "figures": figures,
            "readings": [asdict(reading) for reading in readings],
        }
        args.out.write_text(json.dumps(report, ensure_ascii=False, indent=0), encoding="utf-8")


if __name__ == "__main__":
    main()
