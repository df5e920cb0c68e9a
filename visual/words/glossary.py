"""The help for a newcomer: the idea in plain words, the marks, the letters."""

WHAT = "What is this?"
HEAD = "The idea in plain words"
PLAIN_WORDS = (
    "A large language model, the target, writes one token per forward pass, and a pass is slow. A "
    "small model, the draft, guesses a whole tree of continuations; one pass of the target checks "
    "them all, and the guesses that it accepts are written at once.",
    "Most such trees hold the draft’s most probable tokens and nothing else. The more open a text "
    "is, the more often the target wants a token outside of them, and the guess is lost: that is "
    "the one-hot dilemma. RheoSampling gives one place at every node to a probe, a token drawn at "
    "random from the next S − m tokens of the draft’s support (S = 128 unless set), so that many "
    "more can be guessed.",
    "Lossless: an acceptance test and what it leaves (the residual) make up exactly for what the "
    "draft preferred. The text has the distribution of the target writing alone; the other page "
    "lets you check that, and break it.",
)
MARKS_HEAD, TERMS_HEAD = "The marks", "The letters and terms"
TERMS = (
    ("p", "the target’s probability of a token"),
    ("q", "the draft’s probability of a token"),
    ("q̃", "what the probe is drawn from: q to the 1 / T without the top m, normalised"),
    ("z", "tail mass: how much of q the probe is drawn from"),
    (
        "one-hot",
        "a token proposed for sure: accepted with probability p, after a rejected probe with "
        "r, its share of the residual",
    ),
    ("true", "with what probability a token was proposed: 1 for a one-hot one, q̃ for a probe"),
    (
        "proxy",
        "what pruning ranks by: q, and for the probe a value that does not depend on which token "
        "was drawn, or pruning would bend the distribution",
    ),
    (
        "u₁",
        "the random number that tests a probe: accepted below min(1, p / q̃), with r in place of p "
        "after a rejection",
    ),
    ("u₂", "the random number that picks one of the siblings, or another token"),
    ("residual", "what is left of p after a rejection, stretched to 1; the next draw is from it"),
    ("bonus", "the token that the target adds behind the last accepted leaf"),
    ("accept", "with what probability the walk goes on to a node, given it is at the parent"),
    (
        "overlap",
        "how much of p the probe can give: the mean acceptance of a probe that is tested; under "
        "RRSw of r, what the deterministic tokens leave of p",
    ),
    ("coverage", "how much of the draft’s probability is on the tokens it may propose"),
    (
        "support",
        "the S tokens that the draft may propose. The paper cuts the target to them in "
        "verification too; here the target stays whole, or the text would follow a cut target",
    ),
    (
        "optimal transport",
        "a rule of verification couples the probe with the emitted token; the plan that misses "
        "least is known in closed form, and a node’s card says how far its rule is from it",
    ),
    ("τ", "tokens per round, that is, per forward pass of the target"),
)
