"""Leggio, the window in which pages are read. `leggio.main.main` starts it; all it knows of reading is
`uocr`."""

__version__ = "0.1.0"
