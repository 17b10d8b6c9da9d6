"""Reads a picture or PDF and shows every block with its place and confidence: python read_page.py FILE."""

import sys

from uocr import UnlimitedOCR
from uocr.errors import UocrError


def show(name: str) -> None:
    with UnlimitedOCR() as ocr:
        for page in ocr.read(name).pages:
            print(f"page {page.index + 1}: {page.finish_reason}, {page.timings.generated_tokens} tokens")
            for block in page.blocks:
                places = [box.pixels(page.width, page.height) for box in block.boxes]
                confidence = f"{block.confidence:.2f}" if block.confidence is not None else "-"
                print(f"  {block.label} {places} {confidence}: {block.text}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print(f"usage: python {sys.argv[0]} FILE", file=sys.stderr)
        sys.exit(2)
    try:
        show(sys.argv[1])
    except UocrError as error:
        sys.exit(str(error))
