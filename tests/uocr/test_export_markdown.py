"""Markdown: what a reader of the rendered page sees is what stood on the page."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from export_samples import document, many_pages, page, page_picture, rich_page
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from PIL import Image
from uocr.characters import clean
from uocr.document import Block, Box, FinishReason
from uocr.export import export
from uocr.export.content import parts_of
from uocr.export.markdown import part_markdown

RENDERER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def markdown(text: str, label: str = "text") -> str:
    return "\n\n".join(part_markdown(part) for part in parts_of(Block(label, (), text))[0])


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        if tag in ("br", "p", "li", "td"):
            self.text += "\n"

    def handle_data(self, data: str) -> None:
        self.text += data


def rendered(source: str) -> _Text:
    seen = _Text()
    seen.feed(RENDERER.render(source))
    seen.close()
    return seen


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Depth was  \\( d = 3.2 \\)  m", "Depth was $d = 3.2$ m"),
        ("\\[ E = mc^2 \\]", "$$E = mc^2$$"),
        ("f \\coloneqq g \\( a \\coloneqq b \\)", "f := g $a := b$"),
        ("costs $5 or $6", "costs \\$5 or \\$6"),
        ("\\( 5\\$ and $ \\)", "$5\\$ and \\$$"),
        ("*p < 0.05", "\\*p < 0.05"),
        ("2 * 3, snake_case, a_b", "2 * 3, snake_case, a_b"),
        ("one\ntwo", "one  \ntwo"),
        ("- a | b\n- c", "- a | b\n- c"),
        ("1. a\n2. b", "1. a\n2. b"),
        ("7. a\n3. b", "7\\. a  \n3\\. b"),
        ("# not a heading", "\\# not a heading"),
        ("<script>alert(1)</script>", "\\<script>alert(1)\\</script>"),
        ("![pic](http://127.0.0.1/a.png)", "![pic\\](http://127.0.0.1/a.png)"),
        ("a\n---", "a  \n\\---"),
        ("x | y\n--- | ---", "x | y  \n\\--- | ---"),
        ("AT&amp;T", "AT\\&amp;T"),
        ("C:\\*", "C:\\\\\\*"),
    ],
)
def test_text(text, expected):
    assert markdown(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Results", "# Results"), ("### Deep", "### Deep"), ("C #", "# C \\#"), ("a_b *c*", "# a_b \\*c\\*")],
)
def test_headings(text, expected):
    assert markdown(text, "title") == expected


def test_a_table_that_fits_is_a_pipe_table():
    text = (
        "<table><tr><td>Hour</td><td>a|b</td></tr>"
        "<tr><td>1<br>2</td><td>\\( |x| \\)</td></tr><tr><td>z</td></tr></table>"
    )
    assert markdown(text) == ("| Hour | a\\|b |\n| --- | --- |\n| 1<br>2 | $\\vert x\\vert $ |\n| z |  |")


def test_a_pipe_in_a_cell_makes_no_column():
    seen = rendered(
        markdown(
            "<table><tr><td>a|b\\|c</td><td>\\( \\|x\\| \\)</td></tr><tr><td>`|`</td><td>|</td></tr></table>"
        )
    )
    assert seen.tags.count("th") + seen.tags.count("td") == 4
    assert "a|b\\|c" in seen.text
    assert "`|`" in seen.text


def test_a_table_with_spans_is_html():
    text = (
        '<table><tr><td rowspan="2">a</td><td colspan="2">b < c</td></tr>'
        "<tr><td>d</td><td>e</td></tr></table>"
    )
    assert markdown(text) == (
        '<table>\n<tr><td rowspan="2">a</td><td colspan="2">b &lt; c</td></tr>\n'
        "<tr><td>d</td><td>e</td></tr>\n</table>"
    )


TRICKY = st.lists(
    st.one_of(
        st.sampled_from(
            [
                *"*_`~#->+=|[]()!<>&;:.$\\{}\"'1x \n",
                "\n- ",
                "\n1. ",
                "\n# ",
                "\n---",
                "\n===",
                "```",
                "~~~",
                "<b>",
                "</b>",
                "<!-- ",
                "&amp;",
                "&#65;",
                "](",
                "]: ",
                "![",
                "<http://a.b>",
                "**",
                "__",
                "  ",
            ]
        ),
        st.text(max_size=3),
    ),
    max_size=25,
).map("".join)


def visible(text: str) -> str:
    """Text without white space and without the markers that a list shows as bullets and numbers."""
    return "".join(text.split())


@settings(deadline=None)
@given(TRICKY)
def test_rendered_markdown_shows_every_character_of_the_text(text):
    block_parts = [part for part in parts_of(Block("text", (), "x" + text))[0]]
    for part in block_parts:
        source = part_markdown(part)
        seen = rendered(source)
        if hasattr(part, "lines"):
            expected = "".join(run.text for line in part.lines for run in line)
            assert set(seen.tags) <= {"p", "br", "sup", "sub"}, (source, seen.tags)
            assert visible(seen.text) == visible(expected).replace("\0", "\ufffd"), source
        elif hasattr(part, "items"):
            expected = "".join(run.text for item in part.items for run in item.line)
            assert visible(seen.text) == visible(expected), source
            assert seen.tags.count("li") == len(part.items), source


@settings(deadline=None)
@given(TRICKY.map(lambda text: text.replace("\n", " ")))
def test_rendered_headings_and_cells_show_every_character(text):
    if visible(text):
        (heading,) = parts_of(Block("title", (), "x " + text))[0]
        seen = rendered(part_markdown(heading))
        assert seen.tags == ["h1"]
        assert visible(seen.text) == visible("".join(run.text for run in heading.line))
    if "<" not in text and "&" not in text and "\\" not in text:
        (table,) = parts_of(
            Block("table", (), f"<table><tr><td>h</td></tr><tr><td>{text}</td></tr></table>")
        )[0]
        seen = rendered(part_markdown(table))
        assert visible(seen.text) == visible("h" + clean(text)[0])
        assert seen.tags.count("td") == 1


def test_a_whole_page(tmp_path):
    result = export(document(rich_page()), tmp_path / "my log.md", page_images=page_picture)
    assert (
        (tmp_path / "my log.md").read_text(encoding="utf-8")
        == """\
