"""Our own batched verifiers as subjects: the same rules as every other subject's."""

import importlib
from collections.abc import Sequence

from ..subjects import Subject, SubjectError

CLAIMS = {
    "predraw_follow": ("lossless", "optimal_on_fixed_trees"),
    "tree_exit": ("lossless", "optimal_on_fixed_trees"),
    "recursive_rejection": ("lossless", "optimal_on_fixed_trees"),
    "traversal": ("lossless", "optimal_on_chains", "optimal_on_fixed_trees"),
    "greedy_transport": ("lossless", "optimal_on_fixed_trees"),
    "univer": ("lossless", "conditionally_optimal", "optimal_on_chains", "optimal_on_fixed_trees"),
    "k_seq": ("lossless",),
}


def verifiers(dtype: str = "float32", device: str = "cpu") -> Sequence[Subject]:
    """One subject per family that ``draftproof.gpu_impl`` has.  Raises SubjectError when torch is not installed."""
    try:
        module = importlib.import_module("draftproof.gpu_impl")
    except ImportError as error:
        raise SubjectError(f"gpu_impl: {error}; install torch with pip install 'draftproof[gpu]'") from None
    return [
        Subject(
            getattr(module, name),
            name=f"gpu_impl.{name}",
            family=name,
            dtype=dtype,
            device=device,
            randomness="uniforms",
            uniforms_dtype="float64",
            columns=(lambda nodes: 2) if name == "tree_exit" else None,
            layout="draftproof",
            claims=CLAIMS[name],
        )
        for name in CLAIMS
    ]
