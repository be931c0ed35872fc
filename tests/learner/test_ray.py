"""Workers on a Ray cluster of this machine. Without Ray only its error is tested."""

from importlib.util import find_spec

import numpy as np
import pytest
from helpers.parallel import F, build, digest

import flambeau as fb
from flambeau.data import DataLoader, TensorDataset
from flambeau.errors import FlambeauError
from flambeau.learner import Learner

HAS_RAY = find_spec("ray") is not None


def fit(**options):
    model, _ = build("cpu")
    rng = np.random.default_rng(1)
    data = TensorDataset(rng.standard_normal((44, 12)).astype("f"), rng.integers(0, 4, 44).astype("i4"))
    learner = Learner(model, fb.optim.SGD(model.parameters(), lr=0.1), F.cross_entropy, renderers=[])
    learner.fit(DataLoader(data, batch_size=16, seed=1), epochs=2, **options)
    return digest(model)


@pytest.mark.skipif(HAS_RAY, reason="Ray is installed")
def test_without_ray_the_error_says_what_to_install():
    with pytest.raises(FlambeauError, match=r"Ray is not installed: pip install flambeau\[ray\]"):
        fit(devices=2, engine="ray")


@pytest.mark.skipif(not HAS_RAY, reason="Ray is not installed: pip install flambeau[ray]")
def test_bits_are_those_of_one_worker():
    import ray

    ray.init(num_cpus=2, include_dashboard=False)
    try:
        alone = fit(devices=1)
        assert fit(devices=3, engine="ray") == alone
        with pytest.raises(FlambeauError, match="3 workers, room for 2: add nodes, or pass fewer devices"):
            fit(devices=4, engine="ray")
    finally:
        ray.shutdown()
