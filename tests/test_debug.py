"""What `fb.debug` tells of a device; its other functions are tested beside what they look into."""

import flambeau as fb


def test_kernels_of_a_device(gpu):
    x = fb.ones(3, 5, device=gpu).realize()
    (x * 7.125 + 2).exp().sum(1).numpy()
    found = fb.debug.kernels(gpu)
    sums = [
        k for k in found if k["template"].startswith("reduce/") and {"mul", "exp"} <= {*k["name"].split("+")}
    ]
    assert all(list(k) == ["name", "template", "groups", "reads", "writes", "flops", "wgsl"] for k in sums)
    own = [k for k in sums if (k["reads"], k["writes"]) == (60, 12)]  # bytes; others ran in other tests
    assert any(k["groups"][1:] == [1, 1] and k["flops"] >= 45 and "@compute" in k["wgsl"] for k in own)
    (x * 7.125 + 2).exp().sum(1).numpy()
    assert len(fb.debug.kernels(gpu)) == len(found)


def test_the_host_has_no_kernels():
    fb.ones(3, device="cpu").exp().numpy()
    assert fb.debug.kernels("cpu") == []
