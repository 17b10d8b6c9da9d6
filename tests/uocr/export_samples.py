"""Scripted readings for the export tests: no engine, every block written down."""

from __future__ import annotations

from collections.abc import Iterator

from PIL import Image, ImageDraw
from uocr.document import Block, Box, Document, FinishReason, Page, Timings, Token, Word

FULL = Box(100, 100, 900, 200)


def page(
    *blocks: tuple[str, str] | Block,
    index: int = 0,
    finish: FinishReason = FinishReason.EOS,
    source: str = "scan.pdf",
    **more: object,
) -> Page:
    """A page of (label, text) blocks, each at the same box unless it is a Block already."""
    made = [b if isinstance(b, Block) else Block(b[0], (FULL,), b[1]) for b in blocks]
    return Page(source, index, 1000, 1400, made, finish_reason=finish, **more)  # type: ignore[arg-type]


def document(*pages: Page) -> Document:
    return Document("scan.pdf", list(pages), "nano", "ab12", {"preset": "base", "max_tokens": 4096})


def rich_page() -> Page:
    """One of everything, and numbers in every field."""
    made = page(
        ("title", "Harbour log"),
        Block(
            "text",
            (FULL,),
            "Depth was  \\( d = 3.2 \\)  m at noon.",
            [Word("Depth", 0, 0.5), Word("was", 6, 0.25)],
            0.75,
            0.875,
        ),
        ("text", "- first\n- second | half\n    - inner\n- third"),
        Block("image", (Box(0, 0, 500, 500), Box(500, 500, 999, 999)), ""),
        ("image_caption", "Fig. 1"),
        (
            "table",
            "<table><tr><td>Hour</td><td>Depth | m</td></tr><tr><td>12</td><td>3.2<br>3.3</td></tr></table>",
        ),
        (
            "table",
            '<table><tr><td rowspan="2">a</td><td colspan="2">b</td></tr>'
            "<tr><td>c</td><td>\\( x^2 \\)</td></tr></table>",
        ),
        ("formula", "\\[ E = mc^2 \\]"),
        ("page_number", "7"),
        raw_text="<PAGE>raw",
        problems=["a box is odd"],
        tokens=[Token(5, -0.125), Token(7, -2.5, True), Token(9, 0.0)],
        timings=Timings(1.5, 0.25, 2.0, 300, 273, 50),
        memory_estimate={"kv_cache": 1024},
        memory_peak={"kv_cache": 1000},
        has_text_layer=True,
        readings=2,
        kept_reading=2,
    )
    return made


def page_picture(page: Page) -> Image.Image:
    """A picture of half the page's size whose quarters are red, green, blue and black."""
    image = Image.new("RGB", (500, 700), "black")
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, 249, 349), fill="red")
    draw.rectangle((250, 0, 499, 349), fill="green")
    draw.rectangle((0, 350, 249, 699), fill="blue")
    return image


def many_pages(count: int) -> Iterator[Page]:
    """Pages made one by one, each with about 1,000 characters, a picture and a table."""
    for i in range(count):
        words = " ".join(f"word{i}-{k}" for k in range(60))
        yield page(
            ("title", f"Chapter {i}"),
            ("text", words),
            Block("image", (FULL,), ""),
            ("table", f"<table><tr><td>{i}</td><td>{'x' * 20}</td></tr></table>"),
            index=i,
            tokens=[Token(k, -0.5) for k in range(100)],
        )
