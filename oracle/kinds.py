"""The kinds of fault: what each is, how it looks, and in which engines it was reported.

The reports are issues, pull requests and commits of public repositories; what is said of them here is what they report, in our words.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Report:
    """One report: where (repository and the numbers of issues or pull requests, or a commit) and what it says."""

    repository: str
    numbers: tuple[int | str, ...]
    what: str

    @property
    def links(self) -> list[str]:
        """Addresses; a pull request is found under issues too."""
        return [f"https://github.com/{self.repository}/{'issues' if isinstance(number, int) else 'commit'}/{number}" for number in self.numbers]


@dataclass(frozen=True)
class Kind:
    """``name`` in a few words, ``what`` it is, ``looks``: how it shows and what hides it, ``verdicts`` that see it, ``reports`` of it."""

    letter: str
    name: str
    what: str
    looks: str
    verdicts: tuple[str, ...]
    reports: tuple[Report, ...]


KINDS: dict[str, Kind] = {
    kind.letter: kind
    for kind in (
        Kind(
            "A",
            "wrong residual",
            "After a rejection the token is drawn from something other than what the target is still owed.",
            "The law of the token after a rejection is off while the acceptance rate is right. Invisible where one token only has "
            "p > q, where all rows "
            "are equal (wrong-row faults), and at V = 2. The token-level residual under block verification leaves every marginal and E[L] right.",
            ("exactness", "construction"),
            (
                Report("flashinfer-ai/flashinfer", (425,), "residual and bonus token read from row 0 wherever the rejection was"),
                Report("huggingface/transformers", (28508,), "residual put through a softmax instead of being normalised"),
                Report("xLLM-AI/xllm", (2175,), "draft law subtracted at the drafted token only"),
                Report("ShopeeLLM/Spec-RL", (14,), "draws from the target at the first rejection, by intention"),
                Report("vllm-project/vllm-ascend", (7807, 7808), "block verification with token-level test and residual"),
                Report("SafeAILab/EAGLE", ("b09a256",), "tree verification tested a sibling once for every leaf below it"),
            ),
        ),
        Kind(
            "B",
            "wrong acceptance test",
            "A draft is accepted with another probability than its rule says.",
            "The law leans to the draft (accepts too much) or away from it. A ratio that is 5 % too large moves the law by TV 0.01 on a hand-made "
            "instance of three tokens, and far less on rows that resemble each other.",
            ("exactness", "acceptance"),
            (
                Report("vllm-project/vllm-ascend", (13730, 13766), "uniform replaced by zero in a port: every draft accepted at temperature above 0"),
                Report("alibaba/rtp-llm", (1295,), "accepted when the target's sample equals the draft, or the ratio test passes"),
                Report("huggingface/transformers", (28508,), "the count of matches made every draft accepted"),
                Report("vllm-project/vllm-ascend", (7603,), "product of target probabilities used as the block test without a draft law"),
            ),
        ),
        Kind(
            "C",
            "shared randomness",
            "Random numbers that must be independent are the same: test and residual, draft and residual, positions, rounds, rows, ranks.",
            "Often every marginal is right and only the joint law is wrong: one uniform for two positions has joint TV 0.62 at "
            "marginal TV 0. Acceptance "
            "rates look normal. Tests that draw the drafts with a generator of their own cannot see it.",
            ("exactness", "invariance"),
            (
                Report("vllm-project/vllm", (54282, 47386), "draft noise, acceptance and recovery keyed by the same seed and position"),
                Report("vllm-project/vllm-ascend", (16370,), "the uniform that rejected a draft also drew the residual token"),
                Report("flashinfer-ai/flashinfer", (424,), "one uniform for acceptance and residual, and a missing barrier"),
                Report("sgl-project/sglang", (7231, 7207), "the last coin of the tree walk reused for the final draw"),
                Report("PaddlePaddle/FastDeploy", (5568, 7946), "one seed for all tokens of a step"),
                Report("vllm-project/vllm", (17498,), "tensor-parallel ranks drew different numbers and accepted different tokens"),
                Report("sgl-project/sglang", (33395,), "a fixed request seed gave other outputs for other batch shapes"),
            ),
        ),
        Kind(
            "D",
            "sampling parameters on one side",
            "Temperature, top-k, top-p, min-p, penalties, bias or grammar are applied to one of target and draft, or at some positions only.",
            "Tokens that the processed target excludes are emitted, or the law is that of other parameters inside the block than "
            "at its end. Invisible "
            "where the parameters are neutral, as in most tests.",
            ("support", "exactness", "declared law"),
            (
                Report("vllm-project/vllm", (9834, 10198), "target scored without temperature and top-p while the draft was filtered"),
                Report("mlc-ai/mlc-llm", (2940,), "top-p of the target not set in batch verification"),
                Report("vllm-project/vllm", (42744, 42802), "min-p and logit bias reached the bonus token only"),
                Report("sgl-project/sglang", (10617, 11555), "logit bias skipped on verified positions"),
                Report("sgl-project/sglang", (33643,), "penalties fed with the last accepted token only"),
                Report("NVIDIA/TensorRT-LLM", (17701, 18892), "penalties ignored; grammar masks of a chain applied to a tree"),
                Report("ml-explore/mlx-examples", (1255, 1291), "logits processors skipped, or given tokens that were rejected"),
            ),
        ),
        Kind(
            "E",
            "greedy, ties and mixed batches",
            "Greedy decoding and sampling are confused, or ties are broken differently in two places.",
            "The text is greedier than asked for, or a greedy request differs from plain decoding. Ties need tied rows: random logits have none.",
            ("exactness", "construction"),
            (
                Report("sgl-project/sglang", (11721, 39253), "some back ends verify by argmax whatever the temperature"),
                Report("ROCm/ATOM", (2318,), "verification by argmax while the request samples"),
                Report("google-ai-edge/LiteRT-LM", (3017,), "verification by argmax while the request samples"),
                Report("FlashML-org/FreeToken", (471,), "greedy approximated by a tiny temperature in mixed batches: ties split"),
                Report("flashinfer-ai/flashinfer", (3774,), "ties at the boundary keep more than k tokens"),
            ),
        ),
        Kind(
            "F",
            "tree structure and state",
            "Parents, siblings, their order, rows, masks, positions or the kept state belong to another node than the one at hand.",
            "Right on a chain and on a tree with one leaf under each child. Needs trees with three children, ragged depths, "
            "repeated tokens and token 0, "
            "rows that all differ, and several rounds for state.",
            ("exactness", "declared law", "construction"),
            (
                Report("SafeAILab/EAGLE", ("b09a256",), "leaf order other than the order of drawing; padding mistaken for token 0"),
                Report("sgl-project/sglang", (15360, 26866, 26972), "accepted nodes are scattered but taken for a dense prefix"),
                Report("NVIDIA/TensorRT-LLM", (15098, 10343), "wrong slice of logits in dynamic trees; a tree that accepts less than its own chain"),
                Report("ggml-org/llama.cpp", (5625, 5657, 3624), "stochastic tree verification under review; sibling order fixed"),
                Report("sgl-project/sglang", (33872, 33800), "state kept for four drafts only: corruption grows with the number of drafts"),
                Report("Blaizzy/mlx-vlm", (1155, 1144), "rows accept different numbers of drafts while the offset advances for all alike"),
            ),
        ),
        Kind(
            "G",
            "numerical boundaries",
            "Rounding, dtype, logarithm of zero, NaN, the end of a CDF, or <= where < is meant.",
            "Rare events: a token of probability zero is emitted once in 2^24 draws, the tail can never be drawn. Sampling does "
            "not reach them; scripted "
            "random numbers, integration and boundary values do, and all uniforms there are: draftproof precision.",
            ("support", "exactness", "declared law", "construction", "precision"),
            (
                Report("sgl-project/sglang", (35771, 35798), "<= against the ratio: a coin of exactly zero accepts an impossible draft"),
                Report("sgl-project/sglang", (22643,), "the CDF ends below the uniform and the last token is returned, possible or not"),
                Report("flashinfer-ai/flashinfer", (923, 384), "probabilities that sum to less than the uniform return an impossible token"),
                Report("sgl-project/sglang", (30822,), "integer hashes rounded to a uniform of exactly 1"),
                Report("vllm-project/vllm", (43150, 37798, 34854), "float32 noise has a floor: tokens of the far tail cannot win"),
                Report("NVIDIA/Megatron-LM", (7182,), "bfloat16 softmax and cumulative sum over a large vocabulary"),
                Report("vllm-project/vllm", (43249, 53029), "NaN rows or infinite noise return ids far out of range"),
            ),
        ),
        Kind(
            "H",
            "batch, padding and stale rows",
            "A request sees another request's rows, padding, or what an earlier call left behind.",
            "Right alone, wrong in a batch. Identical rows in all slots hide it, and so do equal widths; acceptance may look normal.",
            ("exactness", "declared law", "invariance", "construction", "error"),
            (
                Report("vllm-project/vllm", (53017,), "draft logits read with the vocabulary's size as stride: another slot's law"),
                Report("1CatAI/1Cat-vLLM", (656,), "corruption only with more than two sequences and sampling, acceptance normal"),
                Report("NVIDIA/TensorRT-LLM", (15775,), "a flag set in graph warm-up lets the first replay use stale probabilities"),
                Report("vllm-project/vllm", (10863,), "requests with and without seed in one batch: an in-place write was lost"),
                Report("vllm-project/vllm", (38711,), "drafts of an earlier step left in place near the length limit"),
                Report("flashinfer-ai/flashinfer", (879, 977), "padding of -1 and zero rows verified like drafts"),
            ),
        ),
        Kind(
            "I",
            "wrong bonus token",
            "The token after the last accepted draft is drawn from the wrong row, residual or not at all.",
            "Only blocks accepted in full show it; tests that replace or cut the bonus token cannot.",
            ("exactness",),
            (
                Report("flashinfer-ai/flashinfer", (425,), "bonus token drawn from row 0"),
                Report("SafeAILab/EAGLE", (47, 50), "bonus token drawn from a rejected sibling's residual after the last level"),
                Report("alibaba/rtp-llm", (1295,), "bonus token drawn by the wrong path"),
                Report("ggml-org/llama.cpp", (23335, 27972), "greedy stream changed by drafting; log-probabilities of zero reported"),
            ),
        ),
        Kind(
            "J",
            "endings and counters",
            "End of sequence, stop strings, length caps or counters are wrong when they fall inside a block.",
            "Needs an ending at every place of the accepted run, and a cap shorter than the block.",
            ("ending", "exactness"),
            (
                Report("huggingface/transformers", (47912, 28508), "tokens after an end-of-sequence token accepted in mid-block"),
                Report("sgl-project/sglang", (31599, 33758, 39826), "length checked before the stop condition; counters beyond what is returned"),
                Report("vllm-project/vllm", (56101,), "mean acceptance length counts tokens thrown away after the end"),
                Report("LostRuins/koboldcpp", (1276,), "drafts after the end of sequence shown"),
            ),
        ),
        Kind(
            "K",
            "declared law is not the law drafted from",
            "The draft law that the verifier is told is not the one the token was really drawn from.",
            "The verifier is right for the law it was told. Nothing but drafter and verifier together, or the drafter's "
            "frequencies against the law it "
            "declares, can show it. Deterministic drafts declared as sampled ones are the commonest form.",
            ("declared law", "exactness"),
            (
                Report("huggingface/transformers", (47932, 47961), "raw logits declared while drafting from the processed law or the argmax"),
                Report("jaymody/speculative-sampling", (3, 4), "argmax drafts with the full softmax in the ratio"),
                Report("apple/ml-recurrent-drafter", (6,), "a candidate of beam search taken for a sample"),
                Report("openvinotoolkit/openvino.genai", (2331,), "prompt-lookup candidates given a made-up probability"),
                Report("deepseek-ai/DeepSpec", (31, 48), "drawn from a bfloat16 softmax, tested with a float32 one"),
                Report("alibaba/rtp-llm", (1295,), "top-1 draft declared with its softmax"),
            ),
        ),
        Kind(
            "L",
            "accepts less than it should",
            "The law is right, and fewer tokens are accepted than the rule promises.",
            "No test of the law sees it: E[L] has to be compared with its exact value, or with what a smaller tree has.",
            ("acceptance", "construction"),
            (
                Report("sgl-project/sglang", (9877, 3373), "draft probabilities of zero: lossless, at the acceptance of a deterministic draft"),
                Report("vllm-project/vllm", (40551, 40819), "the match rule, or the block rule with placeholder draft laws, accepts less"),
                Report("z-lab/dflash", (169,), "drafts sampled from marginals, position by position, are accepted less than the best ones"),
                Report("lablup/mlxcel", (994,), "draft state cut two tokens too far at every rejection: the drafter starves"),
                Report("vllm-project/vllm", (9730,), "the bonus token is missing from the draft state"),
            ),
        ),
        Kind(
            "M",
            "lossy, and not said to be",
            "A rule that trades exactness for acceptance (typical acceptance, thresholds) runs where lossless output is expected.",
            "TV of 0.05 to 0.7 on small instances. A subject that declares itself lossy is reported with its total variation, and not rejected.",
            ("exactness",),
            (
                Report("vllm-project/vllm", (5015, 5131), "typical acceptance as an option"),
                Report("youssofal/MTPLX", (478,), "an option that says of itself that it is not exact, off by default"),
                Report("verl-project/verl-SpeCo", (19,), "rollouts biased when a lossy option is left on: fail closed"),
                Report("vllm-project/vllm-ascend", (9047, 9772), "entropy-based acceptance as an option"),
            ),
        ),
        Kind(
            "N",
            "truncation that looks at the token",
            "Whether a draft is submitted, kept or shown depends on the very token that was drawn.",
            "Cutting before a draft is harmless while the cut does not depend on that draft; by its own probability it is biased. "
            "Each part looks right by "
            "itself, and the rule that verifies is right.",
            ("declared law", "slots", "exactness"),
            (),
        ),
        Kind(
            "O",
            "report is mistaken",
            "The rule is lossless although it looks wrong: these are the controls that must pass.",
            "Match rules with greedy drafts, deterministic children tested with q = 1, block verification that accepts after a "
            "failed test, shared noise "
            "under a match rule, cuts that do not look at the token they cut.",
            (),
            (
                Report("z-lab/dflash", (74,), "greedy drafts under a sampling target, verified by agreement with the target's own draw"),
                Report("ml-explore/mlx-swift-lm", (459,), "acceptance by agreement with a target sample taken for biased"),
                Report("SafeAILab/EAGLE", (329, 283, 183, 93, 110, 221), "q = 1 for deterministic children taken for a loss of exactness"),
                Report("vllm-project/vllm-ascend", (11985,), "block verification expected to stop at the first failed test"),
                Report("vllm-project/vllm", (13196,), "the seed has no effect at temperature 0"),
                Report("NJUNLP/MCSD", (5,), "a residual questioned and found right"),
            ),
        ),
    )
}
