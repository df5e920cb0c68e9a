"""A synthetic run to draw: real rounds of RheoSampling over made-up distributions, no model.

Plain Python, nothing of the engine, so that a view is tested against numbers it did not make.
"""

import math
import random
from bisect import bisect_right
from itertools import accumulate

from rheo.trace import schema

WORDS = [
    *(" the", " a", " cat", " dog", " sat", " on", " mat", ",", ".", "\n", " and", " ran", " to"),
    *(" sea", " light", " keeper", " found", " letter", " old", "\t", "⟨0xE2⟩", "⟨|im_end|⟩"),
    *(" <b>bold</b>", " &amp;", "`${window.__xss=1}`", "<img src=x onerror=window.__xss=1>"),
    *("{{a}}", "\\u{x}", " keep-sakes-and-more", " 灯台", " é", " x", "1"),
]
TOKENS = dict(enumerate(WORDS))
VOCABULARY = len(WORDS)


def run(rounds: int = 4, R: int = 60, K: int = 6, depth: int = 6, seed: int = 3) -> schema.Run:
    """A whole run; the same arguments give the same run."""
    rng = random.Random(seed)
    made, position, root = [], 9, 4
    for index in range(rounds):
        made.append(_round(rng, index, root, position, R, K, depth))
        position += len(made[-1].emitted)
        root = made[-1].emitted[-1].token
    text = "".join(TOKENS[e.token] for r in made for e in r.emitted)
    return schema.Run(
        pair="sample",
        target="made-up target",
        draft="made-up draft",
        device="cpu",
        dtype="float32",
        versions={"rheo": "0"},
        params={"strategy": "rheo", "m": 1, "K": K, "R": R, "depth": depth, "T": 1.0, "S": 24},
        prompt="Tell me about the <script>sea</script>",
        prompt_token_ids=tuple(range(9)),
        first=schema.Emission(4, "prefill"),
        rounds=tuple(made),
        stop="length",
        text=TOKENS[4] + text,
        tokens=TOKENS,
    )


def _distribution(rng: random.Random, width: float) -> list[float]:
    weights = [math.exp(rng.gauss(0, width)) for _ in range(VOCABULARY)]
    return [w / sum(weights) for w in weights]


def _draw(masses: list[float], u: float) -> int:
    return min(bisect_right(list(accumulate(masses)), u * sum(masses)), len(masses) - 1)


def _round(
    rng: random.Random, index: int, root: int, position: int, R: int, K: int, depth: int
) -> schema.Round:
    nodes, q_of, p_of, kin = _grow(rng, root, R, K, depth)
    visits, emitted, at = [], [], 0
    while True:
        steps, child, token = _verify(rng, nodes, at, q_of, p_of[at], kin[at])
        visits.append(_visit(at, q_of.get(at), p_of[at], steps, nodes))
        if child is None:
            origin = "residual" if kin[at] else "bonus"
            emitted.append(schema.Emission(token, origin))
            break
        emitted.append(schema.Emission(nodes[child].token, nodes[child].kind, child))
        at = child
    accepted = len(emitted) - 1
    return schema.Round(
        index=index,
        root=root,
        position=position,
        nodes=tuple(nodes),
        visits=tuple(visits),
        emitted=tuple(emitted),
        accepted=accepted,
        expected_accepted=1.75,
        ms=schema.Milliseconds(draft=20.5, target=60.25, verify=1.5, other=2.0),
        uniforms=schema.Uniforms(u1=((0.5,),), u2=(0.5,), probes=((0.5,),)),
        counted=accepted + 1,
    )


def _grow(rng: random.Random, root: int, R: int, K: int, depth: int):
    """Expand level by level, prune to R; returns nodes and q, p, kept children by node."""
    made = [{"path": (), "kind": "root", "token": root, "proxy": 1.0, "true": 1.0, "score": 0.0}]
    level, qs = [made[0]], {}
    for _ in range(depth):
        grown = []
        for node in level:
            q = _distribution(rng, 1.6)
            qs[node["path"]] = q
            grown += _children(rng, node, q, K)
        made += grown
        level = sorted(grown, key=lambda n: (-n["score"], n["path"]))[:K]
    kept = sorted(made[1:], key=lambda n: (-n["score"], len(n["path"]), n["path"]))[:R]
    kept = [made[0], *sorted(kept, key=lambda n: (len(n["path"]), n["path"]))]
    place = {n["path"]: i for i, n in enumerate(kept)}
    p_of, kin = {}, {}
    for i, node in enumerate(kept):
        q = qs.get(node["path"])
        noise = _distribution(rng, 1.2)
        p_of[i] = [0.6 * a + 0.4 * b for a, b in zip(q, noise, strict=True)] if q else noise
        kin[i] = [place[n["path"]] for n in kept if n["path"][:-1] == node["path"] and n["path"]]
    nodes = [_node(n, i, place, qs, made, p_of) for i, n in enumerate(kept)]
    return nodes, {i: qs[n["path"]] for i, n in enumerate(kept) if n["path"] in qs}, p_of, kin


