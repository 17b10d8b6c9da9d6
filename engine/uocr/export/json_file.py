"""JSON with every number of a reading, and back.

Schema "leggio-reading", version 1. Times are seconds, memory bytes, boxes [left, top, right, bottom]:

    {"schema": "leggio-reading", "schema_version": 1,
     "documents": [
       {"source": str, "model": str, "model_id": str, "settings": {...},
        "pages": [
          {"source": str, "index": int from 0, "width": px, "height": px,
           "finish_reason": "eos" | "length" | "loop" | "cancelled" | "error" | "not_read",
           "complete": bool, "blank": bool, "error": str | null, "notice": str | null,
           "problems": [str], "has_text_layer": bool, "located": str | null,
           "confidence": 0..1 | null, "confidence_threshold": 0..1, "unsure": bool, "has_ink": bool | null,
           "readings": 1 | 2, "kept_reading": 1 | 2,
           "text": str, "raw_text": str,
           "blocks": [
             {"label": str, "text": str, "boxes": [0..999], "boxes_px": [px],
              "confidence": 0..1 | null, "box_confidence": 0..1 | null, "picture": str | null,
              "printed_tags": [offset in text],
              "words": [{"text": str, "start": int, "confidence": 0..1}]}],
           "tokens": {"id": [int], "logprob": [float], "guard_acted": [place in id]},
           "timings": {"vision_s", "prefill_s", "decode_s", "prompt_tokens", "visual_tokens",
                       "generated_tokens", "tokens_per_second"},
           "memory_estimate": {category: bytes}, "memory_peak": {category: bytes}}],
        "complete": bool}]}

A page is `unsure` when its confidence is below the model's threshold, and `blank` when nothing was found to read;
`has_ink` tells then whether ink stands there nevertheless. A page that was read twice (`readings`) is the reading
`kept_reading`; its `timings` count the work of both. `notice` is what the other formats print with the page.
A block's `text` has its tables as HTML; tags at its `printed_tags` are printed on the page and belong to no table, nor
is an `&` there the beginning of an entity.

`complete`, `blank`, `unsure`, `notice`, `text`, `boxes_px`, `tokens_per_second` and a page's `confidence` are derived
and ignored on reading. Numbers that JSON lacks are the strings "NaN", "Infinity" and "-Infinity". A new
field does not raise the version; a changed meaning does.
"""

from __future__ import annotations

import contextlib
import json
import math
from pathlib import Path
from typing import Any

from uocr.document import Block, Box, Document, FinishReason, Page, Timings, Token, Word
from uocr.errors import UnreadableFile
from uocr.export.content import notice_of
from uocr.export.writer import Job, Writer

SCHEMA = "leggio-reading"
SCHEMA_VERSION = 1


