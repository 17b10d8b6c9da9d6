"""The engine against an independent implementation: transformers' own `unlimited_ocr`, in f32 on the CPU.

Needs the extra `parity`. The same random checkpoint is loaded by both; our engine reads freely, transformers is fed the
same tokens, and every step's logits are compared, well past the point where the ring of generated tokens wraps.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the comparison with transformers needs: pip install leggio[parity]")
transformers = pytest.importorskip(
    "transformers", minversion="5.24.0", reason="the comparison with transformers needs: pip install leggio[parity]"
)

from uocr import native  # noqa: E402
from uocr.convert import convert_checkpoint  # noqa: E402
from uocr.views import visual_tokens  # noqa: E402

from tests.parity import checkpoint as c  # noqa: E402

STEPS = c.RING + 300
TEXT = [7, 81, 23, 402, 19, 300]


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory):
    """(folder of the checkpoint, transformers model)."""
    folder = tmp_path_factory.mktemp("parity")
    c.write_weights(folder)
    config = transformers.UnlimitedOcrConfig(
        image_token_id=c.IMAGE_ID,
        text_config=dict(
            vocab_size=c.VOCAB,
            hidden_size=c.HIDDEN,
            intermediate_size=c.DENSE,
            num_hidden_layers=c.LAYERS,
            num_attention_heads=c.HEADS,
            num_key_value_heads=c.HEADS,
            n_routed_experts=c.EXPERTS,
            n_shared_experts=c.SHARED,
            num_experts_per_tok=c.TOP_K,
            moe_intermediate_size=c.EXPERT_WIDTH,
            sliding_window=c.RING,
            first_k_dense_replace=1,
            rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        ),
        vision_config=dict(
            sam_config=dict(
                hidden_size=c.SAM,
                output_channels=c.NECK,
                num_hidden_layers=c.SAM_BLOCKS,
                num_attention_heads=c.SAM_HEADS,
                mlp_dim=4 * c.SAM,
                global_attn_indexes=list(c.GLOBAL_BLOCKS),
                downsample_channels=list(c.DOWN),
            ),
            encoder_config=dict(
                hidden_size=c.CLIP,
                intermediate_size=4 * c.CLIP,
                num_hidden_layers=c.CLIP_LAYERS,
                num_attention_heads=c.CLIP_HEADS,
            ),
        ),
    )
    config.save_pretrained(folder)
    model, info = transformers.UnlimitedOcrForConditionalGeneration.from_pretrained(
        folder, config=config, dtype=torch.float32, output_loading_info=True, attn_implementation="sdpa"
    )
    assert not info["missing_keys"] and not info["mismatched_keys"]
    return folder, model.eval()


def pages(sizes: list[int]) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    return [rng.integers(0, 256, (size, size, 3), dtype=np.uint8) for size in sizes]


def as_pixels(views: list[np.ndarray]):
    table = native.pixel_table()
    return torch.from_numpy(np.stack([table[v].transpose(2, 0, 1) for v in views]))


@pytest.mark.parametrize("grid", [(0, 0), (1, 2)], ids=["global view", "crops 1 x 2"])
def test_logits_and_tokens_match_transformers_past_the_rings_wrap(reference, tmp_path: Path, grid) -> None:
    folder, model = reference
    cols, rows = grid
    target = tmp_path / "parity.uocr"
    convert_checkpoint(folder, target, "f32")
    views = pages([640] * (cols * rows) + [1024])
    count = visual_tokens(1024, *(grid if cols else (1, 1)))
    ids = [0, *[c.IMAGE_ID] * count, *TEXT]
    plan = native.Plan(
        ids,
        crop_cols=cols,
        crop_rows=rows,
        max_new_tokens=STEPS,
        ignore_eos=True,
        ngram_size=0,
        loop_history=0,
        allow_padding_ids=True,
    )
    mine, tokens = [], []
    with native.Engine(target, precision="exact") as engine, engine.begin(plan) as run:
        run.capture("logits", "rows")
        for event in run.events():
            if event.kind == native.NEED_VIEW:
                run.feed(event.view, views[event.view])
            elif event.kind == native.TOKEN:
                mine.append(run.fetch("logits")[-1])
                tokens.append(event.token)
        features = run.fetch("rows")

    inputs = {"pixel_values": as_pixels(views[-1:])}
    if cols:
        inputs |= {
            "pixel_values_local": as_pixels(views[:-1]),
            "num_local_patches": [cols * rows],
            "patches_grid": [[cols, rows]],
        }
    with torch.inference_mode():
        theirs_features = torch.cat(model.get_image_features(**inputs).pooler_output).numpy()
        output = model(input_ids=torch.tensor([ids]), use_cache=True, **inputs)
        theirs, cache = [output.logits[0, -1].numpy()], output.cache if "cache" in output else output.past_key_values
        name = "cache" if "cache" in output else "past_key_values"
        for token in tokens[:-1]:
            output = model(input_ids=torch.tensor([[token]]), use_cache=True, **{name: cache})
            cache = output[name]
            theirs.append(output.logits[0, -1].numpy())
    assert features.shape == theirs_features.shape
    assert np.abs(features - theirs_features).max() <= 2e-4
    assert np.abs(np.array(mine) - np.array(theirs)).max() <= 2e-4
    # ignore_eos: transformers' own choice, eos left out
    choice = np.array(theirs)
    choice[:, 1] = -np.inf
    assert tokens == choice.argmax(1).tolist()
    assert len(tokens) == STEPS
