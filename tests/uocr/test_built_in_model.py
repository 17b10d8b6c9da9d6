"""The built-in model against numbers of the PyTorch model it was trained as: tests/golden/built-in.

The reference was computed in float32 from the BF16 weights, on two crops of a real PDF (`python -m bench.golden`).
The repository holds the weights as q8 only, so intermediate values and box coordinates are compared within what
rounding to 8 bits may move them, and text exactly. With UOCR_NANO_CHECKPOINT naming the folder of the BF16
checkpoint, the f32 conversion is held to far closer bounds.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from rapidfuzz.distance import Levenshtein
from uocr import native
from uocr.tokenizer import Tokenizer
from uocr.views import make_views

from tests.conftest import BUILT_IN, GOLDEN

FOLDER = GOLDEN / "built-in"
STORED = json.loads((FOLDER / "golden.json").read_text("utf-8"))
CASES = {case["image"]: case for case in STORED["cases"]}
_BOX = re.compile(r"(?<=\[)[\d, ]+(?=\]<\|/det\|>)")
CHECKPOINT = os.environ.get("UOCR_NANO_CHECKPOINT")
NO_CHECKPOINT = "set UOCR_NANO_CHECKPOINT to the folder of the built-in model's BF16 checkpoint"


@dataclass(frozen=True)
class Bounds:
    """Largest allowed distance of each kind of value (see `distances`) from the reference."""

    patches: float
    features: float
    clip: float
    rows: float
    marks: float
    norm: float
    logits: float
    coordinates: int
    """Of 999, in the boxes of the text read freely."""
    letters: int
    """Edit distance of that text, its boxes apart."""


Q8 = Bounds(patches=0.3, features=0.6, clip=0.3, rows=2.0, marks=1e-4, norm=24.0, logits=0.3, coordinates=10,
            letters=0)
"""Values reach 290 in the rows, 22 in the logits; q8 gave 0.22, 0.27, 0.14, 1.1, 1e-5, 6, 0.13, 3."""
FAST = Bounds(patches=0.6, features=1.5, clip=0.6, rows=4.0, marks=1e-4, norm=30.0, logits=0.5, coordinates=10,
              letters=0)
"""With the decoder's activations in 8 bits besides: logits 0.15; a CPU whose vision takes 8 bits too may be further."""
F32 = Bounds(patches=0.006, features=0.02, clip=0.003, rows=0.03, marks=1e-4, norm=0.2, logits=0.001, coordinates=0,
             letters=0)
"""What is left comes from pixels, which the engine rounds to BF16 as the published network does."""


@dataclass(frozen=True)
class Seen:
    """What one reading showed: captured stages, logits of the first token, all ids and their text."""

    stages: dict[str, np.ndarray]
    logits: np.ndarray
    ids: list[int]
    text: str


def look(engine: native.Engine, image: str) -> Seen:
    """Read a golden page freely, without the repeat guard, as the reference did."""
    rows = STORED["visual_rows"]
    begin, *text = STORED["prompt_without_rows"]
    prompt = [begin, *[engine.info().image_id] * rows, *text]
    plan = native.Plan(prompt, max_new_tokens=600, ngram_size=0, loop_history=0)
    with Image.open(FOLDER / image) as picture:
        pixels = make_views(picture.convert("RGB"), "base").views[0]
    names = ("sam/block5", "sam/net_3", "clip/block3", "rows")
    ids: list[int] = []
    first: np.ndarray | None = None
    with engine.begin(plan) as run:
        run.capture(*names, "logits")
        for event in run.events():
            if event.kind == native.NEED_VIEW:
                run.feed(event.view, pixels)
            elif event.kind == native.TOKEN:
                first = run.fetch("logits")[-1] if first is None else first
                ids.append(event.token)
        stages = {name: run.fetch(name) for name in names}
    assert first is not None
    return Seen(stages, first, ids, Tokenizer(engine.text(4), digits="single").decode(ids))


def distances(seen: Seen, case: dict[str, Any]) -> Bounds:
    """Greatest distance of every kind of stored value."""

    def far(mine: np.ndarray, stored: list[float]) -> float:
        return float(np.abs(mine - np.array(stored)).max())

    patches, features, clip, rows = seen.stages.values()
    grid = {n: values for n, values in case["vision_tokens"].items() if n not in ("16", "271", "272")}
    marks = {n: values for n, values in case["vision_tokens"].items() if n in ("16", "271", "272")}
    top_ids, top_values = case["first_logits_top5"]
    return Bounds(
        patches=far(patches[0, 0, :8], case["sam_block_out_0_0"]),
        features=max(far(features[0, 0, :8], case["sam_out_chan0_7_at_0_0"]),
                     far(features[8, 8, :8], case["sam_out_at_8_8"])),
        clip=far(clip[1, :8], case["clip_token1"]),
        rows=max(far(rows[int(n), :8], values) for n, values in grid.items()),
        marks=max(far(rows[int(n), :8], values) for n, values in marks.items()),
        norm=abs(float(np.linalg.norm(rows.astype(np.float64))) - case["vision_token_norm"]),
        logits=far(seen.logits[top_ids], top_values),
        coordinates=max((abs(a - b) for a, b in zip(boxes(seen.text), boxes(case["text"]), strict=True)), default=0),
        letters=Levenshtein.distance(_BOX.sub("", seen.text), _BOX.sub("", case["text"])))


