"""Environments of the package Gymnasium as environments of the agents: the processor advances them."""

from __future__ import annotations

from importlib import import_module
from math import prod
from typing import Any

from ..ops.distribution import randint
from ..tensor import Tensor, tensor
from . import numpy_later as np
from .environment import Array, Box, Discrete, Environment, EnvironmentStep


class GymnasiumEnvironment(Environment):
    """Copies of an environment of Gymnasium, for PPO, DQN and SAC.

        env = fb.rl.GymnasiumEnvironment("LunarLander-v3", 16)
        agent = fb.rl.PPO(env)

    Each step of all copies waits for the processor; the policy and the updates run on the device.
    Observations are flattened to float32; a number from 0 to n - 1 becomes a vector with a one.
    """

    on_host = True
    is_unwatched = True  # recorded parts of an agent read only its sizes, which never change
    state_names = ()

    def __init__(self, env: Any, n: int = 1, *, device: Any = None, **options: Any):
        """env: an id such as "CartPole-v1", or a gymnasium.vector.VectorEnv with
        `autoreset_mode=AutoresetMode.SAME_STEP`. n: the copies of an id. options: of `gymnasium.make_vec`.

        ImportError without the package. ValueError for a space that is neither a Box nor Discrete, for
        actions with several ranges, and for another autoreset mode.
        """
        self.envs = _open(env, n, options)
        super().__init__(self.envs.num_envs, device=device)
        self._observed = self.envs.single_observation_space
        self.observation_size = _size(self._observed)
        self.action_space = _action_space(self.envs.single_action_space)
        self._first_action = int(getattr(self.envs.single_action_space, "start", 0))
        self._age, self._total = np.zeros(self.n, "f4"), np.zeros(self.n, "f4")

    def reset(self, random: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Begin new episodes in all copies. random: ignored. -> [rows, n], [n, size]"""
        # from the stream of fb.manual_seed, as the other environments' random numbers
        seed = int(randint(0, 2**31 - 1, (1,), device="cpu").numpy()[0])
        observation, _ = self.envs.reset(seed=seed)
        self._age[:], self._total[:] = 0, 0
        seen, nothing = self._flat(observation), np.zeros(self.n, "f4")
        rows = self._rows(seen, seen, [nothing] * 5)
        return rows, self.observe_rows(rows)

    def step(self, state: Tensor, action: Tensor, random: Tensor | None = None) -> EnvironmentStep:
        """Advance all copies. [rows, n], [n] or [n, size] -> EnvironmentStep

        state, random: ignored, since the copies keep their own. action: as for other environments.
        """
        chosen = self._action_rows(action).numpy()
        if isinstance(self.action_space, Discrete):
            chosen = chosen.astype("i8") + self._first_action
        else:
            low, high = self.action_space.low, self.action_space.high
            shape = self.envs.single_action_space.shape
            chosen = np.clip(chosen.T, low, high).reshape(self.n, *shape)
        observation, reward, terminated, truncated, info = self.envs.step(chosen)
        seen = self._flat(observation)
        after = seen.copy()
        ended = terminated | truncated
        for k in np.flatnonzero(ended):
            after[k] = self._flat(np.asarray(info["final_obs"][k])[None])[0]
        self._age += 1
        self._total += reward.astype("f4")
        lengths, returns = np.where(ended, self._age, 0), np.where(ended, self._total, 0)
        self._age[ended], self._total[ended] = 0, 0
        rows = self._rows(seen, after, [reward, terminated, truncated & ~terminated, returns, lengths])
        return self.step_of_rows(rows)

    def close(self) -> None:
        """Close Gymnasium's environments."""
        self.envs.close()

    def _rows(self, seen: Array, after: Array, outcome: list[Array]) -> Tensor:
        """The rows of a state, as an environment on the device has them. -> [rows, n]"""
        columns = [self._age, self._total, *seen.T, *after.T, *outcome]
        return tensor(np.stack([np.asarray(c, "f4") for c in columns]), device=self.device)

    def _flat(self, observation: Array) -> Array:
        """Observations as numbers. [n, ...] -> [n, size]"""
        if type(self._observed).__name__ == "Discrete":
            return np.eye(self.observation_size, dtype="f4")[observation - self._observed.start]
        return np.array(observation, "f4").reshape(len(observation), -1)


def _open(env: Any, n: int, options: dict[str, Any]) -> Any:
    """Gymnasium's copies of an id, or the ones that were passed."""
    try:
        gymnasium: Any = import_module("gymnasium")
    except ImportError as e:
        raise ImportError("GymnasiumEnvironment(...): it needs the package: pip install gymnasium") from e
    same = gymnasium.vector.AutoresetMode.SAME_STEP
    if isinstance(env, str):
        kind = "sync" if "vectorization_mode" not in options else options.pop("vectorization_mode")
        env = gymnasium.make_vec(
            env, n, vectorization_mode=kind, vector_kwargs={"autoreset_mode": same}, **options
        )
    if not isinstance(env, gymnasium.vector.VectorEnv):
        rule = "env is an id of Gymnasium, or a gymnasium.vector.VectorEnv"
        raise ValueError(f"GymnasiumEnvironment({env!r}): {rule}: pass SyncVectorEnv([make] * n, ...)")
    if env.metadata.get("autoreset_mode") is not same:
        rule = "a copy whose episode ended must begin again in the same step"
        advice = "make it with autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP"
        raise ValueError(f"GymnasiumEnvironment({type(env).__name__}): {rule}: {advice}")
    return env


def _size(space: Any) -> int:
    """How many numbers an observation has."""
    kind = type(space).__name__
    if kind == "Discrete":
        return int(space.n)
    if kind != "Box":
        rule = "observations are a Box or Discrete"
        raise ValueError(f"GymnasiumEnvironment({space}): {rule}: wrap it with FlattenObservation")
    return prod(space.shape)


def _action_space(space: Any) -> Discrete | Box:
    """Our space of Gymnasium's."""
    kind = type(space).__name__
    if kind == "Discrete":
        return Discrete(int(space.n))
    if kind != "Box":
        rule = "actions are a Box or Discrete"
        raise ValueError(f"GymnasiumEnvironment({space}): {rule}: wrap it with TransformAction")
    low, high = np.unique(space.low), np.unique(space.high)
    if len(low) > 1 or len(high) > 1 or not np.isfinite([*low, *high]).all():
        rule = "all numbers of an action have the same finite range"
        raise ValueError(f"GymnasiumEnvironment({space}): {rule}: wrap it with RescaleAction(env, -1, 1)")
    return Box(prod(space.shape), float(low[0]), float(high[0]))
