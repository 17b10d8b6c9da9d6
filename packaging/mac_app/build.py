"""From the source tree to an unsigned Leggio.app.

Staging takes wheels made for macOS 13 whatever system this is: pip on a newer macOS would choose wheels that need the
newer one. So everything but our own engine's wheel and py2app itself also runs, and is checked, on other systems.
"""

from __future__ import annotations

import os
import plistlib
import shutil
import tomllib
from pathlib import Path

from mac_app import qt, verify
from mac_app.commands import Runner, StepFailed
from mac_app.frameworks import frameworks, repair
from mac_app.modules import INCLUDES, LEFT_OUT, PACKAGES
from mac_app.names import rename_all
from mac_app.project import ARCH, BUILD_VARIABLE, MINIMUM_MACOS, NAME, PYTHON, Project
from mac_app.thin import thin_all

VERSION = ".".join(map(str, PYTHON))
TARGET = ".".join(map(str, MINIMUM_MACOS))
PLATFORM = f"macosx_{MINIMUM_MACOS[0]}_{MINIMUM_MACOS[1]}_{ARCH}"
INTERPRETER_VARIABLE = "LEGGIO_PYTHON"
FRAMEWORK_PYTHON = f"/Library/Frameworks/Python.framework/Versions/{VERSION}/bin/python{VERSION}"
NATIVE = {
    "MACOSX_DEPLOYMENT_TARGET": TARGET,
    "ARCHFLAGS": f"-arch {ARCH}",
    "_PYTHON_HOST_PLATFORM": f"macosx-{TARGET}-{ARCH}",  # the wheel's tag; a universal Python would say universal2
}


Words = list[str | Path]


def pip(python: str | Path) -> Words:
    return [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]


def interpreter() -> str:
    """The Python that goes into the bundle: a framework build, as python.org installs it."""
    return os.environ.get(INTERPRETER_VARIABLE) or FRAMEWORK_PYTHON


def build_tools(project: Project) -> list[str]:
    """Pinned packages that build: the extra `mac`, and what draws the icon."""
    table = tomllib.loads((project.root / "pyproject.toml").read_text("utf-8"))["project"]
    pillow = [line for line in table["dependencies"] if line.lower().startswith("pillow")]
    return [*table["optional-dependencies"]["mac"], *pillow]


def own_wheel(project: Project, runner: Runner) -> Path:
    """Our wheel, by its path: by name, pip would also look for one elsewhere."""
    pattern = f"leggio-{project.version}-*.whl"
    found = sorted((project.build / "wheels").glob(pattern))
    if len(found) == 1:
        return found[0]
    if runner.dry_run:
        return project.build / "wheels" / pattern
    raise StepFailed(f"{project.build / 'wheels'} has {len(found)} wheels {pattern}; one is expected.")


def stage_wheels(project: Project, python: str | Path, runner: Runner, *, engine: bool = True) -> None:
    """Unpacks the wheels of the bundle into `project.site`: for macOS 13, whatever system this is.

    `engine` wants our own package too, from `project.build / "wheels"`.
    """
    runner.run(["rm", "-rf", project.site])
    own: Words = [own_wheel(project, runner)] if engine else []
    tags = ["--platform", PLATFORM, "--python-version", VERSION, "--implementation", "cp"]
    tags += ["--abi", f"cp{''.join(map(str, PYTHON))}", "--abi", "abi3", "--abi", "none"]
    install: Words = ["install", "--no-compile", "--target", project.site, "--only-binary=:all:"]
    runner.run([*pip(python), *install, *tags, *own, *project.requirements])


def trim_stage(project: Project, runner: Runner) -> None:
    """Leaves in the stage what the bundle needs, for one processor, with frameworks that can be signed."""
    site = project.site
    if runner.step(f"take out of {site} what Leggio never loads"):
        for name in LEFT_OUT:
            shutil.rmtree(site / name, ignore_errors=True)
        for path in [site / "bin", *site.rglob("__pycache__")]:  # of the Python that runs this
            shutil.rmtree(path, ignore_errors=True)
        saved = qt.trim(site)
        unknown = unlisted(site)
        if unknown:
            raise StepFailed(f"{', '.join(unknown)} in {site}: add each to a table of mac_app/modules.py.")
        print(f"  {saved / 1e6:.0f} MB of PySide6")
    if runner.step(f"links in the frameworks of {site}"):
        print(f"  {sum(repair(framework) for framework in frameworks(site))} frameworks")
    if runner.step(f"{ARCH} alone in every binary of {site}"):
        print(f"  {thin_all(site, ARCH) / 1e6:.0f} MB of other processors")


