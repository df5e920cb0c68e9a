# %% [markdown]
# # One round, by program
#
# This notebook drives RheoScope without its page: it loads a target and its draft head, streams an
# answer, looks into one round, redoes the verdicts by hand, and computes what a round does exactly.
# The words and symbols are those of `rheo/algorithm/README.md`.
#
# It needs what `requirements.txt` names, and Jupyter. The first run fetches a small model (93 MB).

# %%
import sys
from pathlib import Path

sys.path.extend(str(at) for at in (Path.cwd(), *Path.cwd().parents) if (at / "rheo").is_dir())

import rheo
import visual

# %% [markdown]
# ## 1. Load a pair, stream a prompt
#
# `rheo.load` returns an engine: SmolLM2 135M and its EAGLE-3 head, unless another pair is named.
# `engine.generate` yields a round as soon as it is decoded. Every draw follows from `seed`.

# %%
engine = rheo.load()

# %%
settings = {"strategy": "rheo", "m": 1, "T": 1.0, "seed": 1, "max_new_tokens": 32}
prompt = "Name three things that float on water."

stream = engine.generate(prompt, **settings)
for round in stream:
    expected = f"{round.expected_accepted:.2f} expected"
    print(f"round {round.index + 1}: {round.accepted} accepted, {expected}")
print(stream.text)
print(f"tau = {stream.tau:.2f} tokens a round")

# %% [markdown]
# `stream.run()` is the trace: what the page draws, and what `rheo.open_trace` reads from a file.

# %%
run = stream.run()
assert len(run.rounds) == round.index + 1
assert run.tau == stream.tau

# %% [markdown]
# ## 2. One round's tree
#
# Let us take the first round in which a probe was rejected. Its nodes stand in creation order: the
# root, then parents before their children. A node's proxy ranks it, whatever token was drawn; its
# true draft probability is what verification divides by. In the last column is p, the target's.


# %%
def rejected_probe(round):
    """Return where the walk rejected a probe, as (number of the visit, number of the step)."""
    for i, visit in enumerate(round.visits):
        for j, step in enumerate(visit.steps):
            if (step.rule, step.verdict) == ("probe", "reject"):
                return i, j
    return None


round = next(round for round in run.rounds if rejected_probe(round))
print(f"round {round.index + 1}: {len(round.nodes) - 1} nodes on {round.levels} levels")
for node in round.children(0):
    token, figures = run.tokens[node.token], (node.proxy, node.true, node.p)
    print(f"{node.kind:13} {token!r:12}", *(f"{x:.4f}" for x in figures))

# %%
visual.figure(run, round)

# %% [markdown]
# The walk from the root, step by step: each verdict with the number that decided it.

# %%
for visit in round.visits:
    path = "".join(run.tokens[round.nodes[i].token] for i in round.path(visit.node))
    print(f"behind {path!r}" if path else "at the root")
    for step in visit.steps:
        print(f"  {step.rule:8} {run.tokens[step.token]!r:12} {step.verdict}  u = {step.uniform}")

# %% [markdown]
# ## 3. Redo a verdict by hand
#
# A trace stores every uniform, and at each visited node p and q-tilde on the draft's support. So a
# verdict can be redone with nothing but the definitions: a probe is accepted if
# u1 < min(1, p / q-tilde), and a rejection leaves the residual max(0, p - q-tilde), normalised.

# %%
i, j = rejected_probe(round)
visit = round.visits[i]
probe = visit.steps[j]

place = visit.ids.index(probe.token)
p, q_tilde = visit.p[place], visit.q_tilde[0][place]
u1 = round.uniforms.u1[i][0]
ratio = min(1.0, p / q_tilde)
print(f"p = {p:.4g}, q-tilde = {q_tilde:.4g}: accepted if u1 = {u1:.4f} < {ratio:.4f}")
assert u1 >= ratio
assert abs(ratio - probe.ratio) < 1e-6

# %% [markdown]
# What is left is drawn from with one more uniform, over the kept children by slot and then over all
# other tokens. The child whose interval holds it is the token the walk goes on to.

# %%
left = [max(0.0, a - b) for a, b in zip(visit.p, visit.q_tilde[0], strict=True)]
beyond = sum(visit.outside_p) + visit.rest  # the target's mass outside the draft's support
mass = sum(left) + beyond
low, u2 = 0.0, round.uniforms.u2[i]
taken = None
for node in round.children(visit.node):
    if node.token == probe.token:
        continue
    high = low + left[visit.ids.index(node.token)] / mass
    print(f"{run.tokens[node.token]!r:12} [{low:.4f}, {high:.4f})")
    if low <= u2 < high:
        taken = node.token
    low = high
print(f"u2 = {u2:.4f}:", "none of them" if taken is None else f"{run.tokens[taken]!r}")

went_on = [step.token for step in visit.steps if (step.rule, step.verdict) == ("sibling", "accept")]
assert went_on == ([] if taken is None else [taken])

# %% [markdown]
# The same for every probe of the run: no verdict has to be believed.

# %%
redone = 0
for each in run.rounds:
    for visit, u1 in zip(each.visits, each.uniforms.u1, strict=False):
        for step in visit.steps:
            if step.rule == "probe":
                place = visit.ids.index(step.token)
                accepted = u1[0] < min(1.0, visit.p[place] / visit.q_tilde[0][place])
                assert accepted == (step.verdict == "accept")
                redone += 1
print(f"{redone} probes, {redone} verdicts as recorded")
assert redone > 0

# %% [markdown]
# ## 4. Audit a small world
#
# In a world of three tokens nothing has to be sampled: `rheo.audit` runs the engine's own functions
# over every probe that could be drawn, and adds up what is emitted. A lossless strategy follows the
# target exactly. `naive` ranks a probe by its own q, so whether it survives pruning depends on the
# token that was drawn: that is the bias which the proxy avoids.

# %%
world = {
    "vocab": 3,
    "q": {"": [0.5, 0.3, 0.2]},  # the draft's distribution at the root
    "p": {
        "": [0.2, 0.3, 0.5],  # the target's, and below behind each token
        "0": [0.6, 0.1, 0.3],
        "1": [0.1, 0.1, 0.8],
        "2": [0.4, 0.5, 0.1],
    },
}
small = {"m": 1, "K": 3, "R": 2, "depth": 1, "T": 1.0}
audits = {
    name: rheo.audit(world, {"strategy": name, **small})
    for name in ("topk", "rheo-rrsw", "rheo", "naive")
}
for name, audit in audits.items():
    print(f"{name:10} off by {audit.tv:.1e}, {audit.expected_accepted:.3f} accepted")

assert all(audits[name].tv < 1e-9 for name in ("topk", "rheo-rrsw", "rheo"))
assert audits["naive"].tv > 0.01
assert audits["rheo"].expected_accepted > audits["topk"].expected_accepted

# %% [markdown]
# ## 5. Change m
#
# m is the rheostat: how many tokens a node keeps for sure before it draws one. With one seed the
# first round starts at the same root with the same uniforms, so only m differs.

# %%
first = {}
for m in (0, 1, 3):
    with engine.generate(prompt, **(settings | {"m": m})) as stream:
        first[m] = next(stream)
        branch = stream.run()
    kinds = [node.kind for node in first[m].nodes]
    print(f"m = {m}: {kinds.count('probe')} probes kept, {first[m].expected_accepted:.3f} expected")

assert len({round.root for round in first.values()}) == 1
assert len({round.uniforms.u2 for round in first.values()}) == 1

# %%
visual.figure(branch, 0)
