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
    Fault("A", chains.residual_of_first_row, "chain-rows-by-position"),
    Fault("I", chains.bonus_of_last_draft_row, "chain-rows-by-position"),
    Fault("B", chains.always_accepts, "chain-one-draft", "3/10"),
    Fault("B", chains.ratio_inverted, "chain-one-draft", "3/10"),
    Fault("B", chains.second_chance, "chain-one-draft", "3/50"),
    Fault("B", chains.zeroed_before_test, "chain-ngram", "3/5"),
    Fault("E", chains.drafts_compared_with_argmax, "chain-one-draft", "1/2"),
    Fault("D", chains.draft_not_truncated, "chain-opposed"),
    Fault("D", chains.only_bonus_truncated, "chain-opposed"),
    Fault("N", chains.unlikely_drafts_cut, "chain-one-draft"),
    Fault("G", tensors.residual_with_floor, "chain-zero-target", verdict="support"),
    Fault("L", chains.draft_law_missing, "chain-one-draft", "0", verdict="acceptance"),
    Fault("L", chains.stops_at_once, "chain-one-draft", "0", verdict="acceptance"),
    Fault("C", tapes.uniform_of_test_reused, "chain-two-residual-tokens", "3/20"),
    Fault("C", tapes.one_uniform_for_all_tests, "chain-pairs"),
    Fault("C", tapes.seeded_anew_at_every_test, "chain-pairs"),
    Fault("H", tapes.draft_law_of_first_request, "chain-three-drafts"),
    Fault("A", blocks.block_with_token_residual, "chain-block", "1/80"),
    Fault("B", blocks.block_without_owed_mass, "chain-block", "1/8"),
    Fault("B", blocks.block_stops_at_first_failure, "chain-block"),
    Fault("A", siblings.residual_not_updated, "tree-siblings"),
    Fault("A", siblings.residual_not_normalised, "tree-siblings"),
    Fault("A", siblings.bonus_is_target, "tree-siblings"),
    Fault("A", siblings.first_residual_kept_for_bonus, "tree-siblings"),
    Fault("I", siblings.bonus_of_stale_residual, "tree-siblings"),
    Fault("K", siblings.draft_not_conditioned, "tree-siblings"),
    Fault("K", siblings.uniform_law_for_fixed_drafts, "tree-fixed-kids"),
    Fault("F", siblings.siblings_sorted, "tree-siblings"),
    Fault("F", siblings.siblings_reversed, "tree-siblings"),
    Fault("F", siblings.token_zero_is_padding, "tree-siblings"),
    Fault("F", siblings.tested_once_per_leaf, "tree-two-levels-zeros"),
    Fault("A", visits.residual_without_capacity, "tree-two-levels"),
    Fault("A", visits.capacity_not_updated, "tree-two-levels"),
    Fault("B", exits.exit_weight_is_reach, "tree-top-two"),
    Fault("F", exits.edge_of_child_row, "tree-worked-example"),
    Fault("F", exits.leaves_never_exit, "tree-worked-example"),
    Fault("C", exits.exit_uniform_reused, "tree-worked-example"),
    Fault("I", exits.bonus_not_masked, "tree-worked-example"),
    Fault("A", tensors.drawn_again_after_miss, "chain-one-draft"),
    Fault("C", tensors.one_uniform_for_all_levels, "chain-rows-by-position"),
    Fault("F", tensors.rows_by_depth, "tree-worked-example"),
)
