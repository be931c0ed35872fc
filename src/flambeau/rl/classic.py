"""Classic environments, equal to Gymnasium's step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import pi
from typing import Any, ClassVar

from . import numpy_later as np
from .environment import Array, Box, Discrete, Environment, choose


class CartPole(Environment):
    """Balance a pole on a cart, which each action pushes left or right: Gymnasium's CartPole-v1.

    Observation: place, speed, angle, angular speed. Reward: 1 a step. An episode terminates when the cart
    leaves the track or the pole has fallen by 12 degrees, and is truncated after 500 steps.
    """

    template = "cartpole"
    state_names = "x", "speed", "angle", "turning"
    observation_size, action_space, randoms, max_steps = 4, Discrete(2), 4, 500
    constants: ClassVar[Mapping[str, float | int]] = {
        "force": 10.0, "gravity": 9.8, "cart_mass": 1.0, "pole_mass": 0.1, "half_length": 0.5,
        "seconds": 0.02, "most_x": 2.4, "most_angle": 12 * 2 * pi / 360,
    }  # fmt: skip

    @staticmethod
    def begin(random: Array) -> tuple[Array, ...]:
        return tuple(0.1 * random - np.float32(0.05))

    @staticmethod
    def advance(
        state: tuple[Array, ...], action: Array, random: Array, c: Mapping[str, Any]
    ) -> tuple[tuple[Array, ...], Array, Array]:
        x, speed, angle, turning = state
        force = choose(action == 1, c["force"], -c["force"])
        sine, cosine = np.sin(angle), np.cos(angle)
        pole, total = c["pole_mass"] * c["half_length"], c["cart_mass"] + c["pole_mass"]
        push = (force + pole * turning**2 * sine) / total
        inertia = c["half_length"] * (4 / 3 - c["pole_mass"] * cosine**2 / total)
        pull = (c["gravity"] * sine - cosine * push) / inertia
        acceleration = push - pole * pull * cosine / total
        dt = c["seconds"]
        state = x + dt * speed, speed + dt * acceleration, angle + dt * turning, turning + dt * pull
        over = (abs(state[0]) > c["most_x"]) | (abs(state[2]) > c["most_angle"])
        return state, np.ones_like(x), over

    @staticmethod
    def observe(state: tuple[Array, ...], c: Mapping[str, Any]) -> list[Array]:
        return list(state)


class MountainCar(Environment):
    """Drive a weak car out of a valley by swinging: Gymnasium's MountainCar-v0.

    Observation: place and speed. Actions: push left, none, push right. Reward: -1 a step until the flag.
    """

    template = "mountain_car"
    state_names = "x", "speed"
    observation_size, action_space, randoms, max_steps = 2, Discrete(3), 1, 200
    constants: ClassVar[Mapping[str, float | int]] = {
        "force": 0.001, "gravity": 0.0025, "most_speed": 0.07, "least_x": -1.2, "most_x": 0.6, "goal": 0.5,
    }  # fmt: skip

    @staticmethod
    def begin(random: Array) -> tuple[Array, ...]:
        return 0.2 * random[0] - np.float32(0.6), np.zeros_like(random[0])

    @staticmethod
    def advance(
        state: tuple[Array, ...], action: Array, random: Array, c: Mapping[str, Any]
    ) -> tuple[tuple[Array, ...], Array, Array]:
        x, speed = state
        speed = speed + (action - 1) * c["force"] - np.cos(3 * x) * c["gravity"]
        speed = np.clip(speed, -c["most_speed"], c["most_speed"])
        x = np.clip(x + speed, c["least_x"], c["most_x"])
        speed = np.where((x == c["least_x"]) & (speed < 0), 0, speed)
        return (x, speed), np.full_like(x, -1), (x >= c["goal"]) & (speed >= 0)

    @staticmethod
    def observe(state: tuple[Array, ...], c: Mapping[str, Any]) -> list[Array]:
        return list(state)


class Pendulum(Environment):
    """Swing a pendulum up and hold it by a limited torque: Gymnasium's Pendulum-v1.

    Observation: cosine and sine of the angle, angular speed. Action: the torque, from -2 to 2. Reward: minus
    a cost of the angle from the top, the speed and the torque. Truncated after 200 steps.
    """

    template = "pendulum"
    state_names = "angle", "turning"
    observation_size, action_space, randoms, max_steps = 3, Box(1, -2.0, 2.0), 2, 200
    constants: ClassVar[Mapping[str, float | int]] = {
        "pi": pi, "gravity": 10.0, "length": 1.0, "mass": 1.0, "seconds": 0.05, "most_torque": 2.0,
        "most_turning": 8.0,
    }  # fmt: skip

    @staticmethod
    def begin(random: Array) -> tuple[Array, ...]:
        return np.float32(pi) * (2 * random[0] - 1), 2 * random[1] - 1

    @staticmethod
    def advance(
        state: tuple[Array, ...], action: Array, random: Array, c: Mapping[str, Any]
    ) -> tuple[tuple[Array, ...], Array, Array]:
        angle, turning = state
        torque = np.clip(action[0], -c["most_torque"], c["most_torque"])
        from_top = (angle + pi) % (2 * pi) - pi
        cost = from_top**2 + 0.1 * turning**2 + 0.001 * torque**2
        pull = 1.5 * c["gravity"] / c["length"] * np.sin(angle) + 3 / (c["mass"] * c["length"] ** 2) * torque
        turning = np.clip(turning + pull * c["seconds"], -c["most_turning"], c["most_turning"])
        return (angle + turning * c["seconds"], turning), -cost, np.zeros(angle.shape, bool)

    @staticmethod
    def observe(state: tuple[Array, ...], c: Mapping[str, Any]) -> list[Array]:
        angle, turning = state
        return [np.cos(angle), np.sin(angle), turning]


class Acrobot(Environment):
    """Swing the end of two links above a line by torque at the joint between them: Gymnasium's Acrobot-v1.

    Observation: cosine and sine of both angles, both angular speeds. Actions: torque -1, 0 or 1. Reward: -1 a
    step until the end is up, truncated after 500.
    """

    template = "acrobot"
    state_names = "angle1", "angle2", "turning1", "turning2"
    observation_size, action_space, randoms, max_steps = 6, Discrete(3), 4, 500
    constants: ClassVar[Mapping[str, float | int]] = {"pi": pi, "gravity": 9.8, "seconds": 0.2}

    @staticmethod
    def begin(random: Array) -> tuple[Array, ...]:
        return tuple(0.2 * random - np.float32(0.1))

    @staticmethod
    def advance(
        state: tuple[Array, ...], action: Array, random: Array, c: Mapping[str, Any]
    ) -> tuple[tuple[Array, ...], Array, Array]:
        now, torque, dt = np.stack(state), action - 1.0, c["seconds"]
        k1 = _acrobot_derivatives(now, torque, c["gravity"])
        k2 = _acrobot_derivatives(now + dt / 2 * k1, torque, c["gravity"])
        k3 = _acrobot_derivatives(now + dt / 2 * k2, torque, c["gravity"])
        k4 = _acrobot_derivatives(now + dt * k3, torque, c["gravity"])
        then = now + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        angle1, angle2 = (then[:2] + pi) % (2 * pi) - pi
        turning1, turning2 = np.clip(then[2], -4 * pi, 4 * pi), np.clip(then[3], -9 * pi, 9 * pi)
        up = -np.cos(angle1) - np.cos(angle2 + angle1) > 1
        return (angle1, angle2, turning1, turning2), np.where(up, 0.0, -1.0), up

    @staticmethod
    def observe(state: tuple[Array, ...], c: Mapping[str, Any]) -> list[Array]:
        angle1, angle2, turning1, turning2 = state
        return [np.cos(angle1), np.sin(angle1), np.cos(angle2), np.sin(angle2), turning1, turning2]


def _acrobot_derivatives(s: Array, torque: Array, gravity: float) -> Array:
    """The equations of Sutton and Barto's book, for links of length and mass 1. [4, n] -> [4, n]"""
    angle1, angle2, turning1, turning2 = s
    cosine2, sine2 = np.cos(angle2), np.sin(angle2)
    d1 = 0.25 + (1.25 + cosine2) + 2
    d2 = 0.25 + 0.5 * cosine2 + 1
    pull2 = 0.5 * gravity * np.sin(angle1 + angle2)
    pull1 = -0.5 * turning2**2 * sine2 - turning2 * turning1 * sine2 + 1.5 * gravity * np.sin(angle1) + pull2
    more2 = (torque + d2 / d1 * pull1 - 0.5 * turning1**2 * sine2 - pull2) / (1.25 - d2**2 / d1)
    return np.stack([turning1, turning2, -(d2 * more2 + pull1) / d1, more2])