def _children(rng: random.Random, node: dict, q: list[float], K: int) -> list[dict]:
    order = sorted(range(VOCABULARY), key=lambda v: (-q[v], v))
    tail = [0.0 if v == order[0] else q[v] for v in range(VOCABULARY)]
    u = _draw(tail, rng.random())
    fillers = [v for v in order[1:] if v != u][: K - 2]
    slots = [(order[0], "deterministic"), (u, "probe"), *((v, "filler") for v in fillers)]
    out = []
    for slot, (token, kind) in enumerate(slots):
        proxy = min(q[order[0]], sum(tail)) if kind == "probe" else q[token]
        true = tail[u] / sum(tail) if kind == "probe" else 1.0
        child = {"kind": kind, "token": token, "proxy": proxy, "true": true}
        score = node["score"] + math.log(proxy)
        out.append({**child, "path": (*node["path"], slot), "score": score})
    return out


def _node(n: dict, i: int, place: dict, qs: dict, made: list[dict], p_of: dict) -> schema.Node:
    path = n["path"]
    parent = place[path[:-1]] if path else -1
    family = [c for c in made if c["path"] and c["path"][:-1] == path]
    pruned = [c for c in family if c["path"] not in place]
    q = qs.get(path)
    return schema.Node(
        kind=n["kind"],
        token=n["token"],
        parent=parent,
        slot=path[-1] if path else -1,
        depth=len(path),
        proxy=n["proxy"],
        true=n["true"],
        score=n["score"],
        p=p_of[parent][n["token"]] if path else None,
        accept=min(1.0, p_of[parent][n["token"]] / n["true"]) if path else None,
        expanded=q is not None,
        z=1 - max(q) if q else None,
        coverage=0.97 if q else None,
        ghosts=tuple(schema.Ghost(c["path"][-1], c["token"], c["proxy"]) for c in pruned)
        if len(pruned) < len(family)
        else (),
    )


def _q_tilde(q: list[float]) -> list[float]:
    best = max(range(VOCABULARY), key=lambda v: (q[v], -v))
    return [0.0 if v == best else q[v] / (sum(q) - q[best]) for v in range(VOCABULARY)]


def _verify(rng: random.Random, nodes: list, at: int, q_of: dict, p: list[float], kin: list[int]):
    """The steps at one node by section 2.6 of the algorithm; the child it goes on to, the token."""
    steps, r = [], list(p)
    probe = next((i for i in kin if nodes[i].kind == "probe"), None)
    if probe is not None:
        q = _q_tilde(q_of[at])
        token = nodes[probe].token
        ratio, u = min(1.0, p[token] / q[token]), rng.random()
        verdict = "accept" if u < ratio else "reject"
        steps.append(
            schema.Step(
                "probe", token, verdict, u, u, p[token], probe, q_tilde=q[token], ratio=ratio
            )
        )
        if verdict == "accept":
            return steps, probe, token
        r = [max(0.0, a - b) for a, b in zip(p, q, strict=True)]
    u, total, low = rng.random(), sum(r), 0.0
    for child in (i for i in kin if i != probe):
        token = nodes[child].token
        high = low + r[token] / total
        verdict = "accept" if low <= u < high else "reject"
        now = sum(r) or 1.0
        steps.append(
            schema.Step("sibling", token, verdict, u, u, r[token] / now, child, low=low, high=high)
        )
        if verdict == "accept":
            return steps, child, token
        r[token], low = 0.0, high
    token = _draw(r, rng.random())
    steps.append(schema.Step("emit", token, "emit", u, u, r[token] / sum(r), low=low, high=1.0))
    return steps, None, token


def _visit(
    at: int, q: list[float] | None, p: list[float], steps: list, nodes: list
) -> schema.Visit:
    order = sorted(range(VOCABULARY), key=lambda v: (-q[v], v))[:24] if q else []
    outside = sorted((v for v in range(VOCABULARY) if v not in order), key=lambda v: -p[v])
    return schema.Visit(
        node=at,
        ids=tuple(order),
        p=tuple(p[v] for v in order),
        q=tuple(q[v] for v in order) if q else (),
        q_tilde=(tuple(_q_tilde(q)[v] for v in order),) if q else (),
        support_size=len(order),
        outside_ids=tuple(outside[:4]),
        outside_p=tuple(p[v] for v in outside[:4]),
        rest=sum(p[v] for v in outside[4:]),
        mass=1.0,
        steps=tuple(steps),
    )
