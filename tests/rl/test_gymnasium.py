"""Gymnasium's environments under our agents, beside Gymnasium alone."""

import sys

import numpy as np
import pytest

import flambeau as fb
from flambeau import rl


@pytest.fixture
def gym(torch):
    """The package, where the comparisons with PyTorch run."""
    return pytest.importorskip("gymnasium", reason="gymnasium is not installed: pip install flambeau[torch]")


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(ImportError) as e:
        rl.GymnasiumEnvironment("CartPole-v1")
    assert str(e.value) == "GymnasiumEnvironment(...): it needs the package: pip install gymnasium"


@pytest.mark.parametrize("name", ["CartPole-v1", "Pendulum-v1", "FrozenLake-v1"])
def test_steps_are_gymnasiums(name, gym):
    """The same seed and actions in two sets of copies, through the ends of episodes."""
    n, same = 3, gym.vector.AutoresetMode.SAME_STEP
    theirs = gym.make_vec(name, n, vectorization_mode="sync", vector_kwargs={"autoreset_mode": same})
    ours = rl.GymnasiumEnvironment(name, n, device="cpu")
    is_number = name.startswith("Frozen")

    def numbers(x):
        return np.eye(16, dtype="f4")[x] if is_number else np.asarray(x, "f4")

    fb.manual_seed(4)
    state, seen = ours.reset()
    fb.manual_seed(4)
    seed = int(fb.randint(0, 2**31 - 1, (1,), device="cpu").item())
    np.testing.assert_array_equal(seen.numpy(), numbers(theirs.reset(seed=seed)[0]))
    rng, returns, lengths, ended = np.random.default_rng(0), np.zeros(n), np.zeros(n), 0
    for _ in range(220):
        if isinstance(ours.action_space, rl.Discrete):
            action = rng.integers(0, ours.action_space.n, n).astype("i4")
            chosen = action
        else:
            action = rng.uniform(-3, 3, (n, 1)).astype("f4")  # also outside of the range
            chosen = action.clip(-2, 2)
        step = ours.step(state, fb.tensor(action, device="cpu"))
        observation, reward, terminated, truncated, info = theirs.step(chosen)
        returns, lengths = returns + reward, lengths + 1
        over = terminated | truncated
        last = numbers(observation).copy()
        for k in np.flatnonzero(over):
            last[k] = numbers(info["final_obs"][k])
        np.testing.assert_array_equal(step.observation.numpy(), numbers(observation))
        np.testing.assert_array_equal(step.next_observation.numpy(), last)
        np.testing.assert_allclose(step.reward.numpy(), reward, rtol=1e-6)
        assert step.terminated.tolist() == terminated.tolist()
        assert step.truncated.tolist() == (truncated & ~terminated).tolist()
        np.testing.assert_allclose(step.episode_return.numpy(), np.where(over, returns, 0), rtol=1e-4)
        assert step.episode_length.tolist() == np.where(over, lengths, 0).tolist()
        returns[over] = lengths[over] = 0
        ended, state = ended + over.sum(), step.state
    assert ended >= 3
    ours.close()


def test_agents_record_all_but_the_environment(gym):
    fb.manual_seed(0)
    env = rl.GymnasiumEnvironment("CartPole-v1", 4)
    agent = rl.PPO(env, hidden=(4,), steps=4, epochs=1, minibatches=1)
    assert [it.steps for it in agent.learn(16 * 4)] == [16, 32, 48, 64]
    assert [len(f.programs) for f in (agent._choose, agent._learn)] == [1, 1]
    agent = rl.DQN(env, hidden=(4,), starts=16, batch=4)
    assert [it.steps for it in agent.learn(80, every=10)] == [40, 80]
    assert len(agent._improve.programs) == 1
    agent = rl.SAC(rl.GymnasiumEnvironment("Pendulum-v1", 2), hidden=(4,), starts=8, batch=4)
    reports = list(agent.learn(60, every=10))
    assert np.isfinite(reports[-1].loss) and len(agent._improve.programs) == 1


def test_wrong_calls(gym):
    spaces, next_step = gym.spaces, gym.vector.AutoresetMode.NEXT_STEP

    class Other(gym.Env):
        def __init__(self, seen, actions):
            self.observation_space, self.action_space = seen, actions

    def copies(seen, actions):
        mode = gym.vector.AutoresetMode.SAME_STEP
        return gym.vector.SyncVectorEnv([lambda: Other(seen, actions)], autoreset_mode=mode)

    box, two = spaces.Box(-1, 1, (2,)), spaces.Discrete(2)
    uneven = spaces.Box(np.float32([-1, -2]), np.float32([1, 2]))
    later = {"autoreset_mode": next_step}
    late = gym.make_vec("CartPole-v1", 2, vectorization_mode="sync", vector_kwargs=later)
    errors = {
        "GymnasiumEnvironment(3): env is an id of Gymnasium, or a gymnasium.vector.VectorEnv: pass"
        " SyncVectorEnv([make] * n, ...)": 3,
        "GymnasiumEnvironment(SyncVectorEnv): a copy whose episode ended must begin again in the same step:"
        " make it with autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP": late,
        "GymnasiumEnvironment(MultiBinary(3)): observations are a Box or Discrete: wrap it with"
        " FlattenObservation": copies(spaces.MultiBinary(3), two),
        "GymnasiumEnvironment(MultiBinary(3)): actions are a Box or Discrete: wrap it with"
        " TransformAction": copies(box, spaces.MultiBinary(3)),
        f"GymnasiumEnvironment({uneven}): all numbers of an action have the same finite range: wrap it with"
        " RescaleAction(env, -1, 1)": copies(box, uneven),
    }
    for text, env in errors.items():
        with pytest.raises(ValueError) as e:
            rl.GymnasiumEnvironment(env)
        assert str(e.value) == text
