"""The quantisation gate: which module may be stored in which type, decided by measurement.

`python -m bench.gate CHECKPOINT_FOLDER --pages N --out DIR` scores f16, q8, q4 and every single module against
float32, picks a type for each module under stated bounds of loss and writes the table; docs/quality.md explains the
report.
"""
