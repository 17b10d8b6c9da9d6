"""uocr: read pictures and PDFs on this machine with an Unlimited-OCR model.

    from uocr import UnlimitedOCR
    print(UnlimitedOCR().generate("page.png"))
"""

from .api import UnlimitedOCR
from .control import Control
from .document import Block, Box, Document, FinishReason, Page, Timings, Token, Word
from .errors import UocrError
from .settings import ReadSettings

__all__ = [
    "Block",
    "Box",
    "Control",
    "Document",
    "FinishReason",
    "Page",
    "ReadSettings",
    "Timings",
    "Token",
    "UnlimitedOCR",
    "UocrError",
    "Word",
]
__version__ = "0.1.0"
