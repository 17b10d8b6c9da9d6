"""The model's output grammar: tags into blocks with boxes, while the text still streams.

Reads the grammar of Unlimited-OCR's output, `<|det|>label [x1, y1, x2, y2]<|/det|>`, and that of its
ancestor DeepSeek-OCR, `<|ref|>label<|/ref|><|det|>[[...], ...]<|/det|>`, each followed by the block's
content; pages are introduced by `<PAGE>`. Text is only searched, never evaluated; what is not understood is
kept and reported.
"""

from uocr.markup.events import BlockFinished, BlockStarted, BlockText, Event, PageMark, Problem
from uocr.markup.parser import MarkupParser, Parsed, ParsedPage, parse
from uocr.markup.upstream import UpstreamMatches, upstream_matches

__all__ = [
    "BlockFinished",
    "BlockStarted",
    "BlockText",
    "Event",
    "MarkupParser",
    "PageMark",
    "Parsed",
    "ParsedPage",
    "Problem",
    "UpstreamMatches",
    "parse",
    "upstream_matches",
]
