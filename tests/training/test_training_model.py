"""The network and the trainer's safety. Needs torch: skipped without it."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch==2.13.0")
pytest.importorskip("safetensors", reason="safetensors is not installed")

import torch.nn.functional as F  # noqa: E402

from training import export, train  # noqa: E402
from training.config import MAX_POSITIONS, default_config, load_config, tiny_config  # noqa: E402
from training.loader import Batch  # noqa: E402
from training.model import Reader  # noqa: E402
from training.muon import Muon, orthogonalised  # noqa: E402
from training.objective import AuxiliaryHeads, Objective, Weights, token_targets  # noqa: E402
from training.resample import cubic_matrix, linear_matrix, resize_grid  # noqa: E402
from training.smoke import smoke_pack  # noqa: E402
from training.targets import Vocabulary  # noqa: E402
from training.vision import relative_attention, resize_matrices  # noqa: E402


@pytest.fixture(scope="module")
def net() -> Reader:
    torch.manual_seed(1)
    return Reader(tiny_config()).eval()


def test_position_tables_are_resized_as_torch_does() -> None:
    table = torch.randn(64, 64, 3)
    wanted = F.interpolate(table.permute(2, 0, 1)[None], (40, 40), mode="bicubic", antialias=True)[0].permute(1, 2, 0)
    assert torch.allclose(resize_grid(table, 40, cubic_matrix(40, 64)), wanted, atol=2e-5)
    rows = torch.randn(127, 3)
    wanted = F.interpolate(rows.T[None], 79, mode="linear")[0].T
    assert torch.allclose(linear_matrix(79, 127) @ rows, wanted, atol=5e-5)


def test_relative_attention_equals_attention_with_the_bias_written_out() -> None:
    torch.manual_seed(2)
    rows, cols, depth = 5, 4, 8
    q, k, v = torch.randn(3, 2, 2, rows * cols, depth).unbind(0)
    rel_h, rel_w = torch.randn(2 * rows - 1, depth), torch.randn(2 * cols - 1, depth)
    bias = torch.zeros(2, 2, rows * cols, rows * cols)
    for a in range(rows * cols):
        for b in range(rows * cols):
            turn = rel_h[a // cols - b // cols + rows - 1] + rel_w[a % cols - b % cols + cols - 1]
            bias[:, :, a, b] = (q[:, :, a] * turn).sum(-1)
    wanted = (q @ k.mT / math.sqrt(depth) + bias).softmax(-1) @ v
    assert torch.allclose(relative_attention(q, k, v, rel_h, rel_w, rows, cols), wanted, atol=1e-5)


def test_visual_rows_are_local_mosaic_then_global_then_separator(net: Reader) -> None:
    width = net.config["hidden_size"]
    view = torch.full((1, 16, 16, width), -1.0)
    crop = torch.arange(6.0).view(1, 3, 2, 1, 1, 1).expand(1, 3, 2, 10, 10, width)  # crop number, rows of two
    rows = net.arrange(view, crop)[0]
    assert len(rows) == 30 * 21 + 272 + 1 == 903
    assert rows[:10, 0].eq(0).all() and rows[10:20, 0].eq(1).all(), "first mosaic row: crop 0, then crop 1"
    assert torch.equal(rows[20], net.model.image_newline)
    assert rows[10 * 21, 0] == 2, "row 10 of the mosaic belongs to the second row of crops"
    assert rows[630:646, 0].eq(-1).all() and torch.equal(rows[646], net.model.image_newline)
    assert torch.equal(rows[-1], net.model.view_seperator)


def test_reading_token_by_token_equals_one_pass_with_the_window_mask(net: Reader) -> None:
    torch.manual_seed(3)
    visual = torch.randn(1, 20, net.config["hidden_size"])
    ids = net.generate(visual, [5, 6], 150)[0]
    assert len(ids) == 150 or ids[-1] == 1
    embed = net.model.embed_tokens
    parts = [
        embed(torch.tensor([[0]])),
        visual,
        embed(torch.tensor([[5, 6]])),
        embed(torch.tensor([ids[:-1]])),
    ]
    with torch.no_grad():
        hidden, *_ = net.decode(torch.cat(parts, 1), 23)
        again = net.lm_head(hidden[0, 22:]).argmax(-1).tolist()
    assert again == ids


def test_exported_weights_come_back_equal(net: Reader, tmp_path: Path) -> None:
    export.save(net, net.config, tmp_path / "out", limit=200_000)
    assert len(list((tmp_path / "out").glob("model-*.safetensors"))) > 1
    named = export.read_weights(tmp_path / "out")
    assert "model.layers.1.mlp.experts.3.down_proj.weight" in named
    assert {value.dtype for value in named.values()} == {torch.bfloat16}
    again = Reader(load_config(tmp_path / "out"))
    export.from_checkpoint(again, {key: value.float() for key, value in named.items()})
    for key, value in net.state_dict().items():
        assert torch.equal(again.state_dict()[key], value.bfloat16().float()), key
    assert json.loads((tmp_path / "out" / "config.json").read_text())["max_position_embeddings"] >= MAX_POSITIONS


def test_a_checkpoint_of_another_shape_is_refused(net: Reader) -> None:
    named = export.to_checkpoint(net.state_dict())
    with pytest.raises(SystemExit, match="checkpoint lacks"):
        export.from_checkpoint(net, {k: v for k, v in named.items() if "lm_head" not in k})
    with pytest.raises(SystemExit, match="tensors the model does not have"):
        export.from_checkpoint(net, {**named, "model.extra": torch.zeros(1)})


def test_an_orthogonalised_update_has_singular_values_near_one() -> None:
    torch.manual_seed(4)
    values = torch.linalg.svdvals(orthogonalised(torch.randn(1, 24, 48))[0])
    assert values.min() > 0.6 and values.max() < 1.3


def test_every_matrix_in_a_parameter_is_moved_for_itself() -> None:
    torch.manual_seed(4)
    shapes = {
        "attn.qkv.weight": (72, 48),
        "experts": (2, 24, 48),
        "neck.weight": (24, 12, 2, 2),
        "proj.weight": (24, 48),
    }
    named = {name: torch.nn.Parameter(torch.zeros(shape)) for name, shape in shapes.items()}
    for parameter in named.values():
        scales = torch.tensor([1.0, 100.0]).repeat_interleave(parameter.shape[0] // 2)
        parameter.grad = torch.randn(parameter.shape) * scales.view(-1, *[1] * (parameter.dim() - 1))
    muon = Muon(named.items())
    muon.step(rate=0.1, decay=0.0, momentum=0.9)
    assert {shape: len(momentum) for shape, momentum in muon.momenta.items()} == {(24, 48): 7}
    for name, parameter in named.items():
        moved = -parameter.detach() / (0.1 * 0.2 * 48**0.5)
        for matrix, gradient in zip(moved.reshape(-1, 24, 48), parameter.grad.reshape(-1, 24, 48), strict=True):
            assert torch.allclose(matrix, orthogonalised(gradient[None])[0], atol=1e-4), name


def test_matrices_that_resize_tables_are_copied_to_a_device_once() -> None:
    device = torch.device("meta")
    first, second = resize_matrices(640, 64, 16, device), resize_matrices(640, 64, 16, device)
    assert [a is b and a is not None and a.device == device for a, b in zip(first, second, strict=True)] == [True] * 3
    assert resize_matrices(1024, 64, 16, device) == (None, None, None)


def test_a_step_has_no_gradient_of_the_step_before() -> None:
    vocabulary = Vocabulary(Path(train.__file__).with_name("tokenizer.json"))
    trainer = train.Trainer(tiny_config(), train.SMOKE, vocabulary, torch.device("cpu"), train.Log(None))
    drift = [torch.randn_like(parameter) for parameter in trainer.parameters]

    def objective(batch: Any) -> tuple[Any, dict[str, Any]]:
        loss: Any = sum((p * d).sum() for p, d in zip(trainer.parameters, drift, strict=True))
        return loss, {"lm": loss.detach()}

    trainer.objective = objective  # type: ignore[assignment]
    loader: Any = SimpleNamespace(next=lambda: None)
    first, second = (trainer.step(loader, 0.5)["norm"].item() for _ in range(2))
    assert first == pytest.approx(sum(d.square().sum().item() for d in drift) ** 0.5, rel=1e-4)
    assert second == pytest.approx(first, rel=1e-5)
    assert all(parameter.grad is None for parameter in trainer.parameters)


def test_weights_are_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "final").mkdir()
    with pytest.raises(SystemExit, match="never overwritten"):
        train._check_out(tmp_path, resume=False)
    (tmp_path / "final").rmdir()
    (tmp_path / "checkpoint-0000005").mkdir()
    (tmp_path / "checkpoint-0000005.pt").touch()
    with pytest.raises(SystemExit, match="--resume"):
        train._check_out(tmp_path, resume=False)
    assert train._check_out(tmp_path, resume=True) == tmp_path / "checkpoint-0000005.pt"


def test_a_checkpoint_without_its_state_is_not_resumed(tmp_path: Path) -> None:
    (tmp_path / "checkpoint-0000005").mkdir()
    with pytest.raises(SystemExit, match="nothing to resume"):
        train._check_out(tmp_path, resume=True)


def test_the_built_in_model_can_be_unpacked_and_converts_to_the_same_numbers(tmp_path: Path) -> None:
    from uocr.convert import convert_checkpoint
    from uocr.modelfile import ModelFile

    built_in = Path(__file__).parents[2] / "resources" / "models" / "built-in.uocr"
    export.unpack(built_in, tmp_path / "unpacked", default_config())
    with pytest.raises(SystemExit, match="never overwritten"):
        export.unpack(built_in, tmp_path / "unpacked", default_config())
    convert_checkpoint(tmp_path / "unpacked", tmp_path / "again.uocr", "q8")
    with ModelFile.open(built_in) as old, ModelFile.open(tmp_path / "again.uocr") as new:
        assert new.config == old.config
        for name, info in old.tensors.items():
            assert new.tensors[name].sha256 == info.sha256, name


def test_a_mixture_lies_between_two_checkpoints_of_one_shape(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 2)):
        torch.manual_seed(seed)
        export.save(Reader(tiny_config()), tiny_config(), tmp_path / name)
        (tmp_path / name / "tokenizer.json").write_text("{}", "utf-8")
    found = export.mix(tmp_path / "a", tmp_path / "b", 0.75, tmp_path / "mixed")
    mixed = tmp_path / "mixed" / "model.safetensors"
    assert found == hashlib.sha256(mixed.read_bytes()).hexdigest()
    a, b, between = (export.read_weights(tmp_path / name) for name in ("a", "b", "mixed"))
    for key, value in between.items():
        assert torch.equal(value, (0.25 * a[key].float() + 0.75 * b[key].float()).bfloat16()), key
    with pytest.raises(SystemExit, match="never overwritten"):
        export.mix(tmp_path / "a", tmp_path / "b", 0.5, tmp_path / "mixed")
    export.save(Reader(default_config()), default_config(), tmp_path / "large")
    with pytest.raises(SystemExit, match="checkpoints of one shape"):
        export.mix(tmp_path / "a", tmp_path / "large", 0.5, tmp_path / "other")


def _batch(seed: int, pages: int, tokens: int, grid: tuple[int, int] | None) -> Batch:
    random = torch.Generator().manual_seed(seed)
    tiles = grid[0] * grid[1] if grid else 0

    def draw(most: int, *shape: int) -> torch.Tensor:
        return torch.randint(0, most, shape, generator=random, dtype=torch.uint8)

    return Batch(
        view=draw(255, pages, 1024, 1024),
        rect=torch.tensor([[100, 0, 824, 1024]] * pages),
        tiles=draw(255, pages, tiles, 640, 640) if grid else None,
        ids=torch.randint(3, 2000, (pages, tokens), generator=random).short(),
        places=draw(64, pages, tokens, 2),
        labels=draw(100, pages, 64, 64, 3) + 1,
        tile_labels=draw(100, pages, tiles, 40, 40, 3) + 1 if grid else None,
        length=torch.arange(tokens - pages + 1, tokens + 1),
        level=torch.arange(pages),
        grid=grid,
    )


def test_chunks_and_what_fills_them_up_change_no_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(5)
    config = tiny_config()
    network = Reader(config)
    heads = AuxiliaryHeads(config["hidden_size"], 64)
    vocabulary = Vocabulary(Path(train.__file__).with_name("tokenizer.json"))
    found = []
    for chunk, filled in ((1, False), (2, False), (3, True)):
        monkeypatch.setattr(Objective, "VIEW_CHUNK", chunk)
        objective = Objective(network, heads, vocabulary, Weights(noise=0.0, stumbles=0.0))
        objective.filled = filled
        torch.manual_seed(6)  # the looks
        loss, parts = objective(_batch(1, 2, 64, None))
        found.append((float(loss.detach()), float(parts["characters"])))
    assert found[1] == pytest.approx(found[0], rel=1e-5)
    assert found[2] == pytest.approx(found[0], rel=1e-5)


def test_a_token_counts_more_where_reading_goes_on_in_another_row() -> None:
    batch = _batch(1, 1, 6, None)
    batch.length = torch.tensor([5])
    batch.places = torch.tensor([[[0, 255], [3, 7], [4, 7], [2, 8], [2, 255], [2, 9]]], dtype=torch.uint8)
    assert token_targets(batch).weight.tolist() == [[1.0, 2.0, 1.0, 2.0, 1.0, 0.0]], "grammar and padding apart"


def test_a_gradient_that_is_not_finite_becomes_zero_and_others_are_clipped() -> None:
    trainer = train.Trainer.__new__(train.Trainer)
    weight = torch.nn.Parameter(torch.zeros(2))
    trainer.parameters = [weight]
    weight.grad = torch.tensor([3.0, 4.0])
    assert trainer._shared_gradient().item() == 5.0
    assert torch.allclose(weight.grad, torch.tensor([0.6, 0.8]))
    weight.grad = torch.tensor([1.0, float("inf")])
    assert not bool(trainer._shared_gradient().isfinite())
    assert weight.grad.tolist() == [0.0, 0.0]


@pytest.mark.slow
def test_a_compiled_step_has_the_gradients_of_the_step_as_written() -> None:
    """On the CPU, in float32: decoder and losses, at two lengths and numbers of pages. The tower stays as written."""
    torch.manual_seed(5)
    config = tiny_config()
    network = Reader(config)
    heads = AuxiliaryHeads(config["hidden_size"], 64)
    objective = Objective(
        network, heads, Vocabulary(Path(train.__file__).with_name("tokenizer.json")), Weights(noise=0.0, stumbles=0.0)
    )
    parameters = [*network.parameters(), *heads.parameters()]
    batches = [_batch(1, 2, 64, None), _batch(2, 1, 128, None)]

    def gradients() -> list[list[torch.Tensor]]:
        found = []
        for batch in batches:
            torch.manual_seed(6)
            loss, _ = objective(batch)
            loss.backward()
            found.append([p.grad.clone() for p in parameters if p.grad is not None])
            for parameter in parameters:
                parameter.grad = None
        return found

    plain = gradients()
    objective._tower = network.tower
    objective.compile()
    objective.filled = False  # blank views through the tower as written take long on a CPU
    for before, after in zip(plain, gradients(), strict=True):
        assert len(before) == len(after)
        for a, b in zip(before, after, strict=True):
            assert float((a - b).abs().max()) <= 1e-4 * float(a.abs().max()) + 1e-7


@pytest.mark.slow
def test_a_leg_goes_on_when_compiled_code_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("compiled code")

    begun = train.Trainer.__init__

    def begin(self: train.Trainer, *args: Any) -> None:
        begun(self, *args)
        self.whole_compiled, self.objective.tokens = True, fail

    monkeypatch.setattr(train.Trainer, "__init__", begin)
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    losses = train.train(
        replace(train.SMOKE, steps=2), smoke_pack(tmp_path / "pack"), tmp_path / "leg", None, tiny_config(), False, 1
    )
    assert len(losses) == 2
    assert "only the tower stays compiled" in (tmp_path / "leg" / "log.jsonl").read_text()


@pytest.mark.slow
def test_a_killed_leg_goes_on_from_its_last_checkpoint(tmp_path: Path) -> None:
    pack = smoke_pack(tmp_path / "pack")
    recipe = replace(train.SMOKE, seconds=300.0, steps=2, checkpoint_seconds=0.0)
    train.train(recipe, pack, tmp_path / "leg", None, tiny_config(), False, 1)
    (tmp_path / "leg" / "final").rename(tmp_path / "taken")  # as if the end had not been reached
    losses = train.train(replace(recipe, steps=4), pack, tmp_path / "leg", None, tiny_config(), True, 1)
    assert 2 <= len(losses) <= 3, "the rest of the leg, not all of it"
    lines = [json.loads(line) for line in (tmp_path / "leg" / "log.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if line.get("event") == "begin"] == [0, 4 - len(losses)]


@pytest.mark.slow
def test_a_gradient_that_is_not_finite_is_skipped_and_then_ends_the_leg(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack = smoke_pack(tmp_path / "pack")
    monkeypatch.setattr(train, "_MOST_SKIPPED", 2)
    monkeypatch.setattr(train.Trainer, "_shared_gradient", lambda self: torch.tensor(float("nan")))
    recipe = replace(train.SMOKE, seconds=300.0, steps=5)
    with pytest.raises(SystemExit, match="2 steps in a row without a finite gradient"):
        train.train(recipe, pack, tmp_path / "leg", None, tiny_config(), False, 1)
    assert "not finite, step skipped" in (tmp_path / "leg" / "log.jsonl").read_text()
