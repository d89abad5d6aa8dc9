"""Controls: rules that look wrong and are not.  A judge that rejects one raises false alarms."""

from dataclasses import dataclass, replace

from ..drafters import Drafter
from ..faults import chains, siblings, thinned
from ..faults.drafters import drafter_from
from ..faults.drafts import LEGAL
from ..faults.requests import rows_cached
from ..generators import Generator
from ..subjects import Subject
from . import rules, trees

__all__ = ["CONTROLS", "Control"]


@dataclass(frozen=True)
class Control:
    """One control.  ``why`` it is no fault; ``instances`` to judge it on, as those of a ``Fault``; ``way`` of reading to insist on, if any."""

    subject: Subject | Drafter | Generator
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
        chains.accepts_at_equality,
        ("chain-zero-target", "chain-one-draft"),
        "an event of probability at most 2^-23 is a boundary note, unless judged strictly",
    ),
    Control(rules.typical_acceptance, ("chain-one-draft", "chain-block"), "its author says that it is lossy: reported, not rejected"),
    Control(
        rules.capped_ratio_with_its_residual,
        ("chain-one-draft", "chain-block"),
        "what is accepted with less than the ratio stays owed, and is emitted as such",
    ),
    Control(
        rules.cut_after_the_fact, ("chain-rows-by-position", "chain-block"), "the cut depends on how many are accepted, and then the target draws"
    ),
    Control(
        rules.race_of_exponentials,
        ("chain-one-draft", "chain-two-residual-tokens"),
        "the first of independent exponentials has the law of their rates",
    ),
    Control(
        rules.one_seed_counted_on,
        ("chain-pairs", "chain-one-draft"),
        "one seed a request is enough, if its stream goes on",
    ),
    Control(
        replace(siblings.only_eldest_tested, family=None),
        ("tree-siblings", "tree-duplicates"),
        "which siblings are looked at is the verifier's own affair, if it does not depend on their tokens",
    ),
    Control(
        replace(thinned.thinned_as_much_as_can_be, family=None),
        ("tree-siblings-with-replacement",),
        "any rho above the least is lossless; it accepts less",
    ),
    Control(trees.drawn_again_off_children, ("tree-fixed-kids", "tree-worked-example"), "given that the draw is no child, it has this law"),
    Control(trees.leaves_emitted_as_bonus, ("tree-ragged", "tree-siblings"), "the same tokens, one of them counted as the bonus"),
    Control(
        trees.fixed_children_by_plan,
        ("tree-greedy", "tree-greedy-three", "tree-top-two"),
        "averaged over the sampled child, every token gets what the target owes it",
    ),
    Control(
        trees.sampled_child_first,
        ("tree-greedy", "tree-two-levels-greedy"),
        "any order of the children that does not look at draws below them will do",
    ),
    Control(
        trees.noise_shared_under_match,
        ("rounds-opposed",),
        "every token emitted is the target's own draw; what the draft shares with it changes how often they agree, nothing else",
        way="sample",
    ),
    Control(rows_cached, ("rounds-two-tokens", "rounds-eos"), "a request emits the same whatever was cached before it"),
    *(Control(drafter_from(build, f"drafter {name}"), ("draft-full",), "every token has the law it declares") for name, build in LEGAL.items()),
)
