"""Advantages, memories and agents."""

import numpy as np
import pytest
from helpers.draws import in_turn

import flambeau as fb
from flambeau import rl
from flambeau.rl.draws import AgentDraws


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_advantages_follow_their_definition(device):
    rng = np.random.default_rng(0)
    steps, n, gamma, lam = 9, 70, 0.9, 0.8
    reward, value, after = rng.standard_normal((3, steps, n)).astype("f4")
    terminated = (rng.random((steps, n)) < 0.2).astype("f4")
    truncated = (rng.random((steps, n)) < 0.2).astype("f4") * (1 - terminated)
    expected, ahead = np.zeros((steps, n)), np.zeros(n)
    for t in reversed(range(steps)):
        error = reward[t] + gamma * after[t] * (1 - terminated[t]) - value[t]
        ahead = error + gamma * lam * ahead * (1 - terminated[t]) * (1 - truncated[t])
        expected[t] = ahead
    tensors = (fb.tensor(x, device=device) for x in (reward, value, after, terminated, truncated))
    got = rl.generalized_advantages(*tensors, gamma=gamma, lam=lam)
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-4, atol=1e-5)


def test_advantages_of_shapes_that_differ():
    x, y = fb.zeros(2, 3, device="cpu"), fb.zeros(2, 4, device="cpu")
    text = r"generalized_advantages\(\[2, 3\], \[2, 4\]\): all are \[steps, environments\]: pass equal shapes"
    with pytest.raises(ValueError, match=text):
        rl.generalized_advantages(x, x, y, x, x)


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_a_memory_keeps_the_last_transitions(device):
    buffer = rl.ReplayBuffer(7, {"place": 2, "number": 1}, device=device)
    for first in (0, 3, 6):
        numbers = fb.arange(first, first + 3, device=device).float()
        buffer.add(place=fb.stack([numbers, -numbers], 1), number=numbers)
    fb.manual_seed(0)
    batch = buffer.sample(500)
    assert batch["place"].shape == (500, 2) and batch["number"].shape == (500, 1)
    assert set(batch["number"][:, 0].tolist()) == {2, 3, 4, 5, 6, 7, 8}
    assert (batch["place"] == fb.cat([batch["number"], -batch["number"]], 1)).all().item()


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_a_prioritized_memory_draws_by_priority(device):
    buffer = rl.PrioritizedReplayBuffer(8, {"number": 1}, alpha=1.0, beta=1.0, device=device)
    buffer.add(number=fb.arange(4, device=device).float())
    buffer.update(
        fb.arange(4, dtype=fb.int32, device=device), fb.tensor([1.0, 0.0, -3.0, 4.0], device=device)
    )
    fb.manual_seed(0)
    batch = buffer.sample(4000)
    drawn = batch["number"][:, 0].numpy()
    np.testing.assert_allclose([np.mean(drawn == k) for k in range(4)], [1 / 8, 0, 3 / 8, 4 / 8], atol=0.03)
    # a weight is proportional to one over the probability, and the largest is 1
    weights = {k: batch["weight"].numpy()[drawn == k] for k in (0, 2, 3)}
    for k, expected in ((0, 1.0), (2, 1 / 3), (3, 1 / 4)):
        np.testing.assert_allclose(weights[k], expected, rtol=1e-4)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: rl.ReplayBuffer(0, {"x": 1}), "ReplayBuffer(0): capacity is at least 1"),
        (
            lambda: rl.ReplayBuffer(2, {"x": 1}, device="cpu").add(y=fb.zeros(1, device="cpu")),
            "ReplayBuffer.add(y): the fields are x: pass all of them",
        ),
        (
            lambda: rl.ReplayBuffer(2, {"x": 1}, device="cpu").add(x=fb.zeros(3, device="cpu")),
            "ReplayBuffer.add(3 rows): it has room for 2: add fewer",
        ),
        (
            lambda: rl.PPO(rl.CartPole(5, device="cpu"), agents=2),
            "PPO(n=5, agents=2): each agent has the same number of copies: choose a multiple of the agents",
        ),
        (
            lambda: rl.PPO(rl.CartPole(3, device="cpu"), steps=5, minibatches=4),
            "PPO(minibatches=4): an agent has 3 x 5 samples an iteration: choose a divisor of them",
        ),
        (
            lambda: rl.PPO(rl.CartPole(6, device="cpu"), agents=3, seeds=[1, 2]),
            "PPO(agents=3, seeds=2 of them): each agent has one: pass as many",
        ),
        (
            lambda: rl.PPO(rl.CartPole(6, device="cpu"), seeds=[1, -2]),
            "PPO(seeds=[1, -2]): a seed is from 0 to 2^64 - 1: pass such numbers",
        ),
        (
            lambda: rl.PPO(rl.CartPole(8, device="cpu"), record="update"),
            'PPO(record=\'update\'): unknown: use "iteration" or "parts"',
        ),
        (
            lambda: rl.DQN(rl.Pendulum(1, device="cpu")),
            "DQN(Pendulum(1, observations=3, actions=Box(size=1, low=-2.0, high=2.0))): it needs Discrete"
            " actions: use PPO or SAC",
        ),
        (
            lambda: rl.SAC(rl.CartPole(1, device="cpu")),
            "SAC(CartPole(1, observations=4, actions=Discrete(n=2))): it needs a Box of actions: use PPO"
            " or DQN",
        ),
        (
            lambda: rl.AgentMLP(1, (2, 3), activation="selu"),
            'AgentMLP(activation=\'selu\'): unknown: use "tanh" or "relu"',
        ),
    ],
)
def test_wrong_calls(call, text):
    with pytest.raises(ValueError) as e:
        call()
    assert str(e.value) == text


