"""What `fb.debug` tells of a device; its other functions are tested beside what they look into."""

import flambeau as fb


def test_kernels_of_a_device(gpu):
    x = fb.ones(3, 5, device=gpu).realize()
    (x * 7.125 + 2).exp().sum(1).numpy()
    found = fb.debug.kernels(gpu)
    row = next(k for k in found if "exp" in k["name"] and k["template"].startswith("reduce/"))
    assert list(row) == ["name", "template", "groups", "wgsl"] and row["groups"][1:] == [1, 1]
    assert "mul" in row["name"] and "@compute" in row["wgsl"]
    (x * 7.125 + 2).exp().sum(1).numpy()
    assert len(fb.debug.kernels(gpu)) == len(found)


def test_the_host_has_no_kernels():
    fb.ones(3, device="cpu").exp().numpy()
    assert fb.debug.kernels("cpu") == []
