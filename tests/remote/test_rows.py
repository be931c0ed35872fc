"""Rows of the op table by a server: the values and gradients of the adapter."""

import numpy as np
import pytest
from helpers.compare import check
from helpers.draws import in_turn
from helpers.gradients import GRADS, check_gradient
from helpers.inputs import arrays, host, tensors
from rows import ROWS

from flambeau.core.op import OPS


@pytest.mark.parametrize("name", in_turn(list(ROWS), 48))
def test_value(name, remote):
    row, rng = ROWS[name], np.random.default_rng(1)
    given = arrays(row, rng)
    y = row.compute(name, *tensors(given, remote))
    check(y.numpy(), np.asarray(row.expected(*map(host, given))), row.tol, name)


@pytest.mark.parametrize("name", in_turn([n for n in GRADS if n in OPS], 64))
def test_gradient(name, remote):
    check_gradient(name, ROWS[name], remote)
