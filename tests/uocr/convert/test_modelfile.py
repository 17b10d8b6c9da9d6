"""The reader refuses every damaged, hostile, foreign or future file in one sentence."""

from __future__ import annotations

import hashlib
import json
import random
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from checkpoint_files import Make, reseal
from uocr.errors import ModelFileError
from uocr.modelfile import ModelFile


@pytest.fixture(scope="module")
def good(converted: Make) -> bytes:
    return converted("q4").read_bytes()


@pytest.fixture
def refusal(tmp_path: Path) -> Callable[[bytes], str]:
    """Opens changed bytes and gives the words of the refusal."""

    def refuse(data: bytes) -> str:
        path = tmp_path / "changed.uocr"
        path.write_bytes(data)
        with pytest.raises(ModelFileError) as caught:
            ModelFile.open(path)
        words = str(caught.value)
        assert words.startswith(str(path)) and "\n" not in words
        return words

    return refuse


Refuse = Callable[[bytes], str]


def section(data: bytes, kind: int) -> tuple[int, int, int]:
    """Place in the table, offset and bytes of the first section of a kind."""
    for index in range(struct.unpack_from("<I", data, 24)[0]):
        found, _group, offset, size = struct.unpack_from("<IIQQ", data, 256 + 64 * index)
        if found == kind:
            return 256 + 64 * index, offset, size
    raise AssertionError(kind)


def patched(data: bytes, *changes: tuple[int, str, object]) -> bytes:
    """A copy with numbers replaced at offsets and every hash made right again."""
    copy = bytearray(data)
    for offset, code, value in changes:
        struct.pack_into("<" + code, copy, offset, value)
    return reseal(copy)


def entry(data: bytes, name: str) -> int:
    """Offset of a tensor's entry in the directory."""
    _place, at, _size = section(data, 3)
    count, entry_bytes, names_at = struct.unpack_from("<IIQ", data, at)
    for index in range(count):
        place = at + 32 + entry_bytes * index
        start, length = struct.unpack_from("<II", data, place)
        if data[at + names_at + start:at + names_at + start + length] == name.encode():
            return place
    raise AssertionError(name)


def test_resealing_an_unchanged_file_changes_nothing(good: bytes) -> None:
    assert reseal(bytearray(good)) == good


class TestForeignFiles:
    def test_empty_and_short(self, refusal: Refuse) -> None:
        assert "it has only 0 bytes" in refusal(b"")
        assert "it has only 255 bytes" in refusal(b"x" * 255)

    def test_another_engines_container(self, refusal: Refuse) -> None:
        header = struct.pack("<4sIIIII", b"UOCR", 1, 112, 0x01020304, 4096, 3) + bytes(500)
        assert "is a .uocr file of another engine, its container version 1" in refusal(header)

    def test_a_text_mode_transfer(self, good: bytes, refusal: Refuse) -> None:
        assert "went through a text-mode transfer" in refusal(good.replace(b"\r\n", b"\n"))

    def test_gguf(self, refusal: Refuse) -> None:
        assert "is a GGUF file" in refusal(b"GGUF" + bytes(500))

    def test_anything_else(self, refusal: Refuse) -> None:
        assert "it starts with 504b030400000000" in refusal(b"PK\x03\x04" + bytes(500))

    def test_the_future(self, good: bytes, refusal: Refuse) -> None:
        words = refusal(patched(good, (8, "I", 2)))
        assert "has format version 2, this program reads up to 1; update the program" in words

    def test_no_such_file(self, tmp_path: Path) -> None:
        with pytest.raises(ModelFileError, match=r"nothing\.uocr cannot be opened: No such file"):
            ModelFile.open(tmp_path / "nothing.uocr")

    def test_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(ModelFileError, match="cannot be opened: Is a directory"):
            ModelFile.open(tmp_path)


