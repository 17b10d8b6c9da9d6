"""A pack small enough to make anywhere: Pillow's built-in font and a few sentences. For smoke runs and
tests only."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from io import BytesIO
from pathlib import Path

from PIL import ImageFont

from training.charset import CHARSET, LANGUAGES
from training.fonts import Face

_SENTENCES = (
    "The stand holds the book, the reader turns the page.",
    "A short line, a long line, and numbers such as 1234 or 56.78.",
    "Il leggio regge il libro aperto e la pagina si legge bene.",
    "Das Pult steht am Fenster, das Licht fällt auf das Buch.",
)


def smoke_pack(folder: Path) -> Path:
    """Write a pack (fonts, texts, tokenizer) with equal splits; answers the folder."""
    (folder / "fonts").mkdir(parents=True)
    (folder / "text").mkdir()
    font = ImageFont.load_default(20)
    if not isinstance(font, ImageFont.FreeTypeFont) or not isinstance(font.path, BytesIO):
        raise SystemExit("this Pillow has no built-in scalable font; install Pillow 10.1 or later with FreeType")
    (folder / "fonts" / "builtin.ttf").write_bytes(font.path.getvalue())
    face = asdict(Face("builtin.ttf", "builtin", "".join(char for char in CHARSET if not char.isascii())))
    listing = {"characters": CHARSET, "train": [face], "test": [face]}
    (folder / "fonts" / "fonts.json").write_text(json.dumps(listing), encoding="utf-8")
    for split in ("train", "test", "prose", "added"):
        for language in LANGUAGES:
            (folder / "text" / f"{split}.{language}.txt").write_text("\n".join(_SENTENCES), encoding="utf-8")
        (folder / "text" / f"words.{split}.txt").write_text("stand book page line number light", encoding="utf-8")
    shutil.copyfile(Path(__file__).with_name("tokenizer.json"), folder / "tokenizer.json")
    return folder
