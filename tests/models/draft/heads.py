"""A small random EAGLE-3 head, written in any of the three public layouts, and a slow reference."""

import json
from pathlib import Path
from types import SimpleNamespace

import torch
from safetensors.torch import save_file
from torch import Tensor
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import (
    LlamaRMSNorm,
    LlamaRotaryEmbedding,
    apply_rotary_pos_emb,
)

D, DT, INTER, H, HKV, HD, V, VD = 16, 12, 24, 4, 2, 6, 40, 10
LAYERS = 30  # of the imagined target: it hands over 2, 15, 27
LAYER_CONFIG = {
    "hidden_size": D, "intermediate_size": INTER, "num_attention_heads": H, "vocab_size": V,
    "num_key_value_heads": HKV, "head_dim": HD, "rms_norm_eps": 1e-5, "num_hidden_layers": 1,
    "model_type": "llama", "hidden_act": "silu", "tie_word_embeddings": True,
}  # fmt: skip
SHAPES = {
    "fc.weight": (D, 3 * DT),
    "norm.weight": (D,),
    "lm_head.weight": (VD, D),
    "midlayer.input_layernorm.weight": (D,),
    "midlayer.hidden_norm.weight": (D,),
    "midlayer.post_attention_layernorm.weight": (D,),
    "midlayer.self_attn.q_proj.weight": (H * HD, 2 * D),
    "midlayer.self_attn.k_proj.weight": (HKV * HD, 2 * D),
    "midlayer.self_attn.v_proj.weight": (HKV * HD, 2 * D),
    "midlayer.self_attn.o_proj.weight": (D, H * HD),
    "midlayer.mlp.gate_proj.weight": (INTER, D),
    "midlayer.mlp.up_proj.weight": (INTER, D),
    "midlayer.mlp.down_proj.weight": (D, INTER),
}
EXTRAS = {
    "norm_before_fc": {"input_norm.weight": (3 * DT,)},
    "fc_norm": {f"fc_norm.{i}.weight": (DT,) for i in range(3)},
    "q_norm": {f"midlayer.self_attn.{x}_norm.weight": (HD,) for x in "qk"},
    "attention_bias": {
        **{f"midlayer.self_attn.{x}_proj.bias": (HKV * HD,) for x in "kv"},
        "midlayer.self_attn.q_proj.bias": (H * HD,),
        "midlayer.self_attn.o_proj.bias": (D,),
    },
}


def random_head(seed: int = 0, on: tuple[str, ...] = ()) -> tuple[dict, dict[str, Tensor]]:
    """SafeAILab's config and tensors of a head with the switches `on` (q_norm: qwen3's norms)."""
    generator = torch.Generator().manual_seed(seed)
    shapes = SHAPES | {name: shape for x in on for name, shape in EXTRAS.get(x, {}).items()}
    tensors = {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}
    for name, tensor in tensors.items():
        tensor.mul_(0.3).add_(1.0 if "norm" in name else 0.0)
    ids = torch.randperm(V, generator=generator)[:VD].sort().values
    tensors["d2t"] = ids - torch.arange(VD)
    tensors["t2d"] = torch.zeros(V, dtype=torch.bool).index_fill_(0, ids, True)
    config = {"architectures": ["LlamaForCausalLM"], **LAYER_CONFIG, "draft_vocab_size": VD}
    return config | {x: True for x in on if x != "q_norm"}, tensors


def as_specforge(config: dict, tensors: dict[str, Tensor]) -> tuple[dict, dict[str, Tensor]]:
    """The same head as SpecForge exports it, with ids of the layers whose output is read."""
    eagle = {"eagle_aux_hidden_state_layer_ids": [1, 14, 26], "use_aux_hidden_state": True}
    config = config | {"architectures": ["LlamaForCausalLMEagle3"], "eagle_config": eagle}
    return config, tensors


def as_speculators(config: dict, tensors: dict[str, Tensor]) -> tuple[dict, dict[str, Tensor]]:
    """The same head as vLLM's speculators write it, with ids of the layers whose input is read."""
    layer = {name: config[name] for name in LAYER_CONFIG}
    top = {name: value for name, value in config.items() if name not in layer}
    top |= {"architectures": ["Eagle3Speculator"], "speculators_model_type": "eagle3"}
    top |= {"eagle_aux_hidden_state_layer_ids": [2, 15, 27], "transformer_layer_config": layer}
    return top, {name.replace("midlayer", "layers.0"): x for name, x in tensors.items()}