def boxes(text: str) -> list[int]:
    """All coordinates of an output, one after the other."""
    return [int(number) for box in _BOX.findall(text) for number in box.split(", ")]


def check(seen: Seen, case: dict[str, Any], bounds: Bounds) -> None:
    found = vars(distances(seen, case))
    assert {name: value for name, value in found.items() if value > getattr(bounds, name)} == {}
    assert int(seen.logits.argmax()) == case["first_logits_top5"][0][0]  # the fourth and fifth nearly tie


@pytest.mark.parametrize("image", CASES)
@pytest.mark.parametrize(("precision", "bounds"), [("exact", Q8), ("fast", FAST)])
def test_q8_writes_the_reference_text_from_values_near_the_reference(precision: str, bounds: Bounds,
                                                                       image: str) -> None:
    with native.Engine(BUILT_IN, precision=precision) as engine:
        check(look(engine, image), CASES[image], bounds)


@pytest.mark.parametrize("image", CASES)
def test_ids_stand_for_the_reference_text(image: str) -> None:
    with native.Engine(BUILT_IN) as engine:
        tokenizer = Tokenizer(engine.text(4), digits="single")
    assert tokenizer.decode(CASES[image]["ids"]) == CASES[image]["text"]
    assert tokenizer.scoring_ids(CASES[image]["text"]) == CASES[image]["ids"]


@pytest.mark.parametrize("image", CASES)
def test_pixels_differ_from_the_reference_by_bf16_rounding_alone(image: str) -> None:
    with Image.open(FOLDER / image) as picture:
        pixels = make_views(picture.convert("RGB"), "base").views[0]
    exact = (np.arange(256) / 127.5 - 1)[pixels].sum()
    assert abs(exact - CASES[image]["pixel_sum"]) < 0.1  # of 3,145,728 values
    table = native.pixel_table()
    assert np.abs(table - (np.arange(256) / 127.5 - 1)).max() <= 2.0**-9


@pytest.fixture(scope="module")
def full_weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from uocr.convert import convert_checkpoint

    if CHECKPOINT is None:
        pytest.skip(NO_CHECKPOINT)
    path = tmp_path_factory.mktemp("nano") / "nano-f32.uocr"
    convert_checkpoint(Path(CHECKPOINT), path, "f32")
    return path


@pytest.mark.parametrize("image", CASES)
def test_f32_reproduces_the_reference(full_weights: Path, image: str) -> None:
    with native.Engine(full_weights, precision="exact") as engine:
        seen = look(engine, image)
    check(seen, CASES[image], F32)
    assert seen.ids == CASES[image]["ids"]
    assert np.argsort(-seen.logits, kind="stable")[:5].tolist() == CASES[image]["first_logits_top5"][0]


@pytest.mark.parametrize("image", CASES)
def test_f32_is_equal_to_pytorch_on_the_same_pixels(full_weights: Path, image: str) -> None:
    """With the pixel rounding taken out of the comparison, only the order of summation is left."""
    torch = pytest.importorskip("torch", reason="this comparison needs: pip install leggio[parity]")
    from training.config import load_config
    from training.export import from_checkpoint, read_weights
    from training.model import Reader

    assert CHECKPOINT is not None
    net = Reader(load_config(Path(CHECKPOINT)))
    from_checkpoint(net, {name: value.float() for name, value in read_weights(Path(CHECKPOINT)).items()})
    with Image.open(FOLDER / image) as picture:
        pixels = make_views(picture.convert("RGB"), "base").views[0]
    view = torch.from_numpy(native.pixel_table()[pixels].transpose(2, 0, 1)[None].copy())
    with torch.inference_mode():
        theirs = net.eval().arrange(net.encode(view).tokens, None)[0].numpy()
    with native.Engine(full_weights, precision="exact") as engine:
        mine = look(engine, image).stages["rows"]
    assert mine.shape == theirs.shape
    assert np.abs(mine - theirs).max() <= 2e-3  # values reach 300
