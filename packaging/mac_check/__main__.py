"""One run on a Mac that shows what no other machine can, and one report to send back.

    python3 packaging/mac_check [--quick] [--only STEP ...] [--report FOLDER]

Needs Xcode (for `metal`) and Python 3.12 from python.org (it goes into the app). An hour or so, most of it unattended;
near its end the app opens for a moment. A step that fails is written down and the rest goes on. The report is
build/mac/mac-report.txt with the same as .json beside it: names, home folder and texts of documents are not in it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036  the one that macOS brings is older
    sys.exit(f"mac_check needs Python 3.11 or newer; this is {sys.version.split()[0]}.")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from mac_app.project import Project

from mac_check import app, engine, machine
from mac_check.report import Report
from mac_check.run import Check, Context, run_all

CHECKS = (
    Check("machine", "This Mac", machine.machine),
    Check("tools", "Apple's tools", machine.tools),
    Check("kernels", "Every kernel through Apple's compiler", engine.kernels),
    Check("install", "Engine, package and window", engine.install),
    Check("operators", "Operators on the GPU against references", engine.operators, ("kernels",)),
    Check("golden", "The published network's numbers", engine.golden, ("install",)),
    Check("pages", "Sample pages, GPU against CPU", engine.pages, ("install",)),
    Check("speed", "Speed of the built-in model", engine.speed, ("install",)),
    Check("full-speed", "Speed in the full model's shapes", engine.full_speed, ("install",)),
    Check("sleep", "Awake only while it works", engine.sleep, ("install",)),
    Check("bundle", "Leggio.app", app.bundle),
    Check("signing", "Signature", app.signing, ("bundle",)),
    Check("self-test", "Self-test inside the bundle", app.self_test, ("signing",)),
    Check("opened", "Opened as Finder opens it", app.opened, ("signing",)),
    Check("quarantined", "Signature of a downloaded copy", app.quarantined, ("signing",)),
    Check("disk-image", "Disk image", app.disk_image, ("signing",)),
    Check("documents", "Types of the files it opens", machine.document_types),
    Check("tests", "Every test", engine.tests, ("install",)),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """0: every step that was taken did well. 1: some failed; 2: it cannot run here."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="without the full model's shapes and without the tests")
    parser.add_argument("--only", nargs="+", choices=[check.name for check in CHECKS], help="these steps alone")
    parser.add_argument("--report", type=Path, default=Project().build, help="where the report goes")
    options = parser.parse_args(arguments)
    if sys.platform != "darwin":
        print("mac_check shows what only a Mac can; here, run `make test`.", file=sys.stderr)
        return 2
    project = Project()
    checks = [check for check in CHECKS if options.only is None or check.name in options.only]
    context = Context(project.root, project.build, options.quick)
    report = run_all(checks, context, Report(project.version, commit(project.root)), options.report)
    print(f"\nThe report is in {options.report / 'mac-report.txt'}, and as JSON beside it. Please send both.")
    return 1 if report.failed else 0


def commit(root: Path) -> str:
    """Of the source tree; "unknown" outside git, with "+" after it where files were changed."""
    words = ["git", "-C", str(root), "describe", "--always", "--dirty=+"]
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


if __name__ == "__main__":
    sys.exit(main())
