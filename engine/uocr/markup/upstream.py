"""The tag matches that the reference implementation finds, for the parity check alone.

It collects every ref-form tag, then every det-form tag, over the whole output; golden data compares these
lists. Reproduced from its observed behaviour with searches that look at each character a bounded number of
times, where two non-greedy regular expressions would take quadratic time on hostile text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_REF_OPEN, _REF_TO_DET, _DET_OPEN, _DET_CLOSE = "<|ref|>", "<|/ref|><|det|>", "<|det|>", "<|/det|>"
_IMAGE_REF = "<|ref|>image<|/ref|>"
_DET_HEAD = re.compile(r"\s*+([A-Za-z_][\w-]*+)\s*+(?=\[)")
_DET_TAIL = re.compile(r"\s*+<\|/det\|>")


@dataclass(frozen=True, slots=True)
class UpstreamMatches:
    """`matches`: (whole tag, label, coordinates) in upstream's order; `image` and `other`: whole tags."""

    matches: list[tuple[str, str, str]]
    image: list[str]
    other: list[str]


def upstream_matches(text: str) -> UpstreamMatches:
    """Tags of `text` as the reference implementation matches them, faults included."""
    matches = _ref_form(text) + _det_form(text)
    images = [label.strip() == "image" or _IMAGE_REF in tag for tag, label, _ in matches]
    return UpstreamMatches(
        matches,
        [tag for (tag, _, _), is_image in zip(matches, images, strict=True) if is_image],
        [tag for (tag, _, _), is_image in zip(matches, images, strict=True) if not is_image],
    )


def _ref_form(text: str) -> list[tuple[str, str, str]]:
    """`<|ref|>`, shortest label, `<|/ref|><|det|>`, shortest coordinates, `<|/det|>`, spanning anything."""
    found = []
    start = text.find(_REF_OPEN)
    while start >= 0:
        label_end = text.find(_REF_TO_DET, start + len(_REF_OPEN))
        body_start = label_end + len(_REF_TO_DET)
        body_end = text.find(_DET_CLOSE, body_start) if label_end >= 0 else -1
        if body_end < 0:
            break  # what is missing here is missing for every later opening as well
        end = body_end + len(_DET_CLOSE)
        found.append((text[start:end], text[start + len(_REF_OPEN):label_end], text[body_start:body_end]))
        start = text.find(_REF_OPEN, end)
    return found


def _det_form(text: str) -> list[tuple[str, str, str]]:
    """`<|det|>`, an identifier, one bracket without `]` inside, `<|/det|>`, white space allowed between."""
    found = []
    bracket_end = -1
    start = text.find(_DET_OPEN)
    while start >= 0:
        next_search = start + len(_DET_OPEN)
        head = _DET_HEAD.match(text, next_search)
        if head:
            # The closing bracket is searched once for all openings that come before it.
            if bracket_end < head.end():
                bracket_end = text.find("]", head.end())
                if bracket_end < 0:
                    break
            tail = _DET_TAIL.match(text, bracket_end + 1)
            if tail:
                found.append((text[start:tail.end()], head.group(1), text[head.end():bracket_end + 1]))
                next_search = tail.end()
        start = text.find(_DET_OPEN, next_search)
    return found
