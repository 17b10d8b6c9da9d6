"""mac_check without a Mac: Apple's tools are small scripts here, and a step that fails must not cost the rest."""

from __future__ import annotations

import getpass
import importlib.util
import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import mac_check.__main__ as mac_check
import pytest
from mac_check import app, engine, machine
from mac_check.report import Report, Scrubber, Step
from mac_check.run import Check, CheckFailed, CheckSkipped, Context, run_all
from mac_files import ROOT, Project, bundle, write

MACHINE = "12345678-SERIAL"


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder first on PATH for programs that stand in for Apple's."""
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context(ROOT, tmp_path / "build", step=Step("x", "X"))


def tool(folder: Path, name: str, script: str) -> None:
    path = write(folder / name, f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def run(tmp_path: Path, *checks: Check, root: Path = ROOT) -> tuple[Report, str, dict]:
    report = run_all(checks, Context(root, tmp_path / "build"), Report("0.1.0", "abc1234"), tmp_path / "report")
    text = (tmp_path / "report" / "mac-report.txt").read_text("utf-8")
    return report, text, json.loads((tmp_path / "report" / "mac-report.json").read_text("utf-8"))


# -- one step after another --------------------------------------------------------------------------------------


def test_a_step_that_fails_is_written_down_and_the_rest_goes_on(tmp_path: Path) -> None:
    def bad(context: Context) -> dict:
        context.step.facts["seen"] = 3
        context.run("sh", "-c", "echo out; echo err >&2; exit 7")
        raise AssertionError("not reached")

    def broken(_: Context) -> dict:
        raise ZeroDivisionError("a fault of the step itself")

    def left_out(_: Context) -> dict:
        raise CheckSkipped("no disk is free")

    checks = (
        Check("bad", "Bad", bad),
        Check("after", "After bad", lambda _: {}, ("bad",)),
        Check("later", "After that", lambda _: {}, ("after",)),
        Check("broken", "Broken", broken),
        Check("out", "Left out", left_out),
        Check("good", "Good", lambda _: {"tokens a second": 12.34567, "names": ["a", "b"]}),
    )
    report, text, data = run(tmp_path, *checks)
    assert [step.state for step in report.steps] == ["failed", "skipped", "skipped", "failed", "skipped", "ok"]
    assert [step.problem for step in report.steps[:3]] == [
        "sh ended with status 7", "needs the step bad", "needs the step after"]
    assert report.steps[0].facts == {"seen": 3}
    assert report.steps[3].problem == "ZeroDivisionError: a fault of the step itself"
    assert "1 ok, 2 failed, 3 skipped" in text
    assert "[failed] Bad" in text and "      out\n      err" in text and "(status 7)" in text
    assert "tokens a second: 12.35" in text and "names: a, b" in text
    assert data["format"] == 1 and data["commit"] == "abc1234"
    assert [step["name"] for step in data["steps"]] == ["bad", "after", "later", "broken", "out", "good"]
    assert data["steps"][0]["commands"][0]["output"] == "out\nerr"


def test_the_report_is_whole_after_each_step(tmp_path: Path) -> None:
    def look(_: Context) -> dict:
        return {"steps so far": len(json.loads((tmp_path / "report" / "mac-report.json").read_text())["steps"])}

    report, _, _ = run(tmp_path, Check("a", "A", lambda _: {}), Check("b", "B", look))
    assert report.steps[1].facts == {"steps so far": 1}
    assert sorted(path.name for path in (tmp_path / "report").iterdir()) == ["mac-report.json", "mac-report.txt"]


def test_a_tool_that_is_missing_or_late_is_a_status(context: Context) -> None:
    assert context.run("no-such-tool", check=False).status == 127
    assert context.run("sleep", "5", timeout=0.2, check=False).status == 124
    assert [command.status for command in context.step.commands] == [127, 124]


def test_who_and_where_do_not_reach_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/Users/annabella")
    monkeypatch.setattr(getpass, "getuser", lambda: "annabella")
    monkeypatch.setattr(platform, "node", lambda: "Annas-Mac.local")
    said = (f"{ROOT}/metal/gemm.metal /Users/annabella/x /private/var/folders/zz/abc+1/T/tmp1/a annabella@Annas-Mac "
            "Annas-Mac.local")

    def step(context: Context) -> dict:
        context.run("sh", "-c", f"echo '{said}'; exit 1", check=False)
        raise CheckFailed(said)

    _, text, data = run(tmp_path, Check("a", "A", step), Check("b", "B", lambda _: {"k": [said], said: {"in": said}}))
    for words in (text, json.dumps(data)):
        for secret in ("annabella", "Annas-Mac", str(ROOT), "/var/folders"):
            assert secret not in words
    assert "./metal/gemm.metal ~/x TMP" in text


def test_short_and_common_names_are_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: "al")
    monkeypatch.setattr(platform, "node", lambda: "localhost")
    assert Scrubber(ROOT).text("metal on localhost") == "metal on localhost"
    monkeypatch.setattr(getpass, "getuser", lambda: "max")
    assert Scrubber(ROOT).text("max: max_threads, softmax") == "USER: max_threads, softmax"


