"""Error rates of the built-in model on a small fixed set, as bounds: two crops of a real PDF and the samples.

Bounds leave room for another engine build or retrained weights; docs/quality.md has the figures of larger sets.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image
from uocr import UnlimitedOCR
from uocr.score import character_error_rate, word_error_rate

from tests.conftest import GOLDEN, SAMPLES


@pytest.mark.parametrize(("path", "characters", "words"), [
    (GOLDEN / "built-in" / "r1.png", 0.012, 0.08),  # one letter of 88
    (GOLDEN / "built-in" / "r3.png", 0.03, 0.08),
    (SAMPLES / "scan.jpg", 0.005, 0.02),
    (SAMPLES / "screenshot.png", 0.005, 0.03),
], ids=lambda value: value.name if isinstance(value, Path) else None)
def test_error_rates_stay_within_their_bounds(ocr: UnlimitedOCR, path: Path, characters: float, words: float) -> None:
    page = ocr.read(path).pages[0]
    truth = path.with_suffix(".txt").read_text("utf-8")
    assert page.complete
    assert character_error_rate(page.text, truth) <= characters
    assert word_error_rate(page.text, truth) <= words


def test_words_read_wrong_are_among_the_least_sure(ocr: UnlimitedOCR, tmp_path: Path) -> None:
    """On the denser crop, made so small that words go wrong, their mean confidence is below that of the right ones."""
    from bench.quality.confidence import judge

    path, small = GOLDEN / "built-in" / "r3.png", tmp_path / "small.png"
    with Image.open(path) as crop:
        page = Image.new("RGB", crop.size, "white")
        page.paste(crop.convert("RGB").resize((crop.width * 4 // 5, crop.height * 4 // 5), Image.Resampling.LANCZOS))
        page.save(small)
    words = [(w.text, w.confidence) for block in ocr.read(small).pages[0].blocks for w in block.words]
    judged = judge(words, path.with_suffix(".txt").read_text("utf-8"))
    assert 3 <= (~judged.right).sum() <= 0.6 * len(words)
    assert judged.confidence[~judged.right].mean() < judged.confidence[judged.right].mean() - 0.1
