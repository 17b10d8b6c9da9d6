"""uocr: read pictures and PDFs on this machine with an Unlimited-OCR model.

from uocr import UnlimitedOCR
print(UnlimitedOCR().generate("page.png"))
"""

from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from .api import UnlimitedOCR


def __getattr__(name: str) -> Any:
    """UnlimitedOCR is imported at first use, so that the parsers and exporters load without the engine."""
    if name == "UnlimitedOCR":
        from .api import UnlimitedOCR

        return UnlimitedOCR
    raise AttributeError(f"module 'uocr' has no attribute {name!r}")
