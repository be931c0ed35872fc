"""Something happens in the middle of encoding, at each call of the provider's C functions in turn."""

import numpy as np

import flambeau as fb


class Library:
    """A provider's library; at its k-th call, before or after the function runs, `event` is called.

    Functions that release are not counted: they clean up after an exception, and a second one is
    another test.
    """

    def __init__(self, real):
        self.real, self.k, self.after, self.event, self.names = real, 0, False, None, []

    def __getattr__(self, name):
        function = getattr(self.real, name)
        if not callable(function) or name.endswith("Release"):
            return function
        return lambda *given: self.called(name, function, given)

    def called(self, name, function, given):
        self.names.append(name)
        if len(self.names) != self.k:
            return function(*given)
        event, self.event = self.event, None
        if not self.after:
            event()
        result = function(*given)
        if self.after:
            event()
        return result

    def run(self, call, event, k, after):
        """Call, with the event at the k-th call; the name of the function, "" where fewer are called."""
        self.k, self.after, self.event, self.names = k, after, event, []
        try:
            call()
        except KeyboardInterrupt:
            assert self.event is None
        self.k = 0
        return "" if self.event else self.names[k - 1]


def put_into(device) -> Library:
    """Have a device call its provider by one."""
    path = device._fast
    path.lib = library = Library(path.lib)
    finish = path.finish_encoder
    path.finish_encoder = lambda *given: library.called("wgpuCommandEncoderFinish", finish, given)
    return library


def interrupt():
    raise KeyboardInterrupt


def at_each_call(device, event=interrupt) -> set[str]:
    """Compute and read with an event at each call of the provider in turn; the values afterwards are right.
    Returns the names of the functions."""
    start = np.arange(16, dtype="f4").reshape(4, 4)
    x = fb.tensor(start, device=device).realize()

    def call():
        sums, twice = results = (x @ x).sum(1), x * 2
        fb.realize(*results)
        assert np.array_equal(sums.numpy(), (start @ start).sum(1))
        assert np.array_equal(twice.numpy(), start * 2)

    call()
    library = put_into(device)
    call()
    names = set()
    for k in range(1, len(library.names) + 1):
        for after in (False, True):
            names.add(library.run(call, event, k, after))
            call()
    return names - {""}
