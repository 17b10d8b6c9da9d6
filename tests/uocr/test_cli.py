"""The command line: what it prints, what it writes, and one exit code a cause."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image
from uocr import cli, errors

from tests.conftest import BUILT_IN, GOLDEN, SAMPLES

SCREENSHOT = str(SAMPLES / "screenshot.png")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    """Runs `uocr ARGUMENTS` in this process; gives (exit code, standard output, standard error)."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["uocr", *arguments])
        code = cli.main()
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def blank(tmp_path: Path) -> str:
    path = tmp_path / "blank.png"
    Image.new("RGB", (200, 200), "white").save(path)
    return str(path)


def test_reading_prints_markdown_and_tells_the_figures_apart(run) -> None:
    code, out, err = run("read", SCREENSHOT)
    assert code == 0
    assert "Next meeting: Tuesday at 15:30, room 12." in out
    assert "<|det|>" not in out
    assert "finish reason: eos" in err and "tokens/s" in err


def test_json_holds_every_number(run) -> None:
    code, out, _ = run("read", SCREENSHOT, "--json", "-q")
    page = json.loads(out)["documents"][0]["pages"][0]
    assert code == 0
    assert page["finish_reason"] == "eos"
    assert page["blocks"] and page["tokens"] and page["memory_peak"]


def test_files_are_written_once_and_never_over_another(run, tmp_path: Path) -> None:
    target = tmp_path / "out.md"
    assert run("read", SCREENSHOT, "-o", str(target))[0] == 0
    first = target.read_bytes()
    code, _, err = run("read", SCREENSHOT, "-o", str(target), "--max-new-tokens", "3")
    assert code == errors.OutputExists.exit_code and "--overwrite" in err
    assert target.read_bytes() == first
    assert run("read", SCREENSHOT, "-o", str(target), "--overwrite", "-q")[0] == 0


def test_two_inputs_with_one_target_are_refused_before_any_work(run, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for folder in (tmp_path, tmp_path / "a"):
        Image.new("RGB", (20, 20)).save(folder / "same.png")
    code, _, err = run(
        "read", str(tmp_path / "same.png"), str(tmp_path / "a" / "same.png"), "-o", str(tmp_path / "out")
    )
    assert code == errors.OutputExists.exit_code and "same.md" in err


def test_a_page_cut_short_ends_with_its_own_code(run, blank: str) -> None:
    code, _, err = run("read", SCREENSHOT, "--max-new-tokens", "5")
    assert code == 3
    assert "length" in err


def test_one_bad_file_never_stops_the_others(run, tmp_path: Path, blank: str) -> None:
    bad = tmp_path / "bad.png"
    bad.write_bytes(b"\x89PNG broken")
    code, out, err = run("read", str(bad), SCREENSHOT)
    assert code == errors.UnreadableFile.exit_code
    assert "bad.png" in err
    assert "Weekly report" in out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("read", "no-such-file.png"), errors.UnreadableFile),
        (("read", SCREENSHOT, "--model", "nowhere/nothing.uocr"), errors.ModelNotFound),
        (("read", SCREENSHOT, "--model", "nonsense"), errors.ModelNotFound),
        (("read", SCREENSHOT, "--memory-budget", "1 MB"), errors.OverBudget),
        (("read", SCREENSHOT, "--memory-budget", "40 MB"), errors.OverBudget),
        (("read", SCREENSHOT, "--memory-budget", "many"), errors.InvalidRequest),
        (("read", SCREENSHOT, "--preset", "huge"), errors.InvalidRequest),
        (("read", SCREENSHOT, "--format", "odt"), errors.InvalidRequest),
        (("read", SCREENSHOT, "--format", "docx"), errors.InvalidRequest),
        (("read", SCREENSHOT, "--region", "1,2,3"), errors.InvalidRequest),
        (("info", str(GOLDEN / "index.json")), errors.ModelFileError),
        (("check-golden", str(SAMPLES)), errors.InvalidRequest),
        (("bench", "--random-full", "q5"), errors.InvalidRequest),
    ],
)
def test_each_cause_has_its_exit_code_and_one_line(run, arguments, code) -> None:
    found, _, err = run(*arguments)
    assert found == code.exit_code, err
    assert err.startswith("uocr: ") and "Traceback" not in err


