"""Environments: their kernels beside their references, and both beside Gymnasium's, step by step."""

import numpy as np
import pytest

import flambeau as fb
from flambeau import rl
from flambeau.device import get_device

MAKERS = {
    "CartPole": rl.CartPole,
    "MountainCar": rl.MountainCar,
    "Pendulum": rl.Pendulum,
    "Acrobot": rl.Acrobot,
    "Walker": rl.Walker,
    "FrozenLake": rl.FrozenLake,
    "FrozenLake 8x8": lambda n, **o: rl.FrozenLake(n, map="8x8", slippery=False, **o),
}


def actions_of(env, rng, wide=1.5):
    """Random actions, those of a Box also outside of its range."""
    if isinstance(env.action_space, rl.Discrete):
        return rng.integers(0, env.action_space.n, env.n).astype("i4")
    space = env.action_space
    return rng.uniform(wide * space.low, wide * space.high, (env.n, space.size)).astype("f4")


@pytest.mark.parametrize("name", MAKERS)
def test_kernels_compute_what_the_references_do(name):
    """Each step from the reference's state, with the same random numbers; several workgroups."""
    here, there = (MAKERS[name](131, device=d) for d in ("cpu", "gpu"))
    for env in (here, there):
        env.max_steps = 7  # truncated often
    fb.manual_seed(5)
    state, seen = here.reset()
    # The walker's stiff contacts enlarge what a GPU's sine is off (2^-11 is allowed): 6e-5 on an H200.
    is_stiff = name == "Walker" and not get_device("gpu").limits.software
    near = 1e-4 if is_stiff else 2e-5
    fb.manual_seed(5)
    np.testing.assert_allclose(there.reset()[1].numpy(), seen.numpy(), rtol=1e-6, atol=1e-6)
    rng, ended = np.random.default_rng(0), 0
    for t in range(9):
        action = actions_of(here, rng)
        fb.manual_seed(t)
        step = here.step(state, fb.tensor(action, device="cpu"))
        fb.manual_seed(t)
        other = there.step(state.to("gpu"), fb.tensor(action, device="gpu"))
        for field, expected, got in zip(rl.EnvironmentStep._fields, step, other, strict=True):
            np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=near, atol=near, err_msg=field)
        ended += int((step.truncated + step.terminated).sum().item())
        state = step.state
    assert ended >= 131


def test_an_ended_episode_begins_again_and_shows_its_last_observation():
    env = rl.CartPole(3, device="cpu")
    env.max_steps = 2
    state, _ = env.reset()
    push = fb.tensor([0, 1, 0], device="cpu", dtype=fb.int32)
    first = env.step(state, push)
    assert first.truncated.tolist() == [0, 0, 0] and first.episode_length.tolist() == [0, 0, 0]
    assert first.observation.tolist() == first.next_observation.tolist()
    second = env.step(first.state, push)
    assert second.truncated.tolist() == [1, 1, 1] and second.terminated.tolist() == [0, 0, 0]
    assert second.episode_length.tolist() == second.episode_return.tolist() == [2, 2, 2]
    assert (second.observation.abs() <= 0.05).all().item()  # a first state
    assert (second.next_observation[:, 1].abs() > 0.1).all().item()  # pushed twice
    third = env.step(second.state, push)
    assert third.truncated.tolist() == [0, 0, 0]


def test_slippery_ice_turns_a_third_of_the_steps_to_each_side():
    env = rl.FrozenLake(30_000, device="cpu", slippery=True)
    fb.manual_seed(1)
    state, _ = env.reset()
    down = env.step(state, fb.full((30_000,), 1, dtype=fb.int32, device="cpu"))
    fields = down.next_observation.argmax(1).numpy()
    # left stays at field 0, down is field 4, right is field 1
    shares = [np.mean(fields == k) for k in (0, 4, 1)]
    np.testing.assert_allclose(shares, 1 / 3, atol=0.01)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: rl.CartPole(0), "CartPole(0): n is at least 1"),
        (
            lambda: rl.CartPole(2, device="cpu").step(
                fb.zeros(19, 2, device="cpu"), fb.ones(2, device="cpu")
            ),
            "CartPole.step(f32[2]): actions are integers [2] from 0 to 1: pass such a tensor",
        ),
        (
            lambda: rl.Pendulum(2, device="cpu").step(
                fb.zeros(17, 2, device="cpu"), fb.ones(2, device="cpu")
            ),
            "Pendulum.step(f32[2]): actions are float numbers [2, 1]: pass such a tensor",
        ),
        (
            lambda: rl.FrozenLake(1, map=["SF", "G"]),
            "FrozenLake(map=['SF', 'G']): a map is \"4x4\", \"8x8\" or equal rows of S (first), F, H and G"
            " (last), at most 64 fields",
        ),
    ],
)
def test_wrong_calls(call, text):
    with pytest.raises(ValueError) as e:
        call()
    assert str(e.value) == text


def test_a_state_of_another_size():
    env = rl.CartPole(2, device="cpu")
    with pytest.raises(
        ValueError, match="a state of 2 environments is .19, 2.: pass what reset or step returned"
    ):
        env.step(fb.zeros(19, 3, device="cpu"), fb.tensor([0, 1], dtype=fb.int32, device="cpu"))


# --- Beside Gymnasium. ---

GYM = {
    "CartPole": ("CartPole-v1", lambda e: e.state),
    "MountainCar": ("MountainCar-v0", lambda e: e.state),
    "Pendulum": ("Pendulum-v1", lambda e: e.state),
    "Acrobot": ("Acrobot-v1", lambda e: e.state),
    "FrozenLake 8x8": ("FrozenLake8x8-v1", lambda e: [e.s]),
}


@pytest.mark.parametrize("device", ["cpu", "gpu"])
@pytest.mark.parametrize("name", GYM)
def test_steps_are_gymnasiums(name, device, torch):
    """Each step from Gymnasium's own state: observation, reward, and whether the episode ended."""
    gym = pytest.importorskip("gymnasium", reason="gymnasium is not installed: pip install flambeau[torch]")
    identity, state_of = GYM[name]
    options = {"is_slippery": False} if "Lake" in name else {}
    theirs = gym.make(identity, **options).unwrapped
    env = MAKERS[name](1, device=device)
    rng = np.random.default_rng(3)
    theirs.reset(seed=7)
    first = len(env.state_names)
    rows = np.zeros((fb.rl.environment.row_count(env.dynamics), 1), "f4")
    for _ in range(60):
        action = actions_of(env, rng)
        rows[:first, 0] = np.float32(state_of(theirs))
        step = env.step(fb.tensor(rows, device=device), fb.tensor(action, device=device))
        seen, reward, terminated, *_ = theirs.step(action[0])
        if "Lake" in name:
            seen = np.eye(env.observation_size)[seen]
        np.testing.assert_allclose(step.next_observation.numpy()[0], seen, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(step.reward.item(), reward, rtol=1e-5, atol=1e-5)
        assert bool(step.terminated.item()) == bool(terminated)
        if terminated:
            theirs.reset()
