"""Validates a program.txt from an untrusted source; the error names the first invalid entry."""

import re
from collections.abc import Callable
from typing import Any

from ..core.dtype import SHORT
from ..core.tree import is_dict, is_list

Rule = Callable[[Any, str], None]  # takes a value and its path; raises Damaged if the value is invalid
VALUE = re.compile(r"[xwst]\d{1,9}")
LARGEST = 1 << 53  # an exclusive limit of numbers, since JavaScript reads them too
WINDOW = 256  # the most words in a kernel's Params
BOUND = 64  # the most buffers of a kernel


class Damaged(ValueError):
    """The path of an invalid entry, and the rule that it breaks."""


def require(condition: Any, place: str, rule: str) -> None:
    """Raise Damaged unless the condition is true."""
    if not condition:
        raise Damaged(f"{place} is not a {rule}")


def text(value: Any, place: str) -> None:
    require(isinstance(value, str), place, "text")


def count(value: Any, place: str) -> None:
    require(type(value) is int and 0 <= value < LARGEST, place, "count")


def number(value: Any, place: str) -> None:
    require(type(value) is int and abs(value) < LARGEST, place, "integer")


def one_of(*known: str) -> Rule:
    return lambda value, place: require(isinstance(value, str) and value in known, place, " or ".join(known))


def every(rule: Rule, least: int = 0, most: float = float("inf")) -> Rule:
    """Return the rule of a list of `least` to `most` items that follow `rule`."""

    def check(value: Any, place: str) -> None:
        require(is_list(value) and least <= len(value) <= most, place, "valid list")
        for i, element in enumerate(value):
            rule(element, f"{place}[{i}]")

    return check


def check_object(**rules: Rule) -> Rule:
    """Return the rule of an object with these entries; other entries are ignored."""

    def check(value: Any, place: str) -> None:
        require(isinstance(value, dict), place, "object")
        for name, rule in rules.items():
            require(name in value, f"{place}.{name}".removeprefix("."), "value: it is missing")
            rule(value[name], f"{place}.{name}".removeprefix("."))

    return check


def expression(value: Any, place: str) -> None:
    """Check an expression, as `fit` returns it."""
    if is_dict(value):
        for term in value.values():
            number(term, place)
    elif is_list(value):
        every(number)(value, place)
        # [a, b] or [a, b, c, m]; value_of divides by c
        require(len(value) == 2 or (len(value) == 4 and value[2] > 0), place, "expression")
    else:
        number(value, place)


def parameter(value: Any, place: str) -> None:
    """Check a word of Params: an expression, or a word of a random draw."""
    if isinstance(value, dict) and "draw" in value:
        check_object(draw=count, word=count)(value, place)
        # A draw has four words: two of the seed and two of the position.
        require(value["word"] < 4, place, "word of a draw")
    else:
        expression(value, place)


def size(value: Any, place: str) -> None:
    require(value == "N" or (type(value) is int and 0 <= value < 1 << 31), place, "size")


def value_name(value: Any, place: str) -> None:
    require(isinstance(value, str) and VALUE.fullmatch(value), place, "name of a value")


def written(value: Any, place: str) -> None:
    value_name(value, place)
    require(value[0] in "ts", place, "temporary or state")


def start(value: Any, place: str) -> None:
    """Check the weight that state begins with, None for zeros."""
    if value is not None:
        value_name(value, place)
        require(value[0] == "w", place, "weight")


def plan_number(value: Any, place: str) -> None:
    """Check the number of a plan; None for a batch size that was not saved."""
    if value is not None:
        count(value, place)


STEPS = every(
    check_object(
        kernel=count,
        reads=every(value_name, most=BOUND),
        writes=every(written, 1, BOUND),
        grid=every(expression, 3, 3),
        params=every(parameter, most=WINDOW),
    )
)
PLANS = check_object(
    plan_of=every(plan_number, 1),
    plans=every(
        check_object(
            temporaries=every(expression),
            outputs=every(check_object(value=value_name, shape=every(expression))),
            setup=STEPS,
            steps=STEPS,
            state=every(value_name),
            draws=every(expression),
            drawn=expression,
        )
    ),
)
TYPED = check_object(name=text, dtype=one_of(*SHORT), shape=every(size, most=64))
PROGRAM = check_object(
    inputs=every(TYPED),
    outputs=every(check_object(name=text, dtype=one_of(*SHORT))),
    weights=every(TYPED),
    state=every(check_object(name=text, dtype=one_of(*SHORT), shape=every(count, most=64), start=start)),
    result=one_of("tensor", "list", "dict"),
    batch=every(count, 2, 2),
    kernels=every(check_object(name=text, params=every(text))),
    plans=check_object(gpu=PLANS, software=PLANS),
)


