"""Pausing the garbage collector: nested, by several threads, and where the user has disabled it."""

import gc
from threading import Event, Thread

from flambeau.core.garbage import paused


def test_the_last_thread_to_leave_resumes_the_collector():
    entered, leave = Event(), Event()

    def hold():
        with paused():
            entered.set()
            leave.wait(10)

    thread = Thread(target=hold)
    with paused():
        thread.start()
        entered.wait(10)
        with paused():
            assert not gc.isenabled()
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


def test_a_collector_that_the_user_disabled_stays_so():
    gc.disable()
    try:
        with paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_an_error_inside_resumes_the_collector():
    try:
        with paused():
            raise KeyError
    except KeyError:
        assert gc.isenabled()