def gradients(agent, batch):
    loss, _ = agent._loss(batch)
    return [g.numpy() for g in agent._clipped(loss.backward())]


@pytest.mark.parametrize("make", [rl.CartPole, rl.Pendulum])
def test_agents_at_once_learn_as_each_alone(make):
    """The gradients of two agents together are those of two agents with their weights and samples."""
    both = rl.PPO(make(4, device="cpu"), agents=2, hidden=(8,), steps=3, minibatches=2)
    with fb.no_grad():
        samples, _, _ = both._samples(*both._roll_out(both._rows))
    together = gradients(both, samples)
    for k in range(2):
        alone = rl.PPO(make(2, device="cpu"), hidden=(8,), steps=3, minibatches=2)
        for p, q in zip(alone.model.parameters(), both.model.parameters(), strict=True):
            p.assign_(q.detach()[k : k + 1])
        for one, two in zip(gradients(alone, samples[k : k + 1]), together, strict=True):
            np.testing.assert_allclose(one[0], two[k], rtol=1e-4, atol=1e-6)


def train_by_seed(make, seeds, device):
    """An iteration of agents with these seeds, on the CPU three. Returns their parameters, and returns."""
    options = {"hidden": (8,), "steps": 3, "epochs": 1, "minibatches": 2, "learning_rate": 0.01}
    agent = rl.PPO(make(6 * len(seeds), device=device), seeds=seeds, **options)
    iterations = 3 if device == "cpu" else 1
    returns = [it.by_agent for it in agent.learn(iterations * 3 * 6 * len(seeds))]
    return [p.numpy() for p in agent.parameters()], np.array(returns)


