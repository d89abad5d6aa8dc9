"""Controls: rules that look wrong and are not.  A judge that rejects one raises false alarms."""

from dataclasses import dataclass, replace

from ..faults import chains, siblings
from ..subjects import Subject
from . import rules

__all__ = ["CONTROLS", "Control"]


@dataclass(frozen=True)
class Control:
    """One control.  ``why`` it is no fault; ``instances`` of the catalogue to judge it on; ``way`` of reading to insist on, if any."""

    subject: Subject
    instances: tuple[str, ...]
    why: str
    way: str | None = None

    @property
    def name(self) -> str:
        return self.subject.name.rpartition(":")[2]

    @property
    def what(self) -> str:
        """What it does, in one sentence."""
        return (self.subject.call.__doc__ or "").strip()


CONTROLS: tuple[Control, ...] = (
    Control(
        rules.accepts_equal_draws,
        ("chain-one-draft", "chain-argmax-draft", "chain-ngram", "chain-rows-by-position"),
        "every emitted token is the target's own draw, whether drafts are sampled or the draft's best tokens",
    ),
    Control(
        rules.fixed_children_zeroed,
        ("chain-argmax-draft", "chain-ngram", "tree-fixed-kids", "tree-top-two"),
        "the law of a child that was not sampled is one-hot, and then this is the residual",
    ),
    Control(
        replace(chains.draft_law_missing, family=None),
        ("chain-one-draft", "chain-pairs", "chain-zero-target"),
        "lossless for every way of drafting; it accepts less than it could, and claims no more",
    ),
    Control(
        rules.block_rescues_later_positions,
        ("chain-block", "chain-ngram", "chain-equal", "chain-three-drafts"),
        "block verification accepts the longest prefix that passes; stopping at the first failure is what would be wrong",
    ),
    Control(
        siblings.siblings_reversed,
        ("tree-siblings-with-replacement", "tree-two-levels-with-replacement"),
        "siblings drawn with replacement are exchangeable: any order that does not look at the tokens will do",
    ),
    Control(
        rules.many_rows_one_draft,
        ("chain-opposed",),
        "rows that share a draft are one observation; taken for independent they would be rejected",
        way="sample",
    ),
    Control(rules.last_draft_dropped, ("chain-one-draft", "chain-rows-by-position"), "the cut does not depend on the token it cuts"),
    Control(
        rules.stops_at_random,
        ("chain-one-draft", "chain-rows-by-position", "tree-siblings"),
        "inside its block it extends with the target's conditionals; when to stop is its own affair",
    ),
    Control(
        replace(chains.stops_at_once, family=None),
        ("chain-one-draft", "chain-block"),
        "it emits one token a round, and claims no more",
    ),
    Control(
        chains.drafts_compared_with_argmax,
        ("chain-greedy-target",),
        "at temperature 0 the target has one token: comparing with it is exact, and seeds have no effect",
    ),
    Control(
        rules.accepts_at_equality,
        ("chain-zero-target", "chain-one-draft"),
        "an event of probability at most 2^-23 is a boundary note, unless judged strictly",
    ),
    Control(rules.typical_acceptance, ("chain-one-draft", "chain-block"), "its author says that it is lossy: reported, not rejected"),
)
