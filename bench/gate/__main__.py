"""`python -m bench.gate CHECKPOINT_FOLDER --pages N --out DIR`: measure, pick, write gate.json and policy.toml."""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from uocr import native
from uocr.convert.checkpoint import Checkpoint
from uocr.convert.dialects import read_config
from uocr.convert.front_end import usable_vocab
from uocr.convert.tensors import stored_tensors
from uocr.modelfile import ModelFile

from bench.gate.choices import (
    MODULES,
    QUANTISED,
    REFERENCE,
    SHIPPED,
    Choice,
    assignment,
    compared_choices,
    module_choices,
    module_of,
    profile_choices,
    shipped_choices,
)
from bench.gate.evaluate import Evaluation, Journal, OutOfTime, Results
from bench.gate.figures import Figures, figures
from bench.gate.pick import BOUNDS, Bounds, Rung, climb, keeps, ladder
from bench.machine import processors
from bench.quality.generated import in_turn
from bench.quality.pack import ensure_pack
from bench.quality.pages import PageCache, default_cache, weights_hash
from bench.quality.stored import write


def module_sizes(checkpoint: Path) -> dict[str, int]:
    """Weights (numbers, not bytes) of every module."""
    with Checkpoint(checkpoint) as opened:
        config = read_config(opened.config, usable_vocab(opened.tokenizer_json)).config
    sizes = dict.fromkeys(MODULES, 0)
    for spec in stored_tensors(config):
        module = module_of(spec.name)
        if module is not None:
            sizes[module] += math.prod(spec.shape)
    return sizes


