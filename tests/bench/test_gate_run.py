"""A whole run of the gate over one page and a tiny untrained network."""

from __future__ import annotations

import json
import shutil
import sys
import tomllib
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="making a checkpoint needs: pip install leggio[parity]")

from bench.gate import __main__ as command  # noqa: E402
from bench.gate import scoring  # noqa: E402
from bench.gate.choices import MODULES  # noqa: E402
from bench.gate.pick import BOUNDS  # noqa: E402
from training import export  # noqa: E402
from training.config import tiny_config  # noqa: E402
from training.model import Reader  # noqa: E402
from training.smoke import smoke_pack  # noqa: E402


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(3)
    folder = tmp_path_factory.mktemp("tiny") / "checkpoint"
    export.save(Reader(tiny_config()), tiny_config(), folder)
    shutil.copy(Path(export.__file__).with_name("tokenizer.json"), folder)
    return folder


@pytest.mark.parametrize("more", [
    pytest.param(["--jobs", "1"], id="together"),
    pytest.param(["--pages", "3", "--module-pages", "2", "--jobs", "2", "--threads", "1"], id="in two processes",
                 marks=pytest.mark.slow),
    pytest.param(["--one-at-a-time", "--along", "reading"], id="one at a time", marks=pytest.mark.slow)])
def test_every_choice_is_scored_and_a_policy_written(checkpoint: Path, tmp_path: Path, more: list[str],
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "_MOST", 24)
    pack, out = smoke_pack(tmp_path / "pack"), tmp_path / "out"
    monkeypatch.setattr(sys, "argv", ["gate", str(checkpoint), "--pages", "1", "--pack", str(pack), "--cache",
                                      str(tmp_path / "cache"), "--out", str(out), *more])
    command.main()
    report = json.loads((out / "gate.json").read_text("utf-8"))
    found = {choice["choice"]: choice for choice in report["choices"]}
    assert {"f32", "f16"} | {f"{profile}{precision}" for profile in ("q8", "q4")
                             for precision in ("", " (FAST)", " (INTEGER)")} <= set(found)
    assert {f"{module} {dtype}" for module in MODULES for dtype in ("q8", "q4")} <= set(found)
    assert found["f32"]["kl"] == 0 and found["f32"]["agreement"] == 100.0
    assert 0 < found["q8"]["kl"] < found["q4"]["kl"]
    assert found["q4"]["bytes"] < found["q8"]["bytes"] < found["f16"]["bytes"] < found["f32"]["bytes"]
    for profile in BOUNDS:
        picked = report["picks"][profile]
        assert set(picked["types"]) == set(MODULES)
        assert {picked["exact"], picked["fast"], picked["integer"]} <= set(found)
    rules = tomllib.loads((out / "policy.toml").read_text("utf-8"))["rule"]
    assert [rule["q4"] for rule in rules] == list(report["picks"]["q4"]["types"].values())
    # A second run measures nothing anew.
    before = (out / "gate-results.jsonl").read_bytes()
    command.main()
    assert (out / "gate-results.jsonl").read_bytes() == before


