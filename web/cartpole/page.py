"""Trains an agent of CartPole for the page, iteration by iteration; it runs in the worker."""

import asyncio
import io
import zipfile

from flambeau_page import emit  # type: ignore[import-not-found]

import flambeau as fb
from flambeau.io import save_bytes

COPIES, STEPS = 64, 32
OPTIONS = {"hidden": (32, 32), "learning_rate": 5e-3, "anneal": False, "entropy": 0.0}
SOLVED = 475.0  # steps: the mean of the last COPIES episodes


class Training:
    """An agent, and how far it is."""

    def __init__(self):
        self.agent = fb.rl.PPO(fb.rl.CartPole(COPIES), steps=STEPS, watched=1, record="parts", **OPTIONS)
        self.iteration, self.stopping, self.running = 0, False, False
        self.ended: list[tuple[float, float]] = []  # of each iteration: episodes, and their steps together

    def recent(self) -> float:
        """The mean steps of the last episodes: COPIES at least if there are so many, of whole iterations."""
        count = steps = 0.0
        for episodes, total in reversed(self.ended):
            count, steps = count + episodes, steps + total
            if count >= COPIES:
                break
        return steps / max(count, 1)

    async def iterate(self) -> float:
        """An iteration, and a message to the page. Returns the mean steps of recent episodes."""
        values = self.agent.iterate()
        sums, seen = await fb.read(values.sums, values.watched)
        found = self.agent.summary(sums)
        self.ended.append((sums[0], sums[2]))
        self.iteration += 1
        emit("iteration", {
            "iteration": self.iteration,
            "steps": self.iteration * COPIES * STEPS,
            "mean": found.episode_return if found.episode_return == found.episode_return else None,
            "recent": self.recent(),
            "loss": found.loss,
            "states": seen,  # [steps][numbers of a state][1]
        })
        return self.recent()


training: Training | None = None


def prepare() -> None:
    """A new agent."""
    global training
    training = Training()


async def learn() -> str:
    """Train until the pole stays up or the page stops it; "solved" or "stopped"."""
    t = training
    t.running, t.stopping = True, False
    try:
        while not t.stopping:
            if await t.iterate() >= SOLVED:
                return "solved"
            await asyncio.sleep(0)
        return "stopped"
    finally:
        t.running = False


def stop() -> None:
    """Stop after the iteration that runs."""
    training.stopping = True


async def policy() -> bytes:
    """The trained policy as a .safetensors file, under the names of the exported program."""
    state = {f"actor.{name}": value for name, value in training.agent.actor.state_dict().items()}
    return bytes(await save_bytes(state, {"format": "flambeau cartpole 1"}))


def packed(files: dict) -> bytes:
    """Files by name, text or bytes, as a zip archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(files.items()):
            archive.writestr(f"cartpole/{name}", data if isinstance(data, str) else bytes(data))
    return out.getvalue()
