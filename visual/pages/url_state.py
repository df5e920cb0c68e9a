"""The state of the page in its address: a query string is read into values, and written from them.

What a link says comes from anywhere, so every value is checked by itself; a bad one is left out
with one sentence that names it, and the others are used. The sentences quote the link: escape them.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from pydantic import BaseModel, ValidationError

from rheo.errors import RheoError
from rheo.exact import scenarios
from rheo.json_object import JsonObject
from rheo.params import DecodeParams
from rheo.ranges import RANGES
from visual.pages.link_values import LOCKABLE, PAGE_MODELS, SETTINGS, LinkedPage
from visual.runtime import run_settings, run_store
from visual.runtime.run_store import RECORDED
from visual.server import limits
from visual.server.settings import current
from visual.words import labels, links

_LONGEST, _MOST = 16_000, 64  # characters and parts of a query that is looked at
LINKED_PROMPT = 3_000  # characters of a prompt in a link
LIVE = "live"  # the trace of the run to come

Values = JsonObject  # of a link, by name; each of its field's type


def defaults() -> Values:
    """Return what each control stands at when no link says otherwise."""
    usual = DecodeParams().as_dict() | {"prompt": labels.EXAMPLES[0][1], "pair": current().pair}
    return {n: limits.allowed(n).default if n in RANGES else usual[n] for n in SETTINGS}


def standing() -> Values:
    """Return what each control stands at when the page opens: what its run was made with."""
    run = run_store.recorded()
    return {**defaults(), **(run_settings.made_with(run) if run else {})}


def parse(query: str) -> tuple[Values, list[str]]:
    """Return the values of a query string that can be used, and a sentence on each that cannot.

    Names nobody knows are left alone, and so are those without a value. `page` is always there.
    `trace` says which run `round` and `step` belong to: it is inferred where it is not said.

    >>> parse("m=2&T=0.7&colour=red")[0]
    {'page': 'playground', 'm': 2, 'T': 0.7, 'trace': 'live'}
    >>> parse("R=1e9")
    ({'page': 'playground', 'trace': 'recorded'}, \
['R = 1e9 in the link was ignored: it must be a whole number from 1 to 128.'])
    """
    said: list[str] = []
    parts = _parts(query, said)
    values: Values = {"page": "playground"}
    values |= _read(parts, LinkedPage, said)
    values |= _read(parts, PAGE_MODELS[values["page"]], said)
    if "lock" in parts:
        values["lock"] = _locked(parts["lock"], said)
    if len(values.get("prompt", "")) > LINKED_PROMPT:
        values["prompt"] = values["prompt"][-LINKED_PROMPT:]
        said.append(links.PROMPT_CUT.format(limit=LINKED_PROMPT))
    if values["page"] == "playground":
        _together(values, said)
        values.setdefault("trace", inferred(values))
    else:
        _one_bar_a_word(values, said)
    return values, said


def _one_bar_a_word(values: Values, said: list[str]) -> None:
    """Leave out a distribution of another situation, one with more words or fewer."""
    words = len(scenarios.load(values.get("scenario", scenarios.names("node")[0]))["tokens"])
    for name in ("p", "q"):
        if len(values.get(name, [0] * words)) != words:
            bars = _text(values.pop(name))
            said.append(ignored(name, bars, links.WHY_WORDS.format(count=words)))


def inferred(values: Mapping[str, object]) -> str:
    """Return which run a link without `trace` is about: with settings, the one still to be run."""
    return LIVE if values.keys() & set(SETTINGS) else RECORDED


def _parts(query: str, said: list[str]) -> dict[str, str]:
    """Return the first value of each name; blanks are as good as absent."""
    if len(query) > _LONGEST:
        said.append(links.TOO_LONG.format(limit=_LONGEST))
        return {}
    try:
        pairs = parse_qsl(query, max_num_fields=_MOST)
    except ValueError:
        said.append(links.TOO_MANY_LINKS.format(limit=_MOST))
        return {}
    return dict(reversed(pairs))


def _read(parts: Mapping[str, str], model: type[BaseModel], said: list[str]) -> Values:
    """Return the fields of a model that the parts set well; add a sentence to `said` for others."""
    known = {name: parts[name] for name in model.model_fields if name in parts}
    try:
        return model(**known).model_dump(exclude_unset=True)
    except ValidationError as wrong:
        for error in wrong.errors(include_url=False):
            name = str(error["loc"][0])
            said.append(ignored(name, known.pop(name), str(error["ctx"]["error"])))
    return model(**known).model_dump(exclude_unset=True)


def ignored(name: str, value: object, why: str) -> str:
    """Return the sentence on a value that was left out; a long one is shown cut."""
    shown = str(value) if len(str(value)) <= 40 else f"{str(value)[:40]}…"
    return links.IGNORED.format(name=name, value=shown, why=why)


def _locked(text: str, said: list[str]) -> tuple[str, ...]:
    asked = dict.fromkeys(filter(None, text.split(",")[:_MOST]))
    why = links.WHY_CHOICE.format(names=", ".join(LOCKABLE))
    said += [ignored("lock", name, why) for name in asked if name not in LOCKABLE][:3]
    return tuple(name for name in asked if name in LOCKABLE)


def _together(values: Values, said: list[str]) -> None:
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
    """Return the query string of values without what `parse` would fill in by itself.

    >>> format({"m": 2, "T": 1.0, "round": 3, "lock": ("m", "R"), "trace": "live"})
    'm=2&round=3&lock=m,R'
    """
    page = values.get("page", "playground")
    fields = [name for name in PAGE_MODELS[page].model_fields if name != "present"]
    kept = {name: values[name] for name in fields if name in values}
    if page == "playground":
        usual = defaults()
        kept = {name: v for name, v in kept.items() if name not in usual or v != usual[name]}
        if kept.get("trace") == inferred(kept):
            del kept["trace"]
    if page != "playground":
        kept = {"page": page, **kept}
    if values.get("present"):
        kept["present"] = True
    if values.get("lock"):
        kept["lock"] = ",".join(values["lock"])
    return urlencode({name: _text(value) for name, value in kept.items()}, safe=",")


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, list):
        return ",".join(map(_text, value))
    return str(value).removesuffix(".0")  # as a browser writes it


def common() -> Values:
    """Return what the browser needs to write the links that `format` would."""
    return {
        "defaults": defaults(),
        "standing": standing(),
        "limit": LINKED_PROMPT,
        "words": links.LINK_WORDS,
    }