class Gate:
    """Measures choices and remembers their figures."""

    def __init__(self, args: argparse.Namespace) -> None:
        jobs = args.jobs or (1 if args.one_at_a_time else processors())
        until = time.monotonic() + args.seconds if args.seconds else math.inf
        cache = PageCache(args.cache, ensure_pack(args.pack, args.cache), jobs)
        self.pages = list(in_turn(cache, args.pages))
        weights = weights_hash(args.checkpoint)
        self.facts = {"checkpoint": weights, "pages_key": cache.key, "along": args.along, "engine": native.version()}
        args.out.mkdir(parents=True, exist_ok=True)
        journal = Journal(args.out / "gate-results.jsonl", self.facts)
        self.evaluation = Evaluation(
            args.checkpoint, args.work or args.cache / f"gate-{weights[:16]}", journal,
            threads=args.threads or max(1, processors() // jobs), along=args.along, one_at_a_time=args.one_at_a_time,
            jobs=jobs, until=until)
        self.found: dict[str, Figures] = {}
        self.parts_base = 0.0
        """Mean negative log-likelihood of f32 over the pages that modules alone are scored on."""

    def measure(self, choices: Sequence[Choice], most: int | None = None) -> list[Figures]:
        """Figures of choices, and of f32, over the first `most` pages or all (those there was time for)."""
        results = self.evaluation.run(choices, self.pages[:most])
        before = self.found.get(REFERENCE.name)
        if before and len(results[REFERENCE.name]) < before.pages:
            raise OutOfTime(f"Time ran out before {choices[0].name} was measured on as many pages as the profiles.")
        self._figures((REFERENCE, *choices), results)
        return [self.found[choice.name] for choice in choices]

    def measure_parts(self, choices: Sequence[Choice], most: int) -> None:
        """Figures of choices over the first `most` pages, each against f32 on the same pages."""
        results = self.evaluation.run(choices, self.pages[:most])
        self._figures(choices, results)
        self.parts_base = figures(REFERENCE.name, 0, results[REFERENCE.name], results[REFERENCE.name]).nll

    def _figures(self, choices: Sequence[Choice], results: Results) -> None:
        for choice in choices:
            self.found[choice.name] = figures(choice.name, self.evaluation.bytes.get(choice.name, 0),
                                              results[choice.name], results[REFERENCE.name])

    def pick(self, profile: str, sizes: dict[str, int]) -> dict[str, Any]:
        """The cheapest choice that keeps the profile's bounds in EXACT precision, and how it fares in the others.

        `integer_kept`: vision may multiply in 8 bits (the model's `integer_activations`).
        """
        base = self.parts_base
        losses = {(m, d): self.found[f"{m} {d}"].loss(base) for m in MODULES for d in QUANTISED}
        bounds = BOUNDS[profile]
        policy = module_types(self.evaluation.path(profile))

        def measured(rung: Rung, precision: str = "exact") -> Figures:
            suffix = "" if precision == "exact" else f" ({precision.upper()})"
            if rung.types == policy:  # the profile as it is: measured already
                return self.found[profile + suffix]
            name = f"{profile} pick: " + ", ".join(f"{m} {d}" for m, d in rung.types.items() if d != profile)
            name = name.rstrip(": ") + suffix
            return self.measure([assignment(name, rung.types, precision)])[0]

        rung, exact, _ = climb(ladder(profile, losses, sizes), bounds, measured)
        return verdict(rung.types, round(rung.expected, 3), exact, measured(rung, "fast"), measured(rung, "integer"),
                       bounds)

    def as_it_is(self, profile: str) -> dict[str, Any]:
        """The profile as the type policy has it, held to its bounds."""
        exact, fast, integer = (self.found[profile + suffix] for suffix in ("", " (FAST)", " (INTEGER)"))
        return verdict(module_types(self.evaluation.path(profile)), None, exact, fast, integer, BOUNDS[profile])


def verdict(types: Mapping[str, str], expected: float | None, exact: Figures, fast: Figures, integer: Figures,
            bounds: Bounds) -> dict[str, Any]:
    """What is stored of a choice held to its bounds, in each precision over its own pages."""
    return {"types": dict(types), "expected_loss": expected, "exact": exact.choice, "fast": fast.choice,
            "integer": integer.choice, "bounds": vars(bounds), "exact_kept": keeps(exact, bounds),
            "kept": keeps(fast, bounds), "integer_kept": keeps(integer, bounds),
            "size_kept": not bounds.bytes or exact.bytes <= bounds.bytes}


def judged_on(below: float) -> str:
    """Which readings' character errors the bounds are held to, by the model's `read_again_below`."""
    return "as the product reads" if below else "first readings"


def module_types(path: Path) -> dict[str, str]:
    """The type that every module of a model file has; where its tensors differ, all of them: "q4/q8"."""
    with ModelFile.open(path) as file:
        return {module: "/".join(sorted({info.dtype for name, info in file.tensors.items()
                                         if module_of(name) == module})) for module in MODULES}


def policy_rules(picks: dict[str, dict[str, Any]]) -> str:
    """The picked types as rules of engine/uocr/convert/policy.toml; none for a module whose tensors differ in type,
    which only the policy's own rules make."""
    lines = []
    for module, globs in MODULES.items():
        types = {profile: picks[profile]["types"][module] for profile in QUANTISED}
        if any("/" in dtype for dtype in types.values()):
            lines += [f"# As the policy has it: {module}, {', '.join(f'{p} as {d}' for p, d in types.items())}.", ""]
            continue
        # A list of plain names is spelled alike in JSON and in TOML.
        lines += ["[[rule]]", f'why = "The quantisation gate\'s choice for: {module}."',
                  f"match = {json.dumps(globs)}", 'f32 = "f32"', 'f16 = "f16"',
                  *(f'{profile} = "{dtype}"' for profile, dtype in types.items()), ""]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.gate", description=__doc__)
    parser.add_argument("checkpoint", type=Path, help="folder with config.json and .safetensors files")
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--module-pages", type=int, metavar="N",
                        help="pages that modules alone, f16 and the rules for unmeasured networks are scored on, the "
                             "first N; default: all, or none with --no-pick")
    parser.add_argument("--compared-pages", type=int, metavar="N",
                        help="pages that q8 and q4 are scored on in precisions that --many leaves out, and float32 in "
                             "FAST, the first N; default: all")
    parser.add_argument("--many", default=",".join(SHIPPED), metavar="PRECISIONS",
                        help=f"precisions that q8 and q4 are scored in on all pages; default: {','.join(SHIPPED)}")
    parser.add_argument("--no-pick", action="store_true",
                        help="hold q8 and q4 as the type policy has them to their bounds, and pick nothing else")
    parser.add_argument("--jobs", type=int, default=0,
                        help="worker processes, each with --threads of its own and a few hundred MiB; default: as many "
                             "as processors, one with --one-at-a-time")
    parser.add_argument("--seconds", type=float, default=0,
                        help="begin no page after this time; the report is of the pages measured with every choice, "
                             "and a later run in the same folder goes on")
    parser.add_argument("--along", choices=("truth", "reading"), default="truth",
                        help="text that is forced: the pages' own, or what the reference reads")
    parser.add_argument("--one-at-a-time", action="store_true",
                        help="hold one choice on disk beside the reference (for the full checkpoint); slower")
    parser.add_argument("--threads", type=int, default=0, help="of every process; default: processors, shared out")
    parser.add_argument("--pack", type=Path, help="fonts and texts; default: collected into the cache at first use")
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--work", type=Path, help="folder for converted files; default: in the cache")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    many = args.many.split(",")
    if not set(many) <= set(SHIPPED):
        raise SystemExit(f"--many takes {' and '.join(SHIPPED)}, with a comma between; not {args.many!r}.")
    gate = Gate(args)
    sizes = module_sizes(args.checkpoint)
    try:
        gate.measure(profile_choices(), args.compared_pages)
        gate.measure(shipped_choices(many))
    except OutOfTime as error:
        raise SystemExit(str(error)) from None
    picks = {profile: gate.as_it_is(profile) for profile in QUANTISED}
    module_pages = args.module_pages or (0 if args.no_pick else args.pages)
    try:
        if module_pages:
            gate.measure_parts([*compared_choices(), *module_choices()], module_pages)
        if not args.no_pick:
            picks = {profile: gate.pick(profile, sizes) for profile in QUANTISED}
    except OutOfTime as error:
        print(f"{error} The types that the policy has were held to their bounds.")
    report = gate.facts | {"pages": gate.found[REFERENCE.name].pages, "pages_asked": args.pages,
                           "read_again_below": gate.evaluation.below, "judged_on": judged_on(gate.evaluation.below),
                           "module_weights": sizes, "picks": picks,
                           "choices": [found.stored() for found in gate.found.values()]}
    write(args.out / "gate.json", report)
    partial = args.out / "policy.toml.partial"
    partial.write_text(policy_rules(picks), encoding="utf-8")
    os.replace(partial, args.out / "policy.toml")
    for profile, picked in picks.items():
        held = ", ".join(f"{'keeps' if picked[key] else 'BREAKS'} them in {precision}" for precision, key in
                         (("EXACT", "exact_kept"), ("FAST", "kept"), ("INTEGER", "integer_kept")))
        print(f"{profile}: {picked['types']}; bounds of loss: {held}" + ("" if picked["size_kept"] else "; too large"))
    return int(not all(p["exact_kept"] and p["kept"] and p["size_kept"] for p in picks.values()))


if __name__ == "__main__":
    raise SystemExit(main())
