"""The engine's ground floor, tested by C programs: each states in its own words what holds.

Every program runs with the address and undefined-behaviour sanitizers where the compiler has them, and those
with threads of their own under the thread sanitizer too.
"""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import pytest
from c_programs import ADDRESS, ROOT, THREAD, build, compiler, run, sanitizes, start

MODEL_FILE = ["model_file.c", "model_config.c", "sha256.c", "status.c"]
PROGRAMS = {
    "test_status": ["status.c"],
    "test_memory": ["memory.c"],
    "test_profile": ["profile.c"],
    "test_processors": ["processors.c"],
    "test_threads": ["threads.c", "processors.c", "profile.c", "status.c"],
    "test_sha256": ["sha256.c"],
    "test_model_file": MODEL_FILE,
    "test_tensors": ["tensors.c", *MODEL_FILE],
    "test_ngram": ["ngram.c", "repeats.c", "memory.c"],
    "test_loop": ["loop.c", "repeats.c", "memory.c"],
}
FUZZER = ["tensors.c", *MODEL_FILE]
BUILT_IN = ROOT / "resources" / "models" / "built-in.uocr"
GOLDEN_NGRAM = ROOT / "tests" / "golden" / "ngram.json"

pytestmark = pytest.mark.skipif(not compiler(), reason="no C compiler: install one, or ziglang from PyPI")


def address_sanitizer() -> str:
    return ADDRESS if sanitizes(ADDRESS) else ""


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_check_of_the_program_holds(name: str) -> None:
    output = run(build(name, PROGRAMS[name], address_sanitizer()))
    assert re.search(r"^[1-9]\d* checks held, 0 failed$", output, re.MULTILINE), output


def test_a_job_inside_a_job_ends_the_program() -> None:
    done = start(build("test_threads", PROGRAMS["test_threads"], address_sanitizer()), "nested")
    assert done.returncode == -signal.SIGABRT
    assert "ran a job on a pool that is at work" in done.stderr


@pytest.mark.parametrize("name", ["test_threads", "test_memory"])
def test_no_data_race_is_found(name: str) -> None:
    if not sanitizes(THREAD):
        pytest.skip("this compiler has no thread sanitizer")
    run(build(name, PROGRAMS[name], THREAD))


@pytest.mark.parametrize(("fault", "sanitizer", "report"), [
    ("read", ADDRESS, "heap-buffer-overflow"),
    ("overflow", ADDRESS, "signed integer overflow"),
    ("race", THREAD, "data race"),
])
def test_a_fault_made_on_purpose_is_reported_for_what_it_is(fault: str, sanitizer: str, report: str) -> None:
    if not sanitizes(sanitizer):
        pytest.skip(f"this compiler has no {sanitizer} sanitizer: the programs ran without")
    done = start(build("faults", [], sanitizer), fault)
    assert done.returncode != 0
    assert report in done.stderr


def test_repeat_guard_bans_what_the_reference_bans(tmp_path: Path) -> None:
    """All cases of the golden set: prompt and output in, banned ids out."""
    golden = json.loads(GOLDEN_NGRAM.read_text())["cases"]
    lines = []
    for case in golden:
        lists = [case["whitelist"] or [], case["sequence"], case["banned"]]
        numbers = [case["ngram_size"], case["window"]]
        for ids in lists:
            numbers += [len(ids), *ids]
        lines.append(" ".join(map(str, numbers)))
    cases = tmp_path / "cases.txt"
    cases.write_text("\n".join(lines) + "\n")
    output = run(build("test_ngram", PROGRAMS["test_ngram"], address_sanitizer()), cases)
    assert f"{len(golden)} reference cases" in output
    assert len(golden) == 37


def counts(output: str) -> dict[str, int]:
    """How many mutants met each check, from the fuzzer's table."""
    return {name: int(count) for count, name in re.findall(r"^ +(\d+) (.+)$", output, re.MULTILINE)}


def fuzz(model: str | Path, seed: int, mutants: int, timeout: float = 300) -> str:
    program = build("fuzz_model_file", FUZZER, address_sanitizer())
    return run(program, model, str(seed), str(mutants), timeout=timeout)


def test_altered_files_are_refused_or_readable() -> None:
    output = fuzz("-", 1, 2000)
    # Every floor of checks must have been met, or the mutants prove little.
    assert all(counts(output).values()), output
    read = re.search(r"^2000 mutants: (\d+) refused .*, (\d+) read$", output, re.MULTILINE)
    assert read and int(read[1]) > 500 and int(read[2]) > 50, output


def test_altered_copies_of_the_built_in_model_are_refused_or_readable() -> None:
    output = fuzz(BUILT_IN, 2, 200)
    assert counts(output)["Tensor"] > 0 and counts(output)["Section"] > 0, output


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(10))
def test_many_altered_files_are_refused_or_readable(seed: int) -> None:
    fuzz("-", 1000 + seed, 10_000, timeout=3000)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_altered_copies_of_the_built_in_model_are_refused_or_readable() -> None:
    fuzz(BUILT_IN, 3, 5_000, timeout=3000)
