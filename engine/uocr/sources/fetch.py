"""Pictures and documents from the network, over http and https only, with limits."""

from __future__ import annotations

import http.client
import ssl
import time
import urllib.error
import urllib.request
from email.message import Message
from typing import IO, Any, Final
from urllib.parse import urlsplit

from uocr.errors import InvalidRequest, TooLarge, UnreadableFile
from uocr.sources.types import Limits, reason, shown_url

_CHUNK: Final = 1 << 16
_HEADERS: Final = {"User-Agent": "leggio-uocr", "Accept": "image/*, application/pdf, */*"}


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """A server must not send us anywhere but to another web address."""

    def redirect_request(self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str,
                         headers: Message, newurl: str) -> urllib.request.Request | None:
        if urlsplit(newurl).scheme not in ("http", "https"):
            raise urllib.error.URLError(f"the server sends on to {newurl}, which is no web address")
        return super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]


def download(url: str, limits: Limits) -> tuple[str, bytes]:
    """(address to show, bytes) of a web address. Raises UnreadableFile, TooLarge or InvalidRequest."""
    name = shown_url(url)
    try:
        request = urllib.request.Request(url, headers=_HEADERS)
    except ValueError as error:
        raise InvalidRequest(f"{name} is not a web address: {reason(error)}.") from error
    opener = urllib.request.build_opener(_SafeRedirects)
    try:
        with opener.open(request, timeout=limits.timeout_s) as answer:
            return name, _body(answer, name, limits)
    except urllib.error.HTTPError as error:
        raise UnreadableFile(
            f"{name} could not be fetched: the server answers {error.code} {error.reason}.") from error
    except urllib.error.URLError as error:
        raise UnreadableFile(f"{name} could not be fetched: {_cause(error.reason, limits)}.") from error
    except (OSError, ValueError, http.client.HTTPException) as error:  # ValueError: sent on to what is no address
        raise UnreadableFile(f"{name} could not be fetched: {_cause(error, limits)}.") from error


def _body(answer: Any, name: str, limits: Limits) -> bytes:
    announced = answer.headers.get("Content-Length", "")
    expected = int(announced) if announced.isdecimal() else None
    if expected is not None:
        limits.check_bytes(name, expected)
    end = time.monotonic() + limits.deadline_s
    parts = bytearray()
    while chunk := answer.read1(_CHUNK):
        parts += chunk
        if len(parts) > limits.max_bytes:
            raise TooLarge(f"{name} sends more than the limit of {limits.max_bytes:,} bytes; "
                           "download it yourself.")
        if time.monotonic() > end:
            raise UnreadableFile(f"{name} could not be fetched: only {len(parts):,} bytes came "
                                 f"in {limits.deadline_s:g} s.")
    if expected is not None and len(parts) < expected:
        raise UnreadableFile(f"{name} could not be fetched: it ended after {len(parts):,} "
                             f"of {expected:,} bytes; try again.")
    return bytes(parts)


def _cause(error: object, limits: Limits) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return (f"its certificate is not trusted ({error.verify_message}); a company's own certificate "
                "goes into the file that SSL_CERT_FILE names")
    if isinstance(error, TimeoutError):
        return f"no answer within {limits.timeout_s:g} s"
    return reason(error)