def test_exit_codes_are_listed_in_help() -> None:
    text = subprocess.run(
        [sys.executable, "-m", "uocr.cli", "read", "--help"],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"COLUMNS": "200"},
    ).stdout
    codes = {c.exit_code for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.UocrError)}
    for code in codes - {1}:
        assert f"{code} " in text, code


def test_wrong_usage_is_two(run) -> None:
    assert run("read")[0] == 2
    assert run("read", SCREENSHOT, "--no-such-flag")[0] == 2


def test_info_describes_the_model(run) -> None:
    code, out, _ = run("info", str(BUILT_IN), "--tensors")
    assert code == 0
    assert "22,511,104 parameters" in out
    assert "layers.1.mlp.experts.gate_proj.weight" in out


def test_doctor_verifies_the_file(run) -> None:
    code, out, _ = run("doctor", "--verify")
    assert code == 0 and "every payload hash is right" in out


def test_doctor_names_the_tensor_whose_bytes_were_changed(run, tmp_path: Path) -> None:
    data = bytearray(BUILT_IN.read_bytes())
    data[-70_000] ^= 1
    path = tmp_path / "changed.uocr"
    path.write_bytes(data)
    code, _, err = run("doctor", "--verify", "--model", str(path))
    assert code == errors.ModelFileError.exit_code
    assert "changed.uocr" in err


def test_convert_writes_a_model_and_refuses_to_replace_it(run, tmp_path: Path) -> None:
    target = tmp_path / "golden.uocr"
    assert run("convert", str(GOLDEN / "model"), str(target), "--quant", "q8")[0] == 0
    assert run("convert", str(GOLDEN / "model"), str(target))[0] == errors.OutputExists.exit_code


def test_bench_gives_its_figures_as_json(run) -> None:
    code, out, _ = run("bench", "--json", "--decode-tokens", "4")
    figures = json.loads(out)
    assert code == 0
    for name in ("decode_tokens_per_s", "prefill_tokens_per_s", "view_1024_s", "view_640_s"):
        assert figures[name] > 0


def test_profile_shows_operators_with_their_share(run) -> None:
    _, _, err = run("read", SCREENSHOT, "--profile", "--max-new-tokens", "2")
    assert "linear" in err and "%" in err


def test_resume_goes_on_after_the_pages_of_the_journal(run, tmp_path: Path) -> None:
    leaflet = str(SAMPLES / "leaflet.pdf")
    environment = os.environ | {"XDG_STATE_HOME": str(tmp_path / "state")}
    process = subprocess.Popen(
        [sys.executable, "-m", "uocr.cli", "read", leaflet, "--resume", "-o", str(tmp_path / "out.md")],
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
    )
    for line in process.stderr:
        if "page 2" in line:  # page 1 is journalled
            process.send_signal(signal.SIGKILL)
            break
    process.wait()
    assert not (tmp_path / "out.md").exists()
    code, _, err = run("read", leaflet, "--resume", "-o", str(tmp_path / "out.md"))
    assert code == 0
    assert "going on after 1 pages" in err
    whole = run("read", leaflet, "-q")[1]
    assert (tmp_path / "out.md").read_text() == whole
    assert run("read", leaflet, "--resume", "-q")[1] == whole  # a finished job leaves no journal


def test_ctrl_c_stops_cleanly_and_keeps_finished_pages(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    process = subprocess.Popen(
        [sys.executable, "-m", "uocr.cli", "read", str(SAMPLES / "leaflet.pdf"), "-o", str(target), "--format", "json"],
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in process.stderr:
        if "page 2" in line:
            process.send_signal(signal.SIGINT)
            break
    rest = process.stderr.read()
    assert process.wait() == errors.Cancelled.exit_code, rest
    reasons = [p["finish_reason"] for p in json.loads(target.read_text())["documents"][0]["pages"]]
    assert reasons == ["eos", "cancelled", "not_read"]


def test_a_reader_that_goes_away_is_no_error(blank: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "uocr.cli", "info", "--tensors"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.readline()
    process.stdout.close()
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert "Traceback" not in process.stderr.read()
