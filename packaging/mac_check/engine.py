"""Steps that build the engine with Apple's tools and compare its two back ends."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import metal_library

from mac_check.run import CheckFailed, CheckSkipped, Context

HERE = Path(__file__).resolve().parent
BACKENDS = ("cpu", "metal")
F16_SCALE = 300
"""Half precision in the published network's own code lands at 240 tolerances of its float32 numbers."""
PICTURES = ("screenshot.png", "scan.jpg", "two-columns.png")
CHARACTERS_WORSE = 0.001
"""Share of characters by which the GPU's own reading may be worse than the CPU's."""
FULL_MODEL_BYTES = 6_000_000_000
FULL_MODEL = "q4"
FRAMEWORKS = ("Metal", "MetalPerformanceShaders", "Foundation", "CoreGraphics")
"""As CMakeLists.txt links the engine."""
CHECKS = re.compile(r"^(exact|fast): (\d+) checks, (\d+) failures, largest error ([\d.]+|inf|nan) of its bound", re.M)


def kernels(context: Context) -> dict[str, Any]:
    """Every kernel file through Apple's compiler, one by one, then all as one library."""
    folder = context.build / "kernels"
    sources = metal_library.write_sources(folder / metal_library.SOURCES)
    facts: dict[str, Any] = {}
    bad = []
    for source in sources:
        compiled = context.run(
            *("xcrun", "-sdk", "macosx", "metal", *metal_library.FLAGS, "-c"),
            *(source, "-o", folder / f"{source.stem}.air"),
            check=False,
        )
        warnings = len(re.findall(r"\bwarning:", compiled.err))
        facts[source.name] = f"{warnings} warnings" if compiled.status == 0 else "does not compile"
        if compiled.status != 0:
            bad.append(source.name)
        elif warnings:
            facts[f"{source.name} says"] = [line for line in compiled.err.splitlines() if "warning:" in line]
    if bad:
        context.step.facts.update(facts)
        raise CheckFailed(f"{', '.join(bad)} of {len(sources)} kernel files do not compile")
    context.run(sys.executable, context.root / "packaging" / "metal_library.py", folder)
    library = folder / metal_library.LIBRARY
    if not library.is_file() or not library.stat().st_size:
        raise CheckFailed(f"{library.name} was not made")
    return {**facts, "library bytes": library.stat().st_size}


def install(context: Context) -> dict[str, Any]:
    """The engine, the package and the window, built by Apple's clang into .venv."""
    context.run("make", ".venv/.dev", f"PYTHON={sys.executable}", timeout=3600)
    return {"info": context.run(context.python, "-m", "uocr.cli", "doctor").out.strip().splitlines()}


def operators(context: Context) -> dict[str, Any]:
    """The table of operators on this Mac's GPU against float64 references."""
    program = context.build / "operators"
    program.parent.mkdir(parents=True, exist_ok=True)
    context.run(*operators_command(context.root, program), timeout=1200)
    done = context.run(
        program, environment={"UOCR_METAL_KERNELS": str(context.build / "kernels")}, timeout=1800, check=False
    )
    runs = CHECKS.findall(done.out)
    for number, (precision, checks, failures, worst) in enumerate(runs):
        said = f"{checks} checks, {failures} failures, largest error {worst} of its bound"
        context.step.facts[f"{precision}, run {number % 2 + 1}"] = said
    if done.status != 0 or len(runs) != 4:
        context.step.facts["failures"] = [line for line in done.out.splitlines() if line.startswith("FAIL")]
        raise CheckFailed(f"the operators ended with status {done.status} after {len(runs)} of 4 runs")
    return {}


def operators_command(root: Path, program: Path, compiler: tuple[str, ...] = ("xcrun", "clang")) -> list[str | Path]:
    """Compiles operators.c with the engine, its Metal device and the table of operators."""
    engine, tests = root / "engine" / "src", root / "tests"
    sources = [HERE / "operators.c", tests / "metal" / "gpu_table.c"]
    sources += [tests / "engine" / f"ops_{name}.c" for name in ("linear", "rows", "attention", "support")]
    sources += sorted(engine.glob("*.c")) + sorted((engine / "cpu").glob("*.c"))
    sources += [p for p in sorted((engine / "gpu").glob("*.[cm]")) if not p.name.startswith("device_host")]
    folders = [engine, root / "engine" / "include", tests / "engine", tests / "metal"]
    return [
        *compiler,
        *("-O2", "-UNDEBUG", "-fobjc-arc", "-ffp-contract=off", "-mmacosx-version-min=13.0", "-DUOCR_GPU"),
        '-DUOCR_VERSION_STRING="mac_check"',
        *(f"-I{folder}" for folder in folders),
        *sources,
        *(word for name in FRAMEWORKS for word in ("-framework", name)),
        *("-lobjc", "-o", program),
    ]


