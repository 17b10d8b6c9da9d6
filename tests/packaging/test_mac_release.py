"""Signing inside out, notarisation, the disk image: the commands, and their order. None of them runs here."""

from __future__ import annotations

import plistlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from mac_app import release, signing
from mac_app.commands import Runner, StepFailed
from mac_files import ROOT, Mac, Project, bundle, write

DEVELOPER = "Developer ID Application: Somebody (TEAM123456)"
LIB = "Contents/Resources/lib/python3.12"


@pytest.fixture
def app(tmp_path: Path) -> Path:
    app = bundle(tmp_path)
    helper = app / "Contents" / "Frameworks" / "Helper.app"
    write(helper / "Contents" / "Info.plist", "x")
    write(helper / "Contents" / "MacOS" / "Helper", Mac().data())
    write(helper / "Contents" / "Frameworks" / "libhelp.dylib", Mac().data())
    return app


def signed(app: Path, identity: str) -> list[str]:
    runner = Runner(dry_run=True)
    signing.sign(app, signing.Identity(identity), Project().entitlements, runner)
    return runner.printed


def test_everything_is_signed_once_and_before_what_holds_it(app: Path) -> None:
    order = signing.signing_order(app)
    assert order[-1] == app and len(order) == len(set(order))
    for place, unit in enumerate(order):
        assert not [later for later in order[place + 1 :] if later.is_relative_to(unit)], unit
    names = {unit.relative_to(app).as_posix() for unit in order}
    assert names == {
        ".",
        "Contents/MacOS/python",  # the app's own program is signed with the app
        "Contents/Frameworks/Python.framework/Versions/3.12",  # its binary with it
        "Contents/Frameworks/Helper.app",
        "Contents/Frameworks/Helper.app/Contents/Frameworks/libhelp.dylib",
        f"{LIB}/uocr/libuocr.dylib",
        f"{LIB}/_pi_heif.so",
        f"{LIB}/pi_heif/.dylibs/libheif.dylib",
        f"{LIB}/PySide6/Qt/plugins/platforms/libqcocoa.dylib",
        f"{LIB}/PySide6/Qt/plugins/platforms/libqoffscreen.dylib",
        f"{LIB}/PySide6/Qt/plugins/styles/libqmacstyle.dylib",
    }


def test_a_release_is_signed_hardened_with_a_time_stamp(app: Path) -> None:
    *commands, verify = signed(app, DEVELOPER)
    for command in commands:
        assert command.startswith(f"codesign --force --sign '{DEVELOPER}' --timestamp --options runtime ")
        assert "--deep" not in command
    assert [c for c in commands if "--entitlements" in c] == commands[-1:]
    assert verify == f"codesign --verify --strict --deep --verbose=2 {app}"


def test_nobodys_signature_goes_without_the_hardened_runtime(app: Path) -> None:
    """It refuses libraries of another team, and ad hoc signatures have none: nothing would load."""
    assert all("--sign - --timestamp=none " in c and "runtime" not in c for c in signed(app, "-")[:-1])


def test_the_hardened_runtime_has_no_exception() -> None:
    data = Project().entitlements.read_bytes()
    assert plistlib.loads(data) == {}
    assert b"<!--" not in data, "the system's own reader of entitlements stops at comments"


def test_nothing_of_ours_asks_for_code_made_at_run_time() -> None:
    """Callbacks into Python would be machine code written at run time; the engine is pulled, not called back."""
    for folder in ("engine/uocr", "app"):
        for path in (ROOT / folder).rglob("*.py"):
            found = re.search(r"\bffi\.callback|def_extern|CFUNCTYPE|PYFUNCTYPE|WINFUNCTYPE", path.read_text("utf-8"))
            assert not found, f"{path}: {found}"
    header = (ROOT / "engine" / "include" / "uocr.h").read_text("utf-8")
    assert not re.search(r"\(\s*\*\s*\w*\s*\)\s*\(", header), "a pointer to a function in the interface"


def test_a_framework_without_versions_is_one_clear_error(app: Path) -> None:
    (app / "Contents" / "Frameworks" / "Bare.framework").mkdir()
    with pytest.raises(StepFailed, match=r"Bare\.framework has no version that could be signed"):
        signing.signing_order(app)


def test_notarisation_sends_waits_staples_and_asks_gatekeeper(tmp_path: Path) -> None:
    app, runner = tmp_path / "Leggio.app", Runner(dry_run=True)
    release.notarise(app, release.Notary(profile="leggio"), runner)
    assert runner.printed == [
        f"ditto -c -k --keepParent {app} {tmp_path}/Leggio.zip",
        f"xcrun notarytool submit {tmp_path}/Leggio.zip --keychain-profile leggio --wait",
        f"xcrun stapler staple {app}",
        f"xcrun stapler validate {app}",
        f"spctl --assess --type exec --verbose=2 {app}",
        f"# remove {tmp_path}/Leggio.zip",
    ]
    runner = Runner(dry_run=True)
    release.notarise(tmp_path / "a.dmg", release.Notary(key="k.p8", key_id="K", issuer="I"), runner)
    assert runner.printed[0] == f"xcrun notarytool submit {tmp_path}/a.dmg --key k.p8 --key-id K --issuer I --wait"
    assert "--context context:primary-signature" in runner.printed[-1]


def test_without_a_notary_one_line_says_what_to_set() -> None:
    with pytest.raises(StepFailed, match="set LEGGIO_NOTARY_PROFILE to a profile"):
        release.notarise(Path("a.dmg"), release.Notary(key="k.p8"), Runner(dry_run=True))