class TestDamage:
    @pytest.mark.parametrize("keep", [256, 300, 5000, 16384, 16640, 100_000, -16384, -1])
    def test_a_file_cut_short(self, good: bytes, refusal: Refuse, keep: int) -> None:
        words = refusal(good[:keep])
        assert f"the file has {len(good[:keep])} bytes, its header says {len(good)}" in words

    def test_a_file_with_something_behind_it(self, good: bytes, refusal: Refuse) -> None:
        assert "its header says" in refusal(good + bytes(16384))

    @pytest.mark.parametrize(("offset", "words"), [
        (24, "the header does not have its SHA-256"), (100, "the header does not have its SHA-256"),
        (300, "the section table does not have its SHA-256")])
    def test_a_flipped_bit_in_front(self, good: bytes, refusal: Refuse, offset: int, words: str) -> None:
        data = bytearray(good)
        data[offset] ^= 1
        assert words in refusal(bytes(data))

    @pytest.mark.parametrize("kind", [1, 2, 3, 4, 5])
    def test_a_flipped_bit_in_a_metadata_section(self, good: bytes, refusal: Refuse, kind: int) -> None:
        _place, offset, size = section(good, kind)
        data = bytearray(good)
        data[offset + size - 1] ^= 0x10
        assert f"the section of kind {kind} does not have its SHA-256" in refusal(bytes(data))

    @pytest.mark.parametrize(("name", "scales"), [
        ("embed_tokens.weight", False), ("embed_tokens.weight", True), ("sam_model.net_3.weight", False),
        ("layers.1.self_attn.q_proj.weight", True), ("sam_model.neck.1.bias", False)])
    def test_a_flipped_bit_in_a_payload_is_found_by_verify(self, good: bytes, tmp_path: Path, name: str,
                                                           scales: bool) -> None:
        path = tmp_path / "flipped.uocr"
        path.write_bytes(good)
        with ModelFile.open(path) as model:
            model.verify()
            info = model.tensors[name]
        data = bytearray(good)
        data[info.scale_offset + info.scale_size - 1 if scales else info.offset] ^= 0x80
        path.write_bytes(data)
        with ModelFile.open(path) as model, pytest.raises(ModelFileError, match=f"tensor {name} does not"):
            model.verify()

    def test_random_damage_is_refused_or_harmless(self, good: bytes, tmp_path: Path) -> None:
        """2,000 seeds of one to eight random bytes among header, table and metadata."""
        path = tmp_path / "mutant.uocr"
        end = section(good, 16)[1]
        refused = 0
        path.write_bytes(good)
        with ModelFile.open(path) as model:
            right = (model.config, model.front_end, model.tensors, model.tokenizer_json, model.provenance)
        for seed in range(2000):
            dice = random.Random(seed)
            with path.open("r+b") as file:
                places = [dice.randrange(end) for _ in range(dice.randint(1, 8))]
                for place in places:
                    file.seek(place)
                    file.write(bytes([dice.randrange(256)]))
            try:
                with ModelFile.open(path) as model:
                    assert right == (model.config, model.front_end, model.tensors, model.tokenizer_json,
                                     model.provenance)
            except ModelFileError:
                refused += 1
            with path.open("r+b") as file:
                for place in places:
                    file.seek(place)
                    file.write(good[place:place + 1])
        assert refused > 500  # most of the metadata is padding, where damage is harmless


