"""Convolutions and windows with drawn arguments: values and gradients, beside loops and PyTorch."""

from math import prod

import pytest
from helpers.draws import draws, in_turn, off, one_of, some
from helpers.kernels import planned_for
from helpers.plans import kinds_of
from references.base import conv
from references.conv import conv_gradients, conv_transpose

import flambeau as fb
from flambeau.nn import functional as F
from flambeau.ops.conv import conv as phases

TOLERANCE = 2e-5  # of the largest magnitude
# (kernel, stride, padding) of layers that people use, where less is padded than the reach of a phase
COMMON = [(4, 2, 1), (5, 3, 1), (6, 2, 1), (6, 2, 2), (7, 2, 3), (3, 2, 1), (2, 2, 0), (8, 4, 2), (1, 2, 0)]


class Case:
    """The arguments of a convolution and the sizes that fit them."""

    def __init__(self, rng, i: int, transposed: bool):
        self.nd = nd = some(rng, 1, 3)
        if i < len(COMMON):
            kernel, stride, padding = (tuple([n] * nd) for n in COMMON[i])
            dilation = (1,) * nd
        else:
            kernel = tuple(some(rng, 1, (7, 5, 3)[nd - 1]) for _ in range(nd))
            stride = tuple(some(rng, 1, 4) for _ in range(nd))
            dilation = tuple(some(rng, 1, 3) if rng.random() < 0.4 else 1 for _ in range(nd))
            padding = tuple(int(rng.integers(0, d * k + 1)) for k, d in zip(kernel, dilation))
        groups, one, two = some(rng, 1, 3), some(rng, 1, 4), some(rng, 1, 4)
        each = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
        self.kwargs = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        if transposed:
            extra = tuple(int(rng.integers(0, max(s, d))) for s, d in zip(stride, dilation))
            least = [
                max(-(-(2 * p - e - o + 1) // s) + 1, 1) for p, e, o, s in zip(padding, each, extra, stride)
            ]
            self.kwargs["output_padding"] = extra
        else:
            least = [max(e - 2 * p, 1) for e, p in zip(each, padding)]
        size = tuple(n + int(rng.integers(0, (9, 6, 4)[nd - 1])) for n in least)
        self.x = rng.standard_normal((some(rng, 1, 3), groups * one, *size)).astype("f4")
        lead = (groups * one, two) if transposed else (groups * two, one)
        self.w = rng.standard_normal((*lead, *kernel)).astype("f4")
        self.name = f"conv{'_transpose' * transposed}{nd}d"

    def __repr__(self):
        return f"{self.name}({list(self.x.shape)}, {list(self.w.shape)}, {self.kwargs})"


def slopes(call, x, w, g):
    """A result, and the gradients of its sum weighted by g."""
    x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
    y = call(x, w)
    grads = y.backward(g)
    return y, grads[x], grads[w]


def expected(case, g):
    """The same by loops in float64."""
    x, w = case.x.astype("f8"), case.w.astype("f8")
    if "output_padding" not in case.kwargs:
        return conv(x, w, **case.kwargs), *conv_gradients(x, w, g, **case.kwargs)
    # x is the gradient of a convolution by what g is, so its own gradient is that convolution
    own = {k: v for k, v in case.kwargs.items() if k != "output_padding"}
    y = conv_transpose(x, w, **case.kwargs)
    ahead = tuple(slice(n) for n in x.shape)
    return y, conv(g, w, **own)[ahead], conv_gradients(g, w, x, **own)[1]


def shape_of(case):
    k = case.kwargs
    taps = [d * (n - 1) for d, n in zip(k["dilation"], case.w.shape[2:])]
    each = zip(case.x.shape[2:], taps, k["stride"], k["padding"], k.get("output_padding", taps))
    if "output_padding" in k:
        size = [(n - 1) * s - 2 * p + t + o + 1 for n, t, s, p, o in each]
        return (case.x.shape[0], case.w.shape[1] * k["groups"], *size)
    return (case.x.shape[0], case.w.shape[0], *((n + 2 * p - t - 1) // s + 1 for n, t, s, p, _ in each))


def compared(device, name, fixed):
    """The cases whose value or a gradient is not what loops give."""
    wrong = []
    for i, (at, rng) in enumerate(draws(name, fixed)):
        case = Case(rng, i // 2, bool(i % 2))
        g = rng.standard_normal(shape_of(case)).astype("f4")
        x, w, weight = (fb.tensor(t, device=device) for t in (case.x, case.w, g))
        found = slopes(lambda x, w, case=case: getattr(F, case.name)(x, w, **case.kwargs), x, w, weight)
        for what, got, want in zip(("value", "by x", "by w"), found, expected(case, g.astype("f8"))):
            error = off(got.numpy(), want)
            wrong += [f"{at}: {case} {what}: {error:.1e}"] * (not error < TOLERANCE)
    assert not wrong, f"{len(wrong)} differ:\n" + "\n".join(wrong[:20])


def test_on_numpy():
    compared("cpu", "convolutions", 120)


@pytest.mark.parametrize("software", in_turn([True, False], 2), ids=lambda s: "software" if s else "gpu")
@pytest.mark.share(5)
def test_on_kernels(software, gpu):
    with planned_for(gpu, software):
        compared(gpu, "convolutions on kernels", 3)


@pytest.mark.parametrize("cost", [0, 30])
def test_phases_by_kernels_of_their_own(cost, monkeypatch):
    """Strides where a kernel more is cheap: none, some or all dims have a kernel for each phase."""
    chosen, rule = set(), phases._separate_dims
    monkeypatch.setattr(phases, "PART", cost)
    monkeypatch.setattr(phases, "ROWS", 1)
    monkeypatch.setattr(phases, "_separate_dims", lambda *given: chosen.add(rule(*given)) or rule(*given))
    compared("cpu", "phases", 60)
    assert {sum(apart) for apart in chosen} == {0, 1, 2, 3}


@pytest.mark.share(5, first=1)
def test_phases_by_kernels_of_their_own_on_a_gpu(gpu, monkeypatch):
    monkeypatch.setattr(phases, "PART", 30)
    monkeypatch.setattr(phases, "ROWS", 1)
    with planned_for(gpu, False):
        compared(gpu, "phases on kernels", 2)


@pytest.mark.parametrize("taps", [1, 1 << 25])
def test_windows_that_are_stored_and_added_up(taps, monkeypatch):
    """Strides by a product of all windows and a sum of them, an image at a time or all images."""
    monkeypatch.setattr(phases, "_folds", lambda *_: True)
    monkeypatch.setattr(phases, "TAPS", taps)
    compared("cpu", "windows", 60)


@pytest.mark.share(5)
def test_windows_that_are_stored_and_added_up_on_a_gpu(gpu, monkeypatch):
    chosen, rule = set(), phases._folds
    monkeypatch.setattr(phases, "FOLD", 0)
    monkeypatch.setattr(phases, "_folds", lambda *given: chosen.add(rule(*given)) or rule(*given))
    monkeypatch.setattr(phases, "PART", 0.1)
    monkeypatch.setattr(phases, "TAPS", 600)
    with planned_for(gpu, False):
        compared(gpu, "windows on kernels", 4)
    assert True in chosen


def test_a_stem_by_its_input(gpu):
    """A GPU stores windows of float32: those of float16 would be rounded before they are added up."""
    with planned_for(gpu, False):
        for dtype in ("float32", "float16"):
            g, w = (fb.zeros(*s, dtype=dtype, device=gpu).realize() for s in ((2, 64, 56, 56), (64, 3, 7, 7)))
            kinds = kinds_of(F.conv_transpose2d(g, w, None, 2, 3, 1))
            assert ("fold" in kinds) == (dtype == "float32")


def second(lib, call, given, v):
    """The gradient of the squared gradient: what a penalty on slopes adds."""
    x, w = given
    y = call(x, w)
    if lib is fb:
        grads = (y * v).sum().backward(create_graph=True)
        total = (grads[x] * grads[x]).sum() + (grads[w] * grads[w]).sum()
        grads = total.backward()
        return grads[x], grads[w]
    gx, gw = lib.autograd.grad((y * v).sum(), (x, w), create_graph=True)
    return lib.autograd.grad((gx * gx).sum() + (gw * gw).sum(), (x, w))


def test_beside_torch(torch):
    """Values, gradients and gradients of gradients."""
    wrong = []
    for i, (at, rng) in enumerate(draws("beside torch", 60)):
        case = Case(rng, i // 2, bool(i % 2))
        g = rng.standard_normal(shape_of(case)).astype("f4")
        ours = [fb.tensor(t, device="cpu", requires_grad=True) for t in (case.x, case.w)]
        theirs = [torch.tensor(t.astype("f8"), requires_grad=True) for t in (case.x, case.w)]
        call = lambda lib, case=case: lambda x, w: getattr(lib, case.name)(x, w, **case.kwargs)  # noqa: E731
        y, want = call(F)(*ours), call(torch.nn.functional)(*theirs)
        pairs = [(y, want)]
        grads = y.backward(fb.tensor(g, device="cpu"), retain_graph=True)
        own = torch.autograd.grad(want, theirs, torch.tensor(g.astype("f8")), retain_graph=True)
        pairs += zip((grads[t] for t in ours), own)
        if i % 3 == 0:
            weight = fb.tensor(g, device="cpu")
            pairs += zip(
                second(fb, call(F), ours, weight),
                second(torch, call(torch.nn.functional), theirs, torch.tensor(g.astype("f8"))),
            )
        for n, (a, b) in enumerate(pairs):
            error = off(a.numpy(), b.detach().numpy())
            wrong += [f"{at}: {case} result {n}: {error:.1e}"] * (not error < TOLERANCE)
    assert not wrong, f"{len(wrong)} differ:\n" + "\n".join(wrong[:20])


def pool_sizes(rng, nd, dilated):
    kernel = tuple(some(rng, 1, 4) for _ in range(nd))
    found = {
        "kernel_size": kernel,
        "stride": tuple(some(rng, 1, 4) for _ in range(nd)),
        "padding": tuple(int(rng.integers(0, k // 2 + 1)) for k in kernel),
        "ceil_mode": bool(rng.integers(2)),
    }
    return found | ({"dilation": tuple(some(rng, 1, 3) for _ in range(nd))} if dilated else {})


def of_windows(rng, kernel, dilation, most):
    """Sizes that windows fit into."""
    return tuple(d * (k - 1) + 1 + int(rng.integers(0, most)) for k, d in zip(kernel, dilation))


def drawn_max_pool(rng):
    nd = some(rng, 1, 3)
    kwargs = pool_sizes(rng, nd, True)
    size = of_windows(rng, kwargs["kernel_size"], kwargs["dilation"], 6)
    return f"max_pool{nd}d", (2, 2, *size), (), kwargs


def drawn_avg_pool(rng):
    nd = some(rng, 1, 3)
    kwargs = pool_sizes(rng, nd, False) | {"count_include_pad": bool(rng.integers(2))}
    if nd > 1 and rng.random() < 0.3:
        kwargs["divisor_override"] = some(rng, 1, 7)
    return f"avg_pool{nd}d", (2, 2, *of_windows(rng, kwargs["kernel_size"], (1,) * nd, 6)), (), kwargs


def drawn_unfold(rng):
    kernel, dilation = (tuple(some(rng, 1, n) for _ in range(2)) for n in (4, 3))
    kwargs = {
        "kernel_size": kernel,
        "dilation": dilation,
        "padding": tuple(int(rng.integers(0, 4)) for _ in range(2)),
        "stride": tuple(some(rng, 1, 4) for _ in range(2)),
    }
    return "unfold", (2, 2, *of_windows(rng, kernel, dilation, 6)), (), kwargs


def drawn_fold(rng):
    _, (_, _, *size), _, kwargs = drawn_unfold(rng)
    each = zip(size, *(kwargs[k] for k in ("kernel_size", "dilation", "padding", "stride")))
    count = prod((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in each)
    shape = (2, 2 * prod(kwargs["kernel_size"]), count)
    return "fold", shape, (), {"output_size": tuple(size), **kwargs}


def drawn_pad(rng):
    nd = some(rng, 1, 3)
    size = tuple(some(rng, 3, 7) for _ in range(nd))
    mode = one_of(rng, ("constant", "reflect", "replicate", "circular"))
    most = [n - 1 if mode == "reflect" else n for n in reversed(size)]
    low = -1 if mode in ("constant", "replicate") else 0
    ends = [int(rng.integers(low, n + 1)) for n in most for _ in "ab"]
    return "pad", (2, 2, *size), (tuple(ends),), {"mode": mode}


def drawn_interpolate(rng):
    nd = some(rng, 1, 3)
    modes = ["nearest", "nearest-exact", "area", ("linear", "bilinear", "trilinear")[nd - 1]]
    mode = one_of(rng, [*modes, "bicubic"] if nd == 2 else modes)
    kwargs = {"mode": mode, "size": tuple(some(rng, 1, 12) for _ in range(nd))}
    if mode.endswith(("linear", "cubic")):
        kwargs["align_corners"] = bool(rng.integers(2))
    return "interpolate", (2, 2, *(some(rng, 1, 8) for _ in range(nd))), (), kwargs


def drawn_adaptive(rng):
    nd, kind = some(rng, 1, 3), one_of(rng, ("avg", "max"))
    sizes = tuple(some(rng, 1, 7) for _ in range(nd))
    return f"adaptive_{kind}_pool{nd}d", (2, 2, *(some(rng, 1, 9) for _ in range(nd))), (sizes,), {}


WINDOWS = [
    drawn_max_pool,
    drawn_avg_pool,
    drawn_unfold,
    drawn_fold,
    drawn_pad,
    drawn_interpolate,
    drawn_adaptive,
]


@pytest.mark.parametrize("drawn", WINDOWS, ids=[f.__name__.removeprefix("drawn_") for f in WINDOWS])
def test_windows_beside_torch(torch, drawn):
    """Values and gradients on NumPy; an argument that PyTorch refuses is passed over."""
    wrong, tried = [], 0
    for at, rng in draws(drawn.__name__, 40):
        name, shape, args, kwargs = drawn(rng)
        data = rng.permutation(prod(shape)).reshape(shape).astype("f4") / prod(shape)
        theirs = torch.tensor(data.astype("f8"), requires_grad=True)
        try:
            want = getattr(torch.nn.functional, name)(theirs, *args, **kwargs)
        except RuntimeError:
            continue
        tried += 1
        g = rng.standard_normal(want.shape).astype("f4")
        ours = fb.tensor(data, device="cpu", requires_grad=True)
        got = getattr(F, name)(ours, *args, **kwargs)
        slope = got.backward(fb.tensor(g, device="cpu"))[ours]
        (known,) = torch.autograd.grad(want, theirs, torch.tensor(g.astype("f8")))
        for what, a, b in (("value", got, want), ("slope", slope, known)):
            error = off(a.numpy(), b.detach().numpy())
            wrong += [f"{at}: {name}{shape, args, kwargs} {what}: {error:.1e}"] * (not error < TOLERANCE)
    assert tried and not wrong, f"{len(wrong)} differ:\n" + "\n".join(wrong[:20])
