"""Vision and decoder arrays of the golden set, through the engine's own runs and taps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from uocr import native
from uocr.golden.compare import GoldenSet, Result, equal
from uocr.views import ViewPlan, make_views

VISION_PRESETS = {
    "base": "base",
    "small640": "small",
    "gundam2x1": "gundam",
    "gundam2x3": "gundam",
    "twopage": "multi-page",
}
DECODER_ROWS = {"c0": None, "c1": "base", "c2": "small640", "c3": "small640", "c4": "gundam2x1"}
CHANNELS_FIRST = ("sam/neck", "sam/net_2", "sam/net_3")

Pictures = Callable[[str], Any]


def view_plan(prompt_ids: list[int], views: list[ViewPlan], **more: Any) -> native.Plan:
    crops = views[0].crop_count > 0 if views else False
    return native.Plan(
        prompt_ids,
        pages=len(views),
        global_size=views[0].global_size if views else 1024,
        crop_cols=views[0].crop_cols if crops else 0,
        crop_rows=views[0].crop_rows if crops else 0,
        allow_padding_ids=True,
        loop_history=0,
        **more,
    )


def case_views(golden: GoldenSet, case: str, pictures: Pictures) -> list[ViewPlan]:
    names = golden.index["vision_inputs"][case]["image"]
    return [make_views(pictures(name), VISION_PRESETS[case]).plan for name in names]


def check_layout(golden: GoldenSet, engine: native.Engine) -> Iterator[Result]:
    """Which token of which view lies on which visual row."""
    grids = {
        "base": (1024, 1, 0, 0),
        "small640": (640, 1, 0, 0),
        "g2x1": (1024, 1, 2, 1),
        "g2x3": (1024, 1, 2, 3),
        "g3x2": (1024, 1, 3, 2),
        "two_pages": (1024, 2, 0, 0),
    }
    info = engine.info()
    for name, (size, pages, cols, rows) in grids.items():
        count = golden.arrays("layout.npz")[name].shape[0]
        plan = native.Plan(
            [info.bos_id] + [info.image_id] * count, pages=pages, global_size=size, crop_cols=cols, crop_rows=rows
        )
        yield golden.compare("layout.npz", name, engine.layout(plan))


def check_vision(golden: GoldenSet, engine: native.Engine, pictures: Pictures) -> Iterator[Result]:
    """SAM, neck, CLIP, projector and laid-out rows of the five vision cases."""
    reference = golden.arrays("vision.npz")
    info = engine.info()
    for case in golden.index["vision_inputs"]:
        names = [n.partition("/")[2] for n in reference if n.startswith(case + "/") and not n.endswith("rows_fp32pix")]
        stages = {n.partition("@")[0] for n in names}
        pages = [make_views(pictures(n), VISION_PRESETS[case]) for n in golden.index["vision_inputs"][case]["image"]]
        pixels = [view for page in pages for view in page.views]
        rows = sum(page.visual_tokens for page in pages)
        plan = view_plan(
            [info.bos_id] + [info.image_id] * rows + [info.bos_id], [p.plan for p in pages], max_new_tokens=1
        )
        with engine.begin(plan) as run:
            run.capture(*{"proj" if s.startswith("proj") else s for s in stages})
            for event in run.events():
                if event.kind == native.NEED_VIEW:
                    run.feed(event.view, pixels[event.view])
            fetched: dict[str, np.ndarray] = {}
            for stage in stages:
                if stage in ("proj0", "proj1"):
                    locals_ = range(len(pixels) - 1) if case.startswith("gundam") else range(1)
                    views = list(locals_) if stage == "proj0" else [len(pixels) - 1]
                    fetched[stage] = np.stack([run.fetch("proj", v) for v in views])
                else:
                    fetched[stage] = run.fetch(stage)
        for name in names:
            stage, _, form = name.partition("@")
            yield golden.compare("vision.npz", f"{case}/{name}", _form(golden, case, stage, form, fetched[stage]))


def _form(golden: GoldenSet, case: str, stage: str, form: str, value: np.ndarray) -> np.ndarray:
    if stage in CHANNELS_FIRST:
        value = value.transpose(2, 0, 1)
    if form == "stats":
        v = value.astype(np.float64)
        return np.array([v.mean(), v.std(), np.sqrt((v * v).sum()), np.abs(v).max()])
    if form == "sample":
        sampling = golden.index["vision_sampling"]
        index = sampling.get(f"{case}/{stage}@sample") or sampling["G=64" if case == "base" else "G=40"]
        return value[:, index][:, :, index] if stage in CHANNELS_FIRST else value[index][:, index]
    return value


def check_decoder(golden: GoldenSet, engine: native.Engine, pictures: Pictures, *, forced: bool) -> Iterator[Result]:
    """Prefill and decoding through the ring. `forced` feeds the stored tokens (for precisions that are not exact)."""
    for case, source in DECODER_ROWS.items():
        yield from _Case(golden, engine, pictures, case, source, forced).results()


class _Case:
    def __init__(
        self, golden: GoldenSet, engine: native.Engine, pictures: Pictures, case: str, source: str | None, forced: bool
    ) -> None:
        self.golden, self.engine, self.case, self.forced = golden, engine, case, forced
        self.table = golden.index["decoder_cases"][case]
        arrays = golden.arrays("decoder.npz")
        self.ref = {n.partition("/")[2]: arrays[n] for n in arrays if n.startswith(case + "/")}
        self.views = case_views(golden, source, pictures) if source else []
        self.rows = golden.arrays("vision.npz")[f"{source}/rows"] if source else None
        layers = engine.info().layers
        self.layers, self.moe = range(layers), range(1, layers)
        self.steps = len(self.ref.get("tokens", [0]))

    def results(self) -> Iterator[Result]:
        plan = view_plan(
            self.ref["input_ids"].tolist(),
            self.views,
            max_new_tokens=self.steps,
            ring_window=self.table["window"],
            ngram_size=self.table.get("ngram_size", 0),
            ngram_window=self.table.get("ngram_window", 1),
        )
        with self.engine.begin(plan) as run:
            if self.rows is not None:
                run.set_rows(self.rows)
            run.capture(
                "embeds",
                "final_norm",
                "logits",
                "cache_k0",
                "cache_v0",
                *(f"layer{i}" for i in self.layers),
                *(f"router_{kind}{i}" for kind in ("ids", "weights", "probs") for i in self.moe),
            )
            run.all_logits()
            yield from self._prefill_and_decode(run)

    def _prefill_and_decode(self, run: native.Run) -> Iterator[Result]:
        mine: dict[str, list[Any]] = {
            "tokens": [],
            "gen_logits": [],
            "gen_router_idx": [],
            "gen_router_weight": [],
            "gen_hidden": [],
            "bans": [],
        }
        hidden_steps = set(self.ref.get("hidden_steps", np.array([])).tolist())
        if self.forced and "tokens" in self.ref:
            run.force_token(int(self.ref["tokens"][0]))
        for event in run.events():
            if event.kind != native.TOKEN:
                continue
            step = len(mine["tokens"])
            if step == 0:
                yield from self._prefill(run)
            mine["tokens"].append(event.token)
            mine["bans"].append(run.bans())
            logits = run.fetch("logits")
            mine["gen_logits"].append(logits[-1])
            if step > 0:
                mine["gen_router_idx"].append([run.fetch(f"router_ids{i}")[-1] for i in self.moe])
                mine["gen_router_weight"].append([run.fetch(f"router_weights{i}")[-1] for i in self.moe])
                if step in hidden_steps:
                    mine["gen_hidden"].append([run.fetch(f"layer{i}")[-1] for i in self.layers])
            if self.forced and step + 1 < self.steps:
                run.force_token(int(self.ref["tokens"][step + 1]))
        if "tokens" not in self.ref:
            return
        if not self.forced:
            yield equal(f"decoder.npz:{self.case}/tokens", mine["tokens"], self.ref["tokens"].tolist())
            if self.ref["tokens"].tolist() != mine["tokens"]:
                return
        stacked = {name: np.array(values) for name, values in mine.items() if name in self.ref and name != "tokens"}
        logits = stacked["gen_logits"]
        order = np.argsort(-logits, axis=1, kind="stable")[:, :5]
        stacked["gen_top5_ids"] = order
        stacked["gen_top5_logits"] = np.take_along_axis(logits, order, 1)
        for kind in ("k", "v"):
            if f"cache_{kind}_layer0" in self.ref:
                stacked[f"cache_{kind}_layer0"] = run.fetch(f"cache_{kind}0")
        for name, value in stacked.items():
            yield self.golden.compare("decoder.npz", f"{self.case}/{name}", value)
        if "banned_ids_per_step" in self.table:
            yield equal(f"index.json:{self.case}/banned_ids_per_step", mine["bans"], self.table["banned_ids_per_step"])

    def _prefill(self, run: native.Run) -> Iterator[Result]:
        hidden = np.stack([run.fetch(f"layer{i}") for i in self.layers])
        logits = run.fetch("logits")
        values = {
            "embeds": run.fetch("embeds"),
            "prefill_hidden": hidden,
            "prefill_hidden_last": hidden[:, -1],
            "prefill_final_norm": run.fetch("final_norm"),
            "prefill_logits": logits,
            "prefill_logits_last": logits[-1],
            "prefill_router_idx": np.stack([run.fetch(f"router_ids{i}") for i in self.moe]),
            "prefill_router_weight": np.stack([run.fetch(f"router_weights{i}") for i in self.moe]),
            "prefill_router_probs": np.stack([run.fetch(f"router_probs{i}") for i in self.moe]),
        }
        for name, value in values.items():
            if name in self.ref:
                yield self.golden.compare("decoder.npz", f"{self.case}/{name}", value)


def check_ngram(golden: GoldenSet, engine: native.Engine) -> Iterator[Result]:
    """The repeat guard: each stored sequence is a prompt, its bans are those of the first step."""
    for i, case in enumerate(golden.json("ngram.json")["cases"]):
        plan = native.Plan(
            case["sequence"],
            pages=0,
            max_new_tokens=1,
            ngram_size=case["ngram_size"],
            ngram_window=case["window"],
            guard_allow=tuple(case["whitelist"] or ()),
            allow_padding_ids=True,
            loop_history=0,
        )
        with engine.begin(plan) as run:
            for event in run.events():
                if event.kind == native.TOKEN:
                    break
            yield equal(f"ngram.json:{i} ({case['kind']})", run.bans(), sorted(case["banned"]))
