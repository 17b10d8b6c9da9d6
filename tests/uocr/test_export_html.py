"""HTML: everything inside the file, nothing that runs, loads or links."""

from __future__ import annotations

import base64
import io
import re
from html.parser import HTMLParser

import pytest
from export_samples import document, page, page_picture, rich_page
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from uocr.document import Block, FinishReason
from uocr.errors import InvalidRequest
from uocr.export import export, to_text
from uocr.export.content import parts_of
from uocr.export.html_file import part_html, sanitise


def html_of(text: str, label: str = "text") -> str:
    return "".join(part_html(part) for part in parts_of(Block(label, (), text))[0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < b & c", '<p dir="auto">a &lt; b &amp; c</p>'),
        ("one\ntwo", '<p dir="auto">one<br>two</p>'),
        ("is \\( x < y \\)", '<p dir="auto">is <code class="formula">\\(x &lt; y\\)</code></p>'),
        ("\\[ x \\]", '<p class="formula"><code>\\[x\\]</code></p>'),
        ("x<sup>2</sup>", '<p dir="auto">x<sup>2</sup></p>'),
        (
            "- a\n  - b\n- c",
            '<ul dir="auto"><li>a<ul dir="auto"><li>b</li></ul></li><li>c</li></ul>',
        ),
        (
            "3. a\n- b\n4. c",
            '<ol dir="auto"><li value="3">a</li></ol><ul dir="auto"><li>b</li></ul>'
            '<ol dir="auto"><li value="4">c</li></ol>',
        ),
        (
            '<table><tr><td rowspan="2">a</td><th>b</th></tr><tr><td>c<br>d</td></tr></table>',
            '<table dir="auto">\n<tr><td rowspan="2">a</td><th>b</th></tr>\n'
            "<tr><td>c<br>d</td></tr>\n</table>",
        ),
    ],
)
def test_parts(text, expected):
    assert html_of(text) == expected


def test_a_heading_keeps_its_level():
    assert html_of("## Results", "title") == '<h2 dir="auto">Results</h2>'


def test_a_caption_has_its_class():
    assert html_of("Fig. 1", "image_caption") == '<p dir="auto" class="image_caption">Fig. 1</p>'


HOSTILE = [
    "<script>alert(1)</script>",
    '<img src="http://127.0.0.1/x.png" onerror="alert(1)">',
    "<a href='javascript:alert(1)'>x</a>",
    "<iframe src=//x></iframe>",
    "<style>@import 'http://x'</style>",
    "<svg onload=alert(1)>",
    "<table><tr><td onclick=alert(1)><script>x</script></td></tr></table>",
    '"><b>',
    "<!--",
    "</section></body>",
    "<base href=http://x>",
    "<sup><script>x</script></sup>",
    "\\( <img src=x> \\)",
    "<br onload=x>",
    "<td>",
]


class _Seen(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str]] = set()
        self.text = ""
        self.urls: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {(tag, name) for name, _ in attrs}
        self.urls += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.text += data


def seen(markup: str) -> _Seen:
    parser = _Seen()
    parser.feed(markup)
    parser.close()
    return parser


@settings(deadline=None)
@given(st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=5)), max_size=8).map("".join))
def test_hostile_text_is_only_text(text):
    content = seen(sanitise(html_of("x" + text)))
    assert content.tags <= {"p", "br", "code", "sup", "sub", "table", "tbody", "tr", "td", "ul", "ol", "li"}
    assert {name for _, name in content.attributes} <= {"dir", "class", "value", "start"}
    assert content.urls == []


def test_hostile_labels_and_names_are_escaped():
    text = to_text(
        document(page((('x" onclick="alert(1)'), "a"), source="<script>"), page(source="<b>")), "html"
    )
    assert "onclick" not in re.sub(r'class="[^"]*"', "", text)
    assert "<script" not in text


def test_the_sanitiser_alone_would_stop_what_escaping_lets_through():
    assert sanitise('<p onclick="x">a<script>b</script><img src="http://x"><a href="y">c</a></p>') == (
        "<p>a<img>c</p>"
    )


def test_a_whole_page(tmp_path):
    export(document(rich_page()), tmp_path / "a.html", page_images=page_picture)
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    content = seen(text)
    assert len(content.urls) == 2
    assert all(url.startswith("data:image/jpeg;base64,") for url in content.urls)
    with Image.open(io.BytesIO(base64.b64decode(content.urls[0].partition(",")[2]))) as image:
        assert image.size == (250, 350)
    assert "default-src 'none'" in text
    assert not re.search(r"https?:|//", re.sub(r'src="data:[^"]*"', "", text))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.html"]
    for piece in ("Harbour log", "second | half", "3.3", "E = mc^2", "Fig. 1"):
        assert piece in content.text


def test_a_page_cut_short_says_so():
    text = to_text(document(page(("text", "a"), finish=FinishReason.LOOP)), "html")
    assert '<p class="notice">Page 1 is cut short: the model began to repeat itself.</p>' in text


def test_right_to_left_text_stays_in_logical_order():
    assert "שלום עולם 12" in to_text(document(page(("text", "שלום עולם 12"))), "html")
    assert to_text(document(page(("text", "שלום עולם 12"))), "html").count('dir="auto"') == 1


def test_no_pages_make_an_empty_document():
    assert "<body>" in to_text([], "html")


def test_text_formats_only():
    with pytest.raises(InvalidRequest, match="docx is no text"):
        to_text(document(), "docx")
    assert to_text(document(page(("text", "a")), page(("text", "b"))), "txt") == "a\n\n\f\nb\n"
