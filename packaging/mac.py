"""Builds, signs, checks and ships Leggio.app.

    python packaging/mac.py build                 an unsigned bundle in build/mac/dist
    python packaging/mac.py sign                  ad hoc, or as LEGGIO_SIGNING_IDENTITY
    python packaging/mac.py notarise [FILE]       the app, or a disk image
    python packaging/mac.py dmg                   the disk image
    python packaging/mac.py verify [APP]          looks over a bundle; runs on any system
    python packaging/mac.py stage                 unpacks and trims the wheels for macOS, and checks them; on any system
    python packaging/mac.py all                   build, sign, notarise, dmg

--dry-run prints the commands and runs none. docs/mac.md has the whole story.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036  the one that macOS brings is older
    sys.exit(f"mac.py needs Python 3.11 or newer; this is {sys.version.split()[0]}.")

from mac_app import verify
from mac_app.build import build, check, stage_wheels, trim_stage
from mac_app.commands import Runner, StepFailed
from mac_app.names import rename_all
from mac_app.project import Project
from mac_app.release import Notary, disk_image, notarise
from mac_app.signing import Identity, sign


def main(arguments: Sequence[str] | None = None) -> int:
    """0, or 1 after one line that says which step failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("build", "sign", "notarise", "dmg", "verify", "stage", "all"))
    parser.add_argument("path", nargs="?", type=Path, help="an app or disk image other than the one in build/mac/dist")
    parser.add_argument("--build-folder", type=Path, default=Project().build, help="where everything is made")
    parser.add_argument("--dry-run", action="store_true", help="print the commands and run none")
    options = parser.parse_args(arguments)
    project, runner = Project(build=options.build_folder.absolute()), Runner(options.dry_run)
    try:
        take(options.step, options.path, project, runner)
    except StepFailed as failure:
        print(f"mac.py: {failure}", file=sys.stderr)
        return 1
    return 0


def take(step: str, path: Path | None, project: Project, runner: Runner) -> None:
    """One step. Raises StepFailed."""
    identity = Identity.from_environment()
    app = path or project.app
    if step == "build":
        build(project, runner)
    elif step == "sign":
        sign(existing(app), identity, project.entitlements, runner)
        check(app, verify.Signing(certificate=not identity.is_ad_hoc), runner)
    elif step == "notarise":
        notarise(app, Notary.from_environment(), runner)
    elif step == "dmg":
        disk_image(app, project.disk_image, identity, runner)
    elif step == "verify":
        check(existing(app), None, runner)
    elif step == "stage":
        stage(project, runner)
    else:
        if identity.is_ad_hoc:
            raise StepFailed("Nobody to sign for: set LEGGIO_SIGNING_IDENTITY to a Developer ID in the keychain.")
        notary = Notary.from_environment()
        _ = notary.flags  # asked before the long build
        for each in ("build", "sign", "notarise", "dmg"):
            take(each, None, project, runner)
        notarise(project.disk_image, notary, runner)


def stage(project: Project, runner: Runner) -> None:
    """The wheels of other people, as they would go into the bundle."""
    stage_wheels(project, sys.executable, runner, engine=False)
    trim_stage(project, runner)
    if runner.step(f"neutral names in the binaries of {project.site}, and a look over them"):
        print(f"  {rename_all(project.site)} names of other people's machines")
        findings = list(verify.check_binaries(project.site))
        for finding in findings:
            print(f"  {finding}")
        if findings:
            raise StepFailed(f"{len(findings)} faults in the wheels, listed above.")


def existing(app: Path) -> Path:
    if not app.is_dir():
        raise StepFailed(f"{app} does not exist; make it with `python packaging/mac.py build`.")
    return app


if __name__ == "__main__":
    sys.exit(main())
