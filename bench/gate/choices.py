"""What is scored: modules of the network, and choices of types for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from uocr.convert import convert_checkpoint
from uocr.modelfile import ModelFile

MODULES: Mapping[str, tuple[str, ...]] = {
    "experts": ("layers.*.mlp.experts.*_proj.weight",),
    "shared": ("layers.*.mlp.shared_experts.*_proj.weight",),
    "dense": ("layers.*.mlp.gate_proj.weight", "layers.*.mlp.up_proj.weight", "layers.*.mlp.down_proj.weight"),
    "embedding": ("embed_tokens.weight",),
    "head": ("lm_head.weight",),
    "attention": ("layers.*.self_attn.*_proj.weight",),
    "SAM": ("sam_model.blocks.*.attn.qkv.weight", "sam_model.blocks.*.attn.proj.weight",
            "sam_model.blocks.*.mlp.*.weight"),
    "CLIP": ("vision_model.transformer.layers.*.self_attn.*.weight", "vision_model.transformer.layers.*.mlp.*.weight"),
    "projector": ("projector.layers.weight",),
}
"""Globs over stored names of the matrices of each module, the first match winning (experts before dense). Everything
else (norms, biases, router, positions, convolutions) stays as the type policy has it."""

VISION = ("SAM", "CLIP", "projector")
"""Modules that change what the decoder sees."""

QUANTISED = ("q8", "q4")

SHIPPED = ("fast", "integer")
"""Precisions that models are read in unless a user asks for another."""

Sight = tuple[str, ...]


def module_of(name: str) -> str | None:
    """The module that a stored tensor belongs to."""
    return next((m for m, globs in MODULES.items() if any(fnmatchcase(name, g) for g in globs)), None)


@dataclass(frozen=True)
class Choice:
    """A conversion: the profile everything starts from, and types of modules that differ from it."""

    name: str
    profile: str
    modules: Mapping[str, str] = field(default_factory=dict)
    precision: str = "exact"

    def types(self) -> dict[str, str]:
        """Globs to types, for the converter."""
        return {glob: self.modules[name] for name, globs in MODULES.items() if name in self.modules for glob in globs}

    @property
    def stem(self) -> str:
        """Name of the model file; choices that differ in precision alone share it."""
        return "-".join([self.profile, *(f"{name}.{dtype}" for name, dtype in self.modules.items())])

    def convert(self, checkpoint: Path, folder: Path) -> Path:
        """The model file, made unless it is there."""
        path = folder / f"{self.stem}.uocr"
        if not path.exists():
            convert_checkpoint(checkpoint, path, self.profile, types=self.types())
        return path

    def sight(self, path: Path) -> Sight:
        """What visual rows depend on, of the choice converted into `path`: choices with equal sights see a page alike,
        bit by bit. In vision FAST is EXACT but for q4 matrices (docs/decisions/0005)."""
        with ModelFile.open(path) as file:
            dtypes = {info.dtype for name, info in file.tensors.items() if module_of(name) in VISION}
        arithmetic = "exact" if self.precision == "fast" and "q4" not in dtypes else self.precision
        return (self.profile, *(f"{m}.{self.modules[m]}" for m in VISION if m in self.modules), arithmetic)


REFERENCE = Choice("f32", "f32")

UNMEASURED_Q4 = {module: "q8" if module in ("attention", *VISION) else "q4" for module in MODULES}
"""What the type policy makes of q4 for a network that the gate has not measured."""


def shipped_choices(precisions: Sequence[str] = SHIPPED) -> list[Choice]:
    """q8 and q4 in precisions other than EXACT."""
    return [Choice(f"{p} ({precision.upper()})", p, precision=precision) for precision in precisions for p in QUANTISED]


def profile_choices() -> list[Choice]:
    """q8 and q4 in every precision; and float32 in FAST, whose distance from EXACT is that of rounding alone: what any
    change of the last bits does to free reading."""
    return [*(Choice(p, p) for p in QUANTISED), Choice("f32 (FAST)", "f32", precision="fast"), *shipped_choices()]


def compared_choices() -> list[Choice]:
    """f16, and q4 as the type policy has it for an unmeasured network: for comparison."""
    return [Choice("f16", "f16"), assignment("q4, unmeasured rules", UNMEASURED_Q4)]


def module_choices() -> list[Choice]:
    """Each module alone in q8 and in q4, everything else in float32."""
    return [Choice(f"{module} {dtype}", "f32", {module: dtype}) for dtype in QUANTISED for module in MODULES]


def assignment(name: str, modules: Mapping[str, str], precision: str = "exact") -> Choice:
    """A type for every module; what belongs to no module as in q8."""
    return Choice(name, "q8", dict(modules), precision)
