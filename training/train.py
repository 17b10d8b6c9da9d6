"""Trains one leg: `python -m training.train --pack DIR --init CHECKPOINT --out DIR --seconds N`.

Starts from exported weights (or from nothing), writes a checkpoint every few minutes, never overwrites
weights, and goes on from the last checkpoint with --resume. Several GPUs: start it with torchrun. `--smoke`
trains a tiny model on the CPU.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from training import export
from training.attention import check_kernels, use_kernels
from training.config import Config, default_config, load_config, tiny_config
from training.loader import Loader
from training.model import Reader
from training.muon import Muon
from training.objective import AuxiliaryHeads, Objective
from training.recipe import SMOKE, Recipe
from training.smoke import smoke_pack
from training.targets import Vocabulary

_KEPT = 2
"""Checkpoints kept beside the final one."""

_MOST_SKIPPED = 25
"""Steps in a row with a gradient that is not finite, after which a leg is given up."""

_LOOK_EVERY = 10
"""Steps after which the host waits for a GPU, to look at the losses and at the clock. In between it runs ahead."""


class Log:
    """Lines of JSON to a file, and to the screen."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.start = path, time.monotonic()

    def __call__(self, **facts: Any) -> None:
        if self.path is not None:
            line = json.dumps({"t": round(time.monotonic() - self.start, 1), **facts})
            print(line, flush=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")


class Trainer:
    """Model, optimisers and clock of a leg on one device; ranks of a group hold equal weights."""

    def __init__(self, config: Config, recipe: Recipe, vocabulary: Vocabulary, device: torch.device, log: Log) -> None:
        torch.manual_seed(recipe.seed)
        self.config, self.recipe, self.device, self.log = config, recipe, device, log
        self.net = Reader(config).to(device)
        sam_width = config["vision_config"]["width"]["sam_vit_b"]["width"]
        self.heads = AuxiliaryHeads(config["hidden_size"], sam_width).to(device)
        self.objective = Objective(self.net, self.heads, vocabulary, recipe.weights)
        hidden, tables, small = [], [], []
        for name, parameter in self.net.named_parameters():
            table = any(key in name for key in ("embed", "lm_head", "mlp.gate.weight"))
            if parameter.dim() < 2 or "rel_pos" in name:
                small.append(parameter)
            elif table:
                tables.append(parameter)
            else:
                hidden.append((name, parameter))
        self.muon = Muon(hidden)
        groups = [
            {"params": tables, "weight_decay": recipe.decay},
            {"params": small, "weight_decay": 0.0},
            {"params": list(self.heads.parameters()), "weight_decay": 0.0},
        ]
        self.adam = torch.optim.AdamW(
            groups, lr=recipe.adam_rate, betas=(0.9, 0.98), eps=1e-8, fused=device.type == "cuda"
        )
        self.parameters = [*self.net.parameters(), *self.heads.parameters()]
        self.step_number, self.elapsed, self.skipped, self.skipped_in_a_row = 0, 0.0, 0, 0
        self.waited = 0.0
        """Seconds spent waiting for pages."""
        self.whole_compiled = False

    def compile(self, kernels: bool = True) -> None:
        """Compile the network for the GPU, with attention by its own kernels if they pass their check and are wanted;
        see `step` for what happens when that cannot be run."""
        reason = check_kernels(self.device) if kernels else "not wanted"
        use_kernels(not reason)
        if reason:
            self.log(event="attention without its kernels", reason=reason)
        torch._dynamo.config.recompile_limit = 64
        self.objective.compile()
        self.whole_compiled = True

    def _shared_gradient(self) -> Tensor:
        """Mean gradient over ranks in place of the own one, clipped to a norm of 1; zero when it is not finite. Answers
        the norm, for which the host need not wait."""
        for parameter in self.parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        gradients = [p.grad for p in self.parameters if p.grad is not None]
        flat = torch.cat([g.flatten() for g in gradients])
        if dist.is_initialized():
            dist.all_reduce(flat)
            flat /= dist.get_world_size()
        norm = flat.norm()
        flat = torch.where(norm.isfinite(), flat * (1 / (norm + 1e-6)).clamp(max=1), 0.0)
        pieces = flat.split([g.numel() for g in gradients])
        torch._foreach_copy_(gradients, [p.view_as(g) for p, g in zip(pieces, gradients, strict=True)])
        return norm

    def _forget_gradients(self) -> None:
        """Of Muon's matrices too, which AdamW does not know."""
        for parameter in self.parameters:
            parameter.grad = None

    def step(self, loader: Loader, progress: float) -> dict[str, Tensor]:
        """One update. When compiled code fails, all but the tower is run as it is written from then on, and attention
        without its kernels."""
        try:
            return self._step(loader, progress)
        except (RuntimeError, AssertionError) as error:
            if not self.whole_compiled:
                raise
            self.log(event="compiled step failed, only the tower stays compiled", error=str(error)[:500])
            use_kernels(False)
            self.objective.compile(tower_alone=True)
            self.whole_compiled = False
            self._forget_gradients()
            return self._step(loader, progress)

    def _step(self, loader: Loader, progress: float) -> dict[str, Tensor]:
        """One update from the batches of the plan; answers its figures, still on the device. A gradient that is not
        finite counts as zero (see `look`)."""
        recipe, facts = self.recipe, dict[str, Tensor]()
        plan = recipe.plan()
        weights = [1.0] if len(plan) == 1 else [1 - recipe.crop_weight, recipe.crop_weight]
        for name, weight in zip(("base", "crops"), weights, strict=False):
            begin = time.monotonic()
            batch = loader.next()
            self.waited += time.monotonic() - begin
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
                loss, parts = self.objective(batch)
            (loss * weight).backward()
            facts.update({f"{name}.{key}": value for key, value in parts.items()})
        facts["norm"] = self._shared_gradient()
        factor = recipe.rate(progress)
        for group in self.adam.param_groups:
            group["lr"] = recipe.adam_rate * factor
        self.muon.step(recipe.muon_rate * factor, recipe.decay, min(0.95, 0.85 + 0.1 * self.step_number / 300))
        self.adam.step()
        self._forget_gradients()
        self.step_number += 1
        return facts

    def look(self, steps: list[dict[str, Tensor]]) -> list[dict[str, float]]:
        """Figures of the last steps as numbers; waits for the device. Counts the steps whose gradient was not finite,
        and gives the leg up after too many in a row."""
        keys = list(steps[0])
        table = torch.stack([torch.stack([facts[key].float() for key in keys]) for facts in steps]).tolist()
        found = [dict(zip(keys, row, strict=True)) for row in table]
        for facts in found:
            if math.isfinite(facts["norm"]):
                self.skipped_in_a_row = 0
                continue
            self.skipped += 1
            self.skipped_in_a_row += 1
            self.log(event="gradient not finite, step skipped", step=self.step_number, skipped=self.skipped)
            if self.skipped_in_a_row >= _MOST_SKIPPED:
                raise SystemExit(
                    f"{_MOST_SKIPPED} steps in a row without a finite gradient up to step {self.step_number}; "
                    "leg given up, the last checkpoint stands. Start again from it with lower rates."
                )
        return found

    def save(self, folder: Path) -> None:
        """Exported weights, and beside them (same name, .pt) what a resumed leg needs."""
        state = {
            "net": self.net.state_dict(),
            "heads": self.heads.state_dict(),
            "adam": self.adam.state_dict(),
            "muon": self.muon.state_dict(),
            "step": self.step_number,
            "elapsed": self.elapsed,
        }
        partial = folder.with_suffix(".pt.partial")
        torch.save(state, partial)
        export.save(self.net, self.config, folder)
        os.replace(partial, folder.with_suffix(".pt"))

    def restore(self, path: Path) -> None:
        """Everything as it was when `save` wrote the file."""
        state = torch.load(path, map_location=self.device, weights_only=True)
        self.net.load_state_dict(state["net"])
        self.heads.load_state_dict(state["heads"])
        self.adam.load_state_dict(state["adam"])
        self.muon.load_state_dict(state["muon"])
        self.step_number, self.elapsed = state["step"], state["elapsed"]


def _saved(out: Path) -> list[Path]:
    """State files of complete checkpoints, oldest first."""
    return sorted(path for path in out.glob("checkpoint-*.pt") if path.with_suffix("").is_dir())


def _check_out(out: Path, resume: bool) -> Path | None:
    """The state to resume from, if asked for; refuses a folder that already holds weights otherwise."""
    saved = _saved(out)
    if (out / "final").exists():
        raise SystemExit(f"{out}/final exists: this leg is finished, weights are never overwritten; name another --out")
    if saved and not resume:
        raise SystemExit(f"{out} holds {saved[-1].stem}; go on with --resume, or name another --out")
    if resume and not saved:
        raise SystemExit(f"nothing to resume in {out}: no complete checkpoint; start with --init instead")
    return saved[-1] if resume else None


def _agreed(value: float, device: torch.device) -> float:
    """Rank 0's value, so that all ranks stop and cool down together."""
    if not dist.is_initialized():
        return value
    shared = torch.tensor(value, device=device, dtype=torch.float64)
    dist.broadcast(shared, 0)
    return float(shared)


def train(
    recipe: Recipe,
    pack: Path,
    out: Path,
    init: Path | None,
    config: Config,
    resume: bool,
    workers: int,
    kernels: bool = True,
) -> list[float]:
    """Run a leg (or the rest of one); answers the language loss of every step."""
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    state = _check_out(out, resume)
    out.mkdir(parents=True, exist_ok=True)
    start = int(state.stem.split("-")[1]) if state else 0
    loader = Loader(pack, recipe.layouts(), workers, recipe.seed * 7919 + start * 31 + rank)  # forks before the device
    device = torch.device(f"cuda:{os.environ.get('LOCAL_RANK', 0)}" if torch.cuda.is_available() else "cpu")
    if device.type == "cuda":
        torch.cuda.set_device(device)
        torch.set_float32_matmul_precision("high")
    if world > 1:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    vocabulary = Vocabulary(pack / "tokenizer.json")
    log = Log(out / "log.jsonl" if rank == 0 else None)
    trainer = Trainer(config, recipe, vocabulary, device, log)
    if state is not None:
        trainer.restore(state)
    elif init is not None:
        export.from_checkpoint(trainer.net, {k: v.float() for k, v in export.read_weights(init).items()})
    if device.type == "cuda":
        trainer.compile(kernels)
    torch.manual_seed(recipe.seed * 100 + rank + start)
    log(
        event="begin",
        recipe=asdict(recipe),
        ranks=world,
        device=str(device),
        step=trainer.step_number,
        parameters=sum(p.numel() for p in trainer.net.parameters()),
    )
    loader.begin(recipe.plan(), device, recipe.seed + start)  # the same order of layouts on every rank
    try:
        losses = _loop(trainer, loader, out if rank == 0 else None, log)
    finally:
        loader.close()
    if rank == 0:
        export.save(trainer.net, trainer.config, out / "final")
        log(event="end", steps=trainer.step_number, skipped=trainer.skipped, pages_made=loader.made.value)
    if world > 1:
        dist.destroy_process_group()
    return losses


def _loop(trainer: Trainer, loader: Loader, out: Path | None, log: Log) -> list[float]:
    """Steps until the recipe's time or number of steps is used up. The first step compiles: the time it
    takes comes off the length of the leg, the schedule begins after it."""
    recipe, losses, clock = trainer.recipe, list[float](), None
    begin = shown = saved = time.monotonic()
    before, length = trainer.elapsed, recipe.seconds
    every = _LOOK_EVERY if trainer.device.type == "cuda" else 1
    window: list[dict[str, float]] = []
    unseen: list[dict[str, Tensor]] = []
    while trainer.step_number < recipe.steps:
        if not unseen:
            if clock is not None:
                trainer.elapsed = before + time.monotonic() - clock
            progress = _agreed(max(trainer.elapsed / length, trainer.step_number / recipe.steps), trainer.device)
            if progress >= 1:
                break
        unseen.append(trainer.step(loader, progress))
        if clock is not None and len(unseen) < every and trainer.step_number < recipe.steps:
            continue
        found = trainer.look(unseen)
        unseen = []
        window += found
        losses += [facts["base.lm"] for facts in found]
        now = time.monotonic()
        if clock is None:
            clock = saved = now
            length = max(recipe.seconds - (now - begin), 1.0)
            log(event="first step done", seconds=round(now - begin, 1))
        if now - shown > 15 or len(losses) == 1:
            means = {key: round(sum(w[key] for w in window) / len(window), 4) for key in window[-1]}
            log(
                step=trainer.step_number,
                progress=round(progress, 4),
                steps_per_second=round(len(window) / (now - shown), 2),
                waiting=round(trainer.waited / (now - shown), 3),
                pages_made=loader.made.value,
                shown_again=loader.shown_again,
                rate=round(recipe.rate(progress), 4),
                **means,
            )
            window, shown, trainer.waited = [], now, 0.0
        if out is not None and now - saved > recipe.checkpoint_seconds:
            trainer.save(out / f"checkpoint-{trainer.step_number:07d}")
            saved = time.monotonic()
            for old in _saved(out)[:-_KEPT]:
                old.unlink()
                shutil.rmtree(old.with_suffix(""))
            log(event="checkpoint", step=trainer.step_number, seconds=round(saved - now, 1))
    return losses


def smoke() -> tuple[float, float]:
    """Train a tiny model on the CPU on pages of the built-in font; mean language loss of the first and last
    steps."""
    with tempfile.TemporaryDirectory() as folder:
        pack = smoke_pack(Path(folder) / "pack")
        losses = train(SMOKE, pack, Path(folder) / "run", None, tiny_config(), False, 1)
    return sum(losses[:4]) / 4, sum(losses[-8:]) / 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pack", type=Path, help="folder written by training.collect")
    parser.add_argument("--out", type=Path, help="folder for checkpoints and log; must not hold weights yet")
    parser.add_argument("--init", type=Path, help="checkpoint folder to start from (exported weights)")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint in --out")
    parser.add_argument("--seconds", type=float, default=Recipe.seconds, help="length of the leg, compilation included")
    parser.add_argument("--steps", type=int, default=Recipe.steps)
    parser.add_argument("--pages", type=int, default=Recipe.pages, help="base pages in a step of one process")
    parser.add_argument("--muon-rate", type=float, default=Recipe.muon_rate)
    parser.add_argument("--adam-rate", type=float, default=Recipe.adam_rate)
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) - 2), help="page makers a process")
    parser.add_argument("--seed", type=int, default=Recipe.seed)
    parser.add_argument(
        "--attention",
        choices=("kernels", "plain"),
        default="kernels",
        help="on a GPU: by kernels of its own (left out when they fail their check), or by those of PyTorch",
    )
    parser.add_argument("--smoke", action="store_true", help="two CPU minutes on a tiny model; fails if the loss stays")
    args = parser.parse_args()
    if args.smoke:
        first, last = smoke()
        print(f"language loss {first:.2f} at the start, {last:.2f} at the end")
        if not last < 0.9 * first:
            raise SystemExit("the loss did not fall: training is broken")
        return
    if args.pack is None or args.out is None:
        parser.error("--pack and --out are needed (or --smoke)")
    recipe = Recipe(
        seconds=args.seconds,
        steps=args.steps,
        pages=args.pages,
        muon_rate=args.muon_rate,
        adam_rate=args.adam_rate,
        seed=args.seed,
    )
    config = load_config(args.init) if args.init else default_config()
    train(recipe, args.pack, args.out, args.init, config, args.resume, args.workers, args.attention == "kernels")


if __name__ == "__main__":
    main()
