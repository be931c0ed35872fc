"""Turns away what a browser's Python lacks, and sees the package import, plan and render without it."""

import subprocess
import sys

# A device that plans for a GPU and keeps what it is told; no adapter, no NumPy.
PAGE = """
import sys, threading

for name in ("numpy", "wgpu", "wgpudawn", "cffi", "safetensors", "click", "rich"):
    sys.modules[name] = None
def start(self):
    raise RuntimeError("can't start new thread")
threading.Thread.start = start

import flambeau as fb
import flambeau.learner
from flambeau.device.memory import Pool
from flambeau.device.protocol import Caches
from flambeau.fusion.planner import Limits


class Page(Caches):
    kind, name, limits, faults = "gpu", "gpu:page", Limits(), 0

    def __init__(self):
        super().__init__()
        self.lock, self.pool = threading.RLock(), Pool(self)
        self.texts, self.submitted, self.count = [], [], 0

    def alloc(self, size, asked):
        self.count += 1
        return self.count

    def uniform(self, size):
        return self.alloc(size, size)

    def pipeline(self, wgsl, label, inputs, outputs=1, proven=False):
        self.texts.append(wgsl)
        return len(self.texts)

    def write(self, handle, data):
        memoryview(data).cast("B")

    def submit(self, *parts):
        self.submitted += [w for p in parts for w in p]

    def free(self, handle):
        pass

    def keep_pace(self):
        pass


page = sys.modules["flambeau.device"]._devices["default"] = Page()
model = fb.nn.Sequential(fb.nn.Linear(6, 5), fb.nn.ReLU(), fb.nn.Linear(5, 3))
optimizer = fb.optim.Adam(model.parameters())
x = fb.tensor([[0.5] * 6] * 4)
loss = fb.nn.functional.cross_entropy(model(x), fb.tensor([0, 2, 1, 1]))
print(loss.plan())
assert "fn main" in loss.wgsl()
optimizer.step(loss.backward())
fb.realize(loss)
assert page.texts and page.submitted
print(len(page.texts), "kernels without", sorted(k for k, v in sys.modules.items() if v is None))
"""


def test_the_package_plans_and_renders_without_what_a_browser_lacks():
    done = subprocess.run([sys.executable, "-c", PAGE], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith(
        "kernels without ['cffi', 'click', 'numpy', 'rich', 'safetensors', 'wgpu', 'wgpudawn']"
    )