def unlisted(site: Path) -> list[str]:
    """Modules in the stage of which no table says what is to become of them."""
    known = {*PACKAGES, *INCLUDES, *LEFT_OUT}
    names = {path.name.split(".")[0] for path in site.iterdir() if path.suffix != ".dist-info"}
    return sorted(name for name in names - known if name and name != "__pycache__")


def finish(app: Path, python: str | Path, runner: Runner) -> None:
    """What py2app leaves to be done.

    Names are replaced here and not in the stage: that ends signatures, and py2app imports some of the stage's modules
    while it looks for others. macOS ends a program that loads a library whose signature does not hold.
    """
    if runner.step(f"links, one processor, neutral names and a clean Info.plist in {app}"):
        qt.remove_qt_conf(app)
        for framework in frameworks(app):
            repair(framework)
        thin_all(app, ARCH)
        rename_all(app)
        clean_plist(app / "Contents" / "Info.plist")
    # The launcher forbids Python to write into the bundle, so what is not compiled now is compiled at each start. By
    # content, not by time: copying into a disk image changes times.
    packages = app / "Contents" / "Resources" / "lib" / f"python{VERSION}"
    runner.run(
        [python, "-m", "compileall", "-q", "-f", "--invalidation-mode", "unchecked-hash", "-s", app.parent, packages]
    )


def clean_plist(path: Path) -> None:
    """Takes out what py2app says of the machine that built, and of a nib that is not there."""
    plist = plistlib.loads(path.read_bytes())
    plist.pop("NSMainNibFile", None)
    plist.get("PythonInfoDict", {}).pop("PythonExecutable", None)
    plist["PyRuntimeLocations"] = [p for p in plist["PyRuntimeLocations"] if p.startswith("@executable_path/")]
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(plistlib.dumps(plist))
    os.replace(partial, path)


def check(app: Path, signing: verify.Signing | None, runner: Runner) -> None:
    """Stops at a bundle that macOS would not load, with a line for each fault."""
    if not runner.step(f"look over {app}"):
        return
    if not app.is_dir():
        raise StepFailed(f"{app} does not exist; make it with `python packaging/mac.py build`.")
    findings = verify.check_bundle(app, signing)
    for finding in findings:
        print(f"  {finding}")
    if findings:
        raise StepFailed(f"{app.name} has {len(findings)} faults, listed above; it must not be shipped.")


def build(project: Project, runner: Runner) -> None:
    """The whole way to an unsigned, checked `project.app`. Needs a Mac with Xcode's command line tools."""
    base = interpreter()
    if not runner.dry_run and shutil.which(base) is None:
        raise StepFailed(
            f"{base} is missing: install Python {VERSION} from python.org, or name a framework build of it in "
            f"{INTERPRETER_VARIABLE}."
        )
    environment = project.build / "venv"
    python = environment / "bin" / "python"
    runner.run([base, "-m", "venv", "--clear", environment])
    wheels = project.build / "wheels"
    runner.run([*pip(python), "install", *build_tools(project)])
    runner.run(["rm", "-rf", wheels, project.app])
    runner.run([*pip(python), "wheel", "--no-deps", "--wheel-dir", wheels, project.root], environment=NATIVE)
    stage_wheels(project, python, runner)
    trim_stage(project, runner)
    place = {BUILD_VARIABLE: str(project.build)}
    runner.run([python, "setup_app.py", "-q", "py2app"], cwd=project.root, environment=place)
    finish(project.app, python, runner)
    check(project.app, None, runner)
    print(f"{NAME}.app is unsigned: macOS runs it only after `python packaging/mac.py sign`.")