# -- the steps ---------------------------------------------------------------------------------------------------


def test_the_machine_is_described_without_its_serial_number(tools: Path, context: Context) -> None:
    tool(tools, "sw_vers", 'case $1 in -productVersion) echo 15.1;; -buildVersion) echo 24B83;; *) exit 1;; esac')
    tool(tools, "sysctl", 'case $2 in hw.model) echo Mac15,3;; hw.memsize) echo 17179869184;; *) exit 1;; esac')
    facts = machine.machine(context)
    assert facts["macOS"] == "15.1" and facts["model"] == "Mac15,3" and facts["memory bytes"] == "17179869184"
    assert facts["fast cores"] == "unknown"
    asked = " ".join(command.line for command in context.step.commands)
    assert not {"system_profiler", "ioreg", "hostname"} & set(asked.split())


def test_a_mac_without_xcode_is_told_what_to_install(tools: Path, context: Context) -> None:
    tool(tools, "xcrun", 'case "$*" in *metal*) exit 72;; *--find*) echo /x;; *) echo "version 1"; echo more;; esac')
    with pytest.raises(CheckFailed, match="metal, metallib missing: install Xcode"):
        machine.tools(context)
    assert context.step.facts == {"clang": "version 1", "metal": "none", "SDK": "version 1"}


METAL = """
[ "$1 $2" = "-sdk macosx" ] || exit 9
case "$3" in
  metal) case "$*" in *gemm.metal*) echo "gemm.metal:3:1: error: planted" >&2; exit 1;; esac
         case "$*" in *rope.metal*) echo "rope.metal:4:2: warning: unused" >&2;; esac
         case "$*" in *-std=metal3.0*) ;; *) exit 8;; esac ;;
  *) exit 7;;
esac
"""


def test_every_kernel_is_compiled_even_when_one_does_not(tools: Path, context: Context) -> None:
    tool(tools, "xcrun", METAL)
    with pytest.raises(CheckFailed, match=r"gemm\.metal of \d+ kernel files do not compile"):
        engine.kernels(context)
    names = {path.name for path in (ROOT / "metal").glob("*.metal")}
    assert names <= set(context.step.facts)
    assert context.step.facts["gemm.metal"] == "does not compile"
    assert context.step.facts["rope.metal"] == "1 warnings"
    assert context.step.facts["rows.metal"] == "0 warnings"
    failed = [command for command in context.step.commands if command.status]
    assert len(failed) == 1 and "error: planted" in failed[0].output


OPERATORS = """
for last; do :; done
cat > "$last" <<'X'
#!/bin/sh
test -d "$UOCR_METAL_KERNELS" || exit 5
for p in fast fast exact exact; do
    echo "$p: 700 checks, $FAULTS failures, largest error 0.350 of its bound (gemm)"
done
[ "$FAULTS" = 0 ] || { echo "FAIL gemm 64x64: error 3"; exit 1; }
X
chmod +x "$last"
"""


@pytest.mark.parametrize("faults", ["0", "2"])
def test_the_table_of_operators_is_counted(
    tools: Path, context: Context, monkeypatch: pytest.MonkeyPatch, faults: str
) -> None:
    tool(tools, "xcrun", OPERATORS)
    (context.build / "kernels").mkdir(parents=True)
    monkeypatch.setenv("FAULTS", faults)
    if faults == "0":
        engine.operators(context)
        assert "failures" not in context.step.facts
    else:
        with pytest.raises(CheckFailed, match="the operators ended with status 1 after 4 of 4 runs"):
            engine.operators(context)
        assert context.step.facts["failures"] == ["FAIL gemm 64x64: error 3"]
    assert context.step.facts["exact, run 2"] == f"700 checks, {faults} failures, largest error 0.350 of its bound"


