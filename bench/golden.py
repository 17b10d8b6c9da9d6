"""Reference numbers of the built-in model: `python -m bench.golden CHECKPOINT tests/golden/built-in`.

Reads every picture of the folder with the PyTorch model in float32 (extra `parity`) and writes `golden.json` beside
them: intermediate values, first logits, ids and text. tests/uocr/test_built_in_model.py holds the engine to them.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from uocr.views import make_views

from bench.quality.stored import write
from training.config import load_config
from training.export import from_checkpoint, read_weights
from training.model import Reader
from training.targets import Vocabulary

MOST = 600
SHOWN = 8
"""Values stored of a vector."""
ROWS = (0, 16, 17, 136, 271, 272)
"""Visual rows stored: three features, the marks at the ends of the first and last line, the separator."""


def load(checkpoint: Path) -> Reader:
    """The model of a checkpoint folder in float32, ready to read."""
    net = Reader(load_config(checkpoint))
    from_checkpoint(net, {name: value.float() for name, value in read_weights(checkpoint).items()})
    return net.eval()


def rounded(values: Tensor) -> list[float]:
    return [round(float(value), 5) for value in values]


@torch.inference_mode()
def case(net: Reader, vocabulary: Vocabulary, path: Path) -> dict[str, Any]:
    """What the model computes for one picture."""
    with Image.open(path) as picture:
        pixels = make_views(picture.convert("RGB"), "base").views[0]
    view = torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1)))[None].float() / 127.5 - 1
    features, patches = net.model.sam_model(view, None, None)
    words = net.model.vision_model(features, None)
    rows = net.arrange(net.encode(view).tokens, None)
    ids = net.generate(rows, vocabulary.prompt, MOST)[0]
    embed = net.model.embed_tokens.weight
    prompt = torch.cat([embed[[net.config["bos_token_id"]]], rows[0], embed[vocabulary.prompt]])[None]
    hidden, *_ = net.decode(prompt, prompt.shape[1])
    top = net.lm_head(hidden[0, -1]).topk(5)
    return {
        "image": path.name, "pixel_sum": float(view.double().sum()),
        "sam_block_out_0_0": rounded(patches[0, 0, 0, :SHOWN]),
        "sam_out_chan0_7_at_0_0": rounded(features[0, :SHOWN, 0, 0]),
        "sam_out_at_8_8": rounded(features[0, :SHOWN, 8, 8]),
        "clip_token1": rounded(words[0, 1, :SHOWN]),
        "vision_tokens": {str(row): rounded(rows[0, row, :SHOWN]) for row in ROWS},
        "vision_token_norm": round(float(rows.double().norm()), 4),
        "first_logits_top5": [top.indices.tolist(), rounded(top.values)],
        "ids": ids, "text": vocabulary.tokenizer.decode(ids, skip_special_tokens=False),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", type=Path, help="folder with config.json, tokenizer.json and .safetensors files")
    parser.add_argument("folder", type=Path, help="folder of pictures; golden.json goes there")
    args = parser.parse_args()
    net, vocabulary = load(args.checkpoint), Vocabulary(args.checkpoint / "tokenizer.json")
    cases = [case(net, vocabulary, path) for path in sorted(args.folder.glob("*.png"))]
    golden = {"prompt_without_rows": [net.config["bos_token_id"], *vocabulary.prompt], "visual_rows": 273,
              "cases": cases}
    write(args.folder / "golden.json", golden)


if __name__ == "__main__":
    main()
