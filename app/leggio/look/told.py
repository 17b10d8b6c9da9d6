"""Errors in the window's language.

uocr tells every error in one exact English sentence. An English window shows that sentence, but for a refusal, whose
numbers stand in a table below it. A translated window says the same by the error's class and what it carries (the
cause, numbers, what changed). Both keep the exact English words for the hover text.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication
from uocr import errors

from leggio.look.units import bytes_text

translate = QCoreApplication.translate


@dataclass(frozen=True, slots=True)
class Told:
    """`text` is what is shown; `detail`, for the hover, the exact English words where `text` is a translation."""

    text: str
    detail: str = ""

    def __bool__(self) -> bool:
        return bool(self.text)

    def __str__(self) -> str:
        return self.text


def is_translated() -> bool:
    """Whether the window speaks another language than uocr."""
    return translate("Told", "English") != "English"


def told(error: Exception, subject: str = "", words: str = "") -> Told:
    """`error` for the window. `subject` names the file or model it is about.

    `words` are a translated sentence that says it better than the error's class does.
    """
    subject = translate("Told", "The built-in model") if subject == "built-in" else subject or translate("Told", "This")
    if isinstance(error, OSError):
        reason = system_reason(error) or error.strerror or str(error)
        return Told(words or translate("Told", "{0} cannot be opened: {1}.").format(subject, reason))
    refused = isinstance(error, errors.OverBudget) and error.needed > 0  # uocr's sentence holds a table of its own
    if not is_translated() and not refused:
        return Told(str(error))
    return Told(words or _sentence(error, subject), str(error))


def notes_told(notes: Sequence[str], most: int = 0) -> Told:
    """Remarks that uocr made (`notes`, `problems`): sentences, or in a translated window how many there are.

    With `most`, only so many are shown, with how many more there are; the hover has them all.
    """
    if not notes:
        return Told("")
    sentences = [_as_sentence(note) for note in notes]
    exact = "\n".join(sentences) if most else " ".join(sentences)
    if not is_translated():
        if not most or len(notes) <= most:
            return Told(" ".join(sentences))
        more = translate("Told", "And {0} more; point here to read them.").format(len(notes) - most)
        return Told(" ".join([*sentences[:most], more]), exact)
    one = translate("Told", "There is a remark on this; point here to read it.")
    many = translate("Told", "There are {0} remarks on this; point here to read them.")
    return Told(one if len(notes) == 1 else many.format(len(notes)), exact)


def _as_sentence(text: str) -> str:
    """`text` with a capital at its start and a full stop at its end."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def system_reason(error: BaseException | None) -> str:
    """What the operating system refused, in a few words; empty when that is not known."""
    number = error.errno if isinstance(error, OSError) else None
    return {
        errno.ENOSPC: translate("Told", "the disk is full"),
        errno.EDQUOT: translate("Told", "the disk quota is used up"),
        errno.EROFS: translate("Told", "the disk is read-only"),
        errno.EACCES: translate("Told", "permission is denied"),
        errno.EPERM: translate("Told", "permission is denied"),
        errno.ENOENT: translate("Told", "it is not there, or not any more"),
        errno.ENOTDIR: translate("Told", "a file stands where a folder should be"),
        errno.EISDIR: translate("Told", "a folder has that name"),
        errno.ENAMETOOLONG: translate("Told", "the name is too long"),
        errno.EIO: translate("Told", "the disk reports an error"),
    }.get(number or 0, "")


def _sentence(error: Exception, subject: str) -> str:
    """By the nearest class of `error` that has words."""
    for kind in type(error).__mro__:
        if kind in _FILLED:
            return _FILLED[kind](error, subject)
        if kind in _PLAIN:
            return translate("Told", str(_PLAIN[kind])).format(subject)
    return translate("Told", "{0}: something went wrong that was not foreseen.").format(subject)


def _input(error: Exception, subject: str) -> str:
    reason = system_reason(error.__cause__)
    if reason:
        return translate("Told", "{0} cannot be opened: {1}.").format(subject, reason)
    return translate("Told", "{0} is damaged, or no picture and no PDF that can be read.").format(subject)


def _over_budget(error: Exception, subject: str) -> str:
    assert isinstance(error, errors.OverBudget)
    needed, budget = bytes_text(error.needed), bytes_text(error.budget)
    if list(error.estimate) == ["model views"]:
        words = translate("Told", "The model alone takes {0} of memory, the budget is {1}: raise it in Settings.")
        return words.format(needed, budget)
    return translate("Told", "{0} needs {1} of memory, the budget is {2}.").format(subject, needed, budget)


