"""From settings to an engine."""

from __future__ import annotations

from leggio.reading.task import Engine, EngineFactory
from leggio.settings.store import SettingsStore


def engine_factory(store: SettingsStore) -> EngineFactory:
    """Opens the engine that the settings name, on the thread that calls it."""
    chosen = store.window

    def make() -> Engine:
        # Native code is loaded on the engine's thread, after the window shows.
        from uocr.api import UnlimitedOCR

        model = None if chosen.model in ("", "built-in") else chosen.model
        return UnlimitedOCR(
            model,
            quant=chosen.quant or None,
            memory_budget=chosen.memory_budget or "0",
            threads=chosen.threads,
            precision=chosen.precision,
        )

    return make
