"""The golden check: reference numbers of the published network, array by array, against this engine.

A golden set is a folder with `index.json`, `.npz` arrays, JSON lists and a small checkpoint in `model/`; its README
says how it was made. Network arrays are compared within the tolerance stated for each (ratio = error / tolerance, 1
is the limit); integers, hashes, ids and strings must be equal.
"""

from uocr.golden.check import Result, check_golden

__all__ = ["Result", "check_golden"]
