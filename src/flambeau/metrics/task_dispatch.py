"""Classes that take a task and return the metric of that task, as torchmetrics' Accuracy(task=...)."""

import inspect
from collections.abc import Mapping
from typing import Any, ClassVar

from ..device import DeviceLike
from .inputs import check_option
from .metric import Metric


class TaskClass(Metric):
    """A class that creates an object of the task's class: `Accuracy("multiclass", num_classes=10)`.

    A subclass names all parameters of the tasks' classes in `__new__`, in torchmetrics' order. Python
    does not call `__init__`, because the object is of another class.
    """

    by_task: ClassVar[Mapping[str, type[Metric]]]

    @classmethod
    def of_task(cls, arguments: dict[str, Any]) -> Metric:
        """Create the metric of a task. TypeError for an option that the task lacks, unless it is the
        default.

        arguments: the local variables of `__new__`
        """
        task = arguments["task"]
        check_option(cls.__name__, "task", task, tuple(cls.by_task))
        kind = cls.by_task[task]
        has = inspect.signature(kind.__init__).parameters
        defaults = inspect.signature(cls.__new__).parameters
        options = {name: value for name, value in arguments.items() if name not in ("cls", "task")}
        for name, value in options.items():
            if name not in has and value != defaults[name].default:
                rule = f"{kind.__name__} has no {name}: leave it out, or choose another task"
                raise TypeError(f"{cls.__name__}({task!r}, {name}={value!r}): {rule}")
        return kind(**{name: value for name, value in options.items() if name in has})


class CountTask(TaskClass):
    """The scores of true and false positives and negatives."""

    def __new__(  # pyright: ignore[reportInconsistentConstructor]
        cls,
        task: str,
        threshold: float = 0.5,
        num_classes: int | None = None,
        num_labels: int | None = None,
        average: str | None = "micro",
        multidim_average: str = "global",
        top_k: int = 1,
        ignore_index: int | None = None,
        validate_args: bool = True,
        zero_division: float = 0.0,
        device: DeviceLike | None = None,
    ) -> Metric:
        """Create the metric of a task.

        task: "binary", "multiclass" or "multilabel"
        threshold: the probability above which a prediction is positive; not for "multiclass"
        num_classes, num_labels: the number of classes for "multiclass", of labels for "multilabel"
        average: over classes or labels: "micro" (of all counts), "macro", "weighted" (by targets) or "none"
        multidim_average: "global", or "samplewise" for one value per sample
        top_k: a prediction is correct if the target is among the k highest scores; for "multiclass"
        ignore_index: a target that is ignored
        validate_args: whether compute raises if a target is not a class
        zero_division: the score if the denominator is 0
        Raises ValueError for another task; TypeError for an option that the task lacks.
        """
        return cls.of_task(locals())
