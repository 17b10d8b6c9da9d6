"""The engine's own figures: how they are shown, and that the page is really read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench import performance, speed


def stored() -> dict[str, object]:
    figures = {"open_s": [0.1, 0.2, 0.15], "decode_tokens_per_s": [50.0, 52.0, 51.0],
               "prefill_tokens_per_s": [180.0, 190.0, 200.0], "view_1024_s": [12.0, 13.0, 12.5],
               "view_640_s": [4.0, 4.2, 4.1]}
    return {"made_by": "python -m bench.speed", "machine": {"processor": "P", "instructions": [], "processors": 2,
            "system": "S", "python": "3"}, "engine": "0.1.0", "runs": 3, "load_at_start": 0.0, "load_at_end": 1.0,
            "rows": [{"model": "full shapes, q4", "threads": 1, "figures": figures}],
            "page": [{"page": "scan.jpg", "characters": 474, "threads": 2, "seconds": [1.2, 1.1, 1.3]}]}


def test_median_lowest_and_highest_are_shown() -> None:
    lines = speed.tables(stored()).splitlines()
    assert lines[2] == ("| full shapes, q4 | 1 | 0.150 (0.100 to 0.200) | 51.0 (50.0 to 52.0) | 190 (180 to 200) | "
                        "12.50 (12.00 to 13.00) | 4.10 (4.00 to 4.20) |")
    assert lines[-1] == ("- `uocr read scan.jpg --preset base --threads 2`, 474 characters, everything included: "
                         "1.20 (1.10 to 1.30) s.")


def test_the_sample_page_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "RUNS", 1)
    found = speed.read_page(2)
    assert 400 < found["characters"] < 550 and len(found["seconds"]) == 1 and found["seconds"][0] > 0


def test_figures_that_are_not_there_are_named(tmp_path: Path) -> None:
    page = performance.page(tmp_path)
    for name in performance.COMMANDS:
        assert f"`{name}.json` is not stored yet" in page


def test_the_stored_page_is_that_of_the_stored_figures() -> None:
    docs = Path(__file__).resolve().parents[2] / "docs"
    command = [sys.executable, "-m", "bench.performance", str(docs / "figures")]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert made == (docs / "performance.md").read_text()


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench.performance", str(tmp_path / "none")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stderr.startswith("Give the folder of stored figures")
