"""Leggio.app: what goes into it, how it is built, signed, checked and shipped. `packaging/mac.py` is the way in."""
