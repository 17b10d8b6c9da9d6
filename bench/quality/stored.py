"""What reports hold of a model, and how they are written."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from uocr.modelfile import ModelFile


def model_facts(path: Path, precision: str) -> dict[str, Any]:
    """`precision` is what was asked for; what is told is what the engine then takes."""
    with ModelFile.open(path) as file:
        return {"name": file.front_end.get("name", path.stem), "quantisation": file.profile,
                "precision": file.precision(precision), "bytes": path.stat().st_size, "model_id": file.model_id.hex()}


def write(path: Path, value: Any) -> None:
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    os.replace(partial, path)
