"""Text to token ids and back: byte-level BPE from the tokenizer.json inside a model file.

Encoding is the `tokenizers` library's. Decoding is done here, from the vocabulary: each id stands for bytes,
written in the 256-letter alphabet of GPT-2 (a space is stored as "Ġ"), and text is the UTF-8 of all bytes in
a row. So no letter of that alphabet and no half character can leak, and markers such as `<|det|>` are kept.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

import tokenizers

from uocr.errors import InvalidRequest, ModelFileError

_BOX: Final = re.compile(r"<\|det\|>([^\[\]<>\n]*?)( ?)\[(\d{1,3}(?:, \d{1,3}){3})\]<\|/det\|>")
"""One marker as the built-in model was trained on it: label, blank, four numbers."""
_DIGIT: Final = re.compile(r"([0-9])")


class Tokenizer:
    """The vocabulary of one model.

    `tokenizer_json` is the file's bytes. `digits="single"` says that the model was trained with digits of
    text one by one (see `scoring_ids`). Raises ModelFileError when the bytes are not a byte-level tokenizer.
    """

    def __init__(self, tokenizer_json: bytes, *, digits: str | None = None) -> None:
        try:
            text = tokenizer_json.decode("utf-8")
            description = json.loads(text)
            self._encoder = tokenizers.Tokenizer.from_str(text)
            decoder = (description.get("decoder") or {}).get("type")
        except Exception as error:  # the library raises bare Exception for a malformed description
            raise ModelFileError(f"The model file's tokenizer cannot be used: {error}.") from error
        if decoder != "ByteLevel":
            raise ModelFileError(
                f"The model file's tokenizer decodes by {decoder}, and only ByteLevel is known here.")
        self.digits = digits
        self.added: dict[int, str] = {t["id"]: t["content"] for t in description.get("added_tokens", [])}
        """Content of the added tokens (markers) by id."""
        self._ids: dict[str, int] = self._encoder.get_vocab(with_added_tokens=True)
        self._bytes: dict[int, bytes] = {
            i: token.encode("utf-8") if i in self.added else _to_bytes(token)
            for token, i in self._ids.items()}
        self.size = max(self._bytes, default=-1) + 1
        """One more than the highest id: every id that can be decoded is below it."""

    def id_of(self, token: str) -> int | None:
        """The id of a vocabulary entry as it is stored ("Ġ" for a space), or None."""
        return self._ids.get(token)

    def token_bytes(self, token_id: int) -> bytes:
        """The UTF-8 bytes that an id stands for, possibly part of a character. Raises InvalidRequest."""
        try:
            return self._bytes[token_id]
        except KeyError:
            raise InvalidRequest(
                f"Token id {token_id} is not in the vocabulary of {self.size} ids.") from None

    def encode(self, text: str) -> list[int]:
        """Ids of `text`; no begin or end is added, markers written out in the text become their one id."""
        ids: list[int] = self._encoder.encode(text, add_special_tokens=False).ids
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        """Text of `ids`, markers kept; bytes that are no UTF-8 become U+FFFD."""
        return b"".join(self.token_bytes(i) for i in ids).decode("utf-8", "replace")

    def stream(self) -> StreamDecoder:
        """A decoder for ids that arrive one at a time."""
        return StreamDecoder(self)

    def scoring_ids(self, text: str) -> list[int]:
        """The ids that training used for `text`, to score a known text with a model.

        For a model with `digits="single"` these are: text line by line, every digit of it alone; the numbers
        and separators inside a box as one id each. For other models the same as `encode`.
        """
        if self.digits != "single":
            return self.encode(text)
        ids: list[int] = []
        end = 0
        for box in _BOX.finditer(text):
            ids += self._plain(text[end:box.start()])
            ids += self._box(box)
            end = box.end()
        return ids + self._plain(text[end:])

    def _plain(self, text: str) -> list[int]:
        ids: list[int] = []
        for line in re.split(r"(\n)", text):
            for part in _DIGIT.split(line):
                ids += self.encode(part)
        return ids

    def _box(self, box: re.Match[str]) -> list[int]:
        label, blank, numbers = box.groups()
        ids = [*self.encode("<|det|>"), *self._plain(label), *self.encode(blank + "[")]
        for n, number in enumerate(numbers.split(", ")):
            if n:
                ids += self._whole(",Ġ", ", ")
            ids += self._whole(number, number)
        return [*ids, *self.encode("]"), *self.encode("<|/det|>")]

    def _whole(self, token: str, text: str) -> Sequence[int]:
        found = self._ids.get(token)
        return self.encode(text) if found is None else (found,)


class StreamDecoder:
    """Text of ids that arrive one at a time; a character is given out only when all its bytes are there."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")

    def push(self, token_id: int) -> str:
        """The text that is certain once `token_id` has come; often empty in the middle of a character."""
        return self._utf8.decode(self._tokenizer.token_bytes(token_id))

    def flush(self) -> str:
        """The end: U+FFFD when the last character stayed incomplete, else empty. Starts afresh."""
        rest = self._utf8.decode(b"", final=True)
        self._utf8.reset()
        return rest


@lru_cache(maxsize=1)
def byte_alphabet() -> dict[str, int]:
    """The 256 letters of GPT-2's byte alphabet and the byte each stands for.

    Printable Latin-1 letters stand for themselves; the other 68 bytes, in order, are U+0100 onwards.
    """
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in set(plain)]
    return {chr(b): b for b in plain} | {chr(0x100 + n): b for n, b in enumerate(others)}


def _to_bytes(token: str) -> bytes:
    alphabet = byte_alphabet()
    try:
        return bytes(alphabet[letter] for letter in token)
    except KeyError:  # an entry outside the byte alphabet is meant as written
        return token.encode("utf-8")
