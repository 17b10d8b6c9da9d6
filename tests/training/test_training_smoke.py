"""Two CPU minutes of training on a tiny model: the loss must fall."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install torch==2.13.0")
pytest.importorskip("safetensors", reason="safetensors is not installed")

from training.train import smoke


@pytest.mark.slow
def test_the_loss_falls() -> None:
    first, last = smoke()
    assert last < 0.9 * first
