"""Our engine, one piece of work a line: `python -m bench.peers.worker MODEL.uocr THREADS PRECISION`.
See `work.Lines`.

Seconds are the engine's own, around the phase that is asked for: decoding, prefill or vision.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from uocr import native

from bench.peers.work import DECODED, PREFILL, PROMPT


def _text_run(engine: native.Engine, prompt: int, tokens: int) -> tuple[native.Event, native.Event]:
    """Events of the first and the last of `tokens` tokens after a prompt of ids alone.

    The ids are spread over the vocabulary so that all experts are met.
    """
    info = engine.info()
    ids = [info.bos_id, *(2 + i * 7919 % (info.usable_vocab - 2) for i in range(prompt - 1))]
    plan = native.Plan(ids, pages=0, max_new_tokens=tokens, ignore_eos=True, ngram_size=0, loop_history=0)
    chosen = []
    with engine.begin(plan) as run:
        while (event := run.step()).kind != native.DONE:
            if event.kind == native.TOKEN:
                chosen.append(event)
    return chosen[0], chosen[-1]


def _view(engine: native.Engine, size: int) -> float:
    info = engine.info()
    rows = size // 64 * (size // 64 + 1) + 1
    page = np.full((size, size, 3), 255, np.uint8)
    page[::5] = 0
    plan = native.Plan([info.bos_id, *[info.image_id] * rows, 3], global_size=size, max_new_tokens=1)
    with engine.begin(plan) as run:
        while (event := run.step()).phase == "vision" or event.kind == native.NEED_VIEW:
            if event.kind == native.NEED_VIEW:
                run.feed(event.view, page)
        return event.vision_s


def measure(engine: native.Engine, work: str) -> tuple[float, int]:
    if work.startswith("decode"):
        # The first token comes from the prompt's last row: its step is no pass through the layers.
        first, last = _text_run(engine, PROMPT, DECODED + 1)
        return last.decode_s - first.decode_s, last.done - first.done
    if work.startswith("prefill"):
        return _text_run(engine, PREFILL, 1)[1].prefill_s, PREFILL
    return _view(engine, 640 if work == "view_640" else 1024), 1


def main() -> int:
    path, threads, precision = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    with native.Engine(path, threads=threads, precision=precision) as engine:
        info = engine.info()
        about = {"version": native.version(), "simd": info.simd, "threads": info.threads,
                 "quantisation": info.profile, "bytes": info.file_bytes, "precision": precision.upper()}
        print(json.dumps({"ready": about}), flush=True)
        for line in sys.stdin:
            seconds, units = measure(engine, line.strip())
            print(json.dumps({"seconds": seconds, "units": units}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
