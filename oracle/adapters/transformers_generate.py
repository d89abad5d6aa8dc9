"""Hugging Face transformers, assisted generation end to end: ``generate`` with an assistant, judged as a generator over several rounds.

The two models are the toy models of ``oracle.engine`` behind the interface of transformers' models.  What they have seen of the text is what is in
the cache that transformers hands them: they write tokens into it as keys and read the whole of it back, so a cache that is cropped wrongly, or a
position that is scored after another text, changes their laws.  Everything between the two models is transformers' own.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache as memoised
from logging import ERROR
from math import inf, log
from typing import Any

from ..engine import Engine, Toy
from ..generators import Generator
from ..judge_generator import plan_generator
from ..subjects import Subject, SubjectError

Row = Callable[[Sequence[int]], Sequence[float]]
"""Logits after a text, prompt included."""

OF_ASSISTANT = ("num_assistant_tokens", "assistant_confidence_threshold")
"""Settings that transformers reads off the assistant."""


def logits(law: Sequence[float]) -> list[float]:
    """Of the law itself."""
    return [log(mass) if mass else -inf for mass in law]


def subject(
    name: str = "transformers.generate",
    tasks: Sequence[Toy] | None = None,
    raw: Callable[[Sequence[float]], Sequence[float]] = logits,
    **settings: Any,
) -> Subject:
    """``model.generate(..., assistant_model=..., do_sample=True, **settings)`` as a generator; prompt lookup in place of an assistant where
    ``prompt_lookup_num_tokens`` is set.

    ``tasks``: default ``engine.toys()``.  ``raw``: the logits of which the processors among ``settings`` (temperature, top_k, ...) make the law
    given.  Raises SubjectError when transformers is not installed.
    """
    try:
        import transformers  # noqa: F401
    except ImportError as error:
        raise SubjectError(f"{name}: {error}; install it with pip install 'draftproof[engines]'") from None

    def call(engine: Engine) -> list[int]:
        return generate(engine, raw, **settings)

    judged = Generator(call, name)
    call.__draftproof_plan__ = lambda **options: plan_generator(judged, tasks, **options)  # type: ignore[attr-defined]
    return Subject(call, name)


def generate(engine: Engine, raw: Callable[[Sequence[float]], Sequence[float]] = logits, **settings: Any) -> list[int]:
    """The tokens that ``generate`` emits after the prompt of ``engine``."""
    import torch

    start = len(engine.prompt) - 1  # the engine has what comes before in its cache

    def target(text: Sequence[int]) -> Sequence[float]:
        path = text[start:]
        return raw(engine.target(path, [max(node - 1, 0) for node in range(len(path))])[-1])

    model, assistant = (table_model()(engine.vocabulary, row) for row in (target, lambda text: raw(engine.draft(text[start:]))))
    assistant.generation_config.update(**{key: settings.pop(key) for key in OF_ASSISTANT if key in settings})
    if "prompt_lookup_num_tokens" not in settings:
        settings["assistant_model"] = assistant
    with torch.no_grad(), _quiet():
        text = model.generate(
            torch.tensor([engine.prompt]),
            attention_mask=torch.ones(1, len(engine.prompt), dtype=torch.int64),
            do_sample=True,
            max_new_tokens=engine.length,
            eos_token_id=engine.eos,
            pad_token_id=0 if engine.eos is None else engine.eos,
            **{"top_k": 0, **settings},  # every token, whatever the default is
        )
    return [int(token) for token in text[0, len(engine.prompt) :]]


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what transformers says of how its own parts call one another."""
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity(ERROR)
    try:
        yield
    finally:
        logging.set_verbosity(before)


@memoised
def table_model() -> Any:
    """The class of models whose law is a function of the text.  Made when it is first wanted: it inherits from transformers'."""
    import torch
    from transformers import GenerationMixin, PretrainedConfig, PreTrainedModel
    from transformers.modeling_outputs import CausalLMOutputWithPast

    class TableConfig(PretrainedConfig):  # type: ignore[no-untyped-call]
        model_type = "draftproof_table"

    class TableModel(PreTrainedModel, GenerationMixin):  # type: ignore[no-untyped-call]
        config_class = TableConfig

        def __init__(self, vocabulary: int, row: Row):
            size = {"vocab_size": vocabulary, "num_hidden_layers": 1, "num_attention_heads": 1, "hidden_size": 1}
            super().__init__(TableConfig.from_dict(size))
            self.anchor = torch.nn.Parameter(torch.zeros(1))  # which device a model is on is read off its parameters
            self.row = row

        def forward(self, input_ids: Any = None, logits_to_keep: int = 0, **given: Any) -> Any:
            name = "cache" if "cache" in given else "past_key_values"  # since transformers 5.20, and before
            new = input_ids[:, None, :, None].float()
            seen, _ = given[name].update(new, new, 0)
            text = [int(token) for token in seen[0, 0, :, 0]]
            kept = logits_to_keep or input_ids.shape[1]
            rows = [self.row(text[:end]) for end in range(len(text) - kept + 1, len(text) + 1)]
            return CausalLMOutputWithPast(logits=torch.tensor([rows]), **{name: given[name]})

    return TableModel
