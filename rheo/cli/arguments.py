"""Define the arguments of the command line, with the defaults of `DecodeParams`."""

import argparse
from pathlib import Path
from typing import NoReturn

from rheo.cli.arithmetic import add_arithmetic
from rheo.cli.streams import typed
from rheo.cli.training import add_corpus, add_train
from rheo.cli.types import head_layers, in_range, positive, swept
from rheo.models.hub.catalogue import DEFAULT, PAIRS
from rheo.params import BUDGETS, STRATEGIES, DecodeParams
from rheo.ranges import RANGES
from rheo.version import __version__

COMPARED = ("topk", "rheo-rrsw", "rheo")
WITH_REFERENCE = ("autoregressive", *COMPARED)

# option, field of DecodeParams, metavar
_DECODING = (
    ("--m", "m", "N"),
    ("--k", "K", "N"),
    ("--nodes", "R", "N"),
    ("--depth", "depth", "N"),
    ("--temperature", "T", "X"),
    ("--support", "S", "N|full"),
    ("--probes", "probes", "N"),
    ("--top-p", "top_p", "X"),
    ("--top-k", "top_k", "N"),
    ("--seed", "seed", "N"),
    ("--max-new-tokens", "max_new_tokens", "N"),
)


class Parser(argparse.ArgumentParser):
    """An argparse parser whose complaint about a mistake is one sentence."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help.\n")


def parser() -> argparse.ArgumentParser:
    """Return the whole command line; `command` of what it parses is the command's name."""
    top = Parser(
        prog="python -m rheo",
        description="Lossless speculative decoding with dynamic draft trees (RheoSampling).",
    )
    top.add_argument("--version", action="version", version=f"rheoscope {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", dest="command", required=True)
    _add_fetch(_command(commands, "fetch", "Download and convert the weights of a pair, once."))
    _add_generate(_command(commands, "generate", "Answer one prompt, streaming the text."))
    _add_audit(_command(commands, "audit", "Compute the exact law of a round in small worlds."))
    _add_bench(_command(commands, "bench", "Measure strategies side by side on prompts."))
    _add_gallery(_command(commands, "gallery", "Record the runs that the page shows."))
    add_corpus(_command(commands, "corpus", "Let a target write the corpus of its draft head."))
    add_train(_command(commands, "train", "Train an EAGLE-3 head on a corpus."))
    return top


def params_of(args: argparse.Namespace, strategy: str) -> DecodeParams:
    """Return the decoding arguments as validated parameters. Raises RheoError."""
    fields = {field: getattr(args, field) for _, field, *_ in _DECODING}
    budget = args.budget or ("auto" if getattr(args, "against_plain", False) else BUDGETS[0])
    return DecodeParams(strategy, budget=budget, **fields)


_Commands = argparse._SubParsersAction  # argparse has no public name for it


def _command(commands: "_Commands", name: str, text: str) -> argparse.ArgumentParser:
    """Add a command without arguments of its own."""
    command = commands.add_parser(name, help=text, description=text)
    about = "show where an error came from, and what caused it"
    command.add_argument("--debug", action="store_true", help=about)
    return command


def _add_fetch(command: argparse.ArgumentParser) -> None:
    """Add the arguments of `fetch`."""
    names = f"one of {', '.join(PAIRS)} (default: %(default)s)"
    command.add_argument("pair", nargs="?", default=DEFAULT, metavar="PAIR", help=names)


def _add_generate(command: argparse.ArgumentParser) -> None:
    """Add the arguments of `generate`."""
    add = command.add_argument
    add(
        "--prompt",
        type=typed,
        required=True,
        help="the text to answer; - reads it from standard input",
    )
    add(
        "--strategy",
        default=DecodeParams().strategy,
        choices=STRATEGIES,
        help="how to draft and verify (default: %(default)s)",
    )
    add(
        "--stop",
        type=typed,
        action="append",
        default=[],
        metavar="S",
        help="end the text before this string; may be repeated",
    )
    add(
        "--trace",
        type=Path,
        metavar="FILE",
        help="write every round to FILE, named .json or .json.gz",
    )
    add(
        "--json",
        action="store_true",
        help="print one JSON object alone instead of the text; its ms are sums over rounds, "
        "prefill_ms apart; tokens_per_s is all new tokens over the wall time of decoding, prefill "
        "included; coverage is the mean mass of the draft's distribution on its support over all "
        "nodes that were expanded and kept; plain_step is what plain steps of the target took that "
        "were timed between the rounds, ratio how many times as fast a token was (ratio_low and "
        "ratio_high by their fastest and slowest)",
    )
    _add_models(command)
    _add_decoding(command)


def _add_audit(command: argparse.ArgumentParser) -> None:
    """Add the arguments of `audit`."""
    command.add_argument(
        "file",
        type=Path,
        metavar="FILE.jsonl",
        help="one case a line, {id, world, params, expected}; prints one JSON line for each, with "
        "the figures of the strategies that `expected` names",
    )