def _inside(context: Context, *words: str, timeout: float = 3600) -> dict[str, Any]:
    said = context.run(context.python, HERE / "inside.py", *words, timeout=timeout).out
    try:
        answer = json.loads(said.strip().splitlines()[-1])
    except (ValueError, IndexError):
        raise CheckFailed(f"{words[0]} gave no result") from None
    return dict(answer)


def golden(context: Context) -> dict[str, Any]:
    """The published network's own numbers, on both back ends."""
    facts: dict[str, Any] = {}
    problems = []
    for backend in BACKENDS:
        for profile, precision, bound in (("f32", "exact", 1), ("f16", "fast", F16_SCALE)):
            name = f"{backend}, {profile} {precision}"
            try:
                answer = _inside(context, "golden", backend, profile, precision)
            except CheckFailed as problem:
                problems.append(f"{name}: {problem}")
                continue
            facts[name] = answer
            if not answer["worst"] <= bound:
                problems.append(f"{name}: {answer['worst']:.3g} tolerances in {answer['worst array']}")
            if precision == "exact" and answer["unequal"]:
                problems.append(f"{name}: unequal {', '.join(answer['unequal'])}")
    context.step.facts.update(facts)
    if problems:
        raise CheckFailed("; ".join(problems))
    return facts


def pages(context: Context) -> dict[str, Any]:
    """The sample pages from end to end: the GPU fed the CPU's tokens, then reading by itself."""
    problems = []
    for picture in PICTURES:
        for precision in ("exact", "fast"):
            name = f"{picture}, {precision}"
            try:
                answer = _inside(context, "page", picture, "metal", precision)
            except CheckFailed as problem:
                problems.append(f"{name}: {problem}")
                continue
            context.step.facts[name] = answer
            if answer["clear disagreements"]:
                problems.append(f"{name}: another first choice in {answer['clear disagreements']} clear steps")
            if answer["character error rate"] > answer["character error rate, CPU"] + CHARACTERS_WORSE:
                problems.append(f"{name}: more wrong characters than the CPU")
    if problems:
        raise CheckFailed("; ".join(problems))
    return {}


def speed(context: Context) -> dict[str, Any]:
    """Decode, prefill and vision with both back ends and the built-in model."""
    return _speeds(context, "built-in")


def full_speed(context: Context) -> dict[str, Any]:
    """The same with the full model's shapes and random weights."""
    if context.quick:
        raise CheckSkipped("--quick leaves it out")
    free = shutil.disk_usage(context.root).free
    if free < FULL_MODEL_BYTES:
        raise CheckSkipped(f"{free / 1e9:.1f} GB of disk are free; {FULL_MODEL_BYTES / 1e9:.0f} are needed")
    return _speeds(context, FULL_MODEL)


def _speeds(context: Context, model: str) -> dict[str, Any]:
    problems = []
    for backend in BACKENDS:
        try:
            context.step.facts[backend] = _inside(context, "speed", backend, model)
        except CheckFailed as problem:
            problems.append(f"{backend}: {problem}")
    if problems:
        raise CheckFailed("; ".join(problems))
    return {}


def sleep(context: Context) -> dict[str, Any]:
    """The Mac is kept awake while a page is read, and not before or after."""
    answer = _inside(context, "sleep", "metal")
    if answer["before"] or answer["after"] or answer["during"] < 1:
        context.step.facts.update(answer)
        raise CheckFailed(
            f"{answer['before']} assertions before, {answer['during']} during, {answer['after']} after; "
            "0, 1 or more, 0 are right"
        )
    return answer


def tests(context: Context) -> dict[str, Any]:
    """Every test of the repository, on this Mac."""
    if context.quick:
        raise CheckSkipped("--quick leaves it out")
    done = context.run("make", "test", f"PYTHON={sys.executable}", timeout=7200, check=False)
    lines = done.out.strip().splitlines()
    context.step.facts["last line"] = lines[-1] if lines else "nothing was printed"
    context.step.facts["failed"] = [line for line in lines if line.startswith("FAILED")]
    if done.status != 0:
        raise CheckFailed(f"make test ended with status {done.status}")
    return {}
