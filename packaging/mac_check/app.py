"""Steps that build the app, sign it and start it."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import metal_library
from mac_app.project import NAME, Project
from mac_app.signing import IDENTITY_VARIABLE

from mac_check.run import CheckFailed, CheckSkipped, Context


def _mac(context: Context, step: str, timeout: float = 3600) -> None:
    script = context.root / "packaging" / "mac.py"
    context.run(sys.executable, script, step, "--build-folder", context.build, timeout=timeout)


def _project(context: Context) -> Project:
    return Project(context.root, context.build)


def bundle(context: Context) -> dict[str, Any]:
    """Leggio.app, built, trimmed, thinned and looked over."""
    _mac(context, "build")
    app = _project(context).app
    return {
        "bytes": sum(p.lstat().st_size for p in app.rglob("*") if not p.is_dir()),
        "compiled kernels": any(app.rglob(metal_library.LIBRARY)),
    }


def signing(context: Context) -> dict[str, Any]:
    """Signed inside out: as the identity that the environment names, else ad hoc."""
    _mac(context, "sign")
    app = _project(context).app
    assessed = context.run("spctl", "--assess", "--type", "exec", "--verbose=2", app, check=False)
    return {
        "signed": "by a certificate" if os.environ.get(IDENTITY_VARIABLE) else "ad hoc",
        # Without notarisation Gatekeeper says no, rightly.
        "Gatekeeper": "accepts it" if assessed.status == 0 else "does not accept it",
    }


def self_test(context: Context) -> dict[str, Any]:
    """`--self-test` inside the bundle: it reads the sample page in a window that is not shown."""
    app = _project(context).app
    before = fingerprint(app)
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "selftest.png"
        done = context.run(
            *(app / "Contents" / "MacOS" / NAME, "--self-test", "--self-test-picture", picture),
            cwd=Path(folder), timeout=600, check=False,
        )
        drawn = picture.stat().st_size if picture.is_file() else 0
    context.step.facts.update({"status": done.status, "picture bytes": drawn})
    if done.status != 0 or not drawn:
        raise CheckFailed(f"the self-test ended with status {done.status}")
    changed = sorted(name for name, digest in fingerprint(app).items() if before.get(name) != digest)
    if changed:
        raise CheckFailed(f"running it changed the bundle, and so broke its signature: {', '.join(changed[:5])}")
    return {}


def opened(context: Context) -> dict[str, Any]:
    """The same as Finder starts it: by LaunchServices, on the real screen, with a sample page to open."""
    if os.environ.get("SSH_CONNECTION"):
        raise CheckSkipped("there is no screen over ssh; run it at the Mac")
    app = _project(context).app
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder) / "out", Path(folder) / "err"
        context.run(
            *("open", "-n", "-W", "--stdout", out, "--stderr", err, "--env", "QT_QPA_PLATFORM=cocoa"),
            *(app, "--args", "--self-test"),
            timeout=600,
        )
        said = err.read_text("utf-8", "replace") if err.is_file() else ""
        read = out.read_text("utf-8", "replace") if out.is_file() else ""
    if f"{NAME} read" not in read:
        raise CheckFailed(f"the app did not read its sample: {said.strip().splitlines()[-1:] or 'it said nothing'}")
    return {}


def quarantined(context: Context) -> dict[str, Any]:
    """A copy as a browser would leave it, with the quarantine mark: its signature must still hold."""
    app = _project(context).app
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / app.name
        context.run("ditto", app, copy)
        context.run("xattr", "-w", "com.apple.quarantine", "0081;00000000;Safari;", copy)
        context.run("codesign", "--verify", "--strict", "--deep", copy)
    return {}


def disk_image(context: Context) -> dict[str, Any]:
    """The disk image, and its size."""
    _mac(context, "dmg")
    return {"bytes": _project(context).disk_image.stat().st_size}


def fingerprint(app: Path) -> dict[str, str]:
    """SHA-256 of every file, by its name in the bundle."""
    return {
        path.relative_to(app).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(app.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }
