"""One HTML file that needs nothing else: styles and pictures inside, no script, no link, no network.

Everything is escaped when it is put together, sanitised again page by page with nh3, and the file's own
content security policy forbids the browser what is left. Formulas stay TeX, in the delimiters that
renderers know.
"""

from __future__ import annotations

import base64
import contextlib
import html
from collections.abc import Sequence
from pathlib import Path

import nh3

from uocr.characters import clean
from uocr.document import Document, Page
from uocr.export.content import Formula, Heading, List, ListItem, Paragraph, Part, Picture, notice_of
from uocr.export.html_markup import line_markup, table_markup
from uocr.export.pictures import PageCrops
from uocr.export.target import open_text
from uocr.export.writer import Job, Writer
from uocr.markup.grid import Table

_FORMULA = '<code class="formula">\\(', "\\)</code>"
_DISPLAY = '<p class="formula"><code>\\[', "\\]</code></p>"

_STYLE = """
:root { color-scheme: light dark; }
body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }
section + section { margin-top: 3rem; padding-top: 2rem; border-top: 1px solid; }
table { border-collapse: collapse; margin: 1rem 0; }
td, th { border: 1px solid; padding: 0.2rem 0.6rem; text-align: start; vertical-align: top; }
img { max-width: 100%; height: auto; }
p.formula { text-align: center; }
p.notice { border-inline-start: 0.3rem solid #c60; padding: 0.3rem 0.8rem; font-weight: bold; }
p.header, p.footer, p.page_number { opacity: 0.7; font-size: 0.9rem; }
"""

_ATTRIBUTES = {
    "*": {"dir", "class"}, "td": {"rowspan", "colspan"}, "th": {"rowspan", "colspan"}, "ol": {"start"},
    "li": {"value"}, "img": {"src", "alt"},
}
_TAGS = {"h1", "h2", "h3", "h4", "h5", "h6", "p", "br", "ul", "ol", "li", "table", "tr", "td", "th", "tbody",
         "img", "code", "sup", "sub", "strong"}


class HtmlWriter(Writer):
    """Streams page by page; pictures are put in as data."""

    def __init__(self, partial: Path, job: Job) -> None:
        super().__init__(partial, job)
        self._file = open_text(partial)

    def page(self, document: Document, page: Page) -> None:
        if not self.count:
            title = html.escape(clean(Path(document.source).name or "Reading")[0])
            self._file.write(
                '<!DOCTYPE html>\n<html>\n<head>\n<meta charset="utf-8">\n'
                '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; '
                'style-src \'unsafe-inline\'">\n'
                '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
                f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n")
        self.count += 1
        crops = self.job.crops(page)
        pieces = [self._picture(part, crops) if isinstance(part, Picture) else part_html(part)
                  for part in self.parts(page)]
        notice = notice_of(page)
        if notice:
            pieces.append(f'<p class="notice">{html.escape(notice)}</p>')
        self._file.write(f'<section aria-label="page {page.index + 1}">\n')
        self._file.writelines(sanitise(piece) + "\n" for piece in pieces)
        self._file.write("</section>\n")

    def _picture(self, picture: Picture, crops: PageCrops) -> str:
        data = crops.cut(picture.box) if self.job.pictures else None
        if data is None:
            return part_html(picture)
        return f'<p><img alt="" src="{_PICTURE_DATA}{base64.b64encode(data).decode()}"></p>'

    def finish(self) -> None:
        if not self.count:
            self._file.write("<!DOCTYPE html>\n<title>Reading</title>\n<body>\n")
        self._file.write("</body>\n" + ("</html>\n" if self.count else ""))
        self._file.close()

    def abandon(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()


_PICTURE_DATA = "data:image/jpeg;base64,"


def sanitise(markup: str) -> str:
    """`markup` with nothing in it that could run, load or link; pictures only as JPEG data."""
    return nh3.clean(
        markup, tags=_TAGS, attributes=_ATTRIBUTES, url_schemes={"data"}, link_rel=None,
        attribute_filter=lambda tag, name, value:
            None if name == "src" and not value.startswith(_PICTURE_DATA) else value)


def part_html(part: Part) -> str:
    """One part as HTML; a picture as a mark that there is one. Its direction is that of its first letter."""
    match part:
        case Heading(level=level, line=line):
            return f'<h{level} dir="auto">{line_markup(line, *_FORMULA)}</h{level}>'
        case Paragraph(lines=lines, role=role):
            role_class = f' class="{html.escape(role)}"' if role != "text" else ""
            text = "<br>".join(line_markup(line, *_FORMULA) for line in lines)
            return f'<p dir="auto"{role_class}>{text}</p>'
        case List(items=items):
            return _list(items)
        case Formula(tex=tex):
            return f"{_DISPLAY[0]}{html.escape(tex)}{_DISPLAY[1]}"
        case Picture():
            return '<p class="picture">[picture]</p>'
        case Table():
            return table_markup(part, *_FORMULA).replace("<table>", '<table dir="auto">', 1)


def _list(items: Sequence[ListItem]) -> str:
    """Items of one level and the deeper ones between them, as lists inside lists with their own numbers."""
    pieces: list[str] = []
    open_tags: list[str] = []

    def close_to(depth: int) -> None:
        while len(open_tags) > depth:
            pieces.append(f"</li></{open_tags.pop()}>")

    for item in items:
        tag = "ul" if item.number is None else "ol"
        close_to(item.level + 1)
        if len(open_tags) == item.level + 1 and open_tags[-1] != tag:
            close_to(item.level)
        if len(open_tags) == item.level + 1:
            pieces.append("</li>")
        else:
            open_tags.append(tag)
            pieces.append(f'<{tag} dir="auto">')
        value = "" if item.number is None else f' value="{item.number}"'
        pieces.append(f"<li{value}>{line_markup(item.line, *_FORMULA)}")
    close_to(0)
    return "".join(pieces)
