"""Which models there are, getting one, removing one: a sheet over `uocr.models`."""
