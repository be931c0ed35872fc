"""Classes that take a task and return the metric of that task, as torchmetrics' Accuracy(task=...)."""

# pyright: basic

from collections.abc import Mapping
from typing import Any, ClassVar

from .inputs import check_option
from .metric import Metric


class TaskDoor(Metric):
    """A class that makes an object of another: `Accuracy(task="multiclass", num_classes=10)`."""

    by_task: ClassVar[Mapping[str, type[Metric]]]
    average: ClassVar[str | None] = "micro"  # unless one is given; None: the task's class decides

    def __new__(cls, task: str = "", **options: Any) -> Any:
        check_option(cls.__name__, "task", task, tuple(cls.by_task))
        if task != "binary" and cls.average:
            options = {"average": cls.average, **options}
        return cls.by_task[task](**options)
