"""How fast is this GPU? A product of matrices, timed; the first call compiles."""

from time import perf_counter

import flambeau as fb
from flambeau.pictures import plot

sizes, rates = [64, 128, 256, 384], []
for n in sizes:
    a, b = fb.rand(n, n), fb.rand(n, n)
    (a @ b).sum().item()
    begun = perf_counter()
    (a @ b).sum().item()
    seconds = perf_counter() - begun
    rates.append(2 * n**3 / seconds / 1e9)
    print(f"{n:4} x {n}: {1000 * seconds:6.1f} ms, {rates[-1]:6.1f} GFLOP/s")
plot(rates, x=sizes).show()
