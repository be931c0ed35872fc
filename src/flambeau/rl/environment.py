"""Environments that the device advances, thousands in one kernel: what each declares, and their step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from ..core import dtype as dt
from ..core.node import describe
from ..core.op import Launch, Op
from ..ops.distribution import rand
from ..tensor import Tensor
from . import numpy_later as np

Array = Any  # of NumPy, or of the namespace of a CPU device
GROUP = 64  # threads of a workgroup


class Discrete(NamedTuple):
    """Actions 0 to n - 1."""

    n: int


class Box(NamedTuple):
    """Actions of `size` numbers, each from low to high."""

    size: int
    low: float
    high: float


class Dynamics(NamedTuple):
    """All that a kernel of an environment depends on besides its arrays.

    template: a file of wgsl/rl/. state: the names of its numbers. randoms: how many uniform numbers a step
    may use. numbers: the constants of its physics by name; options: choices that change the text.
    """

    template: str
    state: tuple[str, ...]
    observations: int
    randoms: int
    numbers: tuple[tuple[str, float | int], ...]
    options: tuple[tuple[str, Any], ...]
    reference: type[Environment]


class EnvironmentStep(NamedTuple):
    """What a step returns; n environments.

    state: pass it to the next step. [rows, n]
    observation: of the state after the step, or of the new first state where an episode ended. [n, size]
    reward: [n]
    terminated, truncated: whether an episode ended by its rules, or by its number of steps; 0 or 1. [n]
    next_observation: of the state after the step, also where an episode ended. [n, size]
    episode_return, episode_length: of the episodes that ended, else 0. [n]
    """

    state: Tensor
    observation: Tensor
    reward: Tensor
    terminated: Tensor
    truncated: Tensor
    next_observation: Tensor
    episode_return: Tensor
    episode_length: Tensor


class Environment:
    """n copies of one environment on a device. A step is one kernel; it restarts the episodes that ended.

    The methods are functions of a state and never change one, so a rollout can be recorded by `fb.jit`:

        env = fb.rl.CartPole(4096)
        state, observation = env.reset()
        step = env.step(state, action)  # step.state, step.observation, step.reward, ...

    Subclasses declare the class variables, and the dynamics twice: in wgsl/rl/, and in NumPy for the CPU.
    """

    template: ClassVar[str]
    state_names: ClassVar[tuple[str, ...]]
    observation_size: int
    action_space: Discrete | Box
    randoms: ClassVar[int]  # uniform numbers that a step may use
    max_steps: int  # after which an episode is truncated
    constants: ClassVar[Mapping[str, float | int]] = {}
    options: ClassVar[Mapping[str, Any]] = {}
    on_host: ClassVar[bool] = False  # its steps can't be part of a recorded program

    def __init__(self, n: int, *, device: Any = None):
        """n: the number of copies. ValueError unless it is at least 1."""
        if n < 1:
            raise ValueError(f"{type(self).__name__}({n}): n is at least 1")
        self.n, self.device = n, device

    def __repr__(self) -> str:
        sizes = f"observations={self.observation_size}, actions={self.action_space}"
        return f"{type(self).__name__}({self.n}, {sizes})"

    def reset(self, random: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The first states, and their observations. -> [rows, n], [n, size]

        random: the uniform numbers [randoms, n] that are used, by default those of `fb.manual_seed`.
        """
        rows = FIRST(
            self._random() if random is None else random, dynamics=self.dynamics, most_steps=self.max_steps
        )
        return rows, self.observe_rows(rows)

    def step(self, state: Tensor, action: Tensor, random: Tensor | None = None) -> EnvironmentStep:
        """Advance all copies. [rows, n], [n] or [n, size] -> EnvironmentStep

        action: integers for Discrete, float numbers for Box, clipped to its range. random: as in `reset`.
        ValueError for another shape.
        """
        rows = STEP(
            state,
            self._action_rows(action),
            self._random() if random is None else random,
            dynamics=self.dynamics,
            most_steps=self.max_steps,
        )
        return self.step_of_rows(rows)

    def step_of_rows(self, rows: Tensor) -> EnvironmentStep:
        """The parts of a state tensor. [rows, n] -> EnvironmentStep"""
        size, first = self.observation_size, len(self.state_names) + 2
        after = first + 2 * size
        return EnvironmentStep(
            rows,
            self.observe_rows(rows),
            rows[after],
            rows[after + 1],
            rows[after + 2],
            rows[first + size : after].T,
            rows[after + 3],
            rows[after + 4],
        )

    @cached_property
    def dynamics(self) -> Dynamics:
        """What the kernels of this environment depend on."""
        return Dynamics(
            self.template,
            self.state_names,
            self.observation_size,
            self.randoms,
            tuple(self.constants.items()),
            tuple(self.options.items()),
            type(self),
        )

    def observe_rows(self, rows: Tensor) -> Tensor:
        """The observations in a state that reset or step returned. [rows, n] -> [n, size]"""
        first = len(self.state_names) + 2
        return rows[first : first + self.observation_size].T

    def _random(self) -> Tensor:
        return rand(self.randoms, self.n, device=self.device)

    def _action_rows(self, action: Tensor) -> Tensor:
        """The actions as the kernel reads them: integers [n], or numbers by rows [size, n]."""
        space, name = self.action_space, f"{type(self).__name__}.step"
        if isinstance(space, Discrete):
            if action.shape != (self.n,) or action.dtype.kind not in "iu":
                rule = f"actions are integers [{self.n}] from 0 to {space.n - 1}"
                raise ValueError(f"{name}({describe(action)}): {rule}: pass such a tensor")
            return action.to(dt.int32)
        if action.shape != (self.n, space.size) or action.dtype.kind != "f":
            rule = f"actions are float numbers [{self.n}, {space.size}]"
            raise ValueError(f"{name}({describe(action)}): {rule}: pass such a tensor")
        return action.to(dt.float32).T

    # --- The dynamics in NumPy: arrays of n. ---

    @staticmethod
    def begin(random: Array) -> tuple[Array, ...]:
        """First states of uniform numbers. [randoms, n] -> the state's arrays"""
        raise NotImplementedError

    @staticmethod
    def advance(
        state: tuple[Array, ...], action: Array, random: Array, c: Mapping[str, Any]
    ) -> tuple[tuple[Array, ...], Array, Array]:
        """The states after a step, rewards, and whether each episode terminated. c: constants and options."""
        raise NotImplementedError

    @staticmethod
    def observe(state: tuple[Array, ...], c: Mapping[str, Any]) -> list[Array]:
        """What is seen of a state: `observation_size` arrays."""
        raise NotImplementedError


