"""`make demo`: what a newcomer sees first."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT, SAMPLES


def test_the_demo_shows_text_figures_memory_error_rate_and_files(tmp_path: Path) -> None:
    samples = tmp_path / "samples"
    samples.mkdir()
    for name in ("screenshot.png", "screenshot.txt"):
        shutil.copy(SAMPLES / name, samples)
    command = [sys.executable, "-m", "uocr.demo", "--samples", samples, "--output", tmp_path / "out"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Next meeting: Tuesday at 15:30, room 12." in shown and "<|det|>" not in shown
    for figure in ("finish reason: eos", "tokens/s", "vision", "prefill", "decode", "estimate", "peak", "KV cache"):
        assert figure in shown
    assert "character error rate: 0." in shown
    assert "Weekly report" in (tmp_path / "out" / "screenshot.md").read_text()
    assert json.loads((tmp_path / "out" / "screenshot.json").read_text())["documents"]


def test_every_sample_has_its_true_text() -> None:
    samples = [f for f in (ROOT / "resources" / "samples").iterdir() if f.suffix != ".txt"]
    assert {f.name for f in samples} == {"leaflet.pdf", "scan.jpg", "screenshot.png", "two-columns.png"}
    assert all(f.with_suffix(".txt").is_file() for f in samples)
