"""The ids that a reading starts from: begin, a run of picture places for each `<image>`, the text's ids.

The template is the model's "plain" one: the text stripped at both ends and nothing else, no roles, no system
text, no blank after the picture. One trailing blank or one missing picture place changes what is read, so
everything that does not add up is refused here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from uocr.errors import InvalidRequest, ModelFileError
from uocr.tokenizer import Tokenizer

IMAGE_MARK: Final = "<image>"
"""Stands in a prompt for one picture, or for all pages of a multi-page pass."""

WORDS_MARK: Final = "{words}"
"""Stands in the prompt "locate" for the words to find."""


class PromptConfig(Protocol):
    """What the model's config must say."""

    @property
    def bos_id(self) -> int: ...
    @property
    def image_id(self) -> int: ...


def default_prompt(front_end: Mapping[str, Any], *, multi_page: bool = False) -> str:
    """The prompt the model was trained with. Raises InvalidRequest when it has none for several pages."""
    prompts = front_end.get("prompts") or {}
    if multi_page and not (front_end.get("multi_page") and prompts.get("multi")):
        raise InvalidRequest("This model was not trained to read several pages in one pass; "
                             "read them one by one.")
    text = prompts.get("multi" if multi_page else "single")
    if not text:
        raise ModelFileError('The model file has no prompt "single" in its front end; '
                             "convert the model again.")
    return str(text)


def words_to_find(text: str) -> str:
    """`text` as it is put into the prompt: one blank wherever there is white space."""
    return " ".join(text.split())


def locate_prompt(front_end: Mapping[str, Any], tokenizer: Tokenizer, words: str) -> str:
    """The prompt that asks where `words` stand. Raises InvalidRequest when the model has none, and for markers."""
    template = (front_end.get("prompts") or {}).get("locate")
    if not template:
        raise InvalidRequest(f"The model {front_end.get('name', '')!r} was not trained to say where words stand; "
                             "read the page and search its text.")
    words = words_to_find(words)
    marker = next((mark for mark in tokenizer.added.values() if mark in words), None)
    if marker is not None:
        raise InvalidRequest(f"The words to find contain {marker}, which is a marker of the model's grammar; "
                             "leave it out.")
    return str(template).replace(WORDS_MARK, words)


def split_prompt(text: str) -> list[str]:
    """The pieces of text around the `<image>` marks, after the template (strip) was applied."""
    return text.strip().split(IMAGE_MARK)


def build_prompt_ids(front_end: Mapping[str, Any], config: PromptConfig, tokenizer: Tokenizer, text: str,
                     visual_tokens_per_mark: Sequence[int]) -> list[int]:
    """The prompt's ids: bos, then text and picture places as they stand in `text`.

    `visual_tokens_per_mark[k]` is how many visual rows stand for the k-th `<image>`; in a multi-page pass one
    mark stands for the rows of all pages. When `text` is the model's own single prompt and the front end
    carries `prompt_ids`, those are used and nothing is tokenised. Raises InvalidRequest when marks and
    pictures differ in number, when a picture has no rows, or when the ids hold another number of picture
    places than there are rows.
    """
    pieces = split_prompt(text)
    marks, pictures = len(pieces) - 1, len(visual_tokens_per_mark)
    if marks != pictures:
        raise InvalidRequest(
            f"The prompt has {marks} {IMAGE_MARK} mark{'s' * (marks != 1)} for {pictures} "
            f"picture{'s' * (pictures != 1)}; write one {IMAGE_MARK} for each.")
    for number, rows in enumerate(visual_tokens_per_mark, 1):
        if rows < 1:
            raise InvalidRequest(f"Picture {number} has {rows} visual tokens and would not be read.")

    stored = front_end.get("prompt_ids")
    if stored is not None and marks == 1 and text.strip() == default_prompt(front_end).strip():
        ids = [config.bos_id, *[config.image_id] * visual_tokens_per_mark[0], *(int(i) for i in stored)]
    else:
        ids = [config.bos_id, *tokenizer.encode(pieces[0])]
        for piece, rows in zip(pieces[1:], visual_tokens_per_mark, strict=True):
            ids += [config.image_id] * rows
            ids += tokenizer.encode(piece)

    places, wanted = ids.count(config.image_id), sum(visual_tokens_per_mark)
    if places != wanted:
        raise InvalidRequest(
            f"The prompt holds {places} picture places for {wanted} visual tokens; "
            f"its text must not contain the picture's own token, id {config.image_id}.")
    return ids