# Harbour log

Depth was $d = 3.2$ m at noon.

- first
- second | half
    - inner
- third

![](my%20log-pictures/0001.jpg)

![](my%20log-pictures/0002.jpg)

Fig. 1

| Hour | Depth \\| m |
| --- | --- |
| 12 | 3.2<br>3.3 |

<table>
<tr><td rowspan="2">a</td><td colspan="2">b</td></tr>
<tr><td>c</td><td>$x^2$</td></tr>
</table>

$$E = mc^2$$

7
"""
    )
    assert result.pictures == tmp_path / "my log-pictures"
    assert sorted(p.name for p in result.pictures.iterdir()) == ["0001.jpg", "0002.jpg"]
    with (
        Image.open(result.pictures / "0001.jpg") as first,
        Image.open(result.pictures / "0002.jpg") as second,
    ):
        assert first.size == (250, 350)
        assert first.getpixel((100, 100))[0] > 240  # the red quarter
        assert second.size == (250, 350)
        assert max(second.getpixel((100, 100))) < 15  # the black one
    assert sorted(p.name for p in tmp_path.iterdir()) == ["my log-pictures", "my log.md"]


def test_pictures_are_numbered_by_what_is_saved_and_clamped(tmp_path):
    blocks = [
        Block("image", (Box(5, 5, 5, 900),), ""),
        Block("image", (Box(800, 900, 100, 1400),), ""),
        Block("image", (), "only text"),
    ]
    done = export(document(page(*blocks)), tmp_path / "a.md", page_images=page_picture)
    assert (tmp_path / "a.md").read_text() == "*[picture]*\n\n![](a-pictures/0001.jpg)\n\nonly text\n"
    with Image.open(tmp_path / "a-pictures" / "0001.jpg") as image:
        assert image.size == (350, 70)
    assert done.notes == ["page 1: a box that covers no pixel was left out"]
    assert [b.picture for b in blocks] == [None, "a-pictures/0001.jpg", None]


@pytest.mark.parametrize(
    ("images", "note"),
    [
        (None, "no picture of it was given"),
        (lambda page: None, "not to be had"),
        (lambda page: 1 / 0, "division by zero"),
    ],
)
def test_a_missing_page_picture_is_told_and_loses_nothing(images, note, tmp_path):
    done = export(document(rich_page()), tmp_path / "a.md", page_images=images)
    assert (tmp_path / "a.md").read_text().count("*[picture]*") == 2
    assert len(done.notes) == 1
    assert note in done.notes[0]


def test_pages_are_parted_and_a_cut_one_says_so(tmp_path):
    pages = [
        page(("text", "end")),
        page(("text", "start"), index=1, finish=FinishReason.LENGTH),
        page(index=2),
        page(("text", "last"), index=3),
    ]
    export(document(*pages), tmp_path / "a.md")
    assert (
        (tmp_path / "a.md").read_text()
        == """\
