"""The algorithm as pure tensor functions: draft logits, target rows and uniforms come in; a
candidate tree, a pruned tree and a verified walk go out. README.md beside this file is the
specification that the code cites as "algorithm section N". Read distribution (one node's q, q-tilde
and p, and the inverse CDF), expansion (its child slots), budget (when a tree is large enough), tree
(grow and prune), verify (one rule a strategy), walk (from the root to the emitted token), uniforms
(where the numbers come from), and last strategies (the table that joins trees and rules).

One whole round by hand. Four tokens a b c d; m = 1, K = 3, depth 2, R = 5, T = 1, whole support. To
keep the tables small, draft and target look at the last token alone: row by row behind a, b, c, d.

>>> import torch
>>> draft = torch.tensor([[.1, .7, .1, .1], [.6, .2, .1, .1], [.5, .3, .1, .1], [.4, .3, .2, .1]])
>>> target = torch.tensor([[.2, .5, .2, .1], [.25] * 4, [.25] * 4, [.4, .2, .1, .3]])
>>> draft, target = draft.double(), target.double()
>>> def names(ids):
...     return "".join("abcd"[i] for i in ids)

**Expand** (section 2, steps 1 to 3). The root is d, and behind it q = (.4, .3, .2, .1), so the
order is a b c d. The deterministic token is a; the tail mass is z = .3 + .2 + .1 = .6; q-tilde is
(0, 1/2, 1/3, 1/6). The uniform .7 falls into c's interval [1/2, 5/6), so c is the probe, and b,
the best token left, is the filler. Proxies: q(a) = .4 and q(b) = .3 are their own; the probe has
min(q(a), z) = .4, whatever was drawn. True: the probe's is q-tilde(c) = 1/3, point masses have 1.

>>> from rheo.algorithm.expansion import KINDS, Policy, expand
>>> policy, sizes = Policy(m=1, J=1), {"K": 3, "S": None, "T": 1.0}
>>> root = expand(draft[3:].log(), torch.tensor([[.7]]), policy, **sizes)
>>> names(root.token()[0]), [KINDS[kind] for kind in root.kind[0]]
('acb', ['deterministic', 'probe', 'filler'])
>>> [round(x, 3) for x in root.log_proxy[0].exp().tolist()]
[0.4, 0.4, 0.3]
>>> [round(x, 3) for x in root.true[0].tolist()]
[1.0, 0.333, 1.0]

**Grow** (step 4). The beam is K = 3 wide, so a, c and b are all expanded, with a uniform each:

- behind a, q = (.1, .7, .1, .1): deterministic b; z = .3 and q-tilde = (1/3, 0, 1/3, 1/3), where
  .5 draws c with proxy min(.7, .3) = .3; filler a. Scores .4 (.7, .3, .1) = .28, .12, .04.
- behind c, q = (.5, .3, .1, .1): deterministic a; z = .5 and q-tilde = (0, .6, .2, .2), where .9
  draws d with proxy min(.5, .5) = .5; filler b. Scores .4 (.5, .5, .3) = .2, .2, .12.
- behind b, q = (.6, .2, .1, .1): deterministic a; z = .4 and q-tilde = (0, .5, .25, .25), where .1
  draws b with proxy min(.6, .4) = .4; filler c. Scores .3 (.6, .4, .1) = .18, .12, .03.

>>> from rheo.algorithm.tree import grow, prune
>>> from rheo.algorithm.uniforms import recorded
>>> probes = recorded([torch.tensor([[.7]]), torch.tensor([[.5], [.9], [.1]])])
>>> def draft_level(tokens, parents):
...     return draft[tokens].log()
>>> tree = grow(draft[3].log(), draft_level, probes, policy, depth=2, **sizes)
>>> names(tree.token), [round(x, 2) for x in tree.score.exp().tolist()]
('acbbcaadbabc', [0.4, 0.4, 0.3, 0.28, 0.12, 0.04, 0.2, 0.2, 0.12, 0.18, 0.12, 0.03])

**Prune** (steps 4 and 5) to R = 5: a .4, c .4, b .3, ab .28, and one of ca and cd, both at .2. The
tie is broken by structure: ca has the earlier slot. Rows are in creation order, parents first.

>>> kept = prune(tree, torch.tensor(3), R=5)
>>> names(kept.token), kept.parent.tolist()
('dacbba', [0, 0, 0, 0, 1, 2])

**Walk** (steps 6 and 7). At the root p = (.4, .2, .1, .3). The probe c was kept, and is accepted
with p(c) / q-tilde(c) = .1 / (1/3) = .3; its uniform is .5, so it is rejected. What is left is
max(0, p - q-tilde) = (.4, 0, 0, .3 - 1/6 = 2/15), normalised (.75, 0, 0, .25). The second uniform
.6 draws from it over the kept children by slot: a has [0, .75), so the walk goes on to a. There
p = (.2, .5, .2, .1), and the probe ac was pruned, so nothing is tested and r = p. The uniform .8
draws over the kept child first, b [0, .5), and then the others by id: a [.5, .7), c [.7, .9). So
the walk stops and emits c. The round gives "ac": one accepted token, one from the residual.

>>> from rheo.algorithm import verify
>>> from rheo.algorithm.walk import TargetRows, acceptance, expected, walk
>>> rows = TargetRows(target[kept.token].log(), T=1.0)
>>> u1, u2 = torch.tensor([[.5], [.5], [.5]]), torch.tensor([.6, .8, .0])
>>> walked = walk(tree, kept, rows, verify.rheo, u1, u2, m=1)
>>> first, second, third = walked.visits  # of the third step nothing counts: the walk is over
>>> round(float(first.at_node.accept), 3), int(first.slot)  # slot 0 is a
(0.3, 0)
>>> [round(x, 3) for x in (first.at_node.residual / first.at_node.residual.sum()).tolist()]
[0.75, 0.0, 0.0, 0.25, 0.0]
>>> int(second.row), float(second.at_node.accept), int(second.slot)  # slot K = 3: it stopped
(1, 0.0, 3)
>>> names([walked.token]), round(float(walked.low), 3), round(float(walked.high), 3)
('c', 0.7, 0.9)

What could be expected of this tree, before u1 and u2 are drawn: c is reached with .3, a with
.7 x .75 = .525, b with 0; then ab with .525 x .5 = .2625 and ca with .3 x .25 = .075. The sum is
the expected number of accepted tokens.

>>> accept = acceptance(tree, kept, rows, verify.rheo, 1, torch.arange(6))[1]
>>> round(float(expected(kept, accept, depth=2)), 4)
1.1625
"""
