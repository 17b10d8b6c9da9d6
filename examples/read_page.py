"""Reads a picture or PDF and shows every block with its place and confidence: python read_page.py FILE."""

import sys

from uocr import UnlimitedOCR

with UnlimitedOCR() as ocr:
    for page in ocr.read(sys.argv[1]).pages:
        print(f"page {page.index + 1}: {page.finish_reason}, {page.timings.generated_tokens} tokens")
        for block in page.blocks:
            places = [box.pixels(page.width, page.height) for box in block.boxes]
            confidence = f"{block.confidence:.2f}" if block.confidence is not None else "-"
            print(f"  {block.label} {places} {confidence}: {block.text}")
