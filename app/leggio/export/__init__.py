"""Ways out: the clipboard, files through `uocr.export`, dragging a result to the Finder."""
