"""Shape of the built-in model, in the configuration keys of the checkpoint format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Config = dict[str, Any]

VIEW = 1024
"""Side of the global view in pixels."""

TILE = 640
"""Side of a local crop in pixels."""

PATCH = 16
"""Side of a SAM patch in pixels; a visual token covers 4 x 4 patches."""

MAX_POSITIONS = 8192


def default_config() -> Config:
    """Configuration of the 22.5 M parameter model."""
    return {
        "architectures": ["UnlimitedOCRForCausalLM"],
        "model_type": "unlimited-ocr",
        "bos_token_id": 0,
        "eos_token_id": 1,
        "pad_token_id": 2,
        "image_token_id": 2035,
        "torch_dtype": "bfloat16",
        "vocab_size": 2048,
        "hidden_size": 256,
        "intermediate_size": 1024,
        "moe_intermediate_size": 128,
        "n_routed_experts": 16,
        "n_shared_experts": 2,
        "num_experts_per_tok": 4,
        "first_k_dense_replace": 1,
        "num_hidden_layers": 6,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "v_head_dim": 64,
        "head_dim": 64,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "norm_topk_prob": False,
        "routed_scaling_factor": 1.0,
        "scoring_func": "softmax",
        "topk_method": "greedy",
        "n_group": 1,
        "topk_group": 1,
        "kv_lora_rank": None,
        "q_lora_rank": None,
        "qk_nope_head_dim": 0,
        "qk_rope_head_dim": 0,
        "use_mla": False,
        "rm_head": False,
        "lm_head": True,
        "hidden_act": "silu",
        "tie_word_embeddings": False,
        "max_position_embeddings": MAX_POSITIONS,
        "sliding_window_size": 128,
        "sliding_window": 128,
        "candidate_resolutions": [[VIEW, VIEW]],
        "global_view_pos": "head",
        "tile_tag": "2D",
        "projector_config": {
            "input_dim": 512,
            "model_type": "mlp_projector",
            "n_embed": 256,
            "projector_type": "linear",
        },
        "vision_config": {
            "image_size": VIEW,
            "mlp_ratio": 4.0,
            "model_name": "deeplip_nano",
            "model_type": "vision",
            "width": {
                "clip-l-14-224": {
                    "heads": 4,
                    "image_size": 224,
                    "layers": 4,
                    "patch_size": 14,
                    "width": 256,
                    "num_positions": 257,
                },
                "sam_vit_b": {
                    "downsample_channels": [192, 256],
                    "out_chans": 128,
                    "global_attn_indexes": [2, 5],
                    "heads": 4,
                    "layers": 6,
                    "width": 256,
                    "window_size": 14,
                },
            },
        },
    }


def tiny_config() -> Config:
    """A model small enough to train a few steps on a CPU; same structure, same vocabulary."""
    config = default_config()
    config.update(
        hidden_size=64,
        intermediate_size=128,
        moe_intermediate_size=32,
        n_routed_experts=4,
        num_experts_per_tok=2,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=32,
        v_head_dim=32,
    )
    config["projector_config"].update(input_dim=128, n_embed=64)
    width = config["vision_config"]["width"]
    width["clip-l-14-224"].update(heads=2, layers=1, width=64)
    width["sam_vit_b"].update(
        downsample_channels=[48, 64], out_chans=32, global_attn_indexes=[], heads=2, layers=2, width=64
    )
    return config


def load_config(folder: Path) -> Config:
    """Configuration stored beside a checkpoint, with the longest context this trainer promises."""
    config: Config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["max_position_embeddings"] = max(MAX_POSITIONS, config["max_position_embeddings"])
    return config
