"""The address carries the state: a query string is read into values, and written from them.

What a link says comes from anywhere, so every value is checked by itself; a bad one is left out
with one sentence that names it, and the others are used. The sentences quote the link: escape them.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from rheo.errors import RheoError
from rheo.exact import scenarios
from rheo.params import STRATEGIES, DecodeParams
from visual.runtime.run_settings import SLIDER_RANGES
from visual.server import limits
from visual.server.settings import current
from visual.words import labels, links

_LONGEST, _MOST = 16_000, 64  # characters and parts of a query that is looked at
LINKED_PROMPT = 3_000  # characters of a prompt in a link
SEEDS = 2**53 - 1  # what a browser can count to
PLACES = 9_999  # rounds of a run, steps of a round
_DIGITS, DECIMAL = re.compile(r"[0-9]{1,16}"), re.compile(r"[0-9]{1,6}(\.[0-9]{1,4})?")
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
LIVE, RECORDED_FIELDS = "live", "recorded"  # traces: the run to come, the run the page opens with
TABS = ("draw", "plan", "cheat", "dial", "honest")
_RULES = ("rheo", "rheo-rrsw", "topk")

Read = Callable[[str], Any]  # the value of a text; raises ValueError with the reason why not


def whole(low: int, high: int) -> Read:
    """A whole number in ASCII digits."""

    def read(text: str) -> int:
        if not _DIGITS.fullmatch(text) or not low <= int(text) <= high:
            raise ValueError(links.WHY_WHOLE.format(low=low, high=high))
        return int(text)

    return read


def real(low: float, high: float) -> Read:
    """A decimal number without sign or exponent."""

    def read(text: str) -> float:
        if not DECIMAL.fullmatch(text) or not low <= float(text) <= high:
            raise ValueError(links.WHY_REAL.format(low=low, high=high))
        return float(text)

    return read


def choice(names: tuple[str, ...]) -> Read:
    """One of some names."""

    def read(text: str) -> str:
        if text not in names:
            raise ValueError(links.WHY_CHOICE.format(names=", ".join(names)))
        return text

    return read


def named(why: str) -> Read:
    """Something that looks like a name; whether it is one is for others to know."""

    def read(text: str) -> str:
        if not NAME.fullmatch(text):
            raise ValueError(why)
        return text

    return read


def flag(text: str) -> bool:
    """1 or 0."""
    return bool(whole(0, 1)(text))


def _slider(name: str) -> Read:
    """A number that the control of this name can stand at, on this server."""

    def read(text: str) -> float:
        low, high = SLIDER_RANGES[name][0], min(SLIDER_RANGES[name][1], limits.highest(name))
        return real(low, high)(text) if name == "T" else whole(int(low), int(high))(text)

    return read


def _pair(text: str) -> str:
    return choice(current().pairs)(text)


SETTINGS: dict[str, Read] = {  # of a run, in the order of a link
    "pair": _pair,
    "prompt": str,
    "strategy": choice(STRATEGIES),
    **{name: _slider(name) for name in ("m", "K", "R", "depth", "T", "S")},
    "seed": whole(0, SEEDS),
    **{name: _slider(name) for name in ("probes", "max_new_tokens")},
}
PLACE: dict[str, Read] = {  # where in which run; rounds and steps count from 1
    "trace": named(links.WHY_NAME),
    "round": whole(1, PLACES),
    "step": whole(1, PLACES),
    "guess": flag,
}
_DILEMMA: dict[str, Read] = {  # the other page's own
    "scenario": choice(tuple(scenarios.names("node"))),
    "tab": choice(TABS),
    "rule": choice(_RULES),
    "m": whole(0, 63),
    "K": whole(1, 64),
    "T": real(0.0, 2.0),
    "seed": whole(0, 1_000_000),
}
_PAGES: dict[str, dict[str, Read]] = {
    "playground": {**SETTINGS, **PLACE},
    "dilemma": _DILEMMA,
}
EVERYWHERE: dict[str, Read] = {"present": flag}
LOCKABLE = tuple(SETTINGS)


def defaults() -> dict[str, Any]:
    """What a control stands at when no link says otherwise."""
    usual = DecodeParams().as_dict() | {"prompt": labels.EXAMPLES[0][1], "pair": current().pair}
    return {
        n: min(usual[n], limits.highest(n)) if n in SLIDER_RANGES else usual[n] for n in SETTINGS
    }


def parse(query: str) -> tuple[dict[str, Any], list[str]]:
    """The values of a query string that can be used, and a sentence on each that cannot.

    Names nobody knows are left alone, and so are those without a value. `page` is always there.
    `trace` says which run `round` and `step` belong to: it is inferred where it is not said.

    >>> parse("m=2&T=0.7&colour=red")[0]
    {'page': 'playground', 'm': 2, 'T': 0.7, 'trace': 'live'}
    >>> parse("R=1e9")
    ({'page': 'playground', 'trace': 'recorded'}, \
['R = 1e9 in the link was ignored: it must be a whole number from 4 to 128.'])
    """
    said: list[str] = []
    parts = _parts(query, said)
    values: dict[str, Any] = {"page": "playground"}
    _read(parts, {"page": choice(tuple(_PAGES))}, values, said)
    _read(parts, {**_PAGES[values["page"]], **EVERYWHERE}, values, said)
    if "lock" in parts:
        values["lock"] = _locked(parts["lock"], said)
    if len(values.get("prompt", "")) > LINKED_PROMPT:
        values["prompt"] = values["prompt"][:LINKED_PROMPT]
        said.append(links.PROMPT_CUT.format(limit=LINKED_PROMPT))
    if values["page"] == "playground":
        _together(values, said)
        values.setdefault("trace", inferred(values))
    return values, said


def inferred(values: Mapping[str, Any]) -> str:
    """The run that a link without `trace` is about: settings mean one that is still to be run."""
    return LIVE if values.keys() & SETTINGS.keys() else RECORDED_FIELDS


def _parts(query: str, said: list[str]) -> dict[str, str]:
    """The first value of each name; blanks are as good as absent."""
    if len(query) > _LONGEST:
        said.append(links.TOO_LONG.format(limit=_LONGEST))
        return {}
    try:
        pairs = parse_qsl(query, max_num_fields=_MOST)
    except ValueError:
        said.append(links.TOO_MANY_LINKS.format(limit=_MOST))
        return {}
    return dict(reversed(pairs))


def _read(
    parts: Mapping[str, str], fields: Mapping[str, Read], values: dict[str, Any], said: list[str]
) -> None:
    for name, read in fields.items():
        if name in parts:
            try:
                values[name] = read(parts[name])
            except ValueError as why:
                said.append(ignored(name, parts[name], str(why)))


def ignored(name: str, value: Any, why: str) -> str:
    """The sentence on a value that was left out; a long one is shown cut."""
    shown = str(value) if len(str(value)) <= 40 else f"{str(value)[:40]}…"
    return links.IGNORED.format(name=name, value=shown, why=why)


def _locked(text: str, said: list[str]) -> tuple[str, ...]:
    asked = dict.fromkeys(filter(None, text.split(",")[:_MOST]))
    why = links.WHY_CHOICE.format(names=", ".join(LOCKABLE))
    said += [ignored("lock", name, why) for name in asked if name not in LOCKABLE][:3]
    return tuple(name for name in asked if name in LOCKABLE)


def _together(values: dict[str, Any], said: list[str]) -> None:
    """Leave out one setting, or if need be all, of those that cannot go together."""
    numbers = [name for name in SETTINGS if name in values and name not in ("pair", "prompt")]

    def error(left_out: str = "") -> str:
        try:
            DecodeParams(**{name: values[name] for name in numbers if name != left_out})
        except RheoError as wrong:
            return str(wrong)
        return ""

    wrong = error()
    if not wrong:
        return
    one = next((name for name in numbers if not error(name)), None)
    for name in numbers if one is None else [one]:
        why = links.TOGETHER.format(error=wrong.rstrip("."))
        said.append(ignored(name, values.pop(name), why))


def format(values: Mapping[str, Any]) -> str:
    """The query string of values; what `parse` would fill in by itself is left out.

    >>> format({"m": 2, "T": 1.0, "round": 3, "lock": ("m", "R"), "trace": "live"})
    'm=2&round=3&lock=m,R'
    """
    page = values.get("page", "playground")
    kept = {name: values[name] for name in _PAGES[page] if name in values}
    if page == "playground":
        usual = defaults()
        kept = {name: v for name, v in kept.items() if name not in usual or v != usual[name]}
        if kept.get("trace") == inferred(kept):
            del kept["trace"]
    if page != "playground":
        kept = {"page": page, **kept}
    kept |= {name: values[name] for name in EVERYWHERE if values.get(name)}
    if values.get("lock"):
        kept["lock"] = ",".join(values["lock"])
    return urlencode({name: _text(value) for name, value in kept.items()}, safe=",")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def common() -> dict[str, Any]:
    """What the browser needs to write links of its own; `format` is the law."""
    return {
        "defaults": defaults(),
        "limit": LINKED_PROMPT,
        "words": links.LINK_WORDS,
    }
