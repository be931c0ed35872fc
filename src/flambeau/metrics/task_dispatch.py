"""Classes that take a task and return the metric of that task, as torchmetrics' Accuracy(task=...)."""

from collections.abc import Mapping
from typing import Any, ClassVar

from .inputs import check_option
from .metric import Metric


class TaskClass(Metric):
    """A class that creates an object of the task's class: `Accuracy(task="multiclass", num_classes=10)`."""

    by_task: ClassVar[Mapping[str, type[Metric]]]
    average: ClassVar[str | None] = "micro"  # the default average; None: that of the task's class

    # The object's class is another one, so `__init__` is not called.
    def __new__(cls, task: str = "", **options: Any) -> Any:  # pyright: ignore[reportInconsistentConstructor]
        check_option(cls.__name__, "task", task, tuple(cls.by_task))
        if task != "binary" and cls.average:
            options = {"average": cls.average, **options}
        return cls.by_task[task](**options)