def _journal(error: Exception, subject: str) -> str:
    assert isinstance(error, errors.JournalMismatch)
    names = {
        "file": translate("Told", "the file"),
        "settings": translate("Told", "the settings"),
        "model": translate("Told", "the model"),
        "engine": translate("Told", "the program's version"),
    }
    changed = ", ".join(names.get(name, name) for name in error.changed)
    if not changed:
        return translate("Told", "what was written down of {0} cannot be used.").format(subject)
    return translate("Told", "since it was read, this has changed: {0}.").format(changed)


def _output(error: Exception, subject: str) -> str:
    reason = system_reason(error.__cause__) or translate("Told", "the system refuses it")
    return translate("Told", "{0} cannot be written: {1}. The text is kept; choose another place.").format(
        subject, reason
    )


def _download(error: Exception, subject: str) -> str:
    assert isinstance(error, errors.DownloadError)
    status = error.reason if error.reason.isdecimal() else ""
    sentences = {
        "offline": translate("Told", "Downloads are switched off (HF_HUB_OFFLINE)."),
        "terms": translate("Told", "The model's terms must be accepted at the hub first."),
        "unknown": translate("Told", "The hub has no such model."),
        "certificate": translate(
            "Told", "The hub's certificate is not trusted; SSL_CERT_FILE can name your company's."
        ),
        "authority": translate("Told", "The file that SSL_CERT_FILE names cannot be used."),
        "proxy": translate("Told", "The proxy cannot be reached or refuses; look at HTTPS_PROXY."),
        "silent": translate("Told", "The hub did not answer. What has arrived is kept."),
        "network": translate("Told", "There is no network. What has arrived is kept."),
        "broken": translate("Told", "The connection broke off. What has arrived is kept."),
        "disk": translate("Told", "The disk is full or cannot be written; make room."),
        "hash": translate("Told", "A file arrived damaged and was thrown away."),
        "busy": translate("Told", "Another program is fetching this model."),
    }
    if status:
        return translate("Told", "The hub answered with status {0}; try again later.").format(status)
    return sentences.get(error.reason, translate("Told", "{0} could not be fetched.").format(subject))


_FILLED: dict[type, Callable[[Exception, str], str]] = {
    errors.UnreadableFile: _input,
    errors.OverBudget: _over_budget,
    errors.JournalMismatch: _journal,
    errors.OutputFailed: _output,
    errors.DownloadError: _download,
}
_PLAIN: dict[type, Any] = {
    errors.EncryptedFile: QT_TRANSLATE_NOOP("Told", "{0} is encrypted and needs its password."),
    errors.EmptyDocument: QT_TRANSLATE_NOOP("Told", "{0} is empty: there is nothing in it to read."),
    errors.TooLarge: QT_TRANSLATE_NOOP("Told", "{0} is larger than what can be opened safely."),
    errors.InvalidRequest: QT_TRANSLATE_NOOP("Told", "{0} cannot be read with these settings."),
    errors.InputError: QT_TRANSLATE_NOOP("Told", "{0} cannot be used."),
    errors.ModelNotFound: QT_TRANSLATE_NOOP("Told", "{0}: there is no such model on this machine."),
    errors.ModelFileError: QT_TRANSLATE_NOOP("Told", "{0}: the model file is damaged or of another version."),
    errors.ConversionError: QT_TRANSLATE_NOOP("Told", "{0}: the model cannot be converted."),
    errors.ModelError: QT_TRANSLATE_NOOP("Told", "{0}: the model cannot be used."),
    errors.EngineBusy: QT_TRANSLATE_NOOP("Told", "{0}: the engine is at work on another page."),
    errors.NonFiniteError: QT_TRANSLATE_NOOP("Told", "{0}: the engine's numbers went wrong; read it again."),
    errors.EngineMissing: QT_TRANSLATE_NOOP("Told", "The engine is missing here; install Leggio anew."),
    errors.EngineError: QT_TRANSLATE_NOOP("Told", "{0}: the engine failed."),
    errors.OutputExists: QT_TRANSLATE_NOOP("Told", "{0} is already there; choose another name."),
    errors.OutputError: QT_TRANSLATE_NOOP("Told", "{0} cannot be written. The text is kept; choose another place."),
    errors.Cancelled: QT_TRANSLATE_NOOP("Told", "{0} was cancelled."),
}
