"""Classes that take a task and give the metric of that task, as torchmetrics' Accuracy(task=...)."""

from inspect import Signature, signature
from typing import Any

from .inputs import TASKS, check_option
from .metric import Metric


class TaskDoor(Metric):
    """A class that gives another's: `Accuracy(task="multiclass", num_classes=10)`."""

    by_task: dict[str, type[Metric]]
    average: str | None

    def __new__(cls, task: str = "", **options: Any) -> Any:
        check_option(cls.__name__, "task", task, tuple(cls.by_task))
        if task != "binary" and cls.average:
            options = {"average": cls.average, **options}
        return cls.by_task[task](**options)


def door(name: str, *tasks: type[Metric], average: str | None = "micro") -> Any:
    """The class of a name that takes task= and gives that task's; average: where none is given."""
    *first, last = [t.__name__ for t in tasks]
    used = f" The average is {average!r} where none is given." if average else ""
    told = f"""{", ".join(first)} or {last}, by the task.{used}

    task: "binary", "multiclass" or "multilabel". options: what that class takes.
    Raises ValueError for another task.
    """
    own = {
        "by_task": dict(zip(TASKS, tasks, strict=False)),
        "average": average,
        "__doc__": told,
        "__module__": tasks[0].__module__,
        "__signature__": Signature([*signature(TaskDoor.__new__).parameters.values()][1:]),
    }
    return type(name, (TaskDoor,), own)
