"""Generation in rounds: draft a tree, verify it, emit the block, go on from there; truncated at a length cap and at the first end-of-sequence token.

If every round's block law is exact, the first m tokens have the target's law, by induction on the number of missing tokens: after a block the rest
is generated from a longer context, and truncation is a function of the sequence.
"""

from collections import defaultdict
from collections.abc import Callable
from hashlib import blake2b

from .blocks import Block, block_law
from .chance import Chance
from .laws import ONE, ZERO, Law
from .models import Model, Prefix, spell
from .rational import Rational
from .trees import LazyNode, Scheme, Slot
from .verifiers import Family

Drafting = Callable[[Prefix], tuple[Slot, Scheme]]
"""Context -> topology and scheme of the round that starts there; prefixes given to the scheme start at that context."""

Round = Callable[[Prefix], Law[Block]]
"""Context -> law of the block emitted there."""


def toy_model(seed: int, vocabulary: int, zeros: int = 0) -> Model:
    """A toy language model: the row after a prefix is a hash of the whole prefix, so whatever state is stale, missing or out of order shows.

    Probabilities are multiples of 1/64, which floats hold exactly; about ``zeros`` tokens in eight have none, never all of them.  At most 8 tokens.
    """

    def model(prefix: Prefix) -> Law[int]:
        digest = blake2b(f"{seed}:{spell(prefix)}".encode(), digest_size=vocabulary).digest()
        kept = digest[0] % vocabulary
        weights = [0 if byte % 8 < zeros and token != kept else 1 + byte % 8 for token, byte in enumerate(digest)]
        shares = [64 * weight // sum(weights) for weight in weights]
        shares[kept] += 64 - sum(shares)
        return Law.row(shares)

    return model


def after(model: Model, context: Prefix) -> Model:
    """``model`` seen from ``context``: the law of the next token after context + prefix."""
    return lambda prefix: model(context + prefix)


def round_law(family: Family, target: Model, drafting: Drafting) -> Round:
    """The exact law of every round's block."""
    return lambda context: block_law(family, after(target, context), *drafting(context))


def truncated(tokens: Prefix, length: int, eos: int | None) -> Prefix:
    """``tokens`` up to the first ``eos`` (kept) and at most ``length`` of them."""
    cut = tokens[:length]
    return cut[: cut.index(eos) + 1] if eos in cut else cut


def generation_law(round_at: Round, length: int, eos: int | None = None) -> Law[Prefix]:
    """Law of the first ``length`` tokens, or of what is emitted up to ``eos``, over all rounds."""
    done: dict[Prefix, Rational] = {}
    contexts: defaultdict[Prefix, Rational] = defaultdict(lambda: ZERO, {(): ONE})
    while contexts:
        context = min(contexts, key=len)
        probability = contexts.pop(context)
        if len(context) >= length or context[-1:] == (eos,):
            done[context] = probability
            continue
        for block, mass in round_at(context).items():
            contexts[truncated(context + block, length, eos)] += probability * mass
    return Law(done)


def target_law(target: Model, length: int, eos: int | None = None) -> Law[Prefix]:
    """Law of the same tokens drawn one by one from the target."""
    return generation_law(lambda context: target(context).map(lambda token: (token,)), length, eos)


def generate(family: Family, target: Model, drafting: Drafting, length: int, chance: Chance, eos: int | None = None) -> Prefix:
    """One run: at most ``length`` tokens, ending at the first ``eos``.  Every round asks ``chance`` for fresh decisions."""
    emitted: Prefix = ()
    while len(emitted) < length and emitted[-1:] != (eos,):
        topology, scheme = drafting(emitted)
        root = LazyNode(topology, (), scheme, chance, distinct=not family.reads_declared)
        answer = family.verify(after(target, emitted), root, chance)
        emitted = truncated((*emitted, *answer.node.path, chance.draw(answer.bonus, at="bonus")), length, eos)
    return emitted
