#!/usr/bin/env python3
"""Writes attention as PyTorch computes it, for tests/kernels/torch_golden.cpp.

make_torch_golden.py [FOLDER]   write attention.json and attention.bin (default: beside this file)

Needs PyTorch (Debian: python3-torch, under /usr/bin/python3); the tests need neither it nor Python.

attention.bin holds arrays one after the other: little-endian float32, or float64 where the name ends
in _fp64. attention.json names them: for every case its shape and, for every array, the byte at which
it starts and its dimensions, row-major:
  q         heads, rows, head_dim         rows is 1, or positions in a causal case
  k, v      kv_heads, positions, head_dim
  out       heads, rows, head_dim         scaled_dot_product_attention in float32
  out_fp64  heads, rows, head_dim         the same of the same values in float64
Grouped heads are given to PyTorch expanded by repeat_interleave. A causal case lets row i see keys 0
to i.
"""

import json
import pathlib
import sys

import torch

SEED = 20260723

# name, heads, kv_heads, head_dim, positions, causal
CASES = [
    ("mha_1", 2, 2, 64, 1, False),
    ("mha_64", 2, 2, 8, 64, False),
    ("gqa_64", 8, 2, 16, 64, False),
    ("gqa_257", 4, 2, 2, 257, False),
    ("mqa_257", 4, 1, 4, 257, False),
    ("mqa_5", 8, 1, 64, 5, False),
    ("odd_head_5", 4, 2, 80, 5, False),
    ("odd_head_1", 3, 1, 80, 1, False),
    ("causal_17", 4, 2, 8, 17, True),
]


def attention(q, k, v, causal):
    group = q.shape[0] // k.shape[0]
    k = k.repeat_interleave(group, dim=0)
    v = v.repeat_interleave(group, dim=0)
    if hasattr(torch.nn.functional, "scaled_dot_product_attention"):  # 2.0 and later
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    out, _ = torch.nn.functional._scaled_dot_product_attention(q, k, v, is_causal=causal)
    return out


def make_case(name, heads, kv_heads, head_dim, positions, causal, generator):
    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float32)

    q = draw(heads, positions if causal else 1, head_dim)
    k = draw(kv_heads, positions, head_dim)
    v = draw(kv_heads, positions, head_dim)
    shape = {"name": name, "heads": heads, "kv_heads": kv_heads, "head_dim": head_dim,
             "positions": positions, "causal": causal}
    return shape, {
        "q": q, "k": k, "v": v,
        "out": attention(q, k, v, causal),
        "out_fp64": attention(q.double(), k.double(), v.double(), causal),
    }


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(SEED)
    data = bytearray()
    cases = []
    for case in CASES:
        entry, arrays = make_case(*case, generator)
        entry["arrays"] = {}
        for name, values in arrays.items():
            data += bytes(-len(data) % 8)
            entry["arrays"][name] = {"at": len(data), "shape": list(values.shape)}
            little_endian = "<f8" if name.endswith("_fp64") else "<f4"
            data += values.contiguous().numpy().astype(little_endian).tobytes()
        cases.append(entry)
    index = {"made_with": f"torch {torch.__version__}", "seed": SEED, "bytes": len(data),
             "cases": cases}
    (folder / "attention.json").write_text(json.dumps(index, indent=1) + "\n")
    (folder / "attention.bin").write_bytes(data)


if __name__ == "__main__":
    main()
