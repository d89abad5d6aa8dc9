"""Gemma 4 with its assistant, as transformers generates with them, judged exactly on tiny random models: no weights are downloaded.

    python examples/adapters/gemma4_assistant.py

The candidate generator for these assistants drafts the most probable token and hands over the logits, so that sampling verifies it as if it had been
drawn from their softmax: kind K (huggingface/transformers#47932).  Transformers 5.24.0 emits another law than the target's.
"""

from functools import cache

import torch
from transformers import Gemma4AssistantConfig, Gemma4AssistantForCausalLM, Gemma4ForCausalLM, Gemma4TextConfig, PreTrainedModel

from draftproof.oracle import Generator, Report, check_generator
from draftproof.oracle.engine import Engine, Toy
from draftproof.reference.laws import Law

VOCABULARY, SIZE = 3, 8


def config(shared: int) -> Gemma4TextConfig:
    """Two small layers; ``shared`` of them read the keys and values of the target."""
    return Gemma4TextConfig(
        vocab_size=VOCABULARY,
        hidden_size=SIZE,
        intermediate_size=SIZE,
        num_hidden_layers=2,
        num_attention_heads=1,
        num_key_value_heads=1,
        head_dim=SIZE,
        global_head_dim=SIZE,
        layer_types=["sliding_attention", "full_attention"],
        sliding_window=16,
        vocab_size_per_layer_input=0,
        hidden_size_per_layer_input=0,
        num_kv_shared_layers=shared,
        initializer_range=0.4,
        pad_token_id=0,
        eos_token_id=None,
        bos_token_id=None,
    )


def judged(assisted: bool) -> Report:
    """The law of ``generate``, with the assistant or without, against the target's own law of every text."""
    torch.manual_seed(0)
    target = Gemma4ForCausalLM(config(shared=0)).eval()
    assistant = Gemma4AssistantForCausalLM(Gemma4AssistantConfig(text_config=config(shared=2), backbone_hidden_size=SIZE)).eval()
    assistant.generation_config.num_assistant_tokens = 2

    @cache
    def law(prefix: tuple[int, ...]) -> Law[int]:
        with torch.no_grad():
            logits = target(input_ids=torch.tensor([prefix])).logits[0, -1]
        return Law.row(logits.double().softmax(-1).tolist())

    def generate(engine: Engine) -> list[int]:
        return generated(target, assistant if assisted else None, engine)

    task = Toy("gemma4", VOCABULARY, law, law, prompt=(0, 1), length=3)
    return check_generator(Generator(generate, "Gemma 4 " + ("with" if assisted else "without") + " its assistant"), [task])


def generated(target: PreTrainedModel, assistant: PreTrainedModel | None, engine: Engine) -> list[int]:
    """What follows the prompt."""
    prompt = torch.tensor([engine.prompt])
    settings = {"do_sample": True, "top_k": 0, "max_new_tokens": engine.length, "pad_token_id": 0, "eos_token_id": None}
    with torch.no_grad():
        text = target.generate(prompt, attention_mask=torch.ones_like(prompt), assistant_model=assistant, **settings)
    return [int(token) for token in text[0, len(engine.prompt) :]]


if __name__ == "__main__":
    for assisted in (False, True):
        print(judged(assisted), end="\n\n")
