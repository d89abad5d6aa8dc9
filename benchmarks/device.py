"""Everything about the kernels that needs a CUDA GPU, in one command of a few minutes: checks, times, and one JSON file.

    python benchmarks/device.py [--out FILE] [--seconds 420] [--dry]

1. Law: every kernel against the exact law of small trees, driven around each threshold, and against the plain rules at full vocabulary.
2. No wait for the device inside a verify call, capture in a CUDA graph, and two replays that draw different tokens.
3. Times with events: batch 1, 8, 64; nodes 16, 64, 256; V 32,000 and 151,936; chain and tree; beside the peers, a plain read of the rows that
   were visited, and a whole softmax.  Shapes that do not fit into the card's memory, or no longer into the time, are left out, and said so.

Without CUDA: exit status 2.  --dry goes through the same steps on a CPU with Triton's interpreter, at sizes that mean nothing; it writes no times.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

DRY = "--dry" in sys.argv[1:]
if DRY:
    os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported

import torch  # noqa: E402
from speed_cases import Case, Shape, greedy_drafts, make  # noqa: E402
from speed_peers import peers  # noqa: E402
from torch import Tensor  # noqa: E402

from draftproof import gpu_impl  # noqa: E402
from draftproof.gpu_impl import LogitRows  # noqa: E402
from draftproof.gpu_impl.kernels import use  # noqa: E402
from draftproof.oracle import check  # noqa: E402
from draftproof.oracle.adapters.gpu_impl import verifiers  # noqa: E402

KERNELS = ("predraw_follow", "tree_exit", "recursive_rejection", "traversal", "k_seq")
GREEDY = ("greedy_transport", "univer")  # on trees drafted greedily
SHAPES = [Shape(b, n, v, tree) for v in (32_000, 151_936) for b in (1, 8, 64) for n in (16, 64, 256) for tree in ("chain", "tree")]
DEVICE = "cpu" if DRY else "cuda"


def width(name: str, nodes: int) -> int:
    return 2 if name == "tree_exit" else nodes


def cases(shape: Shape, device: str) -> Iterator[tuple[tuple[str, ...], Case]]:
    """Rules with the trees they are for.  The second are made of the first, in place."""
    case = make(shape, device)
    yield KERNELS, case
    yield GREEDY, greedy_drafts(case)


def law(deadline: float) -> dict[str, Any]:
    """The verdicts of the oracle on every kernel, on this device."""
    found: dict[str, Any] = {}
    for subject in verifiers(device=DEVICE):
        found[subject.name] = {"outcome": "no time"}
        if time.monotonic() < deadline:
            report = check(subject, tier="smoke", time_limit=60.0)
            found[subject.name] = {"outcome": report.outcome, "verdicts": [str(verdict) for verdict in report.verdicts][:20]}
    return found


def agreement(shape: Shape) -> dict[str, float]:
    """The share of trees on which kernels and plain rules give the same block, with the same uniforms, at full vocabulary."""
    found = {}
    for names, case in cases(shape, "cpu"):
        for name in names:
            uniforms = torch.rand(shape.batch, width(name, shape.nodes), dtype=torch.float64, generator=torch.Generator().manual_seed(1))
            plain, _ = getattr(gpu_impl, name)(*case.tree, LogitRows(case.target), LogitRows(case.draft), uniforms=uniforms)
            assert (plain[:, 0] >= 0).all(), f"{name} does not answer"
            with on_kernels():
                mine, _ = getattr(gpu_impl, name)(
                    *(x.to(DEVICE) for x in case.tree), LogitRows(case.target.to(DEVICE)), LogitRows(case.draft.to(DEVICE)),
                    uniforms=uniforms.to(DEVICE))
            found[name] = (mine.cpu()[:, : plain.shape[1]] == plain).all(1).double().mean().item()
    trees = gpu_impl.ddtree(marginals(case), shape.nodes)
    with on_kernels():
        built = gpu_impl.ddtree(marginals(case).to(DEVICE), shape.nodes)
    same = (built.tokens.cpu() == trees.tokens) & (built.parents.cpu() == trees.parents)
    return found | {"ddtree": same.all(1).double().mean().item()}


def marginals(case: Case) -> Tensor:
    """Logits [B, L, V] for a tree builder."""
    return case.target[:, :8]


class on_kernels:
    """CPU tensors go to the interpreter in here, where this is a dry run."""

    def __enter__(self) -> None:
        use.INTERPRETED = DRY

    def __exit__(self, *_: Any) -> None:
        use.INTERPRETED = False


def call_of(name: str, case: Case, generator: torch.Generator | None = None) -> Callable[[], Any]:
    verifier, target, declared = getattr(gpu_impl, name), LogitRows(case.target), LogitRows(case.draft)
    return lambda: verifier(*case.tree, target, declared, generator=generator)


def no_wait(shape: Shape) -> dict[str, str]:
    """Calls under torch's synchronisation debug mode, which raises at a wait."""
    found = {}
    for name, call in ((name, call_of(name, case)) for names, case in cases(shape, DEVICE) for name in names):
        call()  # compiles
        torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode("error")
        try:
            call()
            found[name] = "no wait"
        except RuntimeError as error:
            found[name] = f"waits: {error}"
        finally:
            torch.cuda.set_sync_debug_mode("default")
    return found


