"""The programs that are compared with: what is made of their output."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont
from uocr.modelfile import ModelFile

from bench.quality import readers
from bench.quality.pages import Page, TruthBlock
from tests.conftest import BUILT_IN, models_say


def corners(left: int, top: int, right: int, bottom: int) -> list[list[int]]:
    return [[left, top], [right, top], [right, bottom], [left, bottom]]


def test_lines_are_put_in_order_row_by_row() -> None:
    lines = np.array([corners(300, 12, 500, 32), corners(10, 10, 200, 30), corners(10, 40, 500, 60)])
    assert readers.order_of_lines(lines) == [1, 0, 2]


@pytest.mark.parametrize("pitch", [14, 20, 90])
def test_close_lines_of_small_print_are_rows_of_their_own(pitch: int) -> None:
    height = round(0.8 * pitch)
    # From the bottom up, and every second line further to the left than the one above it.
    lines = np.array([corners(10 * (n % 2), pitch * n, 400, pitch * n + height) for n in reversed(range(30))])
    assert readers.order_of_lines(lines) == list(reversed(range(30)))


def test_no_line_is_no_order() -> None:
    assert readers.order_of_lines(np.zeros((0, 4, 2))) == []


def test_an_unknown_peer_is_refused_with_the_names_of_the_known() -> None:
    with pytest.raises(readers.MissingReader, match="'other' is unknown; there are tesseract, rapidocr"):
        readers.peer("other")


def test_tesseract_without_a_language_of_the_pages_is_refused_before_it_reads(tmp_path: Path,
                                                                              monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "tesseract"
    program.write_text("#!/bin/sh\nprintf 'List of available languages (2):\\neng\\nosd\\n'\n", "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(readers.MissingReader, match=r"tesseract-ocr-ita tesseract-ocr-deu .* tesseract-ocr-hun"):
        readers.peer("tesseract")


def test_a_models_readings_are_known_by_its_weights_its_precision_and_its_front_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    changes = dict[str, object]()
    models_say(monkeypatch, changes)

    def identity(precision: str = "fast") -> str:
        reader = readers.model(BUILT_IN, precision)
        reader.close()
        return reader.identity

    first = identity()
    assert identity() == first and identity("exact") != first
    with ModelFile.open(BUILT_IN) as file:
        assert first.startswith(f"{file.model_id.hex()} fast ")
    changes["read_again_below"] = 0.123
    assert identity() != first


@pytest.mark.parametrize("name", readers.PEERS)
def test_a_peer_reads_a_page_of_print(name: str, tmp_path: Path) -> None:
    picture = Image.new("RGB", (900, 300), "white")
    draw = ImageDraw.Draw(picture)
    for n, text in enumerate(("First line of a page", "Second line follows")):
        draw.text((40, 40 + 90 * n), text, "black", ImageFont.load_default(48))
    picture.save(tmp_path / "page.png")
    page = Page("s", 0, tmp_path / "page.png", (TruthBlock("text", "", None),), "base")
    try:
        reader = readers.peer(name, threads=1)
    except readers.MissingReader as error:
        pytest.skip(str(error))
    reading = reader.start(page).result()
    reader.close()
    assert reading.text.split() == ["First", "line", "of", "a", "page", "Second", "line", "follows"]
    assert reading.cpu_seconds > 0 and reading.peak_bytes > 1 << 20 and not reading.error
    assert name in reader.identity and any(character.isdigit() for character in reader.identity)
