"""A small model hub on 127.0.0.1 that misbehaves on demand, for tests of downloads."""

from __future__ import annotations

import hashlib
import json
import re
import ssl
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

REVISION = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Hub:
    """One repository of files, and how the server mistreats requests for them."""

    repository: str
    files: dict[str, bytes]
    large: set[str] = field(default_factory=set)  # listed with a SHA-256, the others with git's SHA-1
    drop_after: dict[str, list[int]] = field(default_factory=dict)  # close the connection after so many bytes
    statuses: dict[str, list[int]] = field(default_factory=dict)  # answer these first; "" is the listing
    error_code: str | None = None  # the hub's own word beside a status
    listed: dict[str, dict] = field(default_factory=dict)  # changes to a file's entry in the listing
    corrupt: set[str] = field(default_factory=set)  # send these with one byte changed
    ranges: bool = True
    lengths: bool = True  # send Content-Length
    redirect: bool = False  # files lie at another address, as on a content network
    pause_s: float = 0.0  # before each 64 KiB
    requests: list[tuple[str, str | None]] = field(default_factory=list)  # path and Range header
    url: str = ""

    def start(self, certificate: Path | None = None) -> ThreadingHTTPServer:
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": self}))
        server.daemon_threads = True
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        self.url = f"{'https' if certificate else 'http'}://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return server

    def listing(self) -> dict:
        siblings = []
        for name, data in self.files.items():
            entry = {"rfilename": name, "size": len(data), "blobId": git_sha1(data)}
            if name in self.large:
                sha256 = hashlib.sha256(data).hexdigest()
                entry["lfs"] = {"size": len(data), "sha256": sha256, "pointerSize": 134}
            siblings.append(entry | self.listed.get(name, {}))
        return {"id": self.repository, "sha": REVISION, "siblings": siblings}


def git_sha1(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        hub, path = self.hub, urlsplit(self.path).path
        hub.requests.append((path, self.headers.get("Range")))
        name = "" if path.startswith("/api/") else path.rsplit("/", 1)[1]
        if hub.statuses.get(name):
            self.fail(hub.statuses[name].pop(0))
        elif path == f"/api/models/{hub.repository}":
            body = json.dumps(hub.listing()).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        elif path == f"/{hub.repository}/resolve/{REVISION}/{name}" and name in hub.files:
            if hub.redirect:
                self.send_response(302)
                self.send_header("Location", f"{hub.url}/content/{name}")
                self.send_header("Content-Length", "0")
                self.end_headers()
            else:
                self.send_file(name)
        elif path == f"/content/{name}" and name in hub.files:
            self.send_file(name)
        else:
            self.fail(404)

    def fail(self, status: int) -> None:
        self.send_response(status)
        if self.hub.error_code:
            self.send_header("X-Error-Code", self.hub.error_code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def send_file(self, name: str) -> None:
        hub, data = self.hub, bytearray(self.hub.files[name])
        if name in hub.corrupt:
            data[len(data) // 2] ^= 1
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        first = int(asked[1]) if asked and hub.ranges else 0
        self.send_response(206 if first else 200)
        if first:
            self.send_header("Content-Range", f"bytes {first}-{len(data) - 1}/{len(data)}")
        if hub.lengths:
            self.send_header("Content-Length", str(len(data) - first))
        else:
            self.close_connection = True
        self.end_headers()
        drops = hub.drop_after.get(name)
        end = min(len(data), first + drops.pop(0)) if drops else len(data)
        try:
            for at in range(first, end, 65536):
                time.sleep(hub.pause_s)
                self.wfile.write(data[at:min(at + 65536, end)])
        except OSError:
            self.close_connection = True  # the client went away
        if end < len(data):
            self.close_connection = True
