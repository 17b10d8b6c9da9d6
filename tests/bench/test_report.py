"""docs/quality.md is made from stored figures alone."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bench import report
from bench.gate.choices import MODULES
from bench.gate.figures import figures
from bench.gate.scoring import FreeResult, PageResult
from bench.quality import confidence
from bench.quality.stored import model_facts
from tests.bench.test_confidence import MIXED
from tests.conftest import BUILT_IN
from tests.uocr.convert.checkpoint_files import with_front_end


def gate_report() -> dict:
    one = {7: PageResult(7, places=10, nll=1.0, kl=0.1, agree=9, free_errors=1, free_length=100, finish="eos")}
    one[7].kept = FreeResult(1, True, 0, 0, "eos", 1, 0.8)
    worse = {7: replace(one[7], free_errors=8, finish="loop", kept=FreeResult(3, False, 0, 0, "loop", 2, 0.8))}
    choices = [figures(name, 3 << 20, worse if "pick" in name else one, one).stored()
               for name in ("f32", "q4 pick", "q4 pick (FAST)", "q4 pick (INTEGER)")]
    picked = {"types": dict.fromkeys(MODULES, "q4"), "expected_loss": 1.0, "exact": "q4 pick",
              "fast": "q4 pick (FAST)", "integer": "q4 pick (INTEGER)", "integer_kept": True,
              "bounds": {"nll": 3.0, "errors": 0.5, "bytes": 20 << 20}, "kept": True, "exact_kept": False,
              "size_kept": True}
    return {"checkpoint": "abc", "pages_key": "k", "along": "truth", "engine": "0", "pages": 1, "module_weights": {},
            "read_again_below": 0.8, "judged_on": "as the product reads", "choices": choices, "picks": {"q4": picked}}


def quality_report() -> dict:
    reader = {"pages": 2, "characters": 100, "character_error_rate": 1.5, "character_error_interval": [0.5, 2.5],
              "word_error_rate": 4.0, "median_page_rate": 1.0, "reading_order": 1.0, "box_iou": 0.9, "table_teds": 0.5,
              "loops": 1, "cut_short": 0, "failed": 0, "seconds_a_page": 2.0, "cpu_seconds_a_page": 1.0,
              "peak_mebibytes": 100.0}
    blank = {k: None if isinstance(v, float) and k != "peak_mebibytes" else v for k, v in reader.items()}
    for name in ("character_error_rate", "character_error_interval", "word_error_rate", "table_teds"):
        blank.pop(name)
    blank |= {"pages_with_inventions": 1, "invented_characters": 5, "table_teds": None}
    model = {"name": "m", "quantisation": "q8", "precision": "fast", "bytes": 1000, "model_id": "f" * 64}
    return {"model": model, "engine": "0", "peers": {"peer": "peer 1.2"}, "processors": 2, "jobs": 1,
            "load_at_start": 1.0,
            "sets": {"tables": {"about": "one table", "preset": "base", "readers": {"uocr": reader, "peer": reader}},
                     "blank": {"about": "empty", "preset": "base", "readers": {"uocr": blank}}}}


def held_out_report() -> dict:
    return {"model": {"name": "m", "quantisation": "q8", "precision": "integer"}, "checkpoint": "abc", "pages": 4,
            "characters": 400,
            "engine_rate": 1.0, "torch_rate": 0.9, "difference": [0.1, -0.1, 0.15], "by_set": {"density 0": [1.0, 0.9]},
            "blocks": 9, "equal_boxes": 98.0, "pages_with_equal_text": 3, "bound": 0.2, "boxes_bound": 95.0,
            "ended_pages": 4, "ended_difference": [0.1, -0.1, 0.15], "read_again_below": 0.8, "read_twice": [2, 1],
            "first": {"engine_rate": 1.2, "torch_rate": 0.9, "by_set": {"density 0": [1.2, 0.9]}, "ended_pages": 3,
                      "difference": [0.3, 0.2, 0.4], "ended_difference": [0.3, 0.2, 0.4]}}


def made(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> str:
    monkeypatch.setattr(sys, "argv", ["report", str(folder)])
    assert report.main() == 0
    return capsys.readouterr().out


def test_every_part_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    stored = {"quality": quality_report(), "confidence": confidence.report(MIXED, MIXED, 0.75),
              "held-out": held_out_report(), "gate": gate_report()}
    for name, value in stored.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(value), "utf-8")
    text = made(tmp_path, monkeypatch, capsys)
    assert "| tables (base): one table | 2 | uocr | 1.50 (0.50 to 2.50) | 4.00 | 1.0 | 0.9 |" in text
    assert "| 1, 0, 0 |" in text, "loops, texts cut short, failures"
    assert "libuocr 0; peer 1.2. 2 processors" in text
    assert "| inventions on 1 pages |" in text
    assert "tables: uocr 0.5, peer 0.5" in text
    assert "`m` in q8, INTEGER, and the same checkpoint" in text
    assert "below **0.71**" in text
    assert "paired bootstrap: +0.100 points (-0.100 to +0.150), over the 4 pages that ended by themselves" in text
    assert "First readings alone: +0.300 points (+0.200 to +0.400), over the 3 pages" in text
    assert "| all | 1.0 | 0.9 | 1.2 | 0.9 |" in text and "; the engine 2 pages, PyTorch 1." in text
    assert "| q4 pick | 1 | first | – | 100.0 | 8.000 | +7.000 (+7.000 to +7.000) | 1; +7.000 | 1 |" in text
    assert "| q4 pick | 1 | as read | 1 | 100.0 | 3.000 | +2.000 (+2.000 to +2.000) | 1; +2.000 | 1 |" in text
    assert "**The bound on CER is judged as the product reads.**" in text
    assert "CER (as the product reads) +2.000 (+2.000 to +2.000), +2.000" in text
    assert "(first readings alone: +7.000 (+7.000 to +7.000), +7.000" in text
    assert "**q4** (NLL at most +3.0 %" in text
    assert "EXACT NOT KEPT on 1 pages, FAST kept on 1 pages, INTEGER kept" in text
    assert "is not stored yet" not in text


def test_of_a_model_that_reads_every_page_once_the_gate_shows_first_readings(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    stored = gate_report() | {"read_again_below": 0.0, "judged_on": "first readings"}
    (tmp_path / "gate.json").write_text(json.dumps(stored), "utf-8")
    text = made(tmp_path, monkeypatch, capsys)
    assert "reads every page once" in text and "| as read |" not in text and "(first readings alone" not in text
    assert "CER (first readings) +2.000" in text


def test_readings_that_were_never_second_are_compared_as_they_are(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    stored = {name: value for name, value in held_out_report().items() if name not in ("first", "read_twice")}
    (tmp_path / "held-out.json").write_text(json.dumps(stored), "utf-8")
    text = made(tmp_path, monkeypatch, capsys)
    assert "| all | 1.0 | 0.9 |\n" in text and "First readings" not in text and "PyTorch 1." not in text


def test_a_missing_part_names_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                          capsys: pytest.CaptureFixture) -> None:
    text = made(tmp_path, monkeypatch, capsys)
    for name, command in (("quality.json", "bench.quality"), ("confidence.json", "bench.quality"),
                          ("held-out.json", "bench.held_out"), ("gate.json", "bench.gate")):
        assert f"`{name}` is not stored yet; `python -m {command}` makes it." in text


@pytest.mark.parametrize(("allowed", "fast"), [(True, "integer"), (False, "fast")])
def test_facts_tell_the_precision_that_the_engine_takes(tmp_path: Path, allowed: bool, fast: str) -> None:
    model = with_front_end(BUILT_IN, tmp_path / "m.uocr", integer_activations=allowed)
    assert model_facts(model, "fast")["precision"] == fast
    assert model_facts(model, "exact")["precision"] == "exact"
