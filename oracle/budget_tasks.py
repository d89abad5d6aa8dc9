"""The tasks behind ``draftproof budget``, as they run in a worker process: other people's code crashes, hangs and prints."""

from collections.abc import Sequence

from draftproof.reference.budgets.profiler import profile

from .builders import named
from .subjects import SubjectError
from .supervise import Send
from .tree_subjects import judge, tree_subjects


def check_task(send: Send, spec: str, time_limit: float) -> None:
    """Judge ``spec``, sending ("at", (subject on instance, done, total)), and ("found", verdict or failure) as they come.

    ("fatal", message) when it cannot begin.
    """
    try:
        subjects = tree_subjects(spec)
    except SubjectError as error:
        send(("fatal", str(error)))
        return
    for subject in subjects:
        judge(
            subject,
            time_limit=time_limit,
            observe=lambda name, done, total: send(("at", (name, done, total))),
            record=lambda item: send(("found", item)),
        )


def profile_task(send: Send, spec: str, sizes: Sequence[int], warmups: int, repeats: int) -> None:
    """Measure ``spec``, sending ("at", size) before and ("found", median seconds) after each size; ("fatal", message) when it fails."""
    try:
        run = named(spec)
        if not callable(run):
            raise SubjectError(f"{spec} is not callable")
        for size in sizes:
            send(("at", size))
            send(("found", profile(run, [size], warmups, repeats)[0]))
    except SubjectError as error:
        send(("fatal", str(error)))
    except Exception as error:  # the callable may raise anything
        send(("fatal", f"{spec} raised {type(error).__name__}: {error}"))
