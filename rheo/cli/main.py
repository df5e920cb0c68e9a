"""Run the commands. Heavy imports happen inside them, so that --help answers at once."""

import argparse
import json
import os
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rheo.cli import training
from rheo.cli.arguments import COMPARED, WITH_REFERENCE, params_of, parser
from rheo.cli.streams import is_unicode, prepare_output, quiet_stdout, read_stdin
from rheo.decoding.watch import Watch
from rheo.errors import RheoError

if TYPE_CHECKING:
    from rheo.bench.prompts import Prompt
    from rheo.decoding.engine import Engine
    from rheo.decoding.loop import Decoding
    from rheo.trace.schema import Run

INTERRUPTED = 130  # what a shell expects after Ctrl-C


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return 0, 2 after a sentence on stderr, or 130 after Ctrl-C."""
    prepare_output()
    args = parser().parse_args(argv)
    commands = {"fetch": fetch, "generate": generate, "audit": audit, "bench": bench}
    commands |= {"corpus": training.corpus, "train": training.train, "gallery": gallery}
    try:
        return commands[args.command](args) or 0
    except RheoError as error:
        if args.debug:
            traceback.print_exception(error)
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # whoever read our output has gone, as in `... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def fetch(args: argparse.Namespace) -> None:
    """Fetch a pair and print its folders."""
    from rheo.models.hub.fetch import console_progress, ensure

    with quiet_stdout():
        paths = ensure(args.pair, console_progress())
    print(f"target: {paths.target}\ndraft:  {paths.draft} ({paths.kind})")


def generate(args: argparse.Namespace) -> int:
    """Stream an answer, or print it as JSON; what there is survives Ctrl-C."""
    params = params_of(args, args.strategy)
    prompt = read_stdin() if args.prompt == "-" else args.prompt
    if not prompt.strip():
        raise RheoError("The prompt is empty: type at least one character.")
    if args.trace:
        _check_trace(args.trace)
    with quiet_stdout():
        engine = _engine(args)
    watch = Watch(times_plain=args.json)
    record = bool(args.json or args.trace)
    decoding = engine.decode(prompt, params, args.raw, args.stop, watch, record)
    start, code, failed = time.perf_counter(), 0, None
    try:
        _count(decoding) if args.json else _stream(decoding)
    except RheoError as error:  # what there is by then is kept
        failed = error
    except KeyboardInterrupt:
        decoding.close()
        code = INTERRUPTED
    seconds = time.perf_counter() - start - watch.seconds - decoding.budget_s
    if args.json:
        from rheo.bench.summary import summary

        _print_json(summary(engine, decoding, seconds, str(failed) if failed else None))
    if args.trace and decoding.first:
        _save(engine.record(decoding, prompt), args.trace)
    if failed:
        raise failed
    return code


def audit(args: argparse.Namespace) -> None:
    """Print one JSON line a case."""
    from rheo.exact.vector_files import audit_file

    for case in audit_file(args.file):
        print(json.dumps(case), flush=True)


def bench(args: argparse.Namespace) -> None:
    """Measure, then print tables or JSON."""
    from rheo.bench.prompts import read_prompts, shipped

    trees = args.expected or args.ablation
    named = args.strategies.split(",") if args.strategies is not None else ()
    strategies = list(dict.fromkeys(named or (COMPARED if trees else WITH_REFERENCE)))
    if args.sweep and not args.expected:
        raise RheoError("--sweep goes with --expected: leave it out, or add that.")
    swept, values = args.sweep or ("m", [args.m])
    for name in strategies:  # a mistake is reported before the models are loaded
        for value in values:
            replace(params_of(args, name), **{swept: value})
    prompts = read_prompts(args.prompts or shipped(), args.limit)
    with quiet_stdout():
        result, text = _measure(args, strategies, prompts)
    if args.json:
        _print_json(result)
    else:
        print(text)


def gallery(args: argparse.Namespace) -> None:
    """Record the shipped runs, and say what each shows."""
    from rheo.gallery.record import record

    if not args.out.is_dir():
        raise RheoError(f"There is no folder {args.out} to record the gallery into.")
    with quiet_stdout():
        engine = _engine(args)
    for line in record(engine, args.out, args.only):
        print(line, flush=True)


def _measure(
    args: argparse.Namespace, strategies: list[str], prompts: list["Prompt"]
) -> tuple[dict[str, object], str]:
    """Return the figures that were asked for, and their tables."""
    from rheo.bench import ablation, expected_acceptance, tables, throughput, vs_generate, vs_plain

    params, engine = params_of(args, "rheo"), _engine(args)
    if args.ablation:
        params = ablation.one_level(params)
    if args.against_generate:
        ratios = vs_generate.against_generate(engine, prompts, params, args.repeats, args.raw)
        result, text = dict(ratios), tables.pairs(ratios)
    elif args.against_plain:
        strategy = strategies[0] if args.strategies else params.strategy
        rows = vs_plain.against_plain(engine, prompts, params, strategy, args.raw)
        result, text = {"against_plain": rows}, tables.against_plain(rows)
    elif args.expected or args.ablation:
        sweep = expected_acceptance.Sweep(*args.sweep) if args.sweep else None
        compared = expected_acceptance.compare(
            engine, prompts, params, strategies, args.contexts, args.draws, args.raw, sweep
        )
        result = dict(compared)
        text = tables.compared(compared)
        if args.ablation:
            text = tables.depth_1(compared, params)
            result["paper_first_acceptance"] = ablation.PAPER_DEPTH_1
            result["differs_from_paper"] = ablation.departures(params)
    else:
        sampled = throughput.bench(engine, prompts, params, strategies, args.raw)
        result, text = dict(sampled), tables.sampled(sampled)
    check = engine.loaded.check
    about: dict[str, object] = {
        "pair": engine.pair.name,
        "head": check.as_dict() if check else None,
        "device": str(engine.target.device),
        "dtype": str(engine.target.dtype).removeprefix("torch."),
        "forward": engine.target.forward_name,
        "params": params.as_dict(),
    }
    return about | result, text


def _engine(args: argparse.Namespace) -> "Engine":
    """Load the chosen pair; warnings go to standard error."""
    from rheo.decoding.engine import Engine
    from rheo.models.hub.catalogue import custom
    from rheo.models.hub.fetch import console_progress
    from rheo.models.loader import load_pair
    from rheo.models.placement import dtype, usable

    if (args.target is None) != (args.draft is None):
        raise RheoError("--target and --draft belong together: name both, or a --pair.")
    chosen = custom(args.target, args.draft) if args.target else args.pair
    loaded = load_pair(
        chosen,
        console_progress(),
        device=usable(args.device),
        dtype=dtype(args.dtype),
        head_layers=args.head_layers,
        forward=args.forward,
    )
    engine = Engine(loaded)
    if engine.warning:
        print(engine.warning, file=sys.stderr)
    return engine


def _stream(decoding: "Decoding") -> None:
    """Print text as it comes; what may be the beginning of a stop string waits."""
    shown, held = 0, max(map(len, decoding.stop), default=1) - 1
    try:
        for _ in decoding:
            end = max(shown, len(decoding.text) - held)
            print(decoding.text[shown:end], end="", flush=True)
            shown = end
    finally:
        print(decoding.text[shown:], flush=True)


def _count(decoding: "Decoding") -> None:
    """Decode behind a progress bar."""
    from tqdm import tqdm

    with tqdm(total=decoding.params.max_new_tokens, desc="tokens", unit="", delay=2) as bar:
        for decoded in decoding:
            bar.update(len(decoded.emitted))


def _check_trace(path: Path) -> None:
    """Check the trace's name before the run, so that a wrong one does not cost it."""
    if not path.name.endswith((".json", ".json.gz")):
        raise RheoError(f"A trace is named .json or .json.gz, not {path.name!r}.")
    if not path.absolute().parent.is_dir():
        raise RheoError(f"There is no folder {path.parent} to write the trace into.")


def _save(run: "Run", path: Path) -> None:
    """Write the trace. Raises RheoError."""
    from rheo.trace.io import save

    try:
        save(run, path)
    except OSError as error:
        raise RheoError(f"The trace could not be written: {error}.") from None


def _print_json(value: Mapping[str, object]) -> None:
    """Print one JSON object on a line of its own."""
    print(json.dumps(value, allow_nan=False, ensure_ascii=not is_unicode(sys.stdout)))
