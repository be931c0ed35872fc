"""Operations become kernels: a graph is planned when a value is read."""

import flambeau as fb

x = fb.linspace(-1, 1, 12).reshape(3, 4)
w = fb.linspace(0, 1, 20).reshape(4, 5)
y = (x @ w + 1).relu().softmax(1)

print(y.plan())  # nothing has run yet: these kernels will
print(y)