LAKES = {
    "4x4": ("SFFF", "FHFH", "FFFH", "HFFG"),
    "8x8": (
        "SFFFFFFF", "FFFFFFFF", "FFFHFFFF", "FFFFFHFF", "FFFHFFFF", "FHHFFFHF", "FHFFHFHF", "FFFHFFFG",
    ),
}  # fmt: skip


class FrozenLake(Environment):
    """Walk over ice from the first field to the last, around holes: Gymnasium's FrozenLake-v1.

    Observation: a vector with a one at the field. Actions: left, down, right, up. Reward: 1 at the goal.
    Slippery ice turns each step left or right with a probability of a third each.
    """

    template = "frozen_lake"
    state_names = ("field",)
    randoms = 1
    action_space = Discrete(4)

    def __init__(
        self,
        n: int,
        *,
        map: Sequence[str] | str = "4x4",
        slippery: bool = True,
        max_steps: int | None = None,
        device: Any = None,
    ):
        """map: "4x4", "8x8", or rows of the letters S, F, H and G: the start is the first field, the goal the
        last, and a map has at most 64 fields. max_steps: by default 100, and 200 of more than 16 fields.
        ValueError for another map."""
        super().__init__(n, device=device)
        rows = list[str](LAKES.get(map, []) if isinstance(map, str) else map)
        text, widths = "".join(rows), {len(row) for row in rows}
        rule = 'a map is "4x4", "8x8" or equal rows of S (first), F, H and G (last), at most 64 fields'
        inner = text[1:-1]
        if len(widths) != 1 or len(text) > 64 or text[0] + text[-1] != "SG" or set(inner) - set("FH"):
            raise ValueError(f"FrozenLake(map={map!r}): {rule}")
        holes = sum(1 << k for k, letter in enumerate(text) if letter == "H")
        self.constants = {  # type: ignore[misc]  # of this map
            "width": len(rows[0]), "height": len(rows),
            "holes_low": holes & 0xFFFFFFFF, "holes_high": holes >> 32,
        }  # fmt: skip
        self.options = {"slippery": slippery}  # type: ignore[misc]
        self.observation_size = len(text)
        self.max_steps = max_steps or (100 if len(text) <= 16 else 200)

    @staticmethod
    def begin(random: Array) -> tuple[Array, ...]:
        return (np.zeros_like(random[0]),)

    @staticmethod
    def advance(
        state: tuple[Array, ...], action: Array, random: Array, c: Mapping[str, Any]
    ) -> tuple[tuple[Array, ...], Array, Array]:
        field, turn = state[0].astype("i8"), action.astype("i8")
        if c["slippery"]:
            turn = (turn + np.floor(3 * random[0]).astype("i8") - 1) % 4
        width, height = c["width"], c["height"]
        column = np.clip(field % width + (turn == 2) - (turn == 0), 0, width - 1)
        row = np.clip(field // width + (turn == 1) - (turn == 3), 0, height - 1)
        field = row * width + column
        holes = c["holes_low"] | c["holes_high"] << 32
        hole = np.array([holes >> k & 1 for k in range(width * height)], bool)[field]
        goal = field == width * height - 1
        return (field.astype("f4"),), goal.astype("f4"), hole | goal

    @staticmethod
    def observe(state: tuple[Array, ...], c: Mapping[str, Any]) -> list[Array]:
        return [np.where(state[0] == k, 1.0, 0.0) for k in range(c["width"] * c["height"])]
