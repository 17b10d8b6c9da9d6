"""``python -m uocr.convert`` and the report it prints."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from uocr.convert import RangeNote, Report
from uocr.convert.__main__ import main
from uocr.modelfile import ModelFile


def test_it_converts_and_prints_what_it_did(golden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                            capsys: pytest.CaptureFixture) -> None:
    target = tmp_path / "m.uocr"
    monkeypatch.setattr(sys, "argv", ["convert", str(golden), str(target), "--profile", "q4"])
    assert main() == 0
    with ModelFile.open(target) as model:
        first = capsys.readouterr().out.splitlines()[0]
        assert first == (f"{target.stat().st_size:,} bytes, model {model.model_id.hex()[:16]}, 226 source "
                         f"tensors stored as 18 f16, 76 f32, 23 q4, 45 q8")


@pytest.mark.parametrize(("source", "code", "words"), [
    ("nowhere", 23, "is no folder with a checkpoint"), (None, 41, "exists already")])
def test_a_refusal_is_one_line_and_an_exit_code(golden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                capsys: pytest.CaptureFixture, source: str | None, code: int,
                                                words: str) -> None:
    (tmp_path / "m.uocr").write_bytes(b"old")
    folder = str(tmp_path / source) if source else str(golden)
    monkeypatch.setattr(sys, "argv", ["convert", folder, str(tmp_path / "m.uocr")])
    assert main() == code
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ") and words in line


def test_the_report_names_what_left_the_range_and_sums_up_the_rest() -> None:
    report = Report("q8", "upstream", 2710, 1_000_000, "ab" * 32, {"q8": 2, "f32": 1},
                    kept_f32=[RangeNote("a.weight", 3, 0, 0, 70000.0)],
                    lossy=[RangeNote("b.weight", 0, 1000, 2, 1.0), RangeNote("c.weight", 0, 500, 0, 1.0)],
                    remarks=["x = 1 was taken, y = 2 was not"])
    assert report.lines() == [
        "1,000,000 bytes, model abababababababab, 2710 source tensors stored as 1 f32, 2 q8",
        "kept in f32: a.weight (3 values beyond f16, up to 70000)",
        "small values: in 2 tensors f16 holds 1,500 with fewer bits and rounds 2 to 0",
        "config.json: x = 1 was taken, y = 2 was not"]
