"""How well a model reads: fixed sets of pages, a model and its peers side by side, one report.

`python -m bench.quality MODEL.uocr --out DIR` reads every set; docs/quality.md explains the sets and the figures.
"""
