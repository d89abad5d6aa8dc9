"""Planted faults: small verifiers, each with one line as an engineer would get it wrong.  A judge that lets one pass is broken.

Kinds are those of the catalogue.  ``draftproof check draftproof.oracle.faults.chains:always_accepts`` judges one from the command line.
"""

from dataclasses import dataclass

from ..subjects import Subject
from . import blocks, chains, exits, siblings, tapes, tensors, visits

__all__ = ["FAULTS", "Fault"]


@dataclass(frozen=True)
class Fault:
    """One planted fault.

    ``kind``: A to O.  ``instance``: where in the catalogue it shows.  ``total_variation``: exact there, or None where it is not a short fraction.
    ``verdict``: the one that rejects it.
    """

    kind: str
    subject: Subject
    instance: str
    total_variation: str | None = None
    verdict: str = "exactness"

    @property
    def name(self) -> str:
        return self.subject.name.rpartition(":")[2]

    @property
    def what(self) -> str:
        """What it does, in one sentence."""
        return (self.subject.call.__doc__ or "").strip()


FAULTS: tuple[Fault, ...] = (
    Fault("A", chains.residual_is_target, "chain-one-draft", "3/20"),
    Fault("A", chains.residual_off_draft_only, "chain-one-draft", "9/80"),
    Fault("A", tensors.residual_by_softmax, "chain-one-draft"),
    Fault("A", chains.residual_of_first_row, "chain-rows-by-position", "7/25"),
    Fault("I", chains.bonus_of_last_draft_row, "chain-rows-by-position", "63/250"),
    Fault("B", chains.always_accepts, "chain-one-draft", "3/10"),
    Fault("B", chains.ratio_inverted, "chain-one-draft", "3/10"),
    Fault("B", chains.second_chance, "chain-one-draft", "3/50"),
    Fault("B", chains.zeroed_before_test, "chain-ngram", "3/5"),
    Fault("E", chains.drafts_compared_with_argmax, "chain-one-draft", "1/2"),
    Fault("D", chains.draft_not_truncated, "chain-opposed", "109/1470"),
    Fault("D", chains.only_bonus_truncated, "chain-opposed", "3/10"),
    Fault("N", chains.unlikely_drafts_cut, "chain-one-draft", "3/20"),
    Fault("G", tensors.residual_with_floor, "chain-zero-target", verdict="support"),
    Fault("L", chains.draft_law_missing, "chain-one-draft", "0", verdict="acceptance"),
    Fault("L", chains.stops_at_once, "chain-one-draft", "0", verdict="acceptance"),
    Fault("C", tapes.uniform_of_test_reused, "chain-two-residual-tokens", "3/20"),
    Fault("C", tapes.one_uniform_for_all_tests, "chain-pairs", "3/50"),
    Fault("C", tapes.seeded_anew_at_every_test, "chain-pairs"),
    Fault("H", tapes.draft_law_of_first_request, "chain-two-tokens"),
    Fault("A", blocks.block_with_token_residual, "chain-block", "1/80"),
    Fault("B", blocks.block_without_owed_mass, "chain-block", "1/8"),
    Fault("B", blocks.block_stops_at_first_failure, "chain-block", "1/5"),
    Fault("A", siblings.residual_not_updated, "tree-siblings", "31/350"),
    Fault("A", siblings.residual_not_normalised, "tree-siblings", "3/50"),
    Fault("A", siblings.bonus_is_target, "tree-siblings", "99/700"),
    Fault("A", siblings.first_residual_kept_for_bonus, "tree-siblings", "33/560"),
    Fault("I", siblings.bonus_of_stale_residual, "tree-siblings", "23/400"),
    Fault("K", siblings.draft_not_conditioned, "tree-siblings", "17/392"),
    Fault("K", siblings.uniform_law_for_fixed_drafts, "tree-fixed-kids", "3/5"),
    Fault("F", siblings.siblings_sorted, "tree-siblings", "113/1400"),
    Fault("F", siblings.siblings_reversed, "tree-siblings", "2323/12600"),
    Fault("F", siblings.token_zero_is_padding, "tree-siblings", "213/2800"),
    Fault("F", siblings.tested_once_per_leaf, "tree-two-levels-zeros", "4/25"),
    Fault("A", visits.residual_without_capacity, "chain-block-sharp", "7/400"),
    Fault("A", visits.capacity_not_updated, "tree-worked-example", "63/500"),
    Fault("B", exits.exit_weight_is_reach, "tree-fixed-kids", "1/6"),
    Fault("F", exits.edge_of_child_row, "tree-worked-example", "233/890"),
    Fault("F", exits.leaves_never_exit, "tree-worked-example", "18/25"),
    Fault("C", exits.exit_uniform_reused, "tree-worked-example", "7/40"),
    Fault("I", exits.bonus_not_masked, "tree-worked-example", "21/125"),
    Fault("A", tensors.drawn_again_after_miss, "chain-one-draft", "9/200"),
    Fault("C", tensors.one_uniform_for_all_levels, "chain-rows-by-position", "291/2500"),
    Fault("F", tensors.rows_by_depth, "tree-worked-example", "27/200"),
)
