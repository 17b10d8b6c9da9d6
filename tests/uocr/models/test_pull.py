"""Pulling a model from a hub that misbehaves: one clear sentence, nothing lost, nothing half-done."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hub_server import REVISION, Hub
from hub_use import NAME, SIZE, WEIGHTS, asked, downloads, pull, refusal
from uocr import hub, models
from uocr.errors import Cancelled, ConversionError, DownloadError
from uocr.modelfile import ModelFile


class TestPull:
    def test_it_downloads_what_a_conversion_needs_converts_and_installs(self, server: Hub) -> None:
        heard: list[tuple[str, int, int]] = []
        path = pull(server, progress=lambda *what: heard.append(what))
        with ModelFile.open(path) as model:
            model.verify()
            assert model.profile == "q4"
            assert model.config.usable_vocab == 481
            assert model.provenance["origin"] == f"{NAME}@{REVISION}"
        (entry,) = models.installed()
        assert (entry.name, entry.profile, entry.revision, entry.path) == (NAME, "q4", REVISION, path)
        assert entry.file_bytes == path.stat().st_size
        assert {p.rsplit("/", 1)[1] for p, _ in server.requests[1:]} == {
            "config.json", "tokenizer.json", "model.safetensors.index.json", WEIGHTS}
        assert not downloads().exists()
        assert ("download", SIZE, SIZE) in heard
        done = [d for stage, d, _ in heard if stage == "download"]
        assert done == sorted(done) and heard[-1][0] == "convert" and heard[-1][1] == heard[-1][2]

    def test_afterwards_it_works_without_a_network(self, server: Hub) -> None:
        path = pull(server)
        server.statuses[""] = [503] * 99
        server.requests.clear()
        assert pull(server) == path
        assert models.resolve(NAME) == models.resolve(NAME, "q4") == models.obtain(NAME, "q4") == path
        assert models.resolve("Some-One/TINY.ocr") == path
        assert not models.verify_once(path)  # the conversion read it back already
        assert server.requests == []

    def test_what_it_takes_is_known_before_the_first_byte(self, server: Hub) -> None:
        assert models.checkpoint_bytes(NAME, endpoint=server.url) == SIZE
        assert len(server.requests) == 1  # the listing, no file
        assert models.arrived_bytes(NAME) == 0
        downloads().mkdir(parents=True)
        (downloads() / f"{WEIGHTS}.part").write_bytes(bytes(1000))
        assert models.arrived_bytes(NAME) == 1000
        assert models.model_bytes(6_700_000_000, "q4") == 2_077_000_000
        assert models.room_needed(1_000_000, "q8", 400_000) == 600_000 + 530_000 + (64 << 20)
        with pytest.raises(DownloadError, match="OWNER/NAME"):
            models.checkpoint_bytes("../etc")

    def test_files_may_lie_at_another_address(self, server: Hub) -> None:
        server.redirect = True
        assert pull(server).is_file()

    def test_a_hub_without_content_lengths_serves_too(self, server: Hub) -> None:
        server.lengths = False
        assert pull(server).is_file()


class TestBrokenConnections:
    def test_a_dropped_connection_goes_on_where_it_stopped(self, server: Hub) -> None:
        server.drop_after[WEIGHTS] = [3_000_000, 2_000_000]
        assert pull(server).is_file()
        first, second, third = asked(server, WEIGHTS)
        assert first is None
        at = [int(header.removeprefix("bytes=").removesuffix("-")) for header in (second, third)]
        assert 2_900_000 < at[0] <= 3_000_000 and at[0] + 1_900_000 < at[1] <= at[0] + 2_000_000

    def test_without_ranges_it_starts_again(self, server: Hub) -> None:
        server.ranges = False
        server.drop_after[WEIGHTS] = [3_000_000]
        assert pull(server).is_file()

    def test_without_lengths_an_early_end_is_noticed(self, server: Hub) -> None:
        server.lengths = False
        server.drop_after[WEIGHTS] = [3_000_000]
        assert pull(server).is_file()

    def test_a_server_that_keeps_dropping_is_given_up_and_the_bytes_are_kept(self, server: Hub) -> None:
        server.drop_after[WEIGHTS] = [1_000_000, *[0] * 20]
        words = refusal(server)
        assert "broke off" in words and "pull again, it goes on where it was" in words
        assert len(asked(server, WEIGHTS)) == hub.ATTEMPTS
        kept = (downloads() / f"{WEIGHTS}.part").stat().st_size
        server.drop_after.clear()
        server.requests.clear()
        assert pull(server).is_file()
        assert asked(server, WEIGHTS) == [f"bytes={kept}-"]
        assert asked(server, "config.json") == []  # it was whole already

    def test_a_server_that_falls_silent(self, server: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(hub, "SILENCE_S", 0.2)
        monkeypatch.setattr(hub, "ATTEMPTS", 2)
        server.pause_s = 1.0
        assert "did not answer within 0.2 s" in refusal(server)

    def test_a_part_that_is_longer_than_the_file_is_thrown_away(self, server: Hub) -> None:
        downloads().mkdir(parents=True)
        (downloads() / f"{WEIGHTS}.part").write_bytes(bytes(8_000_000))
        assert pull(server).is_file()

    def test_a_part_with_wrong_bytes_is_found_by_its_hash(self, server: Hub) -> None:
        downloads().mkdir(parents=True)
        (downloads() / f"{WEIGHTS}.part").write_bytes(bytes(1_000_000))
        assert "it was thrown away, pull again" in refusal(server)
        assert pull(server).is_file()


class TestStatuses:
    @pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
    @pytest.mark.parametrize("what", ["", WEIGHTS])
    def test_passing_trouble_is_borne(self, server: Hub, what: str, status: int) -> None:
        server.statuses[what] = [status, status]
        assert pull(server).is_file()

    @pytest.mark.parametrize(("status", "words"), [
        (503, "has trouble of its own (503); pull again later"),
        (429, "too many requests (429); wait some minutes")])
    @pytest.mark.parametrize("what", ["", WEIGHTS])
    def test_lasting_trouble_is_named(self, server: Hub, what: str, status: int, words: str) -> None:
        server.statuses[what] = [status] * 99
        assert words in refusal(server)
        assert len(server.statuses[what]) == 99 - hub.ATTEMPTS

    @pytest.mark.parametrize(("status", "code", "words"), [
        (404, None, f"has no such model or file of it: {NAME} (404); check the name"),
        (404, "RepoNotFound", f"has no model {NAME}, or it is private; check the name"),
        (401, None, "(401); log in with `hf auth login`"), (403, None, "(403); log in with `hf auth login`"),
        (403, "GatedRepo", f"accept them at URL/{NAME} and log in"), (418, None, "answered with status 418")])
    def test_a_refusal_is_not_tried_again(self, server: Hub, status: int, code: str | None,
                                          words: str) -> None:
        server.statuses[""] = [status] * 9
        server.error_code = code
        assert words.replace("URL", server.url) in refusal(server)
        assert len(server.requests) == 1

    def test_a_file_that_vanished(self, server: Hub) -> None:
        server.statuses[WEIGHTS] = [404]
        assert "has no such model or file of it" in refusal(server)


class TestWrongBytes:
    @pytest.mark.parametrize("name", [WEIGHTS, "config.json"])  # SHA-256 and git's SHA-1
    def test_a_wrong_hash_is_found_and_the_file_thrown_away(self, server: Hub, name: str) -> None:
        server.corrupt.add(name)
        words = refusal(server)
        assert f"{name} of {NAME} arrived with the hash" in words
        assert "it was thrown away, pull again" in words
        assert not (downloads() / f"{name}.part").exists() and not (downloads() / name).exists()
        server.corrupt.clear()
        assert pull(server).is_file()

    @pytest.mark.parametrize("listed", [7_000_000, 8_000_000])
    def test_a_size_that_contradicts_the_listing(self, server: Hub, listed: int) -> None:
        server.listed[WEIGHTS] = {"size": listed}
        words = refusal(server)
        assert f"The server sends 7,506,184 bytes of {WEIGHTS}, its listing says {listed:,}" in words

    def test_more_bytes_than_listed_without_a_length(self, server: Hub) -> None:
        server.lengths = False
        server.listed[WEIGHTS] = {"size": 7_000_000}
        assert "sends more than the 7,000,000 bytes" in refusal(server)

    @pytest.mark.parametrize("entry", [{"size": None}, {"size": -1}, {"size": "7"}])
    def test_a_listing_without_sizes(self, server: Hub, entry: dict) -> None:
        server.listed[WEIGHTS] = entry
        assert f"does not say how large {WEIGHTS} of {NAME} is" in refusal(server)

    def test_a_listing_without_hashes(self, server: Hub) -> None:
        server.listed["config.json"] = {"blobId": None}
        assert "states no hash for config.json" in refusal(server)

    def test_names_that_leave_the_folder_are_passed_over(self, server: Hub) -> None:
        server.files["../../evil.safetensors"] = server.files["..\\evil.safetensors"] = b"evil"
        assert pull(server).is_file()
        assert not [path for path, _ in server.requests if "evil" in path]

    def test_a_repository_without_a_checkpoint(self, server: Hub) -> None:
        del server.files[WEIGHTS]
        assert "holds no config.json with .safetensors files" in refusal(server)

    def test_a_checkpoint_that_cannot_be_converted(self, server: Hub) -> None:
        server.files["config.json"] = b'{"model_type": "bert"}'
        assert "has no vocab_size" in refusal(server, ConversionError)


class TestStopping:
    def test_a_stopped_download_keeps_its_bytes(self, server: Hub) -> None:
        def keep_going() -> bool:
            part = downloads() / f"{WEIGHTS}.part"
            return not part.exists() or part.stat().st_size < 2_000_000

        with pytest.raises(Cancelled, match="what has arrived is kept"):
            pull(server, keep_going=keep_going)
        kept = (downloads() / f"{WEIGHTS}.part").stat().st_size
        assert 2_000_000 <= kept < 2_200_000
        server.requests.clear()
        assert pull(server).is_file()
        assert asked(server, WEIGHTS) == [f"bytes={kept}-"]

    def test_a_pause_that_outlasts_the_connection(self, server: Hub) -> None:
        server.drop_after[WEIGHTS] = [4_000_000]
        paused = 0

        def keep_going() -> bool:
            nonlocal paused
            if paused < 3:
                paused += 1
                time.sleep(0.1)
            return True

        assert pull(server, keep_going=keep_going).is_file()
        assert paused == 3

    def test_a_stopped_conversion_keeps_the_download(self, server: Hub) -> None:
        stages: list[str] = []
        with pytest.raises(Cancelled, match="the download is kept"):
            pull(server, progress=lambda stage, *_: stages.append(stage),
                 keep_going=lambda: "convert" not in stages)
        assert (downloads() / WEIGHTS).stat().st_size == 7_506_184
        assert not list((models.cache_folder() / "models").glob("*/*"))
        server.requests.clear()
        assert pull(server).is_file()
        assert asked(server, WEIGHTS) == []

    def test_waiting_for_another_try_can_be_stopped(self, server: Hub,
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(hub, "FIRST_WAIT_S", 60.0)
        server.statuses[""] = [503] * 9
        with pytest.raises(Cancelled):
            pull(server, keep_going=lambda: not server.requests)

    def test_two_pulls_of_one_model_do_not_mix(self, server: Hub) -> None:
        lock = models.cache_folder() / "downloads" / "some-one--tiny.ocr.lock"
        lock.parent.mkdir(parents=True)
        with lock.open("wb") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            assert f"{NAME} is being pulled by another program" in refusal(server)


class TestDiskAndNetwork:
    """Fault kind K22: disk, proxy, company certificates."""

    def test_too_little_room_is_said_before_the_first_byte(self, server: Hub, tmp_path: Path,
                                                           monkeypatch: pytest.MonkeyPatch) -> None:
        usage = shutil.disk_usage(tmp_path)._replace(free=70_000_000)
        monkeypatch.setattr("shutil.disk_usage", lambda _path: usage)
        words = refusal(server)
        assert f"{NAME} as q4 needs 77 MB of disk" in words and "has 70 MB free; make room" in words
        assert len(server.requests) == 1

    def test_a_disk_that_fills_up_keeps_what_has_arrived(self, server: Hub,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
        real = Path.open

        def small_disk(self: Path, *arguments, **options):
            file = real(self, *arguments, **options)
            if self.name == f"{WEIGHTS}.part" and arguments and arguments[0] in ("wb", "r+b"):
                return _Full(file, 3_000_000)
            return file

        monkeypatch.setattr(Path, "open", small_disk)
        words = refusal(server)
        assert f"The disk is full: {WEIGHTS}.part stopped at 2," in words
        assert "make room and pull again" in words
        monkeypatch.setattr(Path, "open", real)
        assert pull(server).is_file()
        assert asked(server, WEIGHTS)[-1] is not None

    def test_a_cache_that_cannot_be_written(self, server: Hub, tmp_path: Path,
                                            monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "file").write_bytes(b"")
        monkeypatch.setenv("UOCR_CACHE", str(tmp_path / "file" / "cache"))
        assert "cannot be written: Not a directory; set UOCR_CACHE" in refusal(server)

    def test_no_network(self) -> None:
        with pytest.raises(DownloadError, match=r"No network: 127\.0\.0\.1:9 cannot be reached") as caught:
            models.pull(NAME, "q4", endpoint="http://127.0.0.1:9")
        assert caught.value.reason == "network"

    def test_a_proxy_that_is_not_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HTTPS_PROXY", "http://user:secret@127.0.0.1:9")
        with pytest.raises(DownloadError) as caught:
            models.pull(NAME, "q4", endpoint="https://hub.invalid")
        words = str(caught.value)
        assert "The proxy http://127.0.0.1:9 cannot be reached or refuses" in words and "secret" not in words
        assert caught.value.reason == "proxy"

    def test_offline_mode(self, server: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        assert "HF_HUB_OFFLINE forbids downloads" in refusal(server)

    def test_a_certificate_of_an_unknown_ca(self, server: Hub, tmp_path: Path,
                                            monkeypatch: pytest.MonkeyPatch) -> None:
        certificate = self_signed(tmp_path)
        running = server.start(certificate)
        try:
            words = refusal(server)
            assert "is not trusted" in words and "set SSL_CERT_FILE to the file with its CA" in words
            monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
            assert pull(server).is_file()
        finally:
            running.shutdown()
            running.server_close()

    def test_a_certificate_file_that_is_not_there(self, server: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/ca.pem")
        assert "SSL_CERT_FILE=/nowhere/ca.pem cannot be used" in refusal(server)

    @pytest.mark.parametrize(("arrange", "reason"), [
        (lambda server: server.statuses.update({"": [503] * 9}), "503"),
        (lambda server: (server.statuses.update({"": [403]}), setattr(server, "error_code", "GatedRepo")), "terms"),
        (lambda server: (server.statuses.update({"": [404]}), setattr(server, "error_code", "RepoNotFound")),
         "unknown")])
    def test_programs_are_told_the_reason_in_one_word(self, server: Hub, arrange, reason: str) -> None:
        arrange(server)
        with pytest.raises(DownloadError) as caught:
            pull(server)
        assert caught.value.reason == reason

    @pytest.mark.parametrize("name", ["", "tiny", "a/b/c", "../x", "some one/tiny", "a/../b"])
    def test_what_is_no_name(self, name: str) -> None:
        with pytest.raises(DownloadError, match="is no model name; give it as OWNER/NAME"):
            models.pull(name, "q4")

    def test_an_unknown_profile(self) -> None:
        with pytest.raises(DownloadError, match="'q5' is unknown; choose one of f32, f16, q8, q4"):
            models.pull(NAME, "q5")


class _Full:
    """A file on a disk with ``room`` bytes left."""

    def __init__(self, file, room: int) -> None:
        self.file, self.room = file, room

    def __enter__(self) -> _Full:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def seek(self, offset: int) -> None:
        self.file.seek(offset)

    def write(self, data: bytes) -> None:
        if len(data) > self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.room -= len(data)
        self.file.write(data)


def self_signed(folder: Path) -> Path:
    """Certificate and key for 127.0.0.1 in one PEM file."""
    if shutil.which("openssl") is None:
        pytest.skip("needs the openssl program")
    path = folder / "ca.pem"
    certificate = folder / "certificate.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", str(path), "-out", str(certificate)], check=True, capture_output=True)
    with path.open("ab") as file:
        file.write(certificate.read_bytes())
    return path
