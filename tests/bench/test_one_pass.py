"""Documents read in one pass: drawn from a number alone, and text on the wrong page counts as wrong."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from PIL import Image
from uocr import UnlimitedOCR

from bench.quality.one_pass import WAYS, Papers, figures, main, papers
from training.smoke import smoke_pack


def test_a_document_has_two_or_three_pages_with_their_texts(tmp_path: Path) -> None:
    pack = smoke_pack(tmp_path / "pack")
    for number, pages in ((0, 2), (1, 3)):
        document = papers(pack, number)
        with Image.open(io.BytesIO(document.tiff)) as picture:
            assert getattr(picture, "n_frames", 1) == pages
        assert len(document.texts) == pages and all(document.texts)
        assert papers(pack, number) == document


class Scripted:
    """Reads every document as the given pages."""

    def __init__(self, *texts: str, marks: int) -> None:
        self.pages = [SimpleNamespace(text=text, raw_text=text, complete=True) for text in texts]
        self.pages[0].raw_text += "<PAGE>" * marks

    def read(self, source: bytes, **settings: Any) -> SimpleNamespace:
        return SimpleNamespace(pages=self.pages)


def figures_of(reader: Scripted, way: str) -> dict[str, Any]:
    return figures(cast(UnlimitedOCR, reader), [Papers(b"", ("one", "two six"))], WAYS[way])


def test_text_counts_on_the_page_it_belongs_to() -> None:
    right = figures_of(Scripted("one", "two six", marks=2), "one pass")
    assert (right["character_error_rate"], right["page_marks_right"], right["pages"]) == (0.0, 1, 2)
    merged = figures_of(Scripted("onetwo six", "", marks=1), "one pass")
    assert (merged["character_error_rate"], merged["page_marks_right"]) == (140.0, 0)
    assert "page_marks_right" not in figures_of(Scripted("one", "two six", marks=0), "page by page")


def test_a_model_that_reads_pages_singly_is_refused(tmp_path: Path) -> None:
    built_in = Path(__file__).parents[2] / "resources" / "models" / "built-in.uocr"
    with UnlimitedOCR(built_in) as ocr:
        if ocr.front_end["multi_page"]:
            pytest.skip("the built-in model reads several pages in one pass; there is none here that does not")
    with pytest.raises(SystemExit, match="was not trained to read several pages"):
        main([str(built_in), "--out", str(tmp_path / "report.json")])
    assert not (tmp_path / "report.json").exists()
