"""A subject judged instance by instance: whatever goes wrong in it costs that instance, is said, and does not raise."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .check import _alarm, _Hung, require_sense
from .readings.refused import Refused
from .report import Failure, Report
from .subjects import SubjectError
from .verdicts import Verdict

Observe = Callable[[str, int, int], None]
Record = Callable[[Verdict | Failure], None]


def one_by_one(
    subject: str,
    instances: Sequence[tuple[str, Callable[[], Iterable[Verdict]]]],
    settings: Mapping[str, Any],
    time_limit: float,
    observe: Observe | None = None,
    record: Record | None = None,
    most_errors: int | None = None,
) -> Report:
    """The verdicts that each of ``instances``, by name, gives, and what failed.

    A subject that does not come back within ``time_limit`` seconds is an error, and nothing more is asked of it (only in the main thread);
    nor after ``most_errors`` errors.  ``observe(subject on instance, done, total)`` and ``record(verdict or failure)`` follow the run.  Raises
    ValueError for settings that make no sense.
    """
    require_sense(settings.get("alpha", 0.5), settings.get("tolerance"), time_limit)
    report = Report(settings=dict(settings))

    def add(item: Verdict | Failure) -> None:
        (report.errors if isinstance(item, Failure) else report.verdicts).append(item)  # type: ignore[arg-type]
        if record:
            record(item)

    for done, (name, verdicts) in enumerate(instances):
        if most_errors is not None and len(report.errors) >= most_errors:
            break
        if observe:
            observe(f"{subject} on {name}", done, len(instances))
        try:
            with _alarm(time_limit):
                for verdict in verdicts():
                    add(verdict)
        except _Hung:
            add(Failure(subject, name, f"did not come back within the time limit of {time_limit:g} s; nothing more is asked of it"))
            break
        except (SubjectError, Refused) as error:
            add(Failure(subject, name, str(error)))
        except Exception as error:  # the subject's own code may raise anything
            add(Failure(subject, name, f"raised {type(error).__name__}: {error}"))
    return report