def check(program: dict[str, Any]) -> None:
    """Raise Damaged unless a program.txt is well-formed and consistent."""
    PROGRAM(program, "")
    low, high = program["batch"]
    require(1 <= low <= high, "batch", "range of batch sizes")
    require(all(s != "N" for w in program["weights"] for s in w["shape"]), "weights", "list of fixed shapes")
    require(len({i["name"] for i in program["inputs"]}) == len(program["inputs"]), "inputs", "list of names")
    require(program["outputs"] or program["result"] != "tensor", "outputs", "list with a result")
    _check_state(program["state"], program["weights"])
    counts: dict[int, tuple[Any, ...]] = {}  # kernel -> (number of buffers read, written)
    for kind, plans in program["plans"].items():
        place = f"plans.{kind}"
        require(len(plans["plan_of"]) == high - low + 1, f"{place}.plan_of", "plan for each batch size")
        used = [number for number in plans["plan_of"] if number is not None]
        is_whole = None not in (plans["plan_of"][0], plans["plan_of"][-1])
        require(is_whole and max(used) < len(plans["plans"]), f"{place}.plan_of", "list of its plans")
        for i, plan in enumerate(plans["plans"]):
            _check_plan(program, plan, f"{place}.plans[{i}]", counts)


def _check_state(state: list[dict[str, Any]], weights: list[dict[str, Any]]) -> None:
    for i, s in enumerate(state):
        place = f"state[{i}].start"
        if s["start"] is not None:
            value = int(s["start"][1:])
            require(value < len(weights), place, "weight")
            same = all(s[k] == weights[value][k] for k in ("dtype", "shape"))
            require(same, place, "weight of its dtype and shape")


def _check_plan(
    program: dict[str, Any], plan: dict[str, Any], place: str, counts: dict[int, tuple[Any, ...]]
) -> None:
    require(len(plan["outputs"]) == len(program["outputs"]), f"{place}.outputs", "value for each result")
    names = {f"x{i}" for i in range(len(program["inputs"]))} | {
        f"w{i}" for i in range(len(program["weights"]))
    }
    states = {f"s{i}" for i in range(len(program["state"]))}
    names |= states
    require(len(plan["state"]) == len(states), f"{place}.state", "value for each tensor of the state")
    # A step may only read values that an earlier step wrote, an input or a weight.
    for part in ("setup", "steps"):
        for i, step in enumerate(plan[part]):
            where, kernels = f"{place}.{part}[{i}]", program["kernels"]
            reads, writes, kernel = step["reads"], step["writes"], step["kernel"]
            require(kernel < len(kernels), f"{where}.kernel", "kernel")
            require(
                len(step["params"]) == len(kernels[kernel]["params"]),
                f"{where}.params",
                "list as its kernel's",
            )
            buffers = len(reads), len(writes)
            # The WGSL text declares one binding per buffer, so that each use of a kernel must have as many.
            require(counts.setdefault(kernel, buffers) == buffers, where, "use of its kernel like the others")
            require(names.issuperset(reads), f"{where}.reads", "list of defined values")
            require(
                len({*writes, *reads}) == len({*reads}) + len(writes),
                f"{where}.writes",
                "list of other values",
            )
            inside = all(
                v in states or (v[0] == "t" and int(v[1:]) < len(plan["temporaries"])) for v in writes
            )
            require(inside, f"{where}.writes", "list of temporaries and state")
            require(
                part == "steps" or not states.intersection((*reads, *writes)), where, "step without state"
            )
            draws = [e["draw"] for e in step["params"] if is_dict(e) and "draw" in e]
            require(all(d < len(plan["draws"]) for d in draws), f"{where}.params", "list of its draws")
            names.update(writes)
    require(names.issuperset(o["value"] for o in plan["outputs"]), f"{place}.outputs", "list of values there")
    require(names.issuperset(plan["state"]), f"{place}.state", "list of values there")