def capture(shape: Shape) -> dict[str, str]:
    """Each call in a CUDA graph with its random numbers drawn inside; replays must differ, since their state moves on."""
    found = {}
    for name, call in ((name, call_of(name, case)) for names, case in cases(shape, DEVICE) for name in names):
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            call()
        torch.cuda.current_stream().wait_stream(stream)
        with torch.cuda.graph(graph):
            blocks, _ = call()
        replays = []
        for _ in range(3):  # a dummy one, and two
            graph.replay()
            torch.cuda.synchronize()
            replays.append(blocks.clone())
        found[name] = "replays differ" if not torch.equal(replays[1], replays[2]) else "replays draw the same"
    return found


def milliseconds(call: Callable[[], Any], repeats: int = 7) -> float:
    """The median by CUDA events, after two calls to warm up, the second-level cache flushed before each."""
    flush = torch.empty(64 << 20, dtype=torch.int32, device=DEVICE)
    times = []
    for repeat in range(repeats + 2):
        flush.zero_()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        if repeat > 1:
            times.append(start.elapsed_time(end))
    return statistics.median(times)


def times(shape: Shape) -> dict[str, float]:
    """Ours, peers, and floors.  Visited rows: those on the accepted paths, the rows that predraw_follow must read."""
    case = make(shape, DEVICE)
    found = {name: milliseconds(call_of(name, case)) for name in KERNELS}
    found["ddtree"] = milliseconds(lambda: gpu_impl.ddtree(marginals(case), shape.nodes))
    for name, peer in peers(shape.tree).items():
        start = time.perf_counter()
        peer(case)
        if time.perf_counter() - start < 2:
            found[name] = milliseconds(lambda peer=peer: peer(case), 3)  # type: ignore[misc]
    _, accepted = call_of("predraw_follow", case)()
    visited = case.target.flatten(0, 1)[: int((accepted + 1).sum())]
    found["floor: read of the rows visited"] = milliseconds(lambda: visited.amax())
    found["one softmax of the rows visited"] = milliseconds(lambda: visited.softmax(-1))
    found["one softmax of all rows"] = milliseconds(lambda: case.target.softmax(-1))
    greedy = greedy_drafts(case)  # in place
    return found | {name: milliseconds(call_of(name, greedy)) for name in GREEDY}


def dry() -> dict[str, Any]:
    """What can be gone through without a GPU."""
    use.BLOCK = 16
    shape = Shape(2, 4, 40, "tree")
    with on_kernels():
        blocks, accepted = call_of("predraw_follow", make(shape))()
    assert ((blocks >= 0).sum(1) == accepted + 1).all()
    return {"dry": True, "agreement": {str(shape): agreement(shape)}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("out/device.json"))
    parser.add_argument("--seconds", type=float, default=420.0, help="when to stop starting shapes")
    parser.add_argument("--dry", action="store_true", help="go through it on a CPU, with Triton's interpreter")
    options = parser.parse_args()
    if not (options.dry or torch.cuda.is_available()):
        print("device.py: there is no CUDA device here; --dry goes through the steps without one", file=sys.stderr)
        sys.exit(2)
    start = time.monotonic()
    result = dry() if options.dry else {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    faults = []
    if not options.dry:
        small = Shape(8, 16, 32_000, "tree")
        result |= {"waits": no_wait(small), "graphs": capture(small), "agreement": {}, "milliseconds": {}, "left out": []}
        for shape in (Shape(8, 16, 32_000, "tree"), Shape(4, 16, 151_936, "tree"), Shape(4, 16, 151_937, "chain")):
            result["agreement"][str(shape)] = agreement(shape)
        result["law"] = law(start + options.seconds / 3)
        faults += [f"{name}: {said}" for name, said in result["waits"].items() if said != "no wait"]
        faults += [f"{name}: {said}" for name, said in result["graphs"].items() if said != "replays differ"]
        faults += [f"{name}: {said['outcome']}" for name, said in result["law"].items() if said["outcome"] != "conform"]
        for shape in SHAPES:
            if 2.5 * shape.bytes > torch.cuda.mem_get_info()[0] or time.monotonic() - start > options.seconds:
                result["left out"].append(str(shape))
                continue
            result["milliseconds"][str(shape)] = found = times(shape)
            floor = found["floor: read of the rows visited"]
            print(f"{shape}: " + "   ".join(f"{name} {ms:.3f} ms ({ms / floor:.1f}x)" for name, ms in found.items()), flush=True)
            torch.cuda.empty_cache()
    faults += [f"{name} agrees on {share:.0%} of trees of {shape}" for shape, by in result["agreement"].items() for name, share in by.items()
               if share < 1]
    result |= {"faults": faults, "seconds": round(time.monotonic() - start, 1)}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"{options.out}: {len(faults)} faults" + "".join(f"\n  {fault}" for fault in faults))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