def write(folder: Path, config: dict, tensors: dict[str, Tensor]) -> Path:
    """A checkpoint folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    save_file({name: x.contiguous() for name, x in tensors.items()}, folder / "model.safetensors")
    return folder


def random_text(slots: int, seed: int = 1) -> SimpleNamespace:
    """tokens (slots + 1,), features (slots, 3 DT) and the target's embeddings (V, D)."""
    generator = torch.Generator().manual_seed(seed)
    return SimpleNamespace(
        tokens=torch.randint(0, V, (slots + 1,), generator=generator),
        features=torch.randn(slots, 3 * DT, generator=generator),
        embeddings=torch.randn(V, D, generator=torch.Generator().manual_seed(7)),
    )


class Reference:
    """The layer written out row by row, with transformers' norm and rotary embedding."""

    def __init__(self, config: dict, tensors: dict[str, Tensor], embeddings: Tensor) -> None:
        self.config, self.tensors, self.embeddings = config, tensors, embeddings
        rope = {"rope_type": "default", "rope_theta": config.get("rope_theta", 10000.0)}
        llama = LlamaConfig(hidden_size=H * HD, num_attention_heads=H, rope_parameters=rope)
        self.rotary = LlamaRotaryEmbedding(llama)

    def norm(self, x: Tensor, name: str) -> Tensor:
        module = LlamaRMSNorm(x.shape[-1], self.config["rms_norm_eps"])
        module.weight.data = self.tensors[f"{name}.weight"]
        return module(x)

    def linear(self, x: Tensor, name: str) -> Tensor:
        y = x @ self.tensors[f"{name}.weight"].T
        return y + self.tensors.get(f"{name}.bias", 0)

    def features(self, x: Tensor) -> Tensor:
        if "fc_norm" in self.config:
            parts = x.split(DT, dim=-1)
            x = torch.cat([self.norm(part, f"fc_norm.{i}") for i, part in enumerate(parts)], -1)
        if "norm_before_fc" in self.config:
            x = self.norm(x, "input_norm")
        return self.linear(x, "fc")

    def heads(self, x: Tensor, name: str) -> Tensor:
        """(n, 2D) -> (1, heads, n, HD)"""
        y = self.linear(x, f"midlayer.self_attn.{name}_proj").unflatten(-1, (-1, HD))
        if f"midlayer.self_attn.{name}_norm.weight" in self.tensors:
            y = self.norm(y, f"midlayer.self_attn.{name}_norm")
        return y.transpose(0, 1)[None]

    @torch.no_grad()
    def outputs(self, tokens: Tensor, hidden: Tensor) -> Tensor:
        """Outputs (n, D) of n causal slots with the given tokens and hidden inputs (n, D)."""
        layer, n = "midlayer.", len(tokens)
        normed = self.norm(hidden, layer + "hidden_norm")
        residual = normed if "norm_before_residual" in self.config else hidden
        embedded = self.norm(self.embeddings[tokens], layer + "input_layernorm")
        x = torch.cat([embedded, normed], dim=-1)
        q, k, v = (self.heads(x, name) for name in "qkv")
        q, k = apply_rotary_pos_emb(q, k, *self.rotary(x, torch.arange(n)[None]))
        rows = []
        for head in range(H):
            key, value = k[0, head // (H // HKV)], v[0, head // (H // HKV)]
            scores = q[0, head] @ key.T / HD**0.5
            scores += torch.full((n, n), -torch.inf).triu(1)
            rows.append(scores.softmax(-1) @ value)
        x = residual + self.linear(torch.cat(rows, -1), layer + "self_attn.o_proj")
        y = self.norm(x, layer + "post_attention_layernorm")
        gate = self.linear(y, layer + "mlp.gate_proj")
        y = gate * gate.sigmoid() * self.linear(y, layer + "mlp.up_proj")
        return x + self.linear(y, layer + "mlp.down_proj")

    def logits(self, outputs: Tensor) -> Tensor:
        return self.linear(self.norm(outputs, "norm"), "lm_head")

    @torch.no_grad()
    def path(self, text: SimpleNamespace, nodes: list[int]) -> Tensor:
        """Logits (1 + nodes, VD) of the root and of a path below it, each from its own pass."""
        tokens, hidden = text.tokens[1:], self.features(text.features)
        logits = []
        for node in [*nodes, None]:
            last = self.outputs(tokens, hidden)[-1:]
            logits.append(self.logits(last))
            if node is not None:
                fed = self.norm(last, "norm") if "norm_output" in self.config else last
                tokens = torch.cat([tokens, torch.tensor([node])])
                hidden = torch.cat([hidden, fed])
        return torch.cat(logits)
