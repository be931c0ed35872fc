"""Workers that die and join: the others go on, and the weights are those of a run without either."""

import random
import threading
import time

from helpers.parallel import F, batches, build, digest, results

from flambeau.distributed import wrap
from flambeau.distributed.rendezvous import Worker
from flambeau.distributed.store import Store, StoreServer
from flambeau.errors import DistributedError


class Run:
    """Workers in threads of this process, which can be killed: their connections end at any moment."""

    def __init__(self, size, sizes):
        self.server = StoreServer(token="secret")
        self.data = batches(sizes)
        self.size, self.groups, self.threads = size, {}, []
        self.done, self.errors, self.pauses = {}, [], []
        for name in range(size):
            self.start(name)

    def start(self, name):
        thread = threading.Thread(target=self.work, args=(name,), daemon=True)
        self.threads.append(thread)
        thread.start()

    def work(self, name):
        try:
            worker = Worker(Store("127.0.0.1", self.server.port, "secret"), "secret", -1, self.size)
            group = worker.join(20.0)
            model, optimizer = build("cpu")
            optimizer = wrap(optimizer, model, group=group)
            self.groups[name] = optimizer
            for number, batch in enumerate(self.data):
                if number >= optimizer.count:
                    before = time.monotonic()
                    optimizer.step(lambda x, y: F.cross_entropy(model(x), y), *batch)
                    self.pauses.append(time.monotonic() - before)
            self.done[name] = digest(model), optimizer.group.size
            optimizer.group.close()
        except (DistributedError, OSError) as e:
            self.errors.append(str(e))

    def kill(self, name):
        group = self.groups.pop(name).group
        group.elastic.store.connection.close()
        group.mesh.close(goodbye=False)

    def wait_for(self, name, count):
        while name not in self.groups or self.groups[name].count < count:
            time.sleep(0.001)

    def end(self):
        for thread in self.threads:
            thread.join(60)
        self.server.close()
        return self.done


def test_kills_and_a_new_worker_change_no_bit():
    sizes = [16] * 14
    alone = results(1, sizes=sizes)[0]
    run = Run(4, sizes)
    draws = random.Random(5)
    run.wait_for(0, 2)
    for victim, step in ((2, 3), (0, 6)):
        run.wait_for(1, step)
        time.sleep(draws.random() * 0.02)
        run.kill(victim)
    run.wait_for(1, 8)
    run.start("new")
    done = run.end()
    assert set(done) == {1, 3, "new"}, run.errors
    assert {bits for bits, _ in done.values()} == {alone}
    assert max(run.pauses) < 2 + 1  # seconds; the machine may be busy