class TestHostileFiles:
    """Every hash is right; the numbers behind them are not."""

    @pytest.mark.parametrize(("offset", "code", "value", "words"), [
        (12, "I", 512, "the header is damaged"), (8, "I", 0, "the header is damaged"),
        (32, "Q", 1 << 40, "the header is damaged"), (28, "I", 4, "profile 4 is unknown"),
        (24, "I", 0, "0 sections, allowed are 6 to 4096"), (40, "Q", 1, "reserved bytes of the header"),
        (200, "B", 7, "reserved bytes of the header")])
    def test_header(self, good: bytes, refusal: Refuse, offset: int, code: str, value: int,
                    words: str) -> None:
        data = bytearray(good)
        struct.pack_into("<" + code, data, offset, value)
        data[224:256] = hashlib.sha256(data[:224]).digest()
        assert words in refusal(bytes(data))

    def test_more_sections_than_bytes(self, good: bytes, refusal: Refuse) -> None:
        data = bytearray(good[:16384])
        struct.pack_into("<Q", data, 16, len(data))
        struct.pack_into("<I", data, 24, 4096)
        data[224:256] = hashlib.sha256(data[:224]).digest()
        assert "4096 sections do not fit into 16384 bytes" in refusal(bytes(data))

    @pytest.mark.parametrize(("field", "code", "value"), [
        (8, "Q", 0), (8, "Q", 16384 + 128), (8, "Q", 1 << 63), (8, "Q", 1 << 40), (16, "Q", 1 << 62),
        (16, "Q", 2**64 - 1)])
    def test_section_bounds(self, good: bytes, refusal: Refuse, field: int, code: str, value: int) -> None:
        last = 256 + 64 * (struct.unpack_from("<I", good, 24)[0] - 1)
        assert "does not lie in the file" in refusal(patched(good, (last + field, code, value)))

    def test_section_order(self, good: bytes, refusal: Refuse) -> None:
        words = refusal(patched(good, (256, "I", 2), (320, "I", 1)))
        assert "section 0 has kind 2, group 0, reserved 0; its kind should be 1" in words

    def test_overlapping_sections(self, good: bytes, refusal: Refuse) -> None:
        first = section(good, 16)
        assert "does not lie in the file" in refusal(patched(good, (first[0] + 64 + 8, "Q", first[1])))

    @pytest.mark.parametrize(("offset", "code", "value", "words"), [
        (0, "I", 2, "the config record has version 2"),
        (4, "I", 0, "vocab_size is 0"), (4, "I", 2**32 - 1, "vocab_size is 4294967295"),
        (8, "I", 513, "usable_vocab 513 is above vocab_size 512"), (24, "I", 512, "not below vocab_size 512"),
        (28, "I", 129, "do not make hidden_size 129"), (52, "I", 2, "num_experts_per_tok 3 is above"),
        (88, "f", float("nan"), "rms_norm_eps is nan"), (88, "f", float("inf"), "rms_norm_eps is inf"),
        (136, "I", 0, "sam_heads is 0"), (168, "Q", 1 << 63, "global-attention index"),
        (200, "I", 258, "CLIP positions 258 is not 1 plus a square")])
    def test_config(self, good: bytes, refusal: Refuse, offset: int, code: str, value: float,
                    words: str) -> None:
        assert words in refusal(patched(good, (section(good, 1)[1] + offset, code, value)))

    @pytest.mark.parametrize(("field", "code", "value", "words"), [
        (0, "I", 2**32 - 1, "leaves the directory"), (4, "I", 0, "a tensor name of 0 bytes"),
        (4, "I", 256, "a tensor name of 256 bytes"), (8, "I", 4, "has dtype 4"), (12, "I", 1, "layout 1"),
        (16, "I", 0, "rank 0"), (16, "I", 5, "rank 5"), (20, "I", 4, "reason 4"),
        (24, "Q", 0, "has the shape (0, 128, 1, 1)"), (24, "Q", 2**63, "needs"), (32, "Q", 2**63, "needs"),
        (40, "Q", 2, "has the shape (512, 128, 2, 1) with rank 2"), (32, "Q", 96, "96 is not a multiple"),
        (56, "Q", 1, "leaves its section"), (56, "Q", 0, "leaves its section"),
        (56, "Q", 2**63, "leaves its section"), (64, "Q", 1, "needs"), (72, "Q", 64, "leaves its section"),
        (80, "Q", 0, "needs"), (88, "I", 4, "holds no payload"), (88, "I", 1000, "holds no payload"),
        (92, "I", 1, "1 in a reserved place"), (96, "B", 0, "the model id is not the hash")])
    def test_directory_entry(self, good: bytes, refusal: Refuse, field: int, code: str, value: int,
                             words: str) -> None:
        assert words in refusal(patched(good, (entry(good, "lm_head.weight") + field, code, value)))

    def test_a_tensor_that_fills_another_section(self, good: bytes, refusal: Refuse) -> None:
        other = struct.unpack_from("<Q", good, entry(good, "embed_tokens.weight") + 56)[0]
        words = refusal(patched(good, (entry(good, "lm_head.weight") + 56, "Q", other)))
        assert "lm_head.weight" in words and "leaves its section" in words

    @pytest.mark.parametrize(("field", "code", "value"), [
        (0, "I", 161), (0, "I", 2**32 - 1), (4, "I", 64), (8, "Q", 2**63), (16, "Q", 2**63), (24, "Q", 1)])
    def test_directory_head(self, good: bytes, refusal: Refuse, field: int, code: str, value: int) -> None:
        words = refusal(patched(good, (section(good, 3)[1] + field, code, value)))
        assert "does not fit its" in words

    def test_names_must_be_unique_and_sorted(self, good: bytes, refusal: Refuse) -> None:
        first = section(good, 3)[1] + 32
        start, length = struct.unpack_from("<II", good, first)
        words = refusal(patched(good, (first + 128, "I", start), (first + 132, "I", length)))
        assert "tensor names are not unique and sorted" in words

    def test_names_must_be_utf8(self, good: bytes, refusal: Refuse) -> None:
        _place, at, _size = section(good, 3)
        names_at = at + struct.unpack_from("<Q", good, at + 8)[0]
        last = entry(good, "vision_model.transformer.layers.2.self_attn.qkv_proj.weight")
        start = struct.unpack_from("<I", good, last)[0]
        assert "is not UTF-8" in refusal(patched(good, (names_at + start + 1, "B", 0xFF)))

    @pytest.mark.parametrize("text", [b"[]", b"{", b"\xff\xff", b'{"a":1}x'])
    @pytest.mark.parametrize(("kind", "what"), [(2, "front-end"), (4, "tokenizer"), (5, "provenance")])
    def test_json_sections(self, good: bytes, refusal: Refuse, kind: int, what: str, text: bytes) -> None:
        place, offset, _size = section(good, kind)
        data = bytearray(good)
        data[offset:offset + len(text)] = text
        struct.pack_into("<Q", data, place + 16, len(text))
        assert f"the {what} section is not" in refusal(reseal(data))

    def test_deeply_nested_json(self, good: bytes, refusal: Refuse) -> None:
        place, offset, _size = section(good, 2)
        data = bytearray(good)
        data[offset:offset + 16384] = b"[" * 16384
        struct.pack_into("<Q", data, place + 16, 16384)
        assert "the front-end section is not JSON" in refusal(reseal(data))


def test_an_open_file_says_what_it_holds(converted: Make) -> None:
    with ModelFile.open(converted("q8")) as model:
        assert model.profile == "q8"
        assert model.tokenizer_json == b"{}"
        assert model.config.vocab_size == 512
        assert json.loads(json.dumps(model.front_end))["default_preset"] == "gundam"
        assert model.tensors["layers.1.mlp.experts.down_proj.weight"].shape == (8, 128, 64)
        assert model.codes("lm_head.weight").dtype.name == "int8"
        assert model.scales("lm_head.weight").shape == (512, 2)
        heard: list[tuple[int, int]] = []
        model.verify(lambda *pair: heard.append(pair))
        assert heard[-1] == (model.payload_size, model.payload_size)
