"""A planar walker, with physics of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from . import numpy_later as np
from .environment import Array, Box, Environment, choose

POINTS = "head", "hip", "left_knee", "left_foot", "right_knee", "right_foot"
MASSES = {
    "head": 3.0, "hip": 3.0, "left_knee": 1.0, "left_foot": 0.5, "right_knee": 1.0, "right_foot": 0.5,
}  # fmt: skip
PLACES = (0.0, 1.28), (0.0, 0.78), (0.06, 0.385), (0.0, 0.0), (0.04, 0.385), (-0.1, 0.0)  # the first ones
# links: both points, the length
LINKS = (
    ("head", "hip", 0.5), ("hip", "left_knee", 0.4), ("left_knee", "left_foot", 0.4),
    ("hip", "right_knee", 0.4), ("right_knee", "right_foot", 0.4),
)  # fmt: skip
# joints: the middle point between its neighbours, the range of the angle's sine, the most torque in N m
JOINTS = (
    ("head", "hip", "left_knee", -0.6, 0.9, 30.0), ("hip", "left_knee", "left_foot", -0.95, 0.1, 20.0),
    ("head", "hip", "right_knee", -0.6, 0.9, 30.0), ("hip", "right_knee", "right_foot", -0.95, 0.1, 20.0),
)  # fmt: skip
SUBSTEPS, ROUNDS = 4, 8

Places = dict[str, Array]  # of each point, [2, n]


class Walker(Environment):
    """Walk to the right on two legs with knees, by motors at the hips and knees. No equivalent in Gymnasium.

    Observation: the hip's height, the other points' places beside the hip, and the speeds of all points.
    Actions: the torques of left hip, left knee, right hip and right knee, from -1 to 1 of the most. Reward:
    the hip's speed in m/s, plus 0.5, minus a cost of the torques. An episode terminates with a fall, and is
    truncated after 500 steps of 0.02 s.
    """

    template = "walker"
    state_names = tuple(f"{name}_{part}" for name in POINTS for part in ("x", "y", "vx", "vy"))
    observation_size, action_space, randoms, max_steps = 23, Box(4, -1.0, 1.0), 12, 500
    constants: ClassVar[Mapping[str, float | int]] = {
        "seconds": 0.005, "gravity": 9.81, "stiffness": 200.0, "damping": 2.0, "friction": 0.2,
        "correction": 0.2, "slack": 0.005, "grip": 0.9, "least_hip": 0.5, "least_head": 0.25, "alive": 0.5,
        "effort": 0.05,
    }  # fmt: skip
    options: ClassVar[Mapping[str, Any]] = {
        "places": PLACES, "masses": tuple(MASSES.items()), "links": LINKS, "joints": JOINTS,
    }  # fmt: skip

    @staticmethod
    def begin(random: Array) -> tuple[Array, ...]:
        speeds = np.float32(0.2) * random - np.float32(0.1)
        still = np.zeros_like(random[0])
        state: list[Array] = []
        for k, (x, y) in enumerate(PLACES):
            state += [still + np.float32(x), still + np.float32(y), speeds[2 * k], speeds[2 * k + 1]]
        return tuple(state)

    @staticmethod
    def advance(
        state: tuple[Array, ...], action: Array, random: Array, c: Mapping[str, Any]
    ) -> tuple[tuple[Array, ...], Array, Array]:
        places = {name: np.stack(state[4 * k : 4 * k + 2]) for k, name in enumerate(POINTS)}
        v = {name: np.stack(state[4 * k + 2 : 4 * k + 4]) for k, name in enumerate(POINTS)}
        motors = np.clip(action, -1, 1)
        first = places["hip"][0]
        for _ in range(SUBSTEPS):
            _push_by_joints(places, v, motors, c)
            pushes = {"left_foot": np.zeros_like(first), "right_foot": np.zeros_like(first)}
            for _ in range(ROUNDS):
                _keep_lengths(places, v, c)
                for foot in pushes:
                    pushes[foot] = _touch_ground(foot, places, v, pushes[foot], c)
            places = {name: places[name] + c["seconds"] * v[name] for name in POINTS}
        fallen = (places["hip"][1] < c["least_hip"]) | (
            places["head"][1] < places["hip"][1] + c["least_head"]
        )
        speed = (places["hip"][0] - first) / (SUBSTEPS * c["seconds"])
        reward = speed + c["alive"] - c["effort"] * (motors**2).sum(0)
        after = [row for name in POINTS for row in (*places[name], *v[name])]
        return tuple(after), reward, fallen

    @staticmethod
    def observe(state: tuple[Array, ...], c: Mapping[str, Any]) -> list[Array]:
        points = {name: state[4 * k : 4 * k + 4] for k, name in enumerate(POINTS)}
        x, y = points["hip"][:2]
        beside = [d for name in POINTS if name != "hip" for d in (points[name][0] - x, points[name][1] - y)]
        speeds = [v for name in POINTS for v in points[name][2:]]
        return [y, *beside, *speeds]


def _across(a: Array) -> Array:
    return np.stack([-a[1], a[0]])


def _push_by_joints(places: Places, v: Places, motors: Array, c: Mapping[str, Any]) -> None:
    """Speeds after the torques of all joints, and gravity."""
    forces: list[tuple[str, Array]] = []
    for motor, (above, middle, below, low, high, most) in zip(motors, JOINTS, strict=True):
        upper, lower = places[middle] - places[above], places[below] - places[middle]
        upper2, lower2 = (upper**2).sum(0), (lower**2).sum(0)
        sine = (upper[0] * lower[1] - upper[1] * lower[0]) / np.sqrt(upper2 * lower2)
        turning = (_across(lower) * (v[below] - v[middle])).sum(0) / lower2
        turning = turning - (_across(upper) * (v[middle] - v[above])).sum(0) / upper2
        beyond = sine - np.clip(sine, low, high)
        rub = choose(beyond != 0, c["damping"], c["friction"])
        torque = most * motor - c["stiffness"] * beyond - rub * turning
        f, g = torque * _across(upper) / upper2, torque * _across(lower) / lower2
        forces += [(above, f), (middle, -(f + g)), (below, g)]
    for name, force in forces:
        v[name] = v[name] + c["seconds"] * force / MASSES[name]
    for name in POINTS:
        v[name] = v[name] - c["seconds"] * np.array([[0], [c["gravity"]]], "f4")


def _keep_lengths(places: Places, v: Places, c: Mapping[str, Any]) -> None:
    """Speeds after a round of impulses along the links."""
    for a, b, span in LINKS:
        apart = places[b] - places[a]
        distance = np.sqrt((apart**2).sum(0))
        along = apart / distance
        parting = ((v[b] - v[a]) * along).sum(0) + c["correction"] * (distance - span) / c["seconds"]
        pull = parting / (1 / MASSES[a] + 1 / MASSES[b]) * along
        v[a], v[b] = v[a] + pull / MASSES[a], v[b] - pull / MASSES[b]


def _touch_ground(foot: str, places: Places, v: Places, before: Array, c: Mapping[str, Any]) -> Array:
    """Speed of a foot after a round of contact and friction. Returns the sum of its impulses."""
    mass, (vx, vy), y = MASSES[foot], v[foot], places[foot][1]
    # Above the ground a foot may fall as far as it; a step below the slack it is lifted.
    room = np.maximum(y, 0) + c["correction"] * np.minimum(y + c["slack"], 0)
    push = np.maximum(before - mass * (vy + room / c["seconds"]), 0)
    grip = c["grip"] * push / mass
    v[foot] = np.stack([vx - np.clip(vx, -grip, grip), vy + (push - before) / mass])
    return push
