"""Error rates of the built-in model on a small fixed set, as bounds: two crops of a real PDF and the samples.

Bounds leave room for another engine build or retrained weights; docs/quality.md has the figures of larger sets.
"""

from __future__ import annotations

from pathlib import Path

import pymupdf
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


@pytest.mark.parametrize(("width", "height"), [(595, 842), (842, 595), (612, 792), (612, 1008), (960, 540)],
                         ids=["A4", "A4 lying", "US letter", "US legal", "slide"])
def test_pdf_pages_of_common_sizes_are_read_as_they_are_drawn_by_default(ocr: UnlimitedOCR, tmp_path: Path, width: int,
                                                                         height: int) -> None:
    """At 300 dpi, which would be up to 28 crops in a grid that the model has never seen."""
    text = ("The museum opens its doors at nine on weekdays and at ten on Sundays. Visitors who arrive before the hour "
            "may wait in the small courtyard, where a fountain and two benches were placed last spring.")
    with pymupdf.open() as document:
        page = document.new_page(width=width, height=height)
        page.insert_textbox(pymupdf.Rect(70, 80, width - 70, height - 80), text, fontname="tiro", fontsize=13)
        document.save(tmp_path / "page.pdf")
    found = ocr.read(tmp_path / "page.pdf").pages[0]
    assert found.complete
    assert character_error_rate(found.text, text) <= 0.02


def test_words_read_wrong_are_among_the_least_sure(ocr: UnlimitedOCR, tmp_path: Path) -> None:
    """On the denser crop, made so small that words go wrong, their mean confidence is below that of the right ones."""
    from bench.quality.confidence import judge

    path, small = GOLDEN / "built-in" / "r3.png", tmp_path / "small.png"
    with Image.open(path) as crop:
        page = Image.new("RGB", crop.size, "white")
        page.paste(crop.convert("RGB").resize((crop.width * 3 // 4, crop.height * 3 // 4), Image.Resampling.LANCZOS))
        page.save(small)
    words = [(w.text, w.confidence) for block in ocr.read(small).pages[0].blocks for w in block.words]
    judged = judge(words, path.with_suffix(".txt").read_text("utf-8"))
    assert 3 <= (~judged.right).sum() <= 0.6 * len(words)
    assert judged.confidence[~judged.right].mean() < judged.confidence[judged.right].mean() - 0.1