end

---

<!-- page 2 -->

start

> **Page 2 is cut short: the limit of generated text was reached before its end.**

---

<!-- page 3 -->


---

<!-- page 4 -->

last
"""
    )


def test_two_lists_in_a_row_keep_their_numbers(tmp_path):
    export(document(page(("text", "1. a"), ("text", "1. b"))), tmp_path / "a.md")
    seen = RENDERER.render((tmp_path / "a.md").read_text())
    assert len(re.findall("<ol>", seen)) == 2


@pytest.mark.parametrize(
    ("blocks", "lists"),
    [
        (("- a", "- b", "- c"), 1),
        (("- a\n- b", "- c"), 1),
        (("- a\n- b", "- c\n- d"), 2),
        (("1. a", "2. b\n3. c", "4. d\n5. e"), 1),
        (("1. a\n2. b", "1. c"), 2),
        (("1. a", "2) b"), 2),
        (("- a", "1. b"), 2),
        (("- a", "words", "- b"), 2),
    ],
)
def test_items_in_blocks_of_their_own_are_one_list(tmp_path, blocks, lists):
    """Lists that only stand below each other stay two."""
    for suffix in ("md", "html"):
        export(document(page(*(("text", text) for text in blocks))), tmp_path / f"a.{suffix}")
    written = (tmp_path / "a.md").read_text()
    assert written.count("<!-- -->") == lists - 1 - ("words" in blocks)
    for seen in (RENDERER.render(written), (tmp_path / "a.html").read_text()):
        assert len(re.findall("<[ou]l", seen)) == lists
        assert len(re.findall("<li", seen)) == sum(text.count("\n") + 1 for text in blocks) - ("words" in blocks)


def test_a_table_that_lost_cells_says_so(tmp_path):
    rows = "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>"
    told = "in the table of block 2, 1 of 2 rows has fewer cells than the widest row"
    for suffix in ("md", "txt", "html", "json"):
        done = tmp_path / f"a.{suffix}"
        export(document(page(("text", "words"), ("table", rows))), done)
        assert f"Page 1: {told}" in done.read_text()
        export(document(page(("table", rows.replace("<td>c", "<td>c</td><td>")))), done, overwrite=True)
        assert "fewer cells" not in done.read_text()


def test_pages_from_an_iterator(tmp_path):
    done = export(many_pages(3), tmp_path / "a.md", page_images=page_picture)
    assert done.pages == 3
    assert (tmp_path / "a.md").read_text().count("# Chapter") == 3