def test_the_operators_are_compiled_with_the_metal_device_alone() -> None:
    words = [str(word) for word in engine.operators_command(ROOT, Path("operators"))]
    names = [Path(word).name for word in words]
    assert "operators.c" in names and "backend_gpu.c" in names and "gpu_table.c" in names
    assert not [name for name in names if name.startswith("device_host")]
    assert all(Path(word).is_file() for word in words if word.endswith((".c", ".m")))
    linked = {words[place + 1] for place, word in enumerate(words) if word == "-framework"}
    build = (ROOT / "CMakeLists.txt").read_text("utf-8")
    assert linked == set(re.search(r"foreach\(framework IN ITEMS ([\w ]+)\)", build)[1].split())
    assert "-mmacosx-version-min=13.0" in words


def answers(context: Context, monkeypatch: pytest.MonkeyPatch, **given: dict) -> None:
    """Lets the engine's part of the check answer with `given`, by the first word of the command."""
    monkeypatch.setattr(engine, "HERE", context.build)
    answers = write(context.build / "answers.json", json.dumps(given))
    script = f"import json, sys; print(json.dumps(json.load(open({str(answers)!r}))[sys.argv[1]]))"
    write(context.build / "inside.py", script)
    monkeypatch.setattr(Context, "python", property(lambda _: Path(sys.executable)))


RIGHT_PAGE = {"clear disagreements": 0, "character error rate": 0.0105, "character error rate, CPU": 0.01}


@pytest.mark.parametrize(
    ("page", "words"),
    [
        (RIGHT_PAGE, ""),
        ({**RIGHT_PAGE, "clear disagreements": 2}, "another first choice in 2 clear steps"),
        ({**RIGHT_PAGE, "character error rate": 0.02}, "more wrong characters than the CPU"),
    ],
)
def test_pages_are_judged(context: Context, monkeypatch: pytest.MonkeyPatch, page: dict, words: str) -> None:
    answers(context, monkeypatch, page=page)
    if words:
        with pytest.raises(CheckFailed, match=words):
            engine.pages(context)
    else:
        engine.pages(context)
    assert len(context.step.facts) == 6, "three pictures in two precisions, judged or not"