def test_the_disk_image_takes_its_name_when_it_is_whole(tmp_path: Path) -> None:
    target, runner = tmp_path / "Leggio-0.1.0-arm64.dmg", Runner(dry_run=True)
    release.disk_image(tmp_path / "Leggio.app", target, signing.Identity(DEVELOPER), runner)
    made = next(i for i, line in enumerate(runner.printed) if line.startswith("hdiutil create"))
    assert "partial-Leggio-0.1.0-arm64.dmg" in runner.printed[made] and "-format UDZO" in runner.printed[made]
    assert [line.split()[0] for line in runner.printed[made:]] == ["hdiutil", "codesign", "hdiutil", "mv", "rm"]
    assert f"ln -s /Applications {tmp_path}/disk-image/Applications" in runner.printed
    unsigned = Runner(dry_run=True)
    release.disk_image(tmp_path / "Leggio.app", target, signing.Identity(), unsigned)
    assert not [line for line in unsigned.printed if line.startswith("codesign")]


def mac(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {"PATH": "/usr/bin:/bin", **environment}
    command = [sys.executable, ROOT / "packaging" / "mac.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=clean, check=False)


def test_a_dry_run_prints_the_whole_way_and_touches_nothing(tmp_path: Path) -> None:
    done = mac("build", "--dry-run", "--build-folder", tmp_path / "b")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    wanted = ["-m venv", "install py2app==", "rm -rf", "MACOSX_DEPLOYMENT_TARGET=13.0", "--platform macosx_13_0_arm64",
              "# take out of", "# links in", "# arm64 alone", "setup_app.py -q py2app", "# links, one processor",
              "compileall -q -f --invalidation-mode unchecked-hash", "# look over"]
    places = [next((i for i, line in enumerate(lines) if word in line), -1) for word in wanted]
    assert -1 not in places and places == sorted(places), dict(zip(wanted, places, strict=True))
    assert f"LEGGIO_MAC_BUILD={tmp_path / 'b'} " in lines[places[wanted.index("setup_app.py -q py2app")]]
    assert str(ROOT / "build" / "mac") not in done.stdout
    assert not (tmp_path / "b").exists()


def test_a_dry_run_of_the_stage_wants_no_engine(tmp_path: Path) -> None:
    lines = mac("stage", "--dry-run", "--build-folder", tmp_path).stdout.splitlines()
    assert "--platform macosx_13_0_arm64" in lines[1] and "leggio-" not in lines[1]
    assert lines[-1] == f"# neutral names in the binaries of {tmp_path}/site, and a look over them"


def test_errors_are_one_line_with_what_to_do(tmp_path: Path) -> None:
    done = mac("sign", "--build-folder", tmp_path)
    assert done.returncode == 1
    assert done.stderr == (
        f"mac.py: {tmp_path}/dist/Leggio.app does not exist; make it with `python packaging/mac.py build`.\n"
    )
    assert "set LEGGIO_SIGNING_IDENTITY" in mac("all", "--build-folder", tmp_path).stderr
    missing = mac("build", "--build-folder", tmp_path, LEGGIO_PYTHON="/nowhere/python3.12")
    assert "/nowhere/python3.12 is missing: install Python 3.12 from python.org" in missing.stderr


def test_verify_runs_anywhere_and_names_each_fault(tmp_path: Path) -> None:
    app = bundle(tmp_path)
    assert mac("verify", app).returncode == 0
    write(app / LIB / "x.so", Mac(macos=(15, 0)).data())
    done = mac("verify", app)
    assert done.returncode == 1 and f"{LIB}/x.so: needs macOS 15.0; Leggio promises 13.0" in done.stdout
    assert "Leggio.app has 1 faults" in done.stderr


def test_a_command_that_fails_stops_the_step(tmp_path: Path) -> None:
    with pytest.raises(StepFailed, match="false ended with status 1: false"):
        Runner().run(["false"])
    with pytest.raises(StepFailed, match="no-such-tool is not on this machine"):
        Runner().run(["no-such-tool"])


# -- the workflow ------------------------------------------------------------------------------------------------


def test_the_workflow_pins_its_actions_and_may_only_read() -> None:
    text = (ROOT / ".github" / "workflows" / "macos.yml").read_text("utf-8")
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert "permissions" not in job and job["runs-on"].startswith("macos-"), name
        for step in job["steps"]:
            if uses := step.get("uses"):
                assert re.fullmatch(r"actions/[\w-]+@v\d+\.\d+\.\d+", uses)
            if str(uses).startswith("actions/checkout"):
                assert step["with"]["persist-credentials"] is False
    assert "secrets." not in str(workflow["jobs"]["build"]), "anybody's pull request runs it"
    released = workflow["jobs"]["release"]
    assert released["if"] == "startsWith(github.ref, 'refs/tags/v')" and released["environment"] == "release"
    cleanup = next(step for step in released["steps"] if "delete-keychain" in step.get("run", ""))
    assert cleanup["if"] == "always()"


def test_the_workflow_names_steps_that_exist() -> None:
    import mac_check.__main__ as mac_check

    text = (ROOT / ".github" / "workflows" / "macos.yml").read_text("utf-8")
    known = {check.name for check in mac_check.CHECKS}
    named = re.findall(r"--only\s+([a-z\- \n]+?)(?:\n\s+- name|\n\n)", text)
    assert len(named) == 2
    for words in named:
        assert set(words.split()) <= known
