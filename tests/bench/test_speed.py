"""The engine's own figures: how they are shown, and that the page is really read."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import pytest
from uocr import UnlimitedOCR
from uocr.score import character_error_rate

from bench import machine, one_page, performance, speed


def stored() -> dict[str, object]:
    figures = {"open_s": [0.1, 0.2, 0.15], "decode_tokens_per_s": [50.0, 52.0, 51.0],
               "prefill_tokens_per_s": [180.0, 190.0, 200.0], "view_1024_s": [12.0, 13.0, 12.5],
               "view_640_s": [4.0, 4.2, 4.1]}
    return {"made_by": "python -m bench.speed", "machine": {"processor": "P", "instructions": [], "processors": 2,
            "system": "S", "python": "3"}, "engine": "0.1.0", "runs": 3, "load_at_start": 0.0, "load_at_end": 1.0,
            "rows": [{"model": "full shapes, q4", "threads": 1, "figures": figures}]}


def test_median_lowest_and_highest_are_shown() -> None:
    lines = speed.tables(stored()).splitlines()
    assert lines[2] == ("| full shapes, q4 | 1 | 0.150 (0.100 to 0.200) | 51.0 (50.0 to 52.0) | 190 (180 to 200) | "
                        "12.50 (12.00 to 13.00) | 4.10 (4.00 to 4.20) |")


def test_the_page_of_500_characters_is_read_and_its_time_is_divided(tmp_path: Path) -> None:
    path = tmp_path / "page.png"
    assert one_page.draw(path) == 500
    with UnlimitedOCR() as ocr:
        truth = " ".join(" ".join(one_page.LINES).split())
        assert character_error_rate(truth, " ".join(ocr.generate(path, preset="base").split())) < 0.02
    found = one_page.measure(path, 2, 1)
    seconds = {name: values[0] for name, values in found["seconds"].items()}
    assert all(value > 0 for value in seconds.values()) and found["tokens"] > 100
    assert found["readings"] in (1, 2)
    parts = sum(seconds[name] for name in ("vision", "prompt", "text", "the rest"))
    assert parts == pytest.approx(seconds["wall"], abs=0.001)


def test_a_row_a_number_of_threads() -> None:
    rows = [{"threads": 2, "tokens": 281, "seconds": {"wall": [1.2, 1.1, 1.3], "vision": [0.5, 0.7, 0.6]}}]
    assert one_page.table({"rows": rows}).splitlines() == [
        "| threads | tokens | wall, s | vision, s |", "|---|---|---|---|",
        "| 2 | 281 | 1.20 (1.10 to 1.30) | 0.60 (0.50 to 0.70) |"]


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


@pytest.mark.parametrize("text", ["", "0", "-1", "0,x", "1,,2", "two"])
def test_what_names_no_threads_is_refused_in_words(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    machine.add_threads(parser)
    assert parser.parse_args(["--threads", "2,1"]).threads == [1, 2]
    with pytest.raises(SystemExit):
        parser.parse_args([f"--threads={text}"])
    assert f"{text} names no threads; give numbers from 1 on, as in 1,2" in capsys.readouterr().err