@pytest.fixture(scope="module")
def profiles(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of a run over three pages in one process."""
    folder = tmp_path_factory.mktemp("profiles")
    with pytest.MonkeyPatch.context() as patch:
        run(checkpoint, folder, patch, "--pages", "3", "--no-pick", "--jobs", "1", "--threads", "1")
    return folder


def run(checkpoint: Path, folder: Path, patch: pytest.MonkeyPatch, *options: str) -> None:
    """The gate over pages of the smallest pack; what it leaves lies in `folder`."""
    pack = folder / "pack" if (folder / "pack").exists() else smoke_pack(folder / "pack")
    patch.setattr(sys, "argv", ["gate", str(checkpoint), "--pack", str(pack), "--cache", str(folder / "cache"), "--out",
                                str(folder / "out"), *options])
    command.main()


def results(folder: Path) -> dict[tuple[str, int], dict]:
    lines = (folder / "out" / "gate-results.jsonl").read_text("utf-8").splitlines()[1:]
    return {(found["choice"], found["result"]["page"]): found["result"] for found in map(json.loads, lines)}


def test_profiles_alone_are_held_to_their_bounds(profiles: Path) -> None:
    report = json.loads((profiles / "out" / "gate.json").read_text("utf-8"))
    assert (report["pages"], report["pages_asked"]) == (3, 3)
    assert [choice["choice"] for choice in report["choices"]] == [
        "f32", "q8", "q4", "f32 (FAST)", "q8 (FAST)", "q4 (FAST)", "q8 (INTEGER)", "q4 (INTEGER)"]
    types = {profile: report["picks"][profile]["types"] for profile in BOUNDS}
    assert (types["q8"]["attention"], types["q4"]["attention"], types["q4"]["CLIP"]) == ("q8", "q8", "q4")
    assert types["q8"]["experts"] == "f16/q8", "down_proj is too narrow here for groups of 64"
    written = (profiles / "out" / "policy.toml").read_text("utf-8")
    assert "# As the policy has it: experts, q8 as f16/q8, q4 as f16/q4.\n" in written
    ruled = [glob for rule in tomllib.loads(written)["rule"] for glob in rule["match"]]
    assert ruled == [g for m, globs in MODULES.items() if "/" not in types["q8"][m] + types["q4"][m] for g in globs]


def test_what_models_are_read_in_is_scored_on_more_pages(
        checkpoint: Path, profiles: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(checkpoint, tmp_path, monkeypatch, "--pages", "3", "--no-pick", "--compared-pages", "1", "--many", "integer",
        "--jobs", "1")
    report = json.loads((tmp_path / "out" / "gate.json").read_text("utf-8"))
    assert report["pages"] == 3
    assert {choice["choice"]: choice["pages"] for choice in report["choices"]} == {
        "f32": 3, "q8": 1, "q4": 1, "f32 (FAST)": 1, "q8 (FAST)": 1, "q4 (FAST)": 1, "q8 (INTEGER)": 3,
        "q4 (INTEGER)": 3}
    everything = results(profiles)
    assert all(found == everything[key] for key, found in results(tmp_path).items())
    with pytest.raises(SystemExit, match="--many takes fast and integer"):
        run(checkpoint, tmp_path, monkeypatch, "--pages", "1", "--many", "exact")


def test_results_do_not_depend_on_the_number_of_processes_and_threads(
        checkpoint: Path, profiles: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(checkpoint, tmp_path, monkeypatch, "--pages", "3", "--no-pick", "--jobs", "2", "--threads", "2")
    assert results(tmp_path) == results(profiles)


def test_without_time_for_all_pages_the_report_is_of_the_pages_measured_and_a_later_run_goes_on(
        checkpoint: Path, profiles: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match="Time ran out before one page was measured with q8, q4"):
        run(checkpoint, tmp_path, monkeypatch, "--pages", "3", "--no-pick", "--jobs", "1", "--seconds", "1e-9")
    (tmp_path / "out").joinpath("gate-results.jsonl").write_text("".join(
        line + "\n" for line in (profiles / "out" / "gate-results.jsonl").read_text("utf-8").splitlines()
        if '"page": 2' not in line))
    run(checkpoint, tmp_path, monkeypatch, "--pages", "3", "--module-pages", "1", "--jobs", "1", "--seconds", "1e-9")
    report = json.loads((tmp_path / "out" / "gate.json").read_text("utf-8"))
    assert (report["pages"], report["pages_asked"]) == (2, 3)
    assert {choice["pages"] for choice in report["choices"]} == {2}, "no module was measured"
    run(checkpoint, tmp_path, monkeypatch, "--pages", "3", "--no-pick", "--jobs", "1")
    assert results(tmp_path) == results(profiles)


def test_what_was_kept_before_pages_were_read_twice_keeps_its_forced_figures(
        checkpoint: Path, profiles: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Free reading is done anew; a NLL that no measurement gives says that forcing was not."""
    everything = results(profiles)
    assert {r["kept"]["count"] for r in everything.values()} == {2}, "an untrained network goes in circles"
    lines = (profiles / "out" / "gate-results.jsonl").read_text("utf-8").splitlines()
    old = [json.loads(line) for line in lines]
    for line in old[1:]:
        del line["result"]["kept"]
        line["result"] |= {"nll": 12345.0, "free_errors": -1}
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "gate-results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in old), "utf-8")
    run(checkpoint, tmp_path, monkeypatch, "--pages", "3", "--no-pick", "--jobs", "1", "--threads", "1")
    assert results(tmp_path) == {key: found | {"nll": 12345.0} for key, found in everything.items()}
    report = json.loads((tmp_path / "out" / "gate.json").read_text("utf-8"))
    assert (report["read_again_below"], report["judged_on"]) == (0.8, "as the product reads")
    assert {choice["read_twice"] for choice in report["choices"]} == {3}
