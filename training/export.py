"""Checkpoint files: the names of the checkpoint format, BF16, in one file or in parts of bounded size.

`python -m training.export join PART... --config FILE --tokenizer FILE --out DIR` puts the parts of a leg together;
`python -m training.export unpack MODEL.uocr --out DIR` makes a checkpoint to start from out of a model file.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from training.config import Config, default_config
from training.model import Reader

PART_BYTES = 15 << 20
"""Largest part of a split checkpoint, so that parts pass where single files are limited to 16 MiB."""

_STACKED = (".ex_gate", ".ex_up", ".ex_down")


def to_checkpoint(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Rename a training state: stacked experts become `experts.E.{gate,up,down}_proj.weight`."""
    named: dict[str, Tensor] = {}
    for key, value in state.items():
        if key.endswith(_STACKED):
            base, kind = key.rsplit(".ex_", 1)
            for expert in range(value.shape[0]):
                named[f"{base}.experts.{expert}.{kind}_proj.weight"] = value[expert].contiguous()
        else:
            named[key] = value.contiguous()
    return named


def from_checkpoint(net: Reader, named: dict[str, Tensor]) -> None:
    """Fill a model from checkpoint tensors; a missing or superfluous name or a wrong shape is an error."""
    left = set(named)
    with torch.no_grad():
        for key, target in net.state_dict().items():
            if key.endswith(_STACKED):
                base, kind = key.rsplit(".ex_", 1)
                names = [f"{base}.experts.{expert}.{kind}_proj.weight" for expert in range(target.shape[0])]
            else:
                names = [key]
            absent = [name for name in names if name not in named]
            if absent:
                raise SystemExit(f"checkpoint lacks {absent[0]}; it is not a checkpoint of this shape")
            value = torch.stack([named[n] for n in names]) if key.endswith(_STACKED) else named[key]
            if value.shape != target.shape:
                raise SystemExit(
                    f"{key}: checkpoint has shape {list(value.shape)}, config.json says {list(target.shape)}"
                )
            target.copy_(value)
            left.difference_update(names)
    if left:
        raise SystemExit(f"checkpoint holds {len(left)} tensors the model does not have, first: {min(left)}")


def read_weights(folder: Path) -> dict[str, Tensor]:
    """All tensors of the `*.safetensors` files in a folder."""
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise SystemExit(f"no .safetensors file in {folder}")
    named: dict[str, Tensor] = {}
    for file in files:
        named.update(load_file(file))
    return named


def split(named: dict[str, Tensor], limit: int = PART_BYTES) -> list[dict[str, Tensor]]:
    """Tensors in order of name, in parts of at most `limit` bytes (a larger single tensor stands alone)."""
    parts: list[dict[str, Tensor]] = [{}]
    size = 0
    for key in sorted(named):
        bytes_ = named[key].numel() * named[key].element_size()
        if parts[-1] and size + bytes_ > limit:
            parts.append({})
            size = 0
        parts[-1][key] = named[key]
        size += bytes_
    return parts


def save(net: Reader, config: Config, folder: Path, limit: int = PART_BYTES) -> None:
    """Write config.json and BF16 parts into a new folder, under a temporary name until complete."""
    state = {key: value.detach().to(torch.bfloat16).cpu() for key, value in net.state_dict().items()}
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for index, part in enumerate(split(to_checkpoint(state), limit)):
        save_file(part, partial / f"model-{index}.safetensors")
    (partial / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    os.replace(partial, folder)


def _refuse_to_overwrite(out: Path) -> None:
    if (out / "model.safetensors").exists():
        raise SystemExit(f"{out}/model.safetensors exists; weights are never overwritten, name another folder")


def _store(named: dict[str, Tensor], config: bytes, tokenizer: bytes, out: Path) -> str:
    """Write a checkpoint folder of one weights file, if it fits its config; the SHA-256 of model.safetensors."""
    for key, value in named.items():
        if not bool(torch.isfinite(value.float()).all()):
            raise SystemExit(f"{key} holds values that are not finite; this checkpoint is unusable")
    from_checkpoint(Reader(json.loads(config)), named)
    out.mkdir(parents=True, exist_ok=True)
    (out / "config.json").write_bytes(config)
    (out / "tokenizer.json").write_bytes(tokenizer)
    partial = out / "model.safetensors.partial"
    save_file(named, partial, metadata={"format": "pt"})
    os.replace(partial, out / "model.safetensors")
    return hashlib.sha256((out / "model.safetensors").read_bytes()).hexdigest()


def join(parts: list[Path], config: Path, tokenizer: Path, out: Path) -> str:
    """One checkpoint folder out of the parts of a leg; answers the SHA-256 of model.safetensors."""
    _refuse_to_overwrite(out)
    named: dict[str, Tensor] = {}
    for part in parts:
        named.update(load_file(part))
    return _store(named, config.read_bytes(), tokenizer.read_bytes(), out)


def mix(first: Path, second: Path, share: float, out: Path) -> str:
    """A BF16 checkpoint folder between two of one shape: `share` of the second's weights, the rest of the first's;
    answers the SHA-256 of model.safetensors."""
    _refuse_to_overwrite(out)
    a, b = read_weights(first), read_weights(second)
    if {key: value.shape for key, value in a.items()} != {key: value.shape for key, value in b.items()}:
        raise SystemExit(f"{first} and {second} hold other tensors; only checkpoints of one shape can be mixed")
    named = {key: ((1 - share) * a[key].float() + share * b[key].float()).bfloat16().contiguous() for key in a}
    return _store(named, (second / "config.json").read_bytes(), (second / "tokenizer.json").read_bytes(), out)


def unpack(model: Path, out: Path, config: Config) -> None:
    """A checkpoint folder (float32) out of a .uocr file of the network that `config` describes. What the file's type
    rounded away stays lost; converted to the same type again, it gives the same numbers."""
    from uocr.convert.tensors import stored_tensors
    from uocr.modelfile import ModelFile

    _refuse_to_overwrite(out)
    named: dict[str, Tensor] = {}
    with ModelFile.open(model) as file:
        for spec in stored_tensors(file.config):
            value = torch.from_numpy(file.tensor(spec.name))
            if spec.channels_last:
                value = value.permute(0, 3, 1, 2)
            parts = value.reshape(len(spec.sources), *spec.source_shape)
            for source, part in zip(spec.sources, parts, strict=True):
                named[source] = part.contiguous()
        tokenizer = file.tokenizer_json
    _store(named, json.dumps(config, indent=1).encode(), tokenizer, out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    joining = commands.add_parser("join", help="one checkpoint out of the parts of a leg")
    joining.add_argument("parts", type=Path, nargs="+")
    joining.add_argument("--config", type=Path, required=True)
    joining.add_argument("--tokenizer", type=Path, required=True)
    unpacking = commands.add_parser("unpack", help="a checkpoint to start from out of the built-in model's file")
    unpacking.add_argument("model", type=Path)
    mixing = commands.add_parser("mix", help="a checkpoint between two of one shape")
    mixing.add_argument("first", type=Path)
    mixing.add_argument("second", type=Path)
    mixing.add_argument("--share", type=float, required=True, help="of the second, 0 to 1")
    for command in (joining, unpacking, mixing):
        command.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    if args.command == "join":
        print("model.safetensors sha256", join(args.parts, args.config, args.tokenizer, args.out))
    elif args.command == "mix":
        print("model.safetensors sha256", mix(args.first, args.second, args.share, args.out))
    else:
        unpack(args.model, args.out, default_config())


if __name__ == "__main__":
    main()
