"""The folder of a chat: the memory that it tells, and what the site has without a model."""

from flambeau.site.chat import memory_of, site_files


def step(reads: str, writes: str) -> dict:
    return {"reads": reads.split(), "writes": writes.split()}


def test_memory_is_that_of_the_buffers_of_a_page():
    """By hand: a temporary takes a free buffer of its size to twice that; setup, outputs and state stay."""
    plan = {
        "temporaries": [[100, 0], 100, 400, 60, 60],
        "setup": [step("w0", "t1")],
        "steps": [step("x0 w1", "t0"), step("t0 t1", "t2"), step("t2 t2", "t3"), step("t3", "t4 s0")],
        "outputs": [{"value": "t4"}],
        "state": ["s0"],
    }  # fmt: skip
    # batch 1: 100 for t1; 100 for t0, then t3; 400; 60 for t4. Batch 3: 300 for t0, which t3 cannot take
    program = {
        "batch": [1, 3],
        "weights": [{"dtype": "f32", "shape": [2, 3]}, {"dtype": "bool", "shape": [5]}],
        "state": [{"dtype": "f16", "shape": [8, 2]}],
        "plans": {"gpu": {"plan_of": [0, None, 0], "plans": [plan]}},
    }
    working = (100 + 100 + 400 + 60) + (100 + 300 + 400 + 60 + 60)
    assert memory_of(program) == {"weights": 24 + 20, "cache": 32, "working": working, "largest": 32}


def test_the_site_without_a_model():
    assert site_files(None, "web build") == {"chat.json": b'{"chooser": true}'}