def _launch_of(first: bool) -> Callable[..., list[Launch]]:
    def launches(limits: Any, *inputs: Any, dynamics: Dynamics, most_steps: int) -> list[Launch]:
        count = inputs[-1].shape[1]
        sizes: dict[str, int | float] = {"count": count, **dict(dynamics.numbers)}
        if not first:
            sizes["most_steps"] = float(most_steps)
        options = {"state": dynamics.state, "observations": dynamics.observations, "first": first}
        return [
            Launch(
                f"rl/{dynamics.template}.wgsl",
                () if first else (0, 1),
                -(-count // GROUP),
                sizes,
                options | {"dtype": "f32"} | dict(dynamics.options),
                workgroup=(GROUP, 1, 1),
                traced=0 if first else 2,
            )
        ]

    return launches


def row_count(dynamics: Dynamics) -> int:
    """The rows of a state tensor: state, age, return, two observations, five rows of what happened."""
    return len(dynamics.state) + 2 + 2 * dynamics.observations + 5


def _first_reference(xp: Any, random: Array, dynamics: Dynamics, most_steps: int) -> Array:
    kind, constants = dynamics.reference, dict(dynamics.numbers) | dict(dynamics.options)
    state = kind.begin(random)
    seen = kind.observe(state, constants)
    nothing = np.zeros_like(random[0])
    return np.stack([*state, nothing, nothing, *seen, *seen, *[nothing] * 5]).astype("f4")


def _step_reference(
    xp: Any, rows: Array, action: Array, random: Array, dynamics: Dynamics, most_steps: int
) -> Array:
    kind, constants = dynamics.reference, dict(dynamics.numbers) | dict(dynamics.options)
    width = len(dynamics.state)
    state, reward, terminated = kind.advance(tuple(rows[:width]), action, random, constants)
    age, total = rows[width] + 1, rows[width + 1] + reward
    truncated = ~terminated & (age >= most_steps)
    ended = terminated | truncated
    after = kind.observe(state, constants)
    state = tuple(choose(ended, *pair) for pair in zip(kind.begin(random), state, strict=True))
    seen = kind.observe(state, constants)
    outcome = reward, terminated, truncated, choose(ended, total, 0), choose(ended, age, 0)
    left = choose(ended, 0, age), choose(ended, 0, total)
    return np.stack([*state, *left, *seen, *after, *outcome]).astype("f4")


def choose(where: Array, value: Array, other: Array) -> Array:
    """np.where, with a type."""
    return np.where(where, value, other)


def _shape_of_rows(*shapes: tuple[int, ...], dynamics: Dynamics, most_steps: int) -> tuple[int, int]:
    rows, n = row_count(dynamics), shapes[-1][1]
    if len(shapes) > 1 and shapes[0] != (rows, n):
        raise ValueError(f"a state of {n} environments is [{rows}, {n}]: pass what reset or step returned")
    return rows, n


def _prepare(*inputs: Tensor, **attrs: Any) -> tuple[tuple[Tensor, ...], dict[str, Any]]:
    return inputs, attrs


STEP = Op(
    "opaque",
    name="environment_step",
    xp=_step_reference,
    shape=_shape_of_rows,
    dtype=lambda *_, **__: dt.float32,
    launch=_launch_of(False),
    prepare=_prepare,
    doc="Advances n environments. [rows, n], [n] or [size, n], [randoms, n] -> [rows, n]",
)
FIRST = Op(
    "opaque",
    name="environment_first",
    xp=_first_reference,
    shape=_shape_of_rows,
    dtype=lambda *_, **__: dt.float32,
    launch=_launch_of(True),
    prepare=_prepare,
    doc="The first states of n environments. [randoms, n] -> [rows, n]",
)