def _add_bench(command: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench`."""
    add = command.add_argument
    add(
        "--prompts",
        type=Path,
        nargs="+",
        metavar="FILE.jsonl",
        help='files of {"suite", "id", "prompt"} lines; a prompt is a text or a list of user '
        "turns, of which the first is asked (default: the files of assets/prompts)",
    )
    add(
        "--strategies",
        metavar="A,B",
        help=f"some of {', '.join(STRATEGIES)} (default: {','.join(WITH_REFERENCE)}; with "
        f"--expected or --ablation: {','.join(COMPARED)}; with --against-plain: rheo)",
    )
    add("--limit", type=positive, metavar="N", help="N prompts at most, taken in turn by suite")
    add("--json", action="store_true", help="print one JSON object instead of tables")
    _add_measures(command)
    _add_models(command)
    _add_decoding(command)


def _add_gallery(command: argparse.ArgumentParser) -> None:
    """Add the arguments of `gallery`."""
    add = command.add_argument
    text = "folder of the traces and of their index.json"
    add("--out", type=Path, required=True, metavar="FOLDER", help=text)
    add("--only", metavar="NAME", help="record the group of this run alone")
    _add_models(command)


def _add_measures(command: argparse.ArgumentParser) -> None:
    """Add what is measured if not whole answers."""
    group = command.add_argument_group("instead of sampling whole answers")
    one_of = group.add_mutually_exclusive_group()
    one_of.add_argument(
        "--expected",
        action="store_true",
        help="expected accepted tokens given the drawn tree, at the same contexts for all "
        "strategies: the target's answers to the prompts (up to --max-new-tokens), cut at several "
        "points; survival and acceptance of the probe are weighted by the probability that the "
        "walk gets there; each paired difference is a strategy minus one named before it",
    )
    one_of.add_argument(
        "--ablation",
        choices=["depth1"],
        help="the probability that the first draft token is accepted, beside the paper's, and as "
        "it was measured there: one level, all K slots kept (whatever --depth and --nodes say)",
    )
    one_of.add_argument(
        "--against-plain",
        action="store_true",
        help="the first of --strategies (default: rheo) against plain decoding at T = 0 and 1, "
        "prompt by prompt in turns",
    )
    one_of.add_argument(
        "--against-generate",
        action="store_true",
        help="our autoregressive decoder against transformers' generate, greedy, in turns",
    )
    group.add_argument(
        "--sweep",
        type=swept,
        metavar="NAME=A,B,C",
        help="with --expected: one of m, K, R, depth, T, S or probes at several values, all at the "
        "same contexts",
    )
    for option, default, text in (
        ("--contexts", 60, "contexts in all, for --expected and --ablation"),
        ("--draws", 4, "trees drawn at each of them"),
        ("--repeats", 7, "pairs of runs for --against-generate"),
    ):
        text = f"{text} (default: %(default)s)"
        group.add_argument(option, type=positive, default=default, metavar="N", help=text)


def _add_models(parser: argparse.ArgumentParser) -> None:
    """Add which models run, where, and whether the prompt is wrapped in the chat template."""
    add = parser.add_argument_group("models").add_argument
    names = f"one of {', '.join(PAIRS)} (default: %(default)s)"
    add("--pair", default=DEFAULT, metavar="NAME", help=names)
    add("--target", metavar="ID", help="a Hub id or a folder, instead of a named pair")
    add("--draft", metavar="ID", help="the draft of --target: an EAGLE-3 head or a smaller LM")
    add(
        "--head-layers",
        type=head_layers,
        metavar="WHICH",
        help="what an EAGLE-3 head reads of the target: `inputs` or `outputs` of the layers that "
        "its config names, or three indices of hidden states, such as 2,15,27 (default: both, and "
        "what EAGLE reads, are tried on a short text, and the best is kept)",
    )
    add("--device", metavar="NAME", help="such as cpu or cuda:0 (default: a GPU if there is one)")
    add_arithmetic(parser)
    add("--raw", action="store_true", help="the prompt as it is, without the chat template")


def _add_decoding(parser: argparse.ArgumentParser) -> None:
    """Add every field of `DecodeParams` but the strategy."""
    group = parser.add_argument_group("decoding")
    group.add_argument(
        "--budget",
        choices=BUDGETS,
        help="count keeps --nodes nodes; auto keeps as many of them as pay on this machine, by "
        "costs that are measured once before a run (default: count; with --against-plain: auto)",
    )
    for option, field, metavar in _DECODING:
        row = RANGES[field]
        group.add_argument(
            option,
            dest=field,
            type=in_range(field),
            default=row.default if row.is_real else int(row.default),
            metavar=metavar,
            help=f"{row.about}: {row.values} (default: %(default)s)",
        )
