"""vLLM's rejection sampler: flat batches, requests one after the other, with cumulative numbers of drafts.

Three call shapes: the class ``RejectionSampler`` (or an instance), whose ``forward`` takes the logits of all positions and draws the bonus token
itself, or in older releases is given it; and the function ``rejection_sample``, which is given it.  Where the bonus token is given, this adapter
draws it from the target, first, with the request's generator, as the engine's caller does: then where it goes is judged, not how it is drawn.

Every request has a seeded generator, and every batch is ragged: a request without drafts goes first, one with a single draft goes last.  Their rows
are one-hot, so what they emit is known and checked.
"""

import dataclasses
from types import SimpleNamespace
from typing import Any

from ..subjects import Subject, SubjectError
from . import filled, parameters

FLAT = ("draft_token_ids", "num_draft_tokens", "max_spec_len", "cu_num_draft_tokens", "draft_probs")
FUNCTION = [(*FLAT, target, "bonus_token_ids", "sampling_metadata") for target in ("target_logits", "target_probs")]
FORWARD = [("metadata", "draft_probs", *target, "sampling_metadata") for target in (("logits",), ("target_logits", "bonus_token_ids"))]
FIRST, LAST = 0, 1
"""What the requests added before and after emit, and draft."""


@dataclasses.dataclass
class SamplingMetadata:
    """Random sampling at temperature 1 without processors, by the names of ``vllm.v1.sample.metadata.SamplingMetadata``."""

    temperature: Any
    generators: dict[int, Any]
    all_greedy: bool = False
    all_random: bool = True
    top_p: Any = None
    top_k: Any = None
    max_num_logprobs: int | None = None
    no_penalties: bool = True
    prompt_token_ids: Any = None
    frequency_penalties: Any = None
    presence_penalties: Any = None
    repetition_penalties: Any = None
    output_token_ids: Any = dataclasses.field(default_factory=list)
    spec_token_ids: Any = dataclasses.field(default_factory=list)
    allowed_token_ids_mask: Any = None
    bad_words_token_ids: Any = dataclasses.field(default_factory=dict)
    logitsprocs: Any = dataclasses.field(default_factory=lambda: SimpleNamespace(argmax_invariant=[], non_argmax_invariant=[], all=[]))
    thinking_budget_state_holder: Any = None


def subject(function: Any, name: str, **declares: Any) -> Subject:
    """``function`` (a function, a class or an instance) as a chain subject with a seed for each request."""
    sampler = _instance(function, name) if hasattr(function, "forward") else function
    takes = parameters(getattr(sampler, "forward", sampler), name, *FORWARD, *FUNCTION)
    logits = "target_probs" not in takes

    def verify(drafts: Any, declared: Any, target: Any, seeds: Any) -> tuple[Any, Any]:
        import torch

        generators = {row + 1: torch.Generator(device=target.device).manual_seed(int(seed)) for row, seed in enumerate(seeds)}
        flat = Flat(drafts, declared, target, logits)
        metadata = SamplingMetadata(torch.ones(len(flat.counts), device=target.device), generators)
        given: dict[str, Any] = {"draft_probs": flat.draft_probs, "sampling_metadata": metadata}
        if "metadata" in takes:
            given["metadata"] = flat.metadata()
        else:
            given |= {key: getattr(flat, key) for key in FLAT}
        if "logits" in takes:
            given["logits"] = flat.logits.clone()  # which it may overwrite
        else:
            given["target_logits" if logits else "target_probs"] = flat.target
            given["bonus_token_ids"] = flat.bonus(generators)
        answer = sampler(**given)
        return flat.read(getattr(answer, "sampled_token_ids", answer))

    verify.noise_per_token = True  # type: ignore[attr-defined]  # a race decides what a rejected draft is replaced by
    rows = "logits" if logits else "probs"
    return Subject(verify, name, shape="chain", rows=rows, randomness="seeds", **{"family": "recursive_rejection", **declares})  # type: ignore[arg-type]


def _instance(found: Any, name: str) -> Any:
    """An instance of a sampler class, which takes a sampler for the bonus token, or nothing."""
    if not isinstance(found, type):
        return found
    try:
        from vllm.v1.sample.sampler import Sampler  # type: ignore[import-not-found]
    except ImportError:
        Sampler = None
    try:
        return found(Sampler()) if Sampler else found()
    except Exception as error:
        raise SubjectError(f"{name}: cannot make one: {type(error).__name__}: {error}; name an instance") from None


class Flat:
    """A ragged batch: the request without drafts, the B requests, the request with one draft."""

    def __init__(self, drafts: Any, declared: Any, target: Any, logits: bool):
        import torch

        (size, length), vocabulary, device = drafts.shape, target.shape[2], target.device

        def certain(token: int) -> Any:
            row = torch.full((1, vocabulary), -torch.inf if logits else 0.0, dtype=target.dtype, device=device)
            row[0, token] = 0.0 if logits else 1.0
            return row

        def flat(rows: Any) -> Any:
            return rows.reshape(-1, rows.shape[-1])

        last = torch.tensor([LAST], device=device)
        self._size, self._is_logits = size, logits
        self.counts = self.num_draft_tokens = [0, *[length] * size, 1]
        self.max_spec_len = length
        self.draft_token_ids = torch.cat([drafts.reshape(-1), last]).int()
        self.cu_num_draft_tokens = torch.tensor(self.counts, device=device).cumsum(0).int()
        rows = None if declared is None else torch.cat([flat(declared), certain(LAST)])
        self.draft_probs = rows if rows is None or not logits else rows.float().softmax(-1)
        self.target = torch.cat([flat(target[:, :-1]), certain(LAST)])
        self.logits = torch.cat([certain(FIRST), flat(target), certain(LAST), certain(LAST)])
        ends = torch.tensor([count + 1 for count in self.counts], device=device).cumsum(0)
        self.bonus_logits_indices = ends - 1
        drafted = torch.ones(len(self.logits), dtype=torch.bool, device=device)
        drafted[self.bonus_logits_indices] = False
        self.target_logits_indices, self.cu_num_sampled_tokens = drafted.nonzero()[:, 0], ends.int()

    def metadata(self) -> Any:
        """By the names of ``vllm.v1.spec_decode.metadata.SpecDecodeMetadata``."""
        names = [*FLAT[:-1], "bonus_logits_indices", "target_logits_indices", "cu_num_sampled_tokens"]
        return SimpleNamespace(**{name: getattr(self, name) for name in names})

    def bonus(self, generators: dict[int, Any]) -> Any:
        """A bonus token for every request [B + 2, 1]."""
        import torch

        rows = self.logits[self.bonus_logits_indices]
        laws = rows.float().softmax(-1) if self._is_logits else rows
        drawn = [torch.multinomial(laws[row], 1, generator=generators.get(row)) for row in range(len(laws))]
        return torch.stack(drawn).int()

    def read(self, tokens: Any) -> tuple[Any, Any]:
        """Blocks [B, K + 1] and what was accepted [B].  Raises SubjectError where a request that is known emits something else."""
        for row, emits in ((0, [FIRST]), (len(self.counts) - 1, [LAST, LAST])):
            wanted = emits + [-1] * (self.max_spec_len + 1 - len(emits))
            if tokens[row].tolist() != wanted:
                said = f"a request of {self.counts[row]} drafts in a batch of {self.counts}, all rows one-hot, emits {tokens[row].tolist()}"
                raise SubjectError(f"{said}, not {wanted}: requests are mixed up")
        mine = tokens[1:-1]
        accepted = (mine >= 0).sum(1) - 1
        return filled(mine, accepted), accepted
