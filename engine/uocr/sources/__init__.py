"""Inputs: pictures, multi-frame files and PDFs, from disk, network or memory, as upright RGB pages.

    with open_source("scan.pdf", pages="1-3,5,-1") as source:
        for page in source:
            views = make_views(page.image, "base")
"""

from uocr.sources.expand import Input, expand_input, expand_inputs, natural_key
from uocr.sources.opening import STDIN, Openable, open_source
from uocr.sources.types import Limits, PageImage, Source

__all__ = [
    "STDIN",
    "Input",
    "Limits",
    "Openable",
    "PageImage",
    "Source",
    "expand_input",
    "expand_inputs",
    "natural_key",
    "open_source",
]