def learns_the_same_among_others(make, device):
    """Whole iterations, after other draws of the process: rollouts, orders of samples and updates."""
    together, returns = train_by_seed(make, [3, 2**40, 5], device)
    assert len({together[0][k].tobytes() for k in range(3)}) == 3
    fb.manual_seed(1)
    alone, own = train_by_seed(make, [2**40], device)
    for p, q in zip(together, alone, strict=True):
        np.testing.assert_allclose(p[1], q[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(returns[:, 1], own[:, 0], rtol=1e-5)


@pytest.mark.parametrize("make", in_turn([rl.CartPole, rl.Pendulum], 2))
def test_an_agent_of_a_seed_learns_the_same_among_others(make):
    learns_the_same_among_others(make, "cpu")


@pytest.mark.share(6)
@pytest.mark.parametrize("make", in_turn([rl.Pendulum, rl.CartPole], 2))
def test_an_agent_of_a_seed_learns_the_same_on_the_gpu(make):
    learns_the_same_among_others(make, "gpu")


def test_numbers_of_seeds_are_uniform_and_unrelated():
    draws = AgentDraws(64, range(64), "cpu")
    x = draws.rand(1000).numpy()
    assert x.min() >= 0 and x.max() < 1
    np.testing.assert_allclose(np.histogram(x, 16, (0, 1))[0] / x.size, 1 / 16, rtol=0.06)
    among = np.corrcoef(np.concatenate([x, draws.rand(1000).numpy()]))
    assert np.abs(among - np.eye(128)).max() < 0.15  # 0.032 is the deviation of unrelated ones
    y = draws.randn(1000).numpy()
    np.testing.assert_allclose([y.mean(), y.std()], [0, 1], atol=0.01)


@pytest.mark.parametrize(
    ("device", "bound"), [("cpu", 1e-6), pytest.param("gpu", 2e-3, marks=pytest.mark.share(6, first=3))]
)
def test_parts_learn_as_the_whole_and_show_the_states_of_copies(device, bound):
    """The parts are recorded: an iteration replays an update."""
    options = {"seeds": [1], "hidden": (4,), "steps": 3, "epochs": 1, "minibatches": 2, "anneal": False}
    whole = rl.PPO(rl.CartPole(6, device="cpu"), **options)
    parts = rl.PPO(rl.CartPole(6, device=device), record="parts", watched=2, **options)
    for k, expected in enumerate(whole.learn(2 * 3 * 6)):
        values = parts.iterate()
        got = parts.summary(values.sums.tolist(), values.by_agent.tolist())
        np.testing.assert_allclose(got[:6], expected[:6], rtol=bound)
        assert got.iteration == k + 1 and values.watched.shape == (3, 19, 2)
        ages = values.watched[:, 4].numpy()
        assert (ages == [[3 * k + t + 1] * 2 for t in range(3)]).all()
    for p, q in zip(whole.parameters(), parts.parameters(), strict=True):
        np.testing.assert_allclose(q.numpy(), p.numpy(), rtol=bound, atol=bound)


def learns_to_balance():
    fb.manual_seed(0)
    options = {"learning_rate": 5e-3, "hidden": (32,), "minibatches": 2, "anneal": False}
    agent = rl.PPO(rl.CartPole(32, device="cpu"), **options)
    returns = [it.episode_return for it in agent.learn(10_000)]
    assert np.mean(returns[:3]) < 35 and np.mean(returns[-2:]) > 55
    action = agent.act(fb.tensor([[0.0, 0.0, 0.1, 0.5], [0.0, 0.0, -0.1, -0.5]], device="cpu"))
    assert action.tolist() == [1, 0]  # push to where the pole falls


def records_an_iteration():
    agent = rl.PPO(rl.CartPole(8), hidden=(4,), steps=2, epochs=1, minibatches=1)
    steps = [it.steps for it in agent.learn(16 * 5)]
    assert steps == [16, 32, 48, 64, 80]
    assert [len(kept) for kept in agent._iterate.programs.values()] == [1]


@pytest.mark.parametrize("check", in_turn([learns_to_balance, records_an_iteration], 2))
def test_ppo(check):
    check()


# --- Beside the same updates in PyTorch. ---


def mlp(torch, network):
    """The layers of an agent's network as functions of PyTorch's tensors, and its parameters."""
    weights = [torch.tensor(p.numpy()[0], requires_grad=True) for p in network.weights]
    biases = [torch.tensor(p.numpy()[0], requires_grad=True) for p in network.biases]

    def call(x):
        for k, (w, b) in enumerate(zip(weights, biases, strict=True)):
            x = x @ w + b
            x = x.relu() if k < len(weights) - 1 else x
        return x

    return call, [*weights, *biases]


def batch_of(observations, actions, n=32):
    rng = np.random.default_rng(0)
    sizes = {"observation": observations, "reward": 1, "next_observation": observations}
    batch = {name: rng.standard_normal((n, size)).astype("f4") for name, size in sizes.items()}
    batch["action"] = actions(rng, n)
    batch["terminated"] = (rng.random((n, 1)) < 0.3).astype("f4")
    return batch


def agree(parameters, theirs):
    for p, q in zip(parameters, theirs, strict=True):
        np.testing.assert_allclose(p.numpy()[0], q.detach().numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("double", [False, True])
def test_an_update_of_dqn(torch, double):
    agent = rl.DQN(rl.CartPole(2, device="cpu"), hidden=(8, 8), double=double, learning_rate=0.01, tau=0.1)
    agent.target.load_state_dict(rl.DQN(rl.CartPole(2, device="cpu"), hidden=(8, 8)).q.state_dict())
    (q, parameters), (target, slow) = (mlp(torch, m.layers) for m in (agent.q, agent.target))
    batch = batch_of(4, lambda rng, n: rng.integers(0, 2, (n, 1)).astype("f4"))
    t = {name: torch.tensor(x) for name, x in batch.items()}
    with torch.no_grad():
        values = target(t["next_observation"])
        best = (q(t["next_observation"]) if double else values).argmax(1, keepdim=True)
        wanted = t["reward"] + 0.99 * (1 - t["terminated"]) * values.gather(1, best)
    loss = (q(t["observation"]).gather(1, t["action"].long()) - wanted).square().mean()
    optimizer = torch.optim.Adam(parameters, lr=0.01)
    loss.backward()
    optimizer.step()
    got = agent._learn({name: fb.tensor(x, device="cpu") for name, x in batch.items()})
    np.testing.assert_allclose(got.item(), loss.item(), rtol=1e-5)
    agree(agent.q.parameters(), parameters)
    agree(agent.target.parameters(), [s + 0.1 * (p - s) for s, p in zip(slow, parameters, strict=True)])


def test_an_update_of_sac(torch, monkeypatch):
    """With the same noise: the losses of the critics, of the policy and of the temperature."""
    rng = np.random.default_rng(1)
    noises = [rng.standard_normal((32, 1)).astype("f4") for _ in range(2)]
    drawn = iter(noises)
    monkeypatch.setattr("flambeau.rl.sac.randn", lambda *_, device: fb.tensor(next(drawn), device=device))
    agent = rl.SAC(rl.Pendulum(2, device="cpu"), hidden=(8,), policy_rate=0.01, critic_rate=0.01, tau=0.1)
    batch = batch_of(3, lambda rng, n: rng.uniform(-2, 2, (n, 1)).astype("f4"))
    t = {name: torch.tensor(x) for name, x in batch.items()}
    actor, policy = mlp(torch, agent.actor)
    critics = [torch.tensor(p.numpy(), requires_grad=True) for p in agent.critic.parameters()]
    slow = [p.detach().clone() for p in critics]
    log_alpha = torch.zeros((), requires_grad=True)

    def values(parameters, x, action):
        w1, w2, b1, b2 = parameters
        return (torch.cat([x, action], 1) @ w1 + b1).relu() @ w2 + b2  # [2, n, 1]

    def sample(x, noise):
        mean, spread = actor(x).chunk(2, 1)
        log_std = -5 + 3.5 * (spread.tanh() + 1)
        before = mean + log_std.exp() * torch.tensor(noise)
        normal = torch.distributions.Normal(mean, log_std.exp()).log_prob(before)
        density = normal - torch.log(2 * (1 - before.tanh() ** 2) + 1e-6)
        return 2 * before.tanh(), density.sum(1, keepdim=True)

    with torch.no_grad():
        action, density = sample(t["next_observation"], noises[0])
        follows = values(slow, t["next_observation"], action).amin(0) - density  # a temperature of 1
        wanted = t["reward"] + 0.99 * (1 - t["terminated"]) * follows
    loss = (values(critics, t["observation"], t["action"]) - wanted).square().mean((1, 2)).sum()

    def update(parameters, loss):
        optimizer = torch.optim.Adam(parameters, lr=0.01)
        loss.backward(inputs=parameters)
        optimizer.step()

    update(critics, loss)
    action, density = sample(t["observation"], noises[1])
    value = values([p.detach() for p in critics], t["observation"], action).amin(0)
    update(policy, (density - value).mean())
    update([log_alpha], -log_alpha.exp() * (density.detach() - 1).mean())
    got = agent._learn({name: fb.tensor(x, device="cpu") for name, x in batch.items()})
    np.testing.assert_allclose(got.item(), loss.item(), rtol=1e-4)
    agree(agent.actor.parameters(), policy)
    for p, q in zip(agent.critic.parameters(), critics, strict=True):
        np.testing.assert_allclose(p.numpy(), q.detach().numpy(), rtol=1e-4, atol=1e-6)
    for p, q, s in zip(agent.target.parameters(), critics, slow, strict=True):
        np.testing.assert_allclose(p.numpy(), (s + 0.1 * (q - s)).detach().numpy(), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(agent.log_alpha.item(), log_alpha.item(), rtol=1e-4)
