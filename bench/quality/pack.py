"""The fonts and texts that generated pages are drawn from: a pack given, or one made at first use in the cache."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from training import added_texts, collect, fonts, texts


def ensure_pack(given: Path | None, cache: Path) -> Path:
    """`given`, or the cached pack; without either it is collected from Debian packages (minutes, needs apt-get)."""
    pack = given or cache / "pack"
    if (pack / "fonts" / "fonts.json").exists() and (given or (pack / "text" / "words.added.txt").exists()):
        return pack
    if given is not None:
        raise SystemExit(f"{given} is no pack of fonts and texts: it has no fonts/fonts.json. "
                         "Make one with python -m training.collect, or leave --pack out.")
    root = collect.download(cache / "packages")
    partial = pack.with_name("pack.partial")
    shutil.rmtree(partial, ignore_errors=True)
    fonts.build(root / "usr" / "share", partial, os.cpu_count() or 1)
    texts.build(root, partial)
    added_texts.build(collect.download(cache / "packages" / "added", added_texts.PACKAGES), partial)
    shutil.copyfile(Path(collect.__file__).with_name("tokenizer.json"), partial / "tokenizer.json")
    shutil.rmtree(pack, ignore_errors=True)  # one made before there were texts in the added languages
    os.replace(partial, pack)
    return pack
