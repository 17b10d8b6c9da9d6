"""transformers' own network, one view a line: `python -m bench.peers.torch_worker THREADS`; see `work.Lines`.

Vision only, in float32: its decoder has no 4- or 8-bit weights on a CPU to compare with.
"""

from __future__ import annotations

import json
import sys
import time

import torch
import transformers
from transformers import UnlimitedOcrVisionConfig, UnlimitedOcrVisionModel
from uocr.convert.random_full import STANDARD_DEVIATION


def build() -> torch.nn.Module:
    """The vision part in its full shapes with random weights."""
    torch.manual_seed(1)
    model = UnlimitedOcrVisionModel(UnlimitedOcrVisionConfig())
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, STANDARD_DEVIATION)
            else:
                parameter.fill_(0.0 if name.endswith("bias") else 1.0)
    return model.eval()


def main() -> int:
    torch.set_num_threads(int(sys.argv[1]))
    model = build()
    about = {"version": f"transformers {transformers.__version__}, torch {torch.__version__}",
             "cpu": torch.backends.cpu.get_cpu_capability(), "dtype": "float32",
             "bytes": sum(p.numel() * p.element_size() for p in model.parameters())}
    print(json.dumps({"ready": about}), flush=True)
    for line in sys.stdin:
        side = 640 if line.strip() == "view_640" else 1024
        pixels = torch.rand(1, 3, side, side) * 2 - 1
        with torch.inference_mode():
            begun = time.perf_counter()
            model(pixels)
            seconds = time.perf_counter() - begun
        print(json.dumps({"seconds": seconds, "units": 1}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