def test_golden_numbers_are_judged_by_precision(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(context, monkeypatch, golden={"worst": 240.0, "worst array": "sam", "unequal": []})
    with pytest.raises(CheckFailed) as failed:
        engine.golden(context)
    assert str(failed.value) == "cpu, f32 exact: 240 tolerances in sam; metal, f32 exact: 240 tolerances in sam"
    answers(context, monkeypatch, golden={"worst": float("nan"), "worst array": "sam", "unequal": []})
    with pytest.raises(CheckFailed, match="metal, f16 fast: nan tolerances"):
        engine.golden(context)


@pytest.mark.parametrize(("awake", "right"), [((0, 1, 0), True), ((0, 0, 0), False), ((0, 1, 1), False)])
def test_the_mac_is_awake_only_while_it_works(
    context: Context, monkeypatch: pytest.MonkeyPatch, awake: tuple[int, int, int], right: bool
) -> None:
    answers(context, monkeypatch, sleep=dict(zip(("before", "during", "after"), awake, strict=True)))
    if right:
        engine.sleep(context)
    else:
        with pytest.raises(CheckFailed, match="0, 1 or more, 0 are right"):
            engine.sleep(context)


def test_only_assertions_of_the_process_itself_are_counted(tools: Path) -> None:
    from mac_check import inside

    lines = [f"pid {os.getpid()}(python3): [0x1] 00:00:01 PreventUserIdleSystemSleep", "pid 1(launchd): [0x2] x",
             f"pid {os.getpid()}1(other): [0x3] x"]
    tool(tools, "pmset", "\n".join(f"echo '{line}'" for line in lines))
    assert inside._assertions() == 1


def test_an_engine_that_says_nothing_is_a_failure(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(context, monkeypatch)
    write(context.build / "inside.py", "")
    with pytest.raises(CheckFailed, match="cpu: speed gave no result; metal: speed gave no result"):
        engine.speed(context)


def test_the_full_shapes_are_left_out_without_room(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "FULL_MODEL_BYTES", 1 << 62)
    with pytest.raises(CheckSkipped, match="GB of disk are free"):
        engine.full_speed(context)


# -- the app -----------------------------------------------------------------------------------------------------


@pytest.fixture
def made_app(context: Context) -> Path:
    """A bundle where mac.py puts it."""
    return bundle(context.build / "dist")


def launcher(made: Path, script: str) -> None:
    tool(made / "Contents" / "MacOS", "Leggio", script)


def test_the_self_test_runs_inside_the_bundle(made_app: Path, context: Context) -> None:
    launcher(made_app, '[ "$1 $2" = "--self-test --self-test-picture" ] && echo picture > "$3"')
    app.self_test(context)
    assert context.step.facts["status"] == 0 and context.step.facts["picture bytes"] == 8
    launcher(made_app, "exit 1")
    with pytest.raises(CheckFailed, match="the self-test ended with status 1"):
        app.self_test(context)


def test_an_app_that_writes_into_itself_is_found(made_app: Path, context: Context) -> None:
    """Python's compiled files inside a signed bundle would end its signature."""
    cache = made_app / "Contents" / "Resources" / "lib" / "python3.12" / "leggio" / "__pycache__"
    launcher(made_app, f'echo p > "$3"; mkdir -p {cache}; echo x > {cache}/main.pyc')
    with pytest.raises(CheckFailed, match=r"changed the bundle.*leggio/__pycache__/main\.pyc"):
        app.self_test(context)


def test_the_app_is_opened_as_finder_does(
    tools: Path, made_app: Path, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    tool(tools, "open", '[ "$1 $2" = "-n -W" ] || exit 3\nshift 2\necho "Leggio read scan.jpg" > "$2"\n: > "$4"')
    app.opened(context)
    assert "--env QT_QPA_PLATFORM=cocoa" in context.step.commands[0].line
    tool(tools, "open", 'shift 2\n: > "$2"\necho "self-test failed: no plugin" > "$4"')
    with pytest.raises(CheckFailed, match=r"the app did not read its sample: .*no plugin"):
        app.opened(context)
    monkeypatch.setenv("SSH_CONNECTION", "x")
    with pytest.raises(CheckSkipped, match="no screen over ssh"):
        app.opened(context)


def test_types_that_macos_knows_otherwise_are_told(tools: Path, context: Context) -> None:
    from mac_app.info_plist import DOCUMENT_TYPES

    said = {ending: (each.types[0] if each.types else "dyn.x") for each in DOCUMENT_TYPES for ending in each.endings}
    write(tools / "said.json", json.dumps(list(said.items())))
    tool(tools, "osascript", f"cat {tools}/said.json")
    machine.document_types(context)
    write(tools / "said.json", json.dumps(list({**said, "dib": "public.other"}.items())))
    with pytest.raises(CheckFailed, match=r"other types than Info\.plist claims for dib: public\.other"):
        machine.document_types(context)


# -- the whole ---------------------------------------------------------------------------------------------------


def test_elsewhere_than_on_a_mac_one_line_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    if sys.platform == "darwin":
        pytest.skip("this is a Mac")
    assert mac_check.main([]) == 2
    assert capsys.readouterr().err == "mac_check shows what only a Mac can; here, run `make test`.\n"


def test_steps_have_names_of_their_own_and_need_earlier_ones() -> None:
    names = [check.name for check in mac_check.CHECKS]
    assert len(names) == len(set(names))
    for number, check in enumerate(mac_check.CHECKS):
        assert set(check.needs) <= set(names[:number]), check.name


def test_a_run_where_every_tool_fails_still_ends_with_a_report(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("sw_vers", "sysctl", "xcrun", "make", "osascript", "open", "codesign", "spctl", "ditto"):
        tool(tools, name, f"echo {name} says no >&2; exit 3")
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setenv("LEGGIO_PYTHON", str(tools / "python3.12"))
    monkeypatch.setattr(mac_check, "Project", lambda: Project(build=tmp_path / "build"))
    assert mac_check.main(["--quick", "--report", str(tmp_path / "report")]) == 1
    data = json.loads((tmp_path / "report" / "mac-report.json").read_text("utf-8"))
    states = {step["name"]: step["state"] for step in data["steps"]}
    assert set(states) == {check.name for check in mac_check.CHECKS}
    assert {name for name, state in states.items() if state == "failed"} == {
        "machine", "tools", "kernels", "install", "bundle", "documents"}
    assert set(states.values()) == {"failed", "skipped"}


def test_the_engines_part_answers_in_json_on_the_cpu() -> None:
    if importlib.util.find_spec("uocr") is None:
        pytest.skip("the engine is not installed")
    inside = ROOT / "packaging" / "mac_check" / "inside.py"
    done = subprocess.run(
        [sys.executable, inside, "page", "screenshot.png", "cpu", "fast"], capture_output=True, text=True, check=True)
    page = json.loads(done.stdout)
    assert page["backend"] == "cpu" and page["steps"] > 100 and page["clear disagreements"] == 0
    assert page["agree"] >= page["steps"] - 5
    assert page["character error rate, CPU"] <= 0.01
    assert "report" not in done.stdout.lower(), "texts stay inside"
