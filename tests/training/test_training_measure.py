"""The steps that `training.measure` times, on the CPU. Needs torch: skipped without it."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch==2.13.0")
pytest.importorskip("safetensors", reason="safetensors is not installed")

from training import measure  # noqa: E402
from training.config import tiny_config  # noqa: E402
from training.recipe import SMOKE  # noqa: E402
from training.targets import Vocabulary  # noqa: E402
from training.train import Log, Trainer  # noqa: E402


@pytest.mark.slow
def test_random_pages_make_a_whole_step() -> None:
    device = torch.device("cpu")
    vocabulary = Vocabulary(Path(measure.__file__).with_name("tokenizer.json"))
    trainer = Trainer(tiny_config(), SMOKE, vocabulary, device, Log(None))
    assert measure.random_steps(trainer, measure.Pages(1, device), 1) > 0
    assert trainer.step_number == 1 and trainer.skipped == 0, "all gradients were finite"


def test_without_a_gpu_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["measure", "step"])
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit, match="no GPU"):
        measure.main()
