"""Every error a caller of uocr can meet, one class a cause.

    UocrError
    ├── InputError              the picture or document cannot be used       exit 10
    │   ├── UnreadableFile      damaged, truncated, not a picture or PDF     exit 11
    │   ├── EncryptedFile       a PDF that needs a password                  exit 12
    │   ├── EmptyDocument       no page in it, no picture in the folder      exit 13
    │   ├── TooLarge            more pixels or bytes than the limit          exit 14
    │   └── InvalidRequest      options or prompt that contradict each other exit 15
    ├── ModelError              the model file                               exit 20
    │   ├── ModelNotFound       no such file or name                         exit 21
    │   ├── ModelFileError      truncated, altered, from the future, foreign exit 22
    │   ├── ConversionError     the checkpoint cannot be converted           exit 23
    │   └── DownloadError       network, disk, proxy or hash                 exit 24
    ├── EngineError             the native engine                            exit 30
    │   ├── OverBudget          refused before it starts; carries the table  exit 31
    │   ├── EngineBusy          another run is open on this engine           exit 32
    │   ├── NonFiniteError      Inf or NaN in the network                    exit 33
    │   └── EngineMissing       the native library is not built or loadable  exit 34
    ├── OutputError             writing results                              exit 40
    │   ├── OutputExists        the name is taken and no flag allows it      exit 41
    │   └── OutputFailed        full or read-only target; the text is kept   exit 42
    ├── JournalMismatch         a resumed job no longer fits                 exit 43
    └── Cancelled               the caller cancelled                         exit 130

Every message is one sentence or two: the file, the number that was wrong, what to do.
"""

from __future__ import annotations


class UocrError(Exception):
    """Base of all errors raised by uocr; ``exit_code`` is what the command line ends with."""

    exit_code = 1


class InputError(UocrError):
    exit_code = 10


class UnreadableFile(InputError):
    exit_code = 11


class EncryptedFile(InputError):
    exit_code = 12


class EmptyDocument(InputError):
    exit_code = 13


class TooLarge(InputError):
    exit_code = 14


class InvalidRequest(InputError):
    exit_code = 15


class ModelError(UocrError):
    exit_code = 20


class ModelNotFound(ModelError):
    exit_code = 21


class ModelFileError(ModelError):
    exit_code = 22


class ConversionError(ModelError):
    exit_code = 23


class DownloadError(ModelError):
    """A model could not be fetched. ``reason`` is one word for programs that tell it in their own: "offline", "terms",
    "unknown", "certificate", "authority", "proxy", "silent", "network", "broken", "disk", "hash", "busy", the hub's
    status as digits, or "".
    """

    exit_code = 24

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


class EngineError(UocrError):
    exit_code = 30


class OverBudget(EngineError):
    """The request does not fit the memory budget.

    ``estimate`` is bytes by category name, ``budget`` bytes allowed, ``needed`` bytes at the peak; ``most_pages`` how
    many of several pages in one pass would fit.
    """

    exit_code = 31

    def __init__(
        self,
        message: str,
        estimate: dict[str, int] | None = None,
        needed: int = 0,
        budget: int = 0,
        most_pages: int = 0,
    ) -> None:
        super().__init__(message)
        self.most_pages = most_pages
        self.estimate = estimate or {}
        self.needed = needed
        self.budget = budget


class EngineBusy(EngineError):
    exit_code = 32


class NonFiniteError(EngineError):
    exit_code = 33


class EngineMissing(EngineError):
    exit_code = 34


class OutputError(UocrError):
    exit_code = 40


class OutputExists(OutputError):
    exit_code = 41


class OutputFailed(OutputError):
    """The target cannot be written; ``text`` is the plain text that is not to be lost."""

    exit_code = 42

    def __init__(self, message: str, text: str = "") -> None:
        super().__init__(message)
        self.text = text


class JournalMismatch(UocrError):
    """The journal belongs to another job; ``changed`` names what differs: file, settings, model, engine."""

    exit_code = 43

    def __init__(self, message: str, changed: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.changed = changed


class Cancelled(UocrError):
    exit_code = 130
