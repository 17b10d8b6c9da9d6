"""Pixels, prompts and tag matches of the golden set: everything that must be exactly equal."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from uocr import markup, native
from uocr.golden.compare import GoldenSet, Result, equal
from uocr.golden.network import Pictures
from uocr.prompt import split_prompt
from uocr.views import Preset, make_views


def check_pixels(golden: GoldenSet, pictures: Pictures) -> Iterator[Result]:
    """Every view of every case: grid, count, bytes, first and last rows, bytes after normalisation."""
    table = native.pixel_table()
    yield equal(
        "preprocess.npz:pixel_table_bf16",
        table.tolist(),
        golden.arrays("preprocess.npz")["pixel_table_bf16"].astype(np.float32).tolist(),
    )
    bf16 = (table.view(np.uint32) >> 16).astype("<u2")
    data = golden.json("preprocess.json")
    for image in data["images"]:
        picture = pictures(image["name"])
        yield equal(
            f"preprocess.json:image {image['name']}",
            [list(picture.size), _sha(picture.tobytes())],
            [image["rgb_size"], image["rgb_sha256"]],
        )
    for case in data["cases"]:
        names = case["image"] if isinstance(case["image"], list) else [case["image"]]
        size = case.get("base_size", case["image_size"])
        preset = Preset(case["mode"], size, crops=bool(case.get("crop_mode")))
        pages = [make_views(pictures(name), preset) for name in names]
        label = f"preprocess.json:{'+'.join(names)}/{case['mode']}"
        views = [view for page in pages for view in page.views]
        # upstream lists the global view first; the engine takes the crops first
        listed = views if len(pages) > 1 else [views[-1], *views[:-1]]
        grids = [[page.crop_cols, page.crop_rows] for page in pages]
        yield equal(
            label,
            [grids if len(pages) > 1 else grids[0], len(views), sum(p.visual_tokens for p in pages)],
            [case["crop_grid_w_h"], case["n_views"], case["visual_tokens"]],
        )
        for number, (view, wanted) in enumerate(zip(listed, case["views"], strict=True)):
            planar = np.ascontiguousarray(bf16[view].transpose(2, 0, 1))
            yield equal(
                f"{label}/view{number}",
                [_sha(view.tobytes()), _sha(planar.tobytes())],
                [wanted["sha256_rgb_uint8"], wanted["sha256_bf16_chw"]],
            )


def check_text(golden: GoldenSet) -> Iterator[Result]:
    """Prompts and tag matches. Markdown and picture numbers differ on purpose and are not compared."""
    data = golden.json("postprocess.json")
    for i, prompt in enumerate(data["prompts"]):
        yield equal(f"postprocess.json:prompt {i}", split_prompt(prompt["prompt"]), prompt["text_splits"])
    for case in data["single"]:
        found = markup.upstream_matches(case["text"])
        yield equal(f"postprocess.json:{case['name']}", _plain(found), case["re_match"])


def _plain(matches: Any) -> dict[str, Any]:
    return {"matches": [list(m) for m in matches.matches], "image": list(matches.image), "other": list(matches.other)}


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