class JsonWriter(Writer):
    """Streams one page a line; text is kept exactly, odd characters escaped."""

    def __init__(self, partial: Path, job: Job) -> None:
        super().__init__(partial, job)
        # In a JSON string the escape that this error handler writes for a lone surrogate is JSON's own.
        self._file = open(partial, "w", encoding="utf-8", errors="backslashreplace", newline="\n")
        self._document: Document | None = None
        self._complete = True
        self._file.write(f'{{"schema": "{SCHEMA}", "schema_version": {SCHEMA_VERSION},\n "documents": [')

    def page(self, document: Document, page: Page) -> None:
        if document is not self._document:
            self._close_document()
            head = {"source": document.source, "model": document.model, "model_id": document.model_id,
                    "settings": document.settings}
            self._file.write(("," if self.count else "") + "\n" + dump_json(head)[:-1] + ', "pages": [')
            self._document, self._complete = document, True
        else:
            self._file.write(",")
        self._file.write("\n" + dump_json(page_record(page)))
        self._complete = self._complete and page.complete
        self.count += 1

    def _close_document(self) -> None:
        if self._document is not None:
            self._file.write(f'], "complete": {dump_json(self._complete)}}}')

    def finish(self) -> None:
        self._close_document()
        self._file.write("]}\n")
        self._file.close()

    def abandon(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()


def page_record(page: Page) -> dict[str, Any]:
    """A page as the schema's object."""
    timings = {name: getattr(page.timings, name) for name in Timings.__dataclass_fields__}
    return {
        "source": page.source, "index": page.index, "width": page.width, "height": page.height,
        "finish_reason": page.finish_reason.value, "complete": page.complete, "blank": page.blank,
        "error": page.error, "notice": notice_of(page), "problems": page.problems,
        "has_text_layer": page.has_text_layer, "located": page.located, "confidence": page.confidence,
        "confidence_threshold": page.confidence_threshold, "unsure": page.unsure, "has_ink": page.has_ink,
        "readings": page.readings, "kept_reading": page.kept_reading,
        "text": page.text, "raw_text": page.raw_text,
        "blocks": [_block_record(block, page) for block in page.blocks],
        "tokens": {
            "id": [token.id for token in page.tokens],
            "logprob": [token.logprob for token in page.tokens],
            "guard_acted": [i for i, token in enumerate(page.tokens) if token.guard_acted],
        },
        "timings": timings | {"tokens_per_second": page.timings.tokens_per_second},
        "memory_estimate": page.memory_estimate, "memory_peak": page.memory_peak,
    }


def _block_record(block: Block, page: Page) -> dict[str, Any]:
    return {
        "label": block.label, "text": block.text,
        "boxes": [[box.x1, box.y1, box.x2, box.y2] for box in block.boxes],
        "boxes_px": [box.pixels(page.width, page.height) for box in block.boxes],
        "confidence": block.confidence, "box_confidence": block.box_confidence, "picture": block.picture,
        "printed_tags": list(block.printed_tags),
        "words": [{"text": w.text, "start": w.start, "confidence": w.confidence} for w in block.words],
    }


def page_from_record(record: dict[str, Any]) -> Page:
    """The page back from `page_record`. Raises KeyError, TypeError or ValueError for what is no such record."""
    guarded = set(record["tokens"]["guard_acted"])
    tokens = zip(record["tokens"]["id"], record["tokens"]["logprob"], strict=True)
    return Page(
        source=record["source"], index=record["index"], width=record["width"], height=record["height"],
        blocks=[
            Block(b["label"], tuple(Box(*box) for box in b["boxes"]), b["text"],
                  [Word(w["text"], w["start"], _number(w["confidence"])) for w in b["words"]],
                  _number(b["confidence"]), _number(b["box_confidence"]), b["picture"],
                  tuple(b.get("printed_tags", ())))
            for b in record["blocks"]
        ],
        raw_text=record["raw_text"], finish_reason=FinishReason(record["finish_reason"]),
        error=record["error"], problems=record["problems"],
        tokens=[Token(id, _number(logprob), i in guarded) for i, (id, logprob) in enumerate(tokens)],
        timings=Timings(**{name: _number(record["timings"][name]) for name in Timings.__dataclass_fields__}),
        memory_estimate=record["memory_estimate"], memory_peak=record["memory_peak"],
        has_text_layer=record["has_text_layer"], located=record.get("located"),
        confidence_threshold=record.get("confidence_threshold", 0.0), has_ink=record.get("has_ink"),
        readings=record.get("readings", 1), kept_reading=record.get("kept_reading", 1),
    )


def load_json(path: Path | str) -> list[Document]:
    """The documents of a file that `export(..., "json")` wrote, one by one as they were.

    Raises UnreadableFile for a file that is damaged, of another kind, or from a newer schema; OSError as
    `open` does.
    """
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
        if content["schema"] != SCHEMA:
            raise UnreadableFile(f"{path} is JSON but no reading of Leggio; choose a file that it exported.")
        if content["schema_version"] > SCHEMA_VERSION:
            raise UnreadableFile(f"{path} has schema version {content['schema_version']}, this version reads "
                                 f"up to {SCHEMA_VERSION}; use a newer Leggio.")
        return [
            Document(d["source"], [page_from_record(page) for page in d["pages"]], d["model"], d["model_id"],
                     d["settings"])
            for d in content["documents"]
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UnreadableFile(
            f"{path} is no complete reading of Leggio ({error!r}); export it again.") from error


def dump_json(value: Any) -> str:
    """`value` as one line of JSON: text as it is, non-finite numbers as strings, unknown objects as text."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=str)
    except ValueError:
        return json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, default=str)





def _finite(value: Any) -> Any:
    """`value` with NaN and infinities as the strings that `float` reads back."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, str) else value
