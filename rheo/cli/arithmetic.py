"""The arguments that say how a target computes, for every command that loads one."""

import argparse

from rheo.models.cpu.forwards import FORWARDS


def add_arithmetic(parser: argparse.ArgumentParser) -> None:
    """Add how a target computes."""
    add = parser.add_argument_group("arithmetic").add_argument
    add(
        "--dtype",
        choices=("float32", "bfloat16"),
        help="of the models (default: bfloat16 on a GPU, else float32)",
    )
    add(
        "--forward",
        choices=FORWARDS,
        default="auto",
        help="on a CPU: oneDNN's products on packed weights, torch's own, or transformers' whole "
        "forward pass; auto tries the first two when it loads (default: %(default)s)",
    )
