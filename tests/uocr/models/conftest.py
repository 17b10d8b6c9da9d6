"""A cache of its own for every test, and a hub on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_server import Hub
from hub_use import GOLDEN, NAME, TOKENIZER, WEIGHTS
from uocr import hub


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own, no proxy, no token, short waits, no waiting for the disk."""
    monkeypatch.setenv("UOCR_CACHE", str(tmp_path / "cache"))
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "HF_TOKEN", "SSL_CERT_FILE",
                 "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setattr(hub, "FIRST_WAIT_S", 0.01)
    monkeypatch.setattr(hub, "LONGEST_WAIT_S", 0.05)
    monkeypatch.setattr(hub, "_CHUNK", 1 << 16)
    monkeypatch.setattr("os.fsync", lambda _handle: None)


@pytest.fixture
def server() -> Iterator[Hub]:
    """A hub with the reference checkpoint and a tokenizer, well-behaved until told otherwise."""
    files = {path.name: path.read_bytes() for path in GOLDEN.iterdir()} | {
        "tokenizer.json": TOKENIZER, "README.md": b"# words", "notes/extra.safetensors": b"not at the top",
        "pytorch_model.bin": b"pickle"}
    repository = Hub(NAME, files, large={WEIGHTS})
    running = repository.start()
    yield repository
    running.shutdown()
    running.server_close()
