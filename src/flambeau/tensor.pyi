"""Tensor: a node of the lazy graph with PyTorch's methods; reading it runs the graph.

Made by `python scripts/write_stubs.py`."""

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, overload

from .autodiff.backward import Gradients
from .core.dtype import DType
from .core.handle import RemovableHandle
from .core.host import Data
from .ops.index.indices import Chosen
from .ops.linalg.decompose import QR, Geqrf, SVDTopLevel
from .ops.linalg.lu import SignLogDet
from .ops.numeric import MantissaExponent
from .ops.random import Generator
from .ops.reduce import Extremes
from .ops.sort.histogram import HistogramEdges

class HostScalar:
    """A number on the host that kernels read at every run: a recorded step sees its new `value`.

    Arithmetic of HostScalars and numbers gives others that follow them, computed on the host."""

    _value: Any
    def __init__(self, value: _float) -> None: ...
    @property
    def held(self) -> _float:
        """The number as kernels read it: what reads it so does not depend on what it is."""
    @property
    def value(self) -> Any: ...
    @value.setter
    def value(self, value: Any) -> None: ...
    def map(self, formula: Callable[..., _float], *numbers: Any) -> HostScalar:
        """formula(this, *numbers) as a HostScalar that follows this one, and those among the numbers."""
    def _made(self, formula: Callable[..., _float], *numbers: Any) -> Any: ...
    def __add__(self, other: Any) -> Any: ...
    def __sub__(self, other: Any) -> Any: ...
    def __rsub__(self, other: Tensor | _float | HostScalar) -> Any: ...
    def __mul__(self, other: Any) -> Any: ...
    def __truediv__(self, other: Any) -> Any: ...
    def __rtruediv__(self, other: Tensor | _float | HostScalar) -> Any: ...
    def __neg__(self) -> Any: ...
    def __radd__(self, other: Any) -> Any: ...
    def __rmul__(self, other: Any) -> Any: ...
    def __reduce__(self) -> tuple: ...
    def __repr__(self) -> str: ...

class Tensor:
    """An array of one dtype on one device. Operations on it run nothing; reading does.

    Tensor(2, 3) is zeros of those sizes, Tensor([1, 2]) a list's numbers in the default float."""

    node: Any
    link: Any
    def __init__(self, node: Any = (), *sizes: _int) -> None: ...
    @property
    def shape(self) -> tuple[_int, ...]:
        """The size of each dim, a tuple."""
    @property
    def ndim(self) -> _int:
        """The number of dims."""
    @property
    def dtype(self) -> DType:
        """The type of the elements."""
    @property
    def device(self) -> Any:
        """Where the value is, or will be computed."""
    @property
    def requires_grad(self) -> _bool:
        """Whether backward() goes through this tensor; setting it is requires_grad_."""
    @requires_grad.setter
    def requires_grad(self, value: _bool) -> None: ...
    @property
    def is_leaf(self) -> _bool:
        """Whether no gradients flow through the tensor to what it was made of."""
    def where(
        self,
        condition: Any = None,
        other: Tensor | _float | HostScalar | None = None,
        *,
        input: Tensor | _float | HostScalar | None = None,
        out: Any = None,
    ) -> Any:
        """This tensor's elements where the condition, a tensor of bools, is true, else those of `other`. Of a
        condition `c` and what is no tensor of bools, c.where(x, y) is where(c, x, y). TypeError
        where neither is one of bools.

        input: `x` by its name. out: a tensor that takes the result, and is returned.
        [...], [...], [...] -> [...]"""
    def type(self, dtype: Any) -> Tensor:
        """In another dtype, as to(dtype)."""
    @property
    def T(self) -> Tensor:
        """The dims in reverse order. [a, ..., z] -> [z, ..., a]"""
    @property
    def mT(self) -> Tensor:
        """The last two dims exchanged. [..., n, m] -> [..., m, n]"""
    @property
    def H(self) -> Tensor:
        """A matrix transposed and conjugated. [n, m] -> [m, n]"""
    @property
    def mH(self) -> Tensor:
        """The last two dims exchanged, and conjugates. [..., n, m] -> [..., m, n]"""
    @property
    def real(self) -> Tensor:
        """The real parts, a view; of real numbers themselves. Assign to it to give them other values."""
    @real.setter
    def real(self, value: Tensor) -> None: ...
    @property
    def imag(self) -> Tensor:
        """The imaginary parts of complex numbers, a view. Assign to it to give them other values."""
    @imag.setter
    def imag(self, value: Tensor) -> None: ...
    @property
    def itemsize(self) -> _int:
        """Bytes of an element."""
    @property
    def nbytes(self) -> _int:
        """Bytes of all elements."""
    @overload
    def size(self) -> tuple[_int, ...]:
        """The shape, or one of its sizes."""
    @overload
    def size(self, dim: _int) -> _int: ...
    def dim(self) -> _int:
        """The number of dims."""
    def numel(self) -> _int:
        """The number of elements."""
    def nelement(self) -> _int:
        """The number of elements."""
    def ndimension(self) -> _int:
        """The number of dims."""
    def element_size(self) -> _int:
        """Bytes of an element."""
    def is_contiguous(self) -> _bool:
        """Whether the elements lie in order, as they do but in views: kernels read both alike."""
    def is_complex(self) -> _bool:
        """Whether the elements are complex numbers."""
    def is_signed(self) -> _bool:
        """Whether the dtype has numbers below 0."""
    def is_same_size(self, other: Tensor) -> _bool:
        """Whether the shapes are equal."""
    def is_nonzero(self) -> _bool:
        """Whether the one element is not 0; runs the graph and waits."""
    def __len__(self) -> _int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    @property
    def data(self) -> Tensor:
        """The same elements without gradients: what is written to it is written to the tensor, even to one
        that gradients are taken by. Assign to it to give the tensor other values of its shape."""
    @data.setter
    def data(self, value: Tensor) -> None: ...
    def realize(self) -> Tensor:
        """Run what the value needs, without waiting for it; returns self."""
    async def read(self) -> Data:
        """The values on the host, awaited: works everywhere, and is what a browser's event handlers need."""
    def numpy(self, *, force: _bool = False) -> Any:
        """The values as a NumPy array; runs the graph and waits. force: taken, and of no meaning."""
    def tolist(self) -> Any:
        """The values as nested lists; runs the graph and waits."""
    def item(self) -> Any:
        """The value of a tensor of one element, as a Python number; runs the graph and waits. ValueError for
        more elements, or none."""
    def __repr__(self) -> str: ...
    def _repr_html_(self) -> str | None:
        """What a notebook shows; None where values can't be read, which is said by the text."""
    def plan(self) -> Any:
        """What would run to compute this tensor: a list of kernels that prints as a table."""
    def wgsl(self) -> str:
        """The WGSL of every kernel that would run, in order."""
    def _planned(self) -> Any: ...
    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: _bool | None = None,
        create_graph: _bool = False,
        inputs: Any = None,
    ) -> Gradients:
        """Gradients of this scalar by every tensor with requires_grad behind it, or by the parameters
        `inputs` alone, one or several of them (ValueError for one that was computed); nothing is stored on
        tensors.

        `gradient` is where to start from when this is no scalar, of the same shape. The graph is dropped
        when the value is computed, unless `retain_graph` (default: create_graph) keeps it for another
        backward. With `create_graph` the gradients can be differentiated themselves."""
    def register_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Have hook(gradient) called by backward where the gradient by this tensor is complete; what it
        returns, if not None, is the gradient then.

        It is called while backward builds the gradients' graph, with lazy tensors. Returns a handle whose
        remove() takes the hook off. ValueError where requires_grad is False."""
    def requires_grad_(self, requires_grad: _bool = True) -> Tensor:
        """Make this tensor one that gradients are taken by (or not); returns self.

        ValueError where it should be none, and gradients flow through it to others."""
    def detach_(self) -> Tensor:
        """Let no gradients flow through the tensor any more; returns self."""
    def assign_(self, value: Any) -> Tensor:
        """Replace the value by another of the same shape; it is computed with the next run. Returns self."""
    def replace_(self, value: Tensor) -> Tensor:
        """assign_ through which gradients flow; a parameter takes values only, inside no_grad. Returns
        self."""
    def _check_write(self) -> None:
        """ValueError where gradients are taken by the tensor as it is."""
    def _show_as(self, view: Tensor, name: str) -> Tensor:
        """Be what a new view of this tensor shows; `name` is the method that asks for it."""
    def _become(self, new: Any) -> None:
        """Have another value, and all that shows the same elements with it."""
    def float(self) -> Tensor:
        """As float32."""
    def half(self) -> Tensor:
        """As float16."""
    def bfloat16(self) -> Tensor:
        """As bfloat16."""
    def double(self) -> Tensor:
        """As float64, which no GPU has: TypeError there."""
    def cfloat(self) -> Tensor:
        """As complex64."""
    def cdouble(self) -> Tensor:
        """As complex128, which no GPU has: TypeError there."""
    def char(self) -> Tensor:
        """As int8, towards 0; what does not fit wraps."""
    def byte(self) -> Tensor:
        """As uint8, towards 0; what does not fit wraps."""
    def is_floating_point(self) -> _bool:
        """Whether the elements are floats."""
    def int(self) -> Tensor:
        """As int32, towards 0."""
    def long(self) -> Tensor:
        """As int64, towards 0."""
    def short(self) -> Tensor:
        """As int16, towards 0; what does not fit wraps."""
    def type_as(self, other: Tensor) -> Tensor:
        """In the dtype of another tensor."""
    def bool(self) -> Tensor:
        """True where not 0."""
    def contiguous(self) -> Tensor:
        """Itself; a tensor of its own where it is a view whose elements do not lie in order."""
    def new_tensor(
        self, data: Any, dtype: DType | type[Any] | str | None = None, device: Any = None
    ) -> Tensor:
        """A tensor of host data on the device of this one, in its dtype unless another is given."""
    def __array_namespace__(self, api_version: str | None = None) -> Any:
        """The array API's functions for tensors: flambeau.array_api. ValueError for a version that is unknown."""
    def __float__(self) -> _float: ...
    def __complex__(self) -> complex: ...
    def __int__(self) -> _int: ...
    def __bool__(self) -> _bool: ...
    def __index__(self) -> _int: ...
    def __round__(self, ndigits: _int | None = None) -> Any: ...
    def __pos__(self) -> Any: ...
    def __format__(self, spec: str) -> str:
        """A number's format; that of several elements is their text, and takes no digits."""
    def __contains__(self, value: Any) -> _bool: ...
    def __reversed__(self) -> Any: ...
    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: _bool = False) -> Any:
        """What NumPy's functions give of a tensor: a tensor beside it."""
    def __copy__(self) -> Any:
        """A tensor of the same elements: what is written to one is written to both."""
    def __deepcopy__(self, memo: dict[_int, Any]) -> Any:
        """A tensor of its own with the same value; ValueError where gradients flow through it from others."""
    def __reduce_ex__(self, protocol: Any) -> tuple:
        """Values, shape and dtype, on which device, and whether gradients are taken by it."""
    def to(
        self,
        *args: Any,
        dtype: Any = None,
        device: Any = None,
        non_blocking: _bool = False,
        copy: _bool = False,
    ) -> Any:
        """The tensor in another dtype, on another device, or as another tensor is; itself if nothing changes.

        to(dtype), to(device), to(device, dtype), to(other). Moving reads the value, so it ends a lazy graph
        and is not for recorded functions; gradients move back. Between array libraries on the host the
        memory is shared. non_blocking: taken, and of no meaning: nothing waits that need not. Complex numbers
        become real ones by their real parts, with a warning."""
    def cpu(self) -> Any:
        """On the NumPy device."""
    def gpu(self, index: _int | None = None) -> Any:
        """On the best adapter, or on number `index`."""
    def cuda(self, device: Any = None, non_blocking: _bool = False) -> Any:
        """PyTorch's name of gpu(). non_blocking: taken, and of no meaning."""
    def get_device(self) -> _int:
        """The number of the GPU that the tensor is on, -1 elsewhere."""
    @property
    def is_cuda(self) -> _bool:
        """PyTorch's question for a GPU: whether kernels compute the tensor."""
    @property
    def is_cpu(self) -> _bool:
        """Whether NumPy computes the tensor."""
    def to_device(self, device: Any, stream: Any = None) -> Any:
        """The array API's name of to(device)."""
    def __array__(self, dtype: Any = None, copy: _bool | None = None) -> Any: ...
    def __dlpack_device__(self) -> tuple[_int, _int]: ...
    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: _bool | None = None
    ) -> Any:
        """The value for another library: shared on the array devices, a copy on the host of a GPU's."""
    def view(self, *shape: _int | Sequence[_int], dtype: DType | type[Any] | str | None = None) -> Tensor:
        """The same elements in another shape, or the same bytes as elements of another dtype, of which the
        last dim has more or fewer. [...] -> [*shape], or [..., n] -> [..., n * size / new size]

        dtype: a dtype, in place of sizes; written through as other views. ValueError where the last dim is no
        whole number of such elements, TypeError for float64 and complex128 on a GPU."""
    def view_as_real(self) -> Tensor:
        """Both parts of complex numbers, as a view. TypeError for real numbers. [...] -> [..., 2]"""
    def view_as_complex(self) -> Tensor:
        """The complex numbers whose two parts lie side by side in the last dim, as a view. [..., 2] -> [...]

        float16 and bfloat16 are cast to float32 first: a copy. ValueError for what are no such pairs,
        TypeError for integers."""
    def conj(self) -> Tensor:
        """The complex conjugates; of real numbers themselves. [...] -> [...]"""
    def conj_physical(self) -> Tensor:
        """The complex conjugates; of real numbers themselves. [...] -> [...]"""
    def resolve_conj(self) -> Tensor:
        """Itself: conjugates are computed, no bit is kept for later."""
    def resolve_neg(self) -> Tensor:
        """Itself: conjugates are computed, no bit is kept for later."""
    def is_conj(self) -> _bool:
        """False: conjugates are computed, no bit is kept for later."""
    def is_neg(self) -> _bool:
        """False: conjugates are computed, no bit is kept for later."""
    def angle(self) -> Tensor:
        """The angle of each number in radians; of real ones 0 or pi, NaN of NaN. [...] -> [...]"""
    def sgn(self) -> Tensor:
        """x / |x|, 0 of 0: the sign of real numbers, the direction of complex ones. [...] -> [...]"""
    def isreal(self) -> Tensor:
        """Whether the imaginary part is 0. [...] -> [...]"""
    def adjoint(self) -> Tensor:
        """The last two dims exchanged, and conjugates; of a single number its conjugate. ValueError for a
        vector. [..., n, m] -> [..., m, n]"""
    def matmul(self, other: Tensor) -> Tensor:
        """Matrix product; one dim is a vector. [..., m, k] @ [..., k, n] -> [..., m, n]

        Raises ValueError where either is 0-d, or inner sizes differ."""
    def __matmul__(self, other: Tensor) -> Tensor:
        """Matrix product; one dim is a vector. [..., m, k] @ [..., k, n] -> [..., m, n]

        Raises ValueError where either is 0-d, or inner sizes differ."""
    def __rmatmul__(self, other: Tensor) -> Tensor: ...
    def dot(self, tensor: Tensor) -> Tensor:
        """Sum of products of two vectors. [n], [n] -> []

        Raises ValueError where either has not 1 dim."""
    def outer(self, vec2: Tensor) -> Tensor:
        """Every product of two vectors' elements; ValueError for other ranks. [n], [m] -> [n, m]

        vec2: the second vector"""
    def ger(self, vec2: Tensor) -> Tensor:
        """Every product of two vectors' elements; ValueError for other ranks. [n], [m] -> [n, m]

        vec2: the second vector"""
    def vdot(self, other: Tensor) -> Tensor:
        """Sum of products of two vectors, of complex ones the first conjugated. [n], [n] -> []"""
    def mm(self, mat2: Tensor) -> Tensor:
        """Product of two matrices. [n, k], [k, m] -> [n, m]

        mat2: the second matrix
        Raises ValueError where operands have other numbers of dims, or inner sizes differ."""
    def mv(self, vec: Tensor) -> Tensor:
        """A matrix times a vector. [n, k], [k] -> [n]

        vec: a vector
        Raises ValueError where operands have other numbers of dims, or inner sizes differ."""
    def bmm(self, mat2: Tensor) -> Tensor:
        """Products of two batches of matrices. [b, n, k], [b, k, m] -> [b, n, m]

        mat2: the second matrix
        Raises ValueError where the numbers of matrices or inner sizes differ."""
    def addmm(
        self, mat1: Tensor, mat2: Tensor, *, beta: _float | HostScalar = 1, alpha: _float | HostScalar = 1
    ) -> Tensor:
        """beta * self + alpha * (mat1 @ mat2). [n, m], [n, k], [k, m] -> [n, m]

        Raises ValueError where the input does not broadcast to the product; where operands have other numbers of dims, or inner sizes differ."""
    def addmv(
        self, mat: Tensor, vec: Tensor, *, beta: _float | HostScalar = 1, alpha: _float | HostScalar = 1
    ) -> Tensor:
        """beta * self + alpha * (mat @ vec). [n], [n, k], [k] -> [n]

        Raises ValueError where the input does not broadcast to the product; where operands have other numbers of dims, or inner sizes differ."""
    def addr(
        self, vec1: Tensor, vec2: Tensor, *, beta: _float | HostScalar = 1, alpha: _float | HostScalar = 1
    ) -> Tensor:
        """beta * self + alpha * outer(vec1, vec2). [n, m], [n], [m] -> [n, m]

        Raises ValueError where the input does not broadcast to the product."""
    def addbmm(
        self, batch1: Tensor, batch2: Tensor, *, beta: _float | HostScalar = 1, alpha: _float | HostScalar = 1
    ) -> Tensor:
        """beta * self + alpha * the sum of batch1[i] @ batch2[i]. [n, m], [b, n, k], [b, k, m] -> [n, m]

        Raises ValueError where either batch has not 3 dims, or inner sizes differ."""
    def baddbmm(
        self, batch1: Tensor, batch2: Tensor, *, beta: _float | HostScalar = 1, alpha: _float | HostScalar = 1
    ) -> Tensor:
        """beta * self + alpha * (batch1 @ batch2). [b, n, m], [b, n, k], [b, k, m] -> [b, n, m]

        Raises ValueError where the input does not broadcast to the product; where operands have other numbers of dims, or inner sizes differ."""
    @staticmethod
    def full(
        size: _int | Sequence[_int],
        fill_value: _float | HostScalar,
        dtype: DType | type[Any] | str | None = None,
        device: Any = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """Every element the same number. (size, value) -> [*size]

        fill_value: what elements are
        Raises TypeError where the dtype is unknown; where one is no whole number; ValueError where a size is below 0."""
    @staticmethod
    def zeros(
        *size: _int | Sequence[_int],
        dtype: DType | type[Any] | str | None = None,
        device: Any = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """Zeros. (2, 3) -> [2, 3]

        Raises TypeError where a size is no whole number."""
    @staticmethod
    def ones(
        *size: _int | Sequence[_int],
        dtype: DType | type[Any] | str | None = None,
        device: Any = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """Ones. (2, 3) -> [2, 3]

        Raises TypeError where a size is no whole number."""
    @staticmethod
    def arange(
        start: _float,
        end: _float | None = None,
        step: _float = 1,
        dtype: DType | type[Any] | str | None = None,
        device: Any = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """start, start + step, ... short of end: int64 of three integers, else the default float. -> [n]

        ValueError where step is 0 or leads away from end, or a bound is not finite."""
    def new_full(
        self,
        size: _int | Sequence[_int],
        fill_value: _float | HostScalar,
        *,
        dtype: DType | type[Any] | str | None = None,
        device: Any = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """One number in a new shape, in this dtype and on this device. -> [*size]

        fill_value: what elements are"""
    def new_zeros(
        self,
        *size: _int | Sequence[_int],
        dtype: DType | type[Any] | str | None = None,
        device: Any = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """Zeros in a new shape, in this dtype and on this device. (2, 3) -> [2, 3]

        Raises TypeError where a size is no whole number."""
    def new_ones(
        self,
        *size: _int | Sequence[_int],
        dtype: DType | type[Any] | str | None = None,
        device: Any = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """Ones in a new shape, in this dtype and on this device. (2, 3) -> [2, 3]

        Raises TypeError where a size is no whole number."""
    def new_empty(
        self,
        *size: _int | Sequence[_int],
        dtype: DType | type[Any] | str | None = None,
        device: Any = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """Values not to be relied on, in this dtype and on this device. (2, 3) -> [2, 3]

        Raises TypeError where a size is no whole number."""
    def diagonal(self, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """The diagonal of two dims, at the end: a view of what is contiguous. [n, m, ...] -> [..., k]

        offset: which diagonal: above the main one where > 0, below where < 0
        dim1: the first of the two dims
        dim2: the second of the two dims
        Raises ValueError where the input has fewer than 2 dims."""
    def diag_embed(self, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
        """The last dim as a diagonal of zeros otherwise. [..., k] -> [..., k + |offset|, k + |offset|]

        offset: which diagonal: above the main one where > 0, below where < 0
        dim1: the first of the two dims
        dim2: the second of the two dims
        Raises ValueError where both dims are the same."""
    def diag(self, diagonal: _int = 0) -> Tensor:
        """A vector as a diagonal matrix, a matrix's diagonal as a vector. [n] -> [n, n], [n, m] -> [k]

        Raises ValueError where the input has not 1 or 2 dims."""
    def diagflat(self, offset: _int = 0) -> Tensor:
        """All elements as the diagonal of a matrix. [...] -> [n, n]

        offset: which diagonal: above the main one where > 0, below where < 0"""
    def trace(self) -> Tensor:
        """The sum of a matrix's diagonal. [n, m] -> []

        Raises ValueError where the input has not 2 dims."""
    def bernoulli(self, p: _float | None = None, *, generator: Generator | None = None) -> Tensor:
        """1 with the probability that each element is (or p), else 0, in its dtype. [...] -> [...]

        ValueError for what is no probability; of elements at the next read."""
    def multinomial(
        self, num_samples: _int, replacement: _bool = False, *, generator: Generator | None = None
    ) -> Tensor:
        """Indices drawn with weights, rows apart, by the largest of log-weight plus Gumbel noise (Gumbel, 1954;
        without replacement: Kool et al., 2019). [n] or [m, n] -> [num_samples] or [m, num_samples]

        ValueError for other dims or numbers; at the next read for weights that are negative, infinite or NaN, or
        of which fewer are above 0 than are drawn. TypeError for complex numbers."""
    def inner(self, other: Tensor) -> Tensor:
        """Sum of products over the last dims; with a 0-d one the product. [..., n], [..., n] -> [..., ...]

        Raises ValueError where the last dims differ."""
    def cross(self, other: Tensor, dim: _int | None = None) -> Tensor:
        """The vector product along a dim of size 3, the first such one unless named. [..., 3] -> [..., 3]

        Raises ValueError where no dim has size 3."""
    def exp(self) -> Tensor:
        """e to the power x. [...] -> [...]"""
    def exp2(self) -> Tensor:
        """2 to the power x. [...] -> [...]"""
    def expm1(self) -> Tensor:
        """exp(x) - 1, exact near 0. [...] -> [...]"""
    def log(self) -> Tensor:
        """natural logarithm. [...] -> [...]"""
    def log2(self) -> Tensor:
        """logarithm to base 2. [...] -> [...]"""
    def log10(self) -> Tensor:
        """logarithm to base 10. [...] -> [...]"""
    def log1p(self) -> Tensor:
        """log(1 + x), exact near 0. [...] -> [...]"""
    def sqrt(self) -> Tensor:
        """square root. [...] -> [...]"""
    def rsqrt(self) -> Tensor:
        """1 / sqrt(x). [...] -> [...]"""
    def reciprocal(self) -> Tensor:
        """1 / x. [...] -> [...]"""
    def sin(self) -> Tensor:
        """sine of x radians. [...] -> [...]"""
    def cos(self) -> Tensor:
        """cosine of x radians. [...] -> [...]"""
    def tan(self) -> Tensor:
        """tangent of x radians. [...] -> [...]"""
    def asin(self) -> Tensor:
        """inverse sine. [...] -> [...]"""
    def acos(self) -> Tensor:
        """inverse cosine. [...] -> [...]"""
    def atan(self) -> Tensor:
        """inverse tangent. [...] -> [...]"""
    def sinh(self) -> Tensor:
        """hyperbolic sine. [...] -> [...]"""
    def cosh(self) -> Tensor:
        """hyperbolic cosine. [...] -> [...]"""
    def tanh(self) -> Tensor:
        """hyperbolic tangent. [...] -> [...]"""
    def asinh(self) -> Tensor:
        """inverse of sinh. [...] -> [...]"""
    def acosh(self) -> Tensor:
        """inverse of cosh. [...] -> [...]"""
    def atanh(self) -> Tensor:
        """inverse of tanh. [...] -> [...]"""
    def erf(self) -> Tensor:
        """error function. [...] -> [...]"""
    def sigmoid(self) -> Tensor:
        """1 / (1 + exp(-x)). [...] -> [...]"""
    def neg(self) -> Tensor:
        """-x. [...] -> [...]"""
    def abs(self) -> Tensor:
        """absolute value. [...] -> [...]"""
    def sign(self) -> Tensor:
        """-1, 0 or 1; 0 for NaN. [...] -> [...]"""
    def floor(self) -> Tensor:
        """largest integer not above x. [...] -> [...]"""
    def ceil(self) -> Tensor:
        """smallest integer not below x. [...] -> [...]"""
    def trunc(self) -> Tensor:
        """integer part, towards 0. [...] -> [...]"""
    def relu(self) -> Tensor:
        """max(x, 0). [...] -> [...]"""
    def square(self) -> Tensor:
        """x * x. [...] -> [...]"""
    def isnan(self) -> Tensor:
        """whether x is not a number. [...] -> [...]"""
    def isinf(self) -> Tensor:
        """whether x is infinite. [...] -> [...]"""
    def isfinite(self) -> Tensor:
        """whether x is neither infinite nor not a number. [...] -> [...]"""
    def logical_not(self) -> Tensor:
        """whether x is 0. [...] -> [...]"""
    def mul(self, other: Tensor | _float | HostScalar) -> Tensor:
        """x * y. [...], [...] -> [...]"""
    def maximum(self, other: Tensor | _float | HostScalar) -> Tensor:
        """the larger of x and y; NaN if either is. [...], [...] -> [...]"""
    def minimum(self, other: Tensor | _float | HostScalar) -> Tensor:
        """the smaller of x and y; NaN if either is. [...], [...] -> [...]"""
    def remainder(self, other: Tensor | _float | HostScalar) -> Tensor:
        """x - floor(x / y) * y: the sign is y's. [...], [...] -> [...]"""
    def fmod(self, other: Tensor | _float | HostScalar) -> Tensor:
        """x - trunc(x / y) * y: the sign is x's. [...], [...] -> [...]"""
    def floor_divide(self, other: Tensor | _float | HostScalar) -> Tensor:
        """floor(x / y). [...], [...] -> [...]"""
    def atan2(self, other: Tensor | _float | HostScalar) -> Tensor:
        """angle of the point (y, x), radians. [...], [...] -> [...]"""
    def eq(self, other: Tensor | _float | HostScalar) -> Tensor:
        """whether x = y. [...], [...] -> [...]"""
    def ne(self, other: Tensor | _float | HostScalar) -> Tensor:
        """whether x and y differ. [...], [...] -> [...]"""
    def lt(self, other: Tensor | _float | HostScalar) -> Tensor:
        """whether x < y. [...], [...] -> [...]"""
    def le(self, other: Tensor | _float | HostScalar) -> Tensor:
        """whether x <= y. [...], [...] -> [...]"""
    def gt(self, other: Tensor | _float | HostScalar) -> Tensor:
        """whether x > y. [...], [...] -> [...]"""
    def ge(self, other: Tensor | _float | HostScalar) -> Tensor:
        """whether x >= y. [...], [...] -> [...]"""
    def logical_and(self, other: Tensor | _float | HostScalar) -> Tensor:
        """whether both are not 0. [...], [...] -> [...]"""
    def logical_or(self, other: Tensor | _float | HostScalar) -> Tensor:
        """whether either is not 0. [...], [...] -> [...]"""
    def logical_xor(self, other: Tensor | _float | HostScalar) -> Tensor:
        """whether just one is not 0. [...], [...] -> [...]"""
    def bitwise_and(self, other: Tensor | _float | HostScalar) -> Tensor:
        """bits set in both. [...], [...] -> [...]"""
    def bitwise_or(self, other: Tensor | _float | HostScalar) -> Tensor:
        """bits set in either. [...], [...] -> [...]"""
    def bitwise_xor(self, other: Tensor | _float | HostScalar) -> Tensor:
        """bits set in just one. [...], [...] -> [...]"""
    def bitwise_not(self) -> Tensor:
        """bits flipped. [...] -> [...]"""
    def bitwise_left_shift(self, other: Tensor | _float | HostScalar) -> Tensor:
        """x * 2^y, bits shifted up. [...], [...] -> [...]"""
    def bitwise_right_shift(self, other: Tensor | _float | HostScalar) -> Tensor:
        """bits shifted down (sign kept). [...], [...] -> [...]"""
    def copysign(self, other: Tensor | _float | HostScalar) -> Tensor:
        """|x| with the sign of y. [...], [...] -> [...]"""
    def signbit(self) -> Tensor:
        """whether the sign is minus (of -0.0 too). [...] -> [...]"""
    def exponent(self) -> Tensor:
        """e of x = m * 2**e with m in [0.5, 1). [...] -> [...]"""
    def nextafter(self, other: Tensor | _float | HostScalar) -> Tensor:
        """the next float32 (or of float64, that) from x towards y. [...], [...] -> [...]"""
    def hypot(self, other: Tensor | _float | HostScalar) -> Tensor:
        """sqrt(x * x + y * y), safe for large x. [...], [...] -> [...]"""
    def gcd(self, other: Tensor | _float | HostScalar) -> Tensor:
        """greatest common divisor. [...], [...] -> [...]"""
    def logaddexp(self, other: Tensor) -> Tensor:
        """log(exp(x) + exp(y)). [...], [...] -> [...]"""
    def add(self, other: Tensor | _float | HostScalar, *, alpha: _float | HostScalar = 1) -> Tensor:
        """self + alpha * other. [...], [...] -> [...]

        Raises TypeError where alpha or value is no whole number and the tensors are of integers."""
    def sub(self, other: Tensor | _float | HostScalar, *, alpha: _float | HostScalar = 1) -> Tensor:
        """self - alpha * other. [...], [...] -> [...]

        Raises TypeError where alpha or value is no whole number and the tensors are of integers."""
    def pow(self, exponent: Tensor | _float | HostScalar) -> Tensor:
        """x to the power y; whole powers of floats below 64 are products. [...], [...] -> [...]

        exponent: the power, a number or a tensor
        Raises ValueError where an integer has a negative power."""
    def div(self, other: Tensor | _float | HostScalar, *, rounding_mode: str | None = None) -> Tensor:
        """self / other in floats; rounding_mode "floor" (down) or "trunc" (to 0). [...], [...] -> [...]

        Raises ValueError where rounding_mode is unknown."""
    def round(self, *, decimals: _int = 0) -> Tensor:
        """The nearest whole number (or multiple of 10**-decimals), halves to even. [...] -> [...]"""
    def ldexp(self, other: Tensor) -> Tensor:
        """self * 2**other: exact for integers, and for floats as exp2 has it. [...], [...] -> [...]"""
    def cast(self, to: DType | type[Any] | str) -> Tensor:
        """The same values in another dtype; floats become integers towards 0. [...] -> [...]

        TypeError for complex numbers as real ones, and for float64 on a GPU.

        to: the dtype"""
    def absolute(self) -> Tensor:
        """absolute value. [...] -> [...]"""
    def negative(self) -> Tensor:
        """-x. [...] -> [...]"""
    def arccos(self) -> Tensor:
        """inverse cosine. [...] -> [...]"""
    def arcsin(self) -> Tensor:
        """inverse sine. [...] -> [...]"""
    def arctan(self) -> Tensor:
        """inverse tangent. [...] -> [...]"""
    def arctan2(self, other: Tensor | _float | HostScalar) -> Tensor:
        """angle of the point (y, x), radians. [...], [...] -> [...]"""
    def arccosh(self) -> Tensor:
        """inverse of cosh. [...] -> [...]"""
    def arcsinh(self) -> Tensor:
        """inverse of sinh. [...] -> [...]"""
    def arctanh(self) -> Tensor:
        """inverse of tanh. [...] -> [...]"""
    def subtract(self, other: Tensor | _float | HostScalar, *, alpha: _float | HostScalar = 1) -> Tensor:
        """self - alpha * other. [...], [...] -> [...]

        Raises TypeError where alpha or value is no whole number and the tensors are of integers."""
    def multiply(self, other: Tensor | _float | HostScalar) -> Tensor:
        """x * y. [...], [...] -> [...]"""
    def divide(self, other: Tensor | _float | HostScalar, *, rounding_mode: str | None = None) -> Tensor:
        """self / other in floats; rounding_mode "floor" (down) or "trunc" (to 0). [...], [...] -> [...]

        Raises ValueError where rounding_mode is unknown."""
    def true_divide(self, other: Tensor | _float | HostScalar, *, rounding_mode: str | None = None) -> Tensor:
        """self / other in floats; rounding_mode "floor" (down) or "trunc" (to 0). [...], [...] -> [...]

        Raises ValueError where rounding_mode is unknown."""
    def fix(self) -> Tensor:
        """integer part, towards 0. [...] -> [...]"""
    def greater(self, other: Tensor | _float | HostScalar) -> Tensor:
        """whether x > y. [...], [...] -> [...]"""
    def greater_equal(self, other: Tensor | _float | HostScalar) -> Tensor:
        """whether x >= y. [...], [...] -> [...]"""
    def less(self, other: Tensor | _float | HostScalar) -> Tensor:
        """whether x < y. [...], [...] -> [...]"""
    def less_equal(self, other: Tensor | _float | HostScalar) -> Tensor:
        """whether x <= y. [...], [...] -> [...]"""
    def not_equal(self, other: Tensor | _float | HostScalar) -> Tensor:
        """whether x and y differ. [...], [...] -> [...]"""
    def __neg__(self) -> Tensor:
        """-x. [...] -> [...]"""
    def __abs__(self) -> Tensor:
        """absolute value. [...] -> [...]"""
    def __invert__(self) -> Tensor:
        """bits flipped. [...] -> [...]"""
    def __add__(self, other: Tensor | _float | HostScalar, *, alpha: _float | HostScalar = 1) -> Tensor:
        """self + alpha * other. [...], [...] -> [...]

        Raises TypeError where alpha or value is no whole number and the tensors are of integers."""
    def __sub__(self, other: Tensor | _float | HostScalar, *, alpha: _float | HostScalar = 1) -> Tensor:
        """self - alpha * other. [...], [...] -> [...]

        Raises TypeError where alpha or value is no whole number and the tensors are of integers."""
    def __mul__(self, other: Tensor | _float | HostScalar) -> Tensor:
        """x * y. [...], [...] -> [...]"""
    def __truediv__(self, other: Tensor | _float | HostScalar, *, rounding_mode: str | None = None) -> Tensor:
        """self / other in floats; rounding_mode "floor" (down) or "trunc" (to 0). [...], [...] -> [...]

        Raises ValueError where rounding_mode is unknown."""
    def __mod__(self, other: Tensor | _float | HostScalar) -> Tensor:
        """x - floor(x / y) * y: the sign is y's. [...], [...] -> [...]"""
    def __floordiv__(self, other: Tensor | _float | HostScalar) -> Tensor:
        """floor(x / y). [...], [...] -> [...]"""
    def __radd__(self, other: Tensor | _float | HostScalar, *, alpha: _float | HostScalar = 1) -> Tensor:
        """self + alpha * other. [...], [...] -> [...]

        Raises TypeError where alpha or value is no whole number and the tensors are of integers."""
    def __rmul__(self, other: Tensor | _float | HostScalar) -> Tensor:
        """x * y. [...], [...] -> [...]"""
    def __lt__(self, other: Tensor | _float | HostScalar) -> Tensor:
        """whether x < y. [...], [...] -> [...]"""
    def __le__(self, other: Tensor | _float | HostScalar) -> Tensor:
        """whether x <= y. [...], [...] -> [...]"""
    def __gt__(self, other: Tensor | _float | HostScalar) -> Tensor:
        """whether x > y. [...], [...] -> [...]"""
    def __ge__(self, other: Tensor | _float | HostScalar) -> Tensor:
        """whether x >= y. [...], [...] -> [...]"""
    def __and__(self, other: Tensor | _float | HostScalar) -> Tensor:
        """bits set in both. [...], [...] -> [...]"""
    def __or__(self, other: Tensor | _float | HostScalar) -> Tensor:
        """bits set in either. [...], [...] -> [...]"""
    def __xor__(self, other: Tensor | _float | HostScalar) -> Tensor:
        """bits set in just one. [...], [...] -> [...]"""
    def __rand__(self, other: Tensor | _float | HostScalar) -> Tensor:
        """bits set in both. [...], [...] -> [...]"""
    def __ror__(self, other: Tensor | _float | HostScalar) -> Tensor:
        """bits set in either. [...], [...] -> [...]"""
    def __rxor__(self, other: Tensor | _float | HostScalar) -> Tensor:
        """bits set in just one. [...], [...] -> [...]"""
    def __lshift__(self, other: Tensor | _float | HostScalar) -> Tensor:
        """x * 2^y, bits shifted up. [...], [...] -> [...]"""
    def __rshift__(self, other: Tensor | _float | HostScalar) -> Tensor:
        """bits shifted down (sign kept). [...], [...] -> [...]"""
    def __eq__(self, other: Any) -> Tensor: ...
    def __ne__(self, other: Any) -> Tensor: ...
    def __pow__(self, other: Tensor | _float | HostScalar) -> Tensor:
        """x ** 2 is by far the most common power, and pow the slowest of functions."""
    def __rsub__(self, other: Tensor | _float | HostScalar) -> Tensor: ...
    def __rtruediv__(self, other: Tensor | _float | HostScalar) -> Tensor: ...
    def __rdiv__(self, other: Tensor) -> Tensor: ...
    def __rpow__(self, other: Tensor | _float | HostScalar) -> Tensor: ...
    def __rmod__(self, other: Tensor | _float | HostScalar) -> Tensor: ...
    def __rfloordiv__(self, other: Tensor | _float | HostScalar) -> Tensor: ...
    def __rlshift__(self, other: Tensor | _float | HostScalar) -> Tensor: ...
    def __rrshift__(self, other: Tensor | _float | HostScalar) -> Tensor: ...
    def stride(self, dim: _int | None = None) -> Tensor:
        """How many elements lie between neighbours of each dim, in the order of elements: views too are read
        as if they lay in order."""
    def storage_offset(self) -> _int:
        """0: a tensor's elements are numbered from its own first."""
    def dim_order(self) -> tuple[_int, ...]:
        """The dims from the outermost to the innermost: 0, 1, ..."""
    def as_strided(
        self, size: _int | Sequence[_int], stride: _int | Sequence[_int], storage_offset: _int | None = None
    ) -> Tensor:
        """Elements in steps of `stride`, counted in the order of elements, as a tensor of its own. -> [*size]

        storage_offset: the place of the first (0). ValueError where one would lie outside."""
    def as_strided_scatter(
        self,
        src: Tensor,
        size: _int | Sequence[_int],
        stride: _int | Sequence[_int],
        storage_offset: _int | None = None,
    ) -> Tensor:
        """A copy with src at the elements that as_strided gives. [...], [*size] -> [...]

        stride, storage_offset: as as_strided takes them."""
    def is_inference(self) -> _bool:
        """False: inference_mode is no_grad here, and makes ordinary tensors."""
    def is_set_to(self, tensor: Tensor) -> _bool:
        """Whether two tensors have one value, and not equal ones."""
    def new_empty_strided(
        self,
        size: _int | Sequence[_int],
        stride: _int | Sequence[_int],
        *,
        dtype: DType | type[Any] | str | None = None,
        device: Any = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """new_empty; stride is without effect: it is always that of the order of elements."""
    def map2_(self, x: Any, y: Any, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
        """map_ with two other tensors."""
    def split_with_sizes(self, split_sizes: Sequence[_int], dim: _int = 0) -> Tensor:
        """split, by the sizes of the parts, split_sizes."""
    def narrow_copy(self, dim: _int, start: _int, length: _int, *, out: Tensor | None = None) -> Tensor:
        """`length` elements of a dim from `start` on, as a tensor of its own, or as the value of `out`.
        IndexError and ValueError where these are not there."""
    def apply_(self, callable: Callable[[Any], Any]) -> Tensor:
        """Gives each element what a Python function makes of it: reads, and waits; returns the tensor."""
    def map_(self, tensor: Any, callable: Callable[[Any, Any], Any]) -> Tensor:
        """apply_ of a function of this tensor's and another's elements, which is broadcast."""
    def new(self, *size: _int | Sequence[_int]) -> Tensor:
        """new_empty."""
    def set_(self, source: Any = None) -> Tensor:
        """Become another tensor's value of the same shape; returns the tensor."""
    def resize_(self, *sizes: _int | Sequence[_int]) -> Tensor:
        """The tensor itself, where it has this shape already; ValueError else: a tensor keeps its shape."""
    def resize_as_(self, the_template: Any) -> Tensor:
        """resize_ to another tensor's shape."""
    def unsafe_split_with_sizes(self, split_sizes: Sequence[_int], dim: _int = 0) -> Tensor:
        """split, by the sizes of the parts, split_sizes."""
    def frexp(self) -> MantissaExponent:
        """(mantissa, exponent): input = mantissa * 2**exponent, |mantissa| in [0.5, 1). [...] -> [...], [...]"""
    def hardshrink(self, lambd: _float = 0.5) -> Tensor:
        """x, or 0 where |x| <= lambd."""
    def istft(
        self,
        n_fft: _int,
        hop_length: _int | None = None,
        win_length: _int | None = None,
        window: Tensor | None = None,
        center: _bool = True,
        normalized: _bool = False,
        onesided: _bool = True,
        length: _int | None = None,
        return_complex: _bool = False,
    ) -> Tensor:
        """The signal whose stft is nearest to the input. [..., n_fft // 2 + 1, frames] -> [..., t]

        Samples that no window covers become inf or NaN (torch raises, which needs a read). return_complex, of
        what is not onesided, gives a complex signal.

        hop_length: how far apart frames are (a quarter of n_fft)
        win_length: how long the window is (n_fft)
        center: the signal is padded, so that frame t is centred at t * hop_length
        normalized: divide by sqrt(n_fft)
        length: how many samples the result has
        Raises ValueError where return_complex is True."""
    def prelu(self, weight: Tensor) -> Tensor:
        """x, or weight * x where x < 0: one weight, or one for each index of dim 1. [n, c, ...], [c] -> same

        Raises ValueError where weight has not one value, or one a channel."""
    def stft(
        self,
        n_fft: _int,
        hop_length: _int | None = None,
        win_length: _int | None = None,
        window: Tensor | None = None,
        center: _bool = True,
        pad_mode: str = "reflect",
        normalized: _bool = False,
        onesided: _bool = True,
        return_complex: _bool = True,
    ) -> Tensor:
        """Transforms of windowed frames. [..., t] -> [..., n_fft // 2 + 1, frames] (or n_fft, where not onesided)

        hop_length is n_fft // 4 unless given. return_complex=False gives view_as_real of it.

        win_length: how long the window is (n_fft)
        window: factors of each frame. [win_length]
        center: the signal is padded, so that frame t is centred at t * hop_length
        pad_mode: how ends are padded where center is
        normalized: divide by sqrt(n_fft)
        Raises ValueError where there are fewer samples than n_fft, or hop_length is below 1."""
    def unsafe_chunk(self, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """At most `chunks` pieces of equal size (the last may be smaller). [..., n, ...] -> tuple

        Raises ValueError where chunks is below 1."""
    def unsafe_split(self, split_size: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """Pieces of split_size (the last may be smaller), or of the sizes listed. [..., n, ...] -> tuple

        Raises ValueError where sizes do not add up, or split_size is below 1."""
    def gather(self, dim: _int, index: Tensor) -> Tensor:
        """Elements at `index` along a dim. [..., n, ...], [..., m, ...] -> [..., m, ...]

        Raises IndexError where there is no such dim; where an index is out of range; TypeError where it is not of integers."""
    def index_select(self, dim: _int, index: Tensor) -> Tensor:
        """Whole slices at the indices. [..., n, ...], [m] -> [..., m, ...]

        index: which elements, integers
        Raises ValueError where index has more than 1 dim."""
    def take(self, index: Tensor) -> Tensor:
        """Elements at places of the flattened tensor. [...], [*m] -> [*m]

        index: which elements, integers
        Raises IndexError where an index is out of range; TypeError where it is not of integers."""
    def take_along_dim(self, indices: Tensor, dim: _int | None = None) -> Tensor:
        """gather whose tensor and indices broadcast; of the flattened tensor without dim.

        [..., n, ...], [..., m, ...] -> [..., m, ...]

        Raises ValueError where numbers of dims differ."""
    def gather_nd(self, indices: Tensor) -> Tensor:
        """self[indices[i]] for each i. [*n, *rest], [..., k] with k = len(n) -> [..., *rest]

        Raises IndexError where the last dim of indices is longer than the input has dims."""
    def masked_select(self, mask: Tensor) -> Tensor:
        """The elements where mask is true, in order; how many they are takes one read. [...], [...] -> [n]

        Raises TypeError where the mask is not of bools."""
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """The elements where mask is true replaced by those of source in order.

        A source that is too short raises IndexError at the next read, an empty one ValueError.
        [...], [...], [m] -> [...]"""
    def __getitem__(self, key: Any) -> Tensor:
        """Integers, slices, None, ..., and index or bool lists, arrays and tensors, with NumPy's meaning.

        A bool tensor on a device costs one read, since the shape depends on it, and can't be recorded.

        key: what queries are compared with"""
    def scatter(
        self,
        dim: _int,
        index: Tensor,
        src: Tensor | _float | HostScalar | None = None,
        *,
        value: _float | None = None,
        reduce: str | None = None,
    ) -> Tensor:
        """src (a tensor or a number, or a number as value) put at `index` along a dim; of equal indices the
        last counts. With reduce, "add" or "multiply", it is joined to what is there; ValueError for others.

        [..., n, ...], [..., m, ...], [..., m, ...] -> [..., n, ...]"""
    def scatter_add(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """Add src to the elements at `index` along a dim, in a fixed order. -> the shape of self

        Raises ValueError where index is larger than the tensor outside the dim."""
    def scatter_reduce(
        self, dim: _int, index: Tensor, src: Tensor, reduce: str, include_self: _bool = True
    ) -> Tensor:
        """Join src with the elements at `index` along a dim: reduce is sum, prod, mean, amax or amin.

        Without include_self, elements that an index names do not count themselves. -> the shape of self

        Raises ValueError where reduce is unknown."""
    def index_add(self, dim: _int, index: Tensor, source: Tensor, alpha: _float = 1) -> Tensor:
        """Add alpha * source[i] to the slice at index[i]. [.., n, ..], [m], [.., m, ..] -> [.., n, ..]

        Raises ValueError where source has not the index's slices; TypeError where dtypes differ."""
    def index_copy(self, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """source[i] put as the slice at index[i]; of equal indices the last counts. -> the shape of self

        Raises ValueError where source has not the index's slices; TypeError where dtypes differ."""
    def index_fill(self, dim: _int, index: Tensor, value: Tensor | _float | HostScalar) -> Tensor:
        """`value`, one number, put in every slice that index names. [..., n, ...], [m] -> [..., n, ...]

        Raises IndexError where there is no such dim; where an index is out of range; TypeError where it is not of integers."""
    def index_reduce(
        self, dim: _int, index: Tensor, source: Tensor, reduce: str, include_self: _bool = True
    ) -> Tensor:
        """Join source[i] with the slice at index[i]: reduce is sum, prod, mean, amax or amin.

        include_self: what is there takes part
        Raises ValueError where source has not the index's slices; TypeError where dtypes differ."""
    def put(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """source put at (or added to) places of the flattened tensor. [...], [m], [m] -> [...]

        index: which elements, integers
        accumulate: add to what is there
        Raises IndexError where an index is out of range; TypeError where it is not of integers."""
    def slice_assign(self, key: Any, value: Tensor | _float | HostScalar) -> Tensor:
        """A copy with value put where self[key] is: what `t[key] = value` gives t. -> the shape of self"""
    def __setitem__(self, key: Any, value: Tensor | _float | HostScalar) -> None:
        """Give the tensor the value of slice_assign(key, value): computed with the next run, and the only
        tensor that changes, for none shares its elements."""
    def index_put(
        self,
        indices: Sequence[Tensor | None],
        values: Tensor | _float | HostScalar,
        accumulate: _bool = False,
    ) -> Tensor:
        """values put at (or added to) self[indices]; of equal indices the last counts. -> self's shape

        accumulate: add to what is there"""
    def slice_scatter(
        self,
        src: Tensor | _float | HostScalar,
        dim: _int = 0,
        start: _int | None = None,
        end: _int | None = None,
        step: _int = 1,
    ) -> Tensor:
        """A copy with src put as the slice start:end:step of a dim. -> the shape of self

        Raises IndexError where there is no such dim."""
    def select_scatter(self, src: Tensor | _float | HostScalar, dim: _int, index: _int) -> Tensor:
        """A copy with src put as the slice at one index of a dim. [.., n, ..], [.., ..] -> [.., n, ..]

        Raises IndexError where there is no such dim."""
    def diagonal_scatter(
        self, src: Tensor | _float | HostScalar, offset: _int = 0, dim1: _int = 0, dim2: _int = 1
    ) -> Tensor:
        """A copy with src put as the diagonal of two dims. [n, m, ...], [..., k] -> [n, m, ...]

        offset: which diagonal: above the main one where > 0, below where < 0
        dim1: the first of the two dims
        dim2: the second of the two dims
        Raises ValueError where src has not the shape of the diagonal."""
    def scatter_nd(self, indices: Tensor, updates: Tensor, reduce: str = "none") -> Tensor:
        """updates[i] put at self[indices[i]], or joined to it: reduce is none, add, mul, max or min.

        [*n, *rest], [..., k] with k = len(n), [..., *rest] -> [*n, *rest]

        Raises ValueError where reduce is unknown."""
    @overload
    def nonzero(
        self, as_tuple: Literal[False] = False, *, size: _int | None = None, fill_value: _int = 0
    ) -> Tensor:
        """Coordinates (int64) of elements that are not 0: [k, dims], or a tuple of a [k] for each dim.

        k takes one read; with `size`, as in JAX, k is that, without a read: what is too much is left out,
        what is missing has fill_value.

        as_tuple: one tensor of places for each dim, in place of a row a place"""
    @overload
    def nonzero(
        self, as_tuple: Literal[True], *, size: _int | None = None, fill_value: _int = 0
    ) -> tuple[Tensor, ...]: ...
    def nonzero_static(self, *, size: _int, fill_value: _int = -1) -> Tensor:
        """nonzero for a number of places given beforehand: no read. [...] -> [size, dims]

        fill_value: what elements are"""
    def argwhere(self) -> Tensor:
        """Coordinates (int64) of elements that are not 0; their number takes one read. [...] -> [k, dims]"""
    def count_nonzero(self, dim: _int | Sequence[_int] | None = None) -> Tensor:
        """How many elements are not 0, over all dims or some (int64). [..., n, ...] -> [...]"""
    @overload
    def unique(
        self,
        sorted: _bool = True,
        return_inverse: Literal[False] = False,
        return_counts: Literal[False] = False,
        dim: _int | None = None,
    ) -> Tensor:
        """The different elements (or slices of a dim) in order; their number takes one read.

        With return_inverse also where each element went, with return_counts how often each occurs, int64.
        [...] -> [k], or [..., k, ...] with dim

        sorted: in order"""
    @overload
    def unique(
        self,
        sorted: _bool = True,
        *,
        return_inverse: Literal[True],
        return_counts: Literal[False] = False,
        dim: _int | None = None,
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def unique(
        self,
        sorted: _bool = True,
        *,
        return_inverse: Literal[False] = False,
        return_counts: Literal[True],
        dim: _int | None = None,
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def unique(
        self,
        sorted: _bool = True,
        *,
        return_inverse: Literal[True],
        return_counts: Literal[True],
        dim: _int | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]: ...
    @overload
    def unique_consecutive(
        self,
        return_inverse: Literal[False] = False,
        return_counts: Literal[False] = False,
        dim: _int | None = None,
    ) -> Tensor:
        """Elements (or slices of a dim) that differ from the one before; as unique otherwise.

        return_inverse: also where each element went
        return_counts: also how often each occurs"""
    @overload
    def unique_consecutive(
        self, *, return_inverse: Literal[True], return_counts: Literal[False] = False, dim: _int | None = None
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def unique_consecutive(
        self, *, return_inverse: Literal[False] = False, return_counts: Literal[True], dim: _int | None = None
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def unique_consecutive(
        self, *, return_inverse: Literal[True], return_counts: Literal[True], dim: _int | None = None
    ) -> tuple[Tensor, Tensor, Tensor]: ...
    def fill_(self, value: Tensor | _float | HostScalar) -> Tensor:
        """Gives every element one value (a number, or a tensor of one); returns the tensor."""
    def zero_(self) -> Tensor:
        """Gives every element 0; returns the tensor."""
    def copy_(self, src: Tensor, non_blocking: _bool = False) -> Tensor:
        """Gives the tensor the values of src, which is broadcast, cast and moved; returns the tensor.

        non_blocking: taken, and of no meaning: nothing here waits for a copy."""
    def fill_diagonal_(self, fill_value: _float, wrap: _bool = False) -> Tensor:
        """Gives the elements at equal places of all dims fill_value; returns the tensor. [n, m]

        wrap: of a tall matrix, go on below as if there were rows of the same width again. ValueError where it
        is no matrix and its dims differ."""
    def uniform_(
        self, low: _float = 0.0, high: _float = 1.0, *, generator: Generator | None = None
    ) -> Tensor:
        """Draws every element evenly in [low, high), which PyTorch names from and to; returns the tensor.

        ValueError where low is above high, or the dtype does not hold them; TypeError for integers."""
    def normal_(self, mean: _float = 0.0, std: _float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """Draws every element from a normal distribution of this mean and std; returns the tensor.

        ValueError where std is negative; TypeError for integers."""
    def log_normal_(
        self, mean: _float = 1.0, std: _float = 2.0, *, generator: Generator | None = None
    ) -> Tensor:
        """Draws every element as exp of what normal_(mean, std) draws; returns the tensor.

        ValueError where std is not above 0; TypeError for integers."""
    def exponential_(self, lambd: _float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """Draws every element from an exponential distribution of rate lambd; returns the tensor.

        ValueError where lambd is not above 0; TypeError for integers."""
    def cauchy_(
        self, median: _float = 0.0, sigma: _float = 1.0, *, generator: Generator | None = None
    ) -> Tensor:
        """Draws every element from a Cauchy distribution around median, sigma wide; returns the tensor.

        ValueError where sigma is not above 0; TypeError for integers."""
    def geometric_(self, p: _float, *, generator: Generator | None = None) -> Tensor:
        """Draws every element as the tries up to the first success of chance p; returns the tensor.

        ValueError where p is not inside 0 to 1."""
    def bernoulli_(self, p: Tensor | _float = 0.5, *, generator: Generator | None = None) -> Tensor:
        """Draws every element as 1 with chance p, a number or a tensor, else as 0; returns self.

        ValueError for what is no probability; of a tensor's elements at the next read."""
    def random_(
        self, low: _int | None = None, high: Any = ..., *, generator: Generator | None = None
    ) -> Tensor:
        """Draws every element as a whole number from low to high - 1, which PyTorch names from and to;
        returns the tensor.

        One number counts as high, and low is 0; high=None: up to the largest of the dtype; without any, too,
        and of floats up to where all whole numbers are held. ValueError where low is not below high."""
    def abs_(self) -> Tensor:
        """Gives the tensor the value of abs(...), and returns it."""
    def absolute_(self) -> Tensor:
        """Gives the tensor the value of absolute(...), and returns it."""
    def acos_(self) -> Tensor:
        """Gives the tensor the value of acos(...), and returns it."""
    def acosh_(self) -> Tensor:
        """Gives the tensor the value of acosh(...), and returns it."""
    def add_(self, other: Tensor | _float | HostScalar, *, alpha: _float | HostScalar = 1) -> Tensor:
        """Gives the tensor the value of add(...), and returns it."""
    def addbmm_(
        self, batch1: Tensor, batch2: Tensor, *, beta: _float | HostScalar = 1, alpha: _float | HostScalar = 1
    ) -> Tensor:
        """Gives the tensor the value of addbmm(...), and returns it."""
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: _float = 1) -> Tensor:
        """Gives the tensor the value of addcdiv(...), and returns it."""
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: _float = 1) -> Tensor:
        """Gives the tensor the value of addcmul(...), and returns it."""
    def addmm_(
        self, mat1: Tensor, mat2: Tensor, *, beta: _float | HostScalar = 1, alpha: _float | HostScalar = 1
    ) -> Tensor:
        """Gives the tensor the value of addmm(...), and returns it."""
    def addmv_(
        self, mat: Tensor, vec: Tensor, *, beta: _float | HostScalar = 1, alpha: _float | HostScalar = 1
    ) -> Tensor:
        """Gives the tensor the value of addmv(...), and returns it."""
    def addr_(
        self, vec1: Tensor, vec2: Tensor, *, beta: _float | HostScalar = 1, alpha: _float | HostScalar = 1
    ) -> Tensor:
        """Gives the tensor the value of addr(...), and returns it."""
    def arccos_(self) -> Tensor:
        """Gives the tensor the value of arccos(...), and returns it."""
    def arccosh_(self) -> Tensor:
        """Gives the tensor the value of arccosh(...), and returns it."""
    def arcsin_(self) -> Tensor:
        """Gives the tensor the value of arcsin(...), and returns it."""
    def arcsinh_(self) -> Tensor:
        """Gives the tensor the value of arcsinh(...), and returns it."""
    def arctan_(self) -> Tensor:
        """Gives the tensor the value of arctan(...), and returns it."""
    def arctan2_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of arctan2(...), and returns it."""
    def arctanh_(self) -> Tensor:
        """Gives the tensor the value of arctanh(...), and returns it."""
    def asin_(self) -> Tensor:
        """Gives the tensor the value of asin(...), and returns it."""
    def asinh_(self) -> Tensor:
        """Gives the tensor the value of asinh(...), and returns it."""
    def atan_(self) -> Tensor:
        """Gives the tensor the value of atan(...), and returns it."""
    def atan2_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of atan2(...), and returns it."""
    def atanh_(self) -> Tensor:
        """Gives the tensor the value of atanh(...), and returns it."""
    def baddbmm_(
        self, batch1: Tensor, batch2: Tensor, *, beta: _float | HostScalar = 1, alpha: _float | HostScalar = 1
    ) -> Tensor:
        """Gives the tensor the value of baddbmm(...), and returns it."""
    def bitwise_and_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of bitwise_and(...), and returns it."""
    def bitwise_left_shift_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of bitwise_left_shift(...), and returns it."""
    def bitwise_not_(self) -> Tensor:
        """Gives the tensor the value of bitwise_not(...), and returns it."""
    def bitwise_or_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of bitwise_or(...), and returns it."""
    def bitwise_right_shift_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of bitwise_right_shift(...), and returns it."""
    def bitwise_xor_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of bitwise_xor(...), and returns it."""
    def ceil_(self) -> Tensor:
        """Gives the tensor the value of ceil(...), and returns it."""
    def clamp_(
        self, min: Tensor | _float | HostScalar | None = None, max: Tensor | _float | HostScalar | None = None
    ) -> Tensor:
        """Gives the tensor the value of clamp(...), and returns it."""
    def clamp_max_(self, max: Tensor | _float | HostScalar) -> Tensor:
        """Gives the tensor the value of clamp_max(...), and returns it."""
    def clamp_min_(self, min: Tensor | _float | HostScalar) -> Tensor:
        """Gives the tensor the value of clamp_min(...), and returns it."""
    def clip_(
        self, min: Tensor | _float | HostScalar | None = None, max: Tensor | _float | HostScalar | None = None
    ) -> Tensor:
        """Gives the tensor the value of clip(...), and returns it."""
    def conj_physical_(self) -> Tensor:
        """Gives the tensor the value of conj_physical(...), and returns it."""
    def copysign_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of copysign(...), and returns it."""
    def cos_(self) -> Tensor:
        """Gives the tensor the value of cos(...), and returns it."""
    def cosh_(self) -> Tensor:
        """Gives the tensor the value of cosh(...), and returns it."""
    def cumprod_(self, dim: _int, dtype: DType | type[Any] | str | None = None) -> Tensor:
        """Gives the tensor the value of cumprod(...), and returns it."""
    def cumsum_(self, dim: _int, dtype: DType | type[Any] | str | None = None) -> Tensor:
        """Gives the tensor the value of cumsum(...), and returns it."""
    def deg2rad_(self) -> Tensor:
        """Gives the tensor the value of deg2rad(...), and returns it."""
    def digamma_(self) -> Tensor:
        """Gives the tensor the value of digamma(...), and returns it."""
    def div_(self, other: Tensor | _float | HostScalar, *, rounding_mode: str | None = None) -> Tensor:
        """Gives the tensor the value of div(...), and returns it."""
    def divide_(self, other: Tensor | _float | HostScalar, *, rounding_mode: str | None = None) -> Tensor:
        """Gives the tensor the value of divide(...), and returns it."""
    def eq_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of eq(...), and returns it."""
    def erf_(self) -> Tensor:
        """Gives the tensor the value of erf(...), and returns it."""
    def erfc_(self) -> Tensor:
        """Gives the tensor the value of erfc(...), and returns it."""
    def erfinv_(self) -> Tensor:
        """Gives the tensor the value of erfinv(...), and returns it."""
    def exp_(self) -> Tensor:
        """Gives the tensor the value of exp(...), and returns it."""
    def exp2_(self) -> Tensor:
        """Gives the tensor the value of exp2(...), and returns it."""
    def expm1_(self) -> Tensor:
        """Gives the tensor the value of expm1(...), and returns it."""
    def fix_(self) -> Tensor:
        """Gives the tensor the value of fix(...), and returns it."""
    def float_power_(self, exponent: Tensor | _float | HostScalar) -> Tensor:
        """Gives the tensor the value of float_power(...), and returns it."""
    def floor_(self) -> Tensor:
        """Gives the tensor the value of floor(...), and returns it."""
    def floor_divide_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of floor_divide(...), and returns it."""
    def fmod_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of fmod(...), and returns it."""
    def frac_(self) -> Tensor:
        """Gives the tensor the value of frac(...), and returns it."""
    def gcd_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of gcd(...), and returns it."""
    def ge_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of ge(...), and returns it."""
    def greater_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of greater(...), and returns it."""
    def greater_equal_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of greater_equal(...), and returns it."""
    def gt_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of gt(...), and returns it."""
    def heaviside_(self, values: Tensor | _float | HostScalar) -> Tensor:
        """Gives the tensor the value of heaviside(...), and returns it."""
    def hypot_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of hypot(...), and returns it."""
    def i0_(self) -> Tensor:
        """Gives the tensor the value of i0(...), and returns it."""
    def igamma_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of igamma(...), and returns it."""
    def igammac_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of igammac(...), and returns it."""
    def index_add_(self, dim: _int, index: Tensor, source: Tensor, alpha: _float = 1) -> Tensor:
        """Gives the tensor the value of index_add(...), and returns it."""
    def index_copy_(self, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """Gives the tensor the value of index_copy(...), and returns it."""
    def index_fill_(self, dim: _int, index: Tensor, value: Tensor | _float | HostScalar) -> Tensor:
        """Gives the tensor the value of index_fill(...), and returns it."""
    def index_put_(
        self,
        indices: Sequence[Tensor | None],
        values: Tensor | _float | HostScalar,
        accumulate: _bool = False,
    ) -> Tensor:
        """Gives the tensor the value of index_put(...), and returns it."""
    def index_reduce_(
        self, dim: _int, index: Tensor, source: Tensor, reduce: str, include_self: _bool = True
    ) -> Tensor:
        """Gives the tensor the value of index_reduce(...), and returns it."""
    def lcm_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of lcm(...), and returns it."""
    def ldexp_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of ldexp(...), and returns it."""
    def le_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of le(...), and returns it."""
    def lerp_(self, end: Tensor | _float | HostScalar, weight: Tensor | _float | HostScalar) -> Tensor:
        """Gives the tensor the value of lerp(...), and returns it."""
    def less_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of less(...), and returns it."""
    def less_equal_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of less_equal(...), and returns it."""
    def lgamma_(self) -> Tensor:
        """Gives the tensor the value of lgamma(...), and returns it."""
    def log_(self) -> Tensor:
        """Gives the tensor the value of log(...), and returns it."""
    def log10_(self) -> Tensor:
        """Gives the tensor the value of log10(...), and returns it."""
    def log1p_(self) -> Tensor:
        """Gives the tensor the value of log1p(...), and returns it."""
    def log2_(self) -> Tensor:
        """Gives the tensor the value of log2(...), and returns it."""
    def logical_and_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of logical_and(...), and returns it."""
    def logical_not_(self) -> Tensor:
        """Gives the tensor the value of logical_not(...), and returns it."""
    def logical_or_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of logical_or(...), and returns it."""
    def logical_xor_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of logical_xor(...), and returns it."""
    def logit_(self, eps: _float | None = None) -> Tensor:
        """Gives the tensor the value of logit(...), and returns it."""
    def lt_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of lt(...), and returns it."""
    def masked_fill_(self, mask: Tensor, value: Tensor | _float | HostScalar) -> Tensor:
        """Gives the tensor the value of masked_fill(...), and returns it."""
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Tensor:
        """Gives the tensor the value of masked_scatter(...), and returns it."""
    def mul_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of mul(...), and returns it."""
    def multiply_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of multiply(...), and returns it."""
    def mvlgamma_(self, p: _int) -> Tensor:
        """Gives the tensor the value of mvlgamma(...), and returns it."""
    def nan_to_num_(
        self, nan: _float = 0.0, posinf: _float | None = None, neginf: _float | None = None
    ) -> Tensor:
        """Gives the tensor the value of nan_to_num(...), and returns it."""
    def ne_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of ne(...), and returns it."""
    def neg_(self) -> Tensor:
        """Gives the tensor the value of neg(...), and returns it."""
    def negative_(self) -> Tensor:
        """Gives the tensor the value of negative(...), and returns it."""
    def nextafter_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of nextafter(...), and returns it."""
    def not_equal_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of not_equal(...), and returns it."""
    def polygamma_(self, n: _int | Tensor | None = None) -> Tensor:
        """Gives the tensor the value of polygamma(...), and returns it."""
    def pow_(self, exponent: Tensor | _float | HostScalar) -> Tensor:
        """Gives the tensor the value of pow(...), and returns it."""
    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """Gives the tensor the value of put(...), and returns it."""
    def rad2deg_(self) -> Tensor:
        """Gives the tensor the value of rad2deg(...), and returns it."""
    def reciprocal_(self) -> Tensor:
        """Gives the tensor the value of reciprocal(...), and returns it."""
    def relu_(self) -> Tensor:
        """Gives the tensor the value of relu(...), and returns it."""
    def remainder_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of remainder(...), and returns it."""
    def renorm_(self, p: _float, dim: _int, maxnorm: _float) -> Tensor:
        """Gives the tensor the value of renorm(...), and returns it."""
    def round_(self, *, decimals: _int = 0) -> Tensor:
        """Gives the tensor the value of round(...), and returns it."""
    def rsqrt_(self) -> Tensor:
        """Gives the tensor the value of rsqrt(...), and returns it."""
    def scatter_(
        self,
        dim: _int,
        index: Tensor,
        src: Tensor | _float | HostScalar | None = None,
        *,
        value: _float | None = None,
        reduce: str | None = None,
    ) -> Tensor:
        """Gives the tensor the value of scatter(...), and returns it."""
    def scatter_add_(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """Gives the tensor the value of scatter_add(...), and returns it."""
    def scatter_reduce_(
        self, dim: _int, index: Tensor, src: Tensor, reduce: str, include_self: _bool = True
    ) -> Tensor:
        """Gives the tensor the value of scatter_reduce(...), and returns it."""
    def sgn_(self) -> Tensor:
        """Gives the tensor the value of sgn(...), and returns it."""
    def sigmoid_(self) -> Tensor:
        """Gives the tensor the value of sigmoid(...), and returns it."""
    def sign_(self) -> Tensor:
        """Gives the tensor the value of sign(...), and returns it."""
    def sin_(self) -> Tensor:
        """Gives the tensor the value of sin(...), and returns it."""
    def sinc_(self) -> Tensor:
        """Gives the tensor the value of sinc(...), and returns it."""
    def sinh_(self) -> Tensor:
        """Gives the tensor the value of sinh(...), and returns it."""
    def sqrt_(self) -> Tensor:
        """Gives the tensor the value of sqrt(...), and returns it."""
    def square_(self) -> Tensor:
        """Gives the tensor the value of square(...), and returns it."""
    def sub_(self, other: Tensor | _float | HostScalar, *, alpha: _float | HostScalar = 1) -> Tensor:
        """Gives the tensor the value of sub(...), and returns it."""
    def subtract_(self, other: Tensor | _float | HostScalar, *, alpha: _float | HostScalar = 1) -> Tensor:
        """Gives the tensor the value of subtract(...), and returns it."""
    def tan_(self) -> Tensor:
        """Gives the tensor the value of tan(...), and returns it."""
    def tanh_(self) -> Tensor:
        """Gives the tensor the value of tanh(...), and returns it."""
    def tril_(self, diagonal: _int = 0) -> Tensor:
        """Gives the tensor the value of tril(...), and returns it."""
    def triu_(self, diagonal: _int = 0) -> Tensor:
        """Gives the tensor the value of triu(...), and returns it."""
    def true_divide_(
        self, other: Tensor | _float | HostScalar, *, rounding_mode: str | None = None
    ) -> Tensor:
        """Gives the tensor the value of true_divide(...), and returns it."""
    def trunc_(self) -> Tensor:
        """Gives the tensor the value of trunc(...), and returns it."""
    def xlogy_(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of xlogy(...), and returns it."""
    def __iadd__(self, other: Tensor | _float | HostScalar, *, alpha: _float | HostScalar = 1) -> Tensor:
        """Gives the tensor the value of __add__(...), and returns it."""
    def __isub__(self, other: Tensor | _float | HostScalar, *, alpha: _float | HostScalar = 1) -> Tensor:
        """Gives the tensor the value of __sub__(...), and returns it."""
    def __imul__(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of __mul__(...), and returns it."""
    def __itruediv__(
        self, other: Tensor | _float | HostScalar, *, rounding_mode: str | None = None
    ) -> Tensor:
        """Gives the tensor the value of __truediv__(...), and returns it."""
    def __ifloordiv__(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of __floordiv__(...), and returns it."""
    def __imod__(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of __mod__(...), and returns it."""
    def __ipow__(self, other: Tensor | _float | HostScalar) -> Tensor:
        """Gives the tensor the value of __pow__(...), and returns it."""
    def __iand__(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of __and__(...), and returns it."""
    def __ior__(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of __or__(...), and returns it."""
    def __ixor__(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of __xor__(...), and returns it."""
    def __ilshift__(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of __lshift__(...), and returns it."""
    def __irshift__(self, other: Tensor) -> Tensor:
        """Gives the tensor the value of __rshift__(...), and returns it."""
    def squeeze_(self, dim: _int | Sequence[_int] | None = None) -> Tensor:
        """Gives the tensor the shape of squeeze(...), and returns it; ValueError where it has views."""
    def swapaxes_(self, dim0: _int, dim1: _int) -> Tensor:
        """Gives the tensor the shape of swapaxes(...), and returns it; ValueError where it has views."""
    def swapdims_(self, dim0: _int, dim1: _int) -> Tensor:
        """Gives the tensor the shape of swapdims(...), and returns it; ValueError where it has views."""
    def t_(self) -> Tensor:
        """Gives the tensor the shape of t(...), and returns it; ValueError where it has views."""
    def transpose_(self, dim0: _int, dim1: _int) -> Tensor:
        """Gives the tensor the shape of transpose(...), and returns it; ValueError where it has views."""
    def unsqueeze_(self, dim: _int) -> Tensor:
        """Gives the tensor the shape of unsqueeze(...), and returns it; ValueError where it has views."""
    def split(self, split_size: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """Pieces of split_size (the last may be smaller), or of the sizes listed. [..., n, ...] -> tuple

        Raises ValueError where sizes do not add up, or split_size is below 1."""
    def chunk(self, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """At most `chunks` pieces of equal size (the last may be smaller). [..., n, ...] -> tuple

        Raises ValueError where chunks is below 1."""
    def tensor_split(
        self, indices_or_sections: _int | Sequence[_int] | Tensor, dim: _int = 0
    ) -> tuple[Tensor, ...]:
        """So many pieces, the first larger by one where needed; or cut before each index. [n] -> tuple

        indices_or_sections: how many parts, or the places of the cuts
        Raises ValueError where there are fewer than 1 sections."""
    def hsplit(self, indices_or_sections: _int | Sequence[_int]) -> tuple[Tensor, ...]:
        """tensor_split along dim 1, or along the only dim.

        indices_or_sections: how many parts, or the places of the cuts
        Raises ValueError where dims are missing, or the sections do not divide the dim."""
    def vsplit(self, indices_or_sections: _int | Sequence[_int]) -> tuple[Tensor, ...]:
        """tensor_split along dim 0 of 2 or more.

        indices_or_sections: how many parts, or the places of the cuts
        Raises ValueError where dims are missing, or the sections do not divide the dim."""
    def dsplit(self, indices_or_sections: _int | Sequence[_int]) -> tuple[Tensor, ...]:
        """tensor_split along dim 2.

        indices_or_sections: how many parts, or the places of the cuts
        Raises ValueError where dims are missing, or the sections do not divide the dim."""
    def unbind(self, dim: _int = 0) -> tuple[Tensor, ...]:
        """The slices along a dim, without it. [..., n, ...] -> n times [..., ...]

        Raises IndexError where the input is 0-d."""
    def kron(self, other: Tensor) -> Tensor:
        """Every element of self times other, as blocks. [a, b], [c, d] -> [a * c, b * d]"""
    def norm(
        self,
        p: _float | str = "fro",
        dim: _int | Sequence[_int] | None = None,
        keepdim: _bool = False,
        dtype: DType | type[Any] | str | None = None,
    ) -> Tensor:
        """The p-norm of all elements or of some dims, "nuc" that of matrices. [..., n, ...] -> [...]

        ValueError where p is another word."""
    def dist(self, other: Tensor, p: _float = 2) -> Tensor:
        """The p-norm of the difference. [...], [...] -> []"""
    def renorm(self, p: _float, dim: _int, maxnorm: _float) -> Tensor:
        """Slices along a dim scaled down to a p-norm of maxnorm where theirs is larger. [...] -> [...]

        ValueError where p is not above 0, maxnorm is below 0, or the tensor has fewer than two dims;
        IndexError where there is no such dim."""
    def det(self) -> Tensor:
        """The determinant, with a gradient where it is 0, too (NaN of complex matrices). [..., n, n] -> [...]

        A: the matrix, or a batch of them
        Raises ValueError where these are no matrices (square ones, where due); TypeError for integers."""
    def slogdet(self) -> SignLogDet:
        """Sign (or 0) and logarithm of the determinant's size (or -inf). [..., n, n] -> [...], [...]

        A: the matrix, or a batch of them
        Raises ValueError where these are no matrices (square ones, where due); TypeError for integers."""
    def inverse(self) -> Tensor:
        """The inverse; inf or NaN where there is none. [..., n, n] -> [..., n, n]

        A: the matrix, or a batch of them
        Raises ValueError where these are no matrices (square ones, where due); TypeError for integers."""
    def qr(self, some: _bool = True) -> QR:
        """linalg.qr by its older name: reduced, or complete. [..., m, n] -> [..., m, k], [..., k, n]

        some: the short form: as many columns as the rank can be"""
    def logdet(self) -> Tensor:
        """The logarithm of the determinant, NaN where that is negative; complex of complex ones.
        [..., n, n] -> [...]"""
    def svd(self, some: _bool = True, compute_uv: _bool = True) -> SVDTopLevel:
        """U, S, V (not transposed) with A = U diag(S) V^H; without compute_uv zeros for U and V.

        [..., m, n] -> [..., m, k], [..., k], [..., n, k]

        some: the short form: as many columns as the rank can be"""
    def geqrf(self) -> Geqrf:
        """Householder's vectors below R, and their factors. [..., m, n] -> [..., m, n], [..., min(m, n)]

        Raises ValueError where these are no matrices (square ones, where due); TypeError for integers."""
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
        """X with A X = b, A as lu_factor gives it. [..., n, k], [..., n, n], [..., n] -> [..., n, k]

        LU_data: both factors in one matrix, as lu_factor gives them
        LU_pivots: the rows that were exchanged, counted from 1, as lu_factor gives them"""
    def ormqr(self, tau: Tensor, other: Tensor, left: _bool = True, transpose: _bool = False) -> Tensor:
        """Q @ other (other @ Q if not left; Q^T if transpose) of the square Q that geqrf's factors are, which is
        not made. [..., m, k], [..., k], [..., m, n] -> [..., m, n], or other [..., n, m] -> [..., n, m]

        transpose: multiply with the transpose. ValueError where sizes do not fit.

        tau: the reflections' factors"""
    def cholesky(self, upper: _bool = False) -> Tensor:
        """linalg.cholesky by its older name. [..., n, n] -> [..., n, n]

        upper: the upper triangle, not the lower"""
    def cholesky_solve(self, L: Tensor, upper: _bool = False) -> Tensor:
        """X with A X = B, A given by its Cholesky factor. [..., n, k], [..., n, n] -> [..., n, k]

        L: a lower triangular factor, as of cholesky
        upper: the upper triangle, not the lower
        Raises ValueError where these are no matrices (square ones, where due); where leading dims do not fit; TypeError for integers."""
    def cholesky_inverse(self, upper: _bool = False) -> Tensor:
        """The inverse of A, given by its Cholesky factor. [..., n, n] -> [..., n, n]

        L: a lower triangular factor, as of cholesky
        upper: the upper triangle, not the lower"""
    def matrix_power(self, n: _int) -> Tensor:
        """linalg.matrix_power by its older name. [..., k, k] -> [..., k, k]"""
    def matrix_exp(self) -> Tensor:
        """linalg.matrix_exp by its older name. [..., n, n] -> [..., n, n]"""
    def pinverse(self, rcond: _float = 1e-15) -> Tensor:
        """linalg.pinv by its older name. [..., m, n] -> [..., n, m]

        rcond: singular values below this share of the largest count as 0"""
    def masked_fill(self, mask: Tensor, value: Tensor | _float | HostScalar) -> Tensor:
        """`value` where mask is true. [...], [...] -> [...]

        Raises ValueError where the dtype has no such value."""
    def tril(self, diagonal: _int = 0) -> Tensor:
        """The lower triangle of the last two dims, zero above `diagonal`. [..., n, m] -> [..., n, m]"""
    def triu(self, diagonal: _int = 0) -> Tensor:
        """The upper triangle of the last two dims, zero below `diagonal`. [..., n, m] -> [..., n, m]"""
    def reshape(self, *shape: _int | Sequence[_int]) -> Tensor:
        """The same elements in order, in another shape; one size may be -1. [...] -> [*shape]

        Raises ValueError where the elements do not fill the shape."""
    def permute(self, *dims: _int | Sequence[_int]) -> Tensor:
        """The dims in another order. [a, b, c], (2, 0, 1) -> [c, a, b]

        Raises ValueError where dims are not each dim once."""
    def expand(self, *shape: _int | Sequence[_int]) -> Tensor:
        """Repeat dims of size 1 without copying; -1 keeps a size. [n, 1], (n, m) -> [n, m]

        Raises ValueError where a size that is not 1 would change."""
    def detach(self) -> Tensor:
        """The same values, through which no gradient flows."""
    def flip(self, *dims: _int | Sequence[_int]) -> Tensor:
        """The elements of these dims in reverse order. [...] -> [...]

        Raises IndexError where there is no such dim; ValueError where one is named twice; TypeError where a size is no whole number."""
    def narrow(self, dim: _int, start: _int, length: _int) -> Tensor:
        """`length` elements of a dim from `start`. [..., n, ...] -> [..., length, ...]

        Raises ValueError where the piece is not inside the dim."""
    def transpose(self, dim0: _int, dim1: _int) -> Tensor:
        """Two dims exchanged. [..., a, ..., b, ...] -> [..., b, ..., a, ...]

        dim0: the one dim
        dim1: the first of the two dims
        Raises IndexError where there is no such dim."""
    def swapaxes(self, dim0: _int, dim1: _int) -> Tensor:
        """Two dims exchanged. [..., a, ..., b, ...] -> [..., b, ..., a, ...]

        dim0: the one dim
        dim1: the first of the two dims
        Raises IndexError where there is no such dim."""
    def t(self) -> Tensor:
        """A matrix transposed; a vector itself. ValueError for more dims. [n, m] -> [m, n]"""
    def flatten(self, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
        """Dims start_dim to end_dim as one. [n, a, b], 1 -> [n, a * b]

        Raises IndexError where there is no such dim."""
    def unflatten(self, dim: _int, sizes: _int | Sequence[_int]) -> Tensor:
        """One dim as several. [..., a * b, ...], (a, b) -> [..., a, b, ...]

        sizes: the sizes that the dim becomes; one may be -1
        Raises ValueError where the sizes do not multiply to that of the dim."""
    def unsqueeze(self, dim: _int) -> Tensor:
        """A dim of size 1 put in at `dim`. [a, b], 1 -> [a, 1, b]

        Raises IndexError where there is no such dim."""
    def squeeze(self, dim: _int | Sequence[_int] | None = None) -> Tensor:
        """Dims of size 1 taken out: all of them, or those named. [a, 1, b] -> [a, b]

        Raises IndexError where there is no such dim; ValueError where one is named twice."""
    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: _float = 1) -> Tensor:
        """self + value * tensor1 * tensor2. [...], [...], [...] -> [...]

        Raises TypeError where alpha or value is no whole number and the tensors are of integers."""
    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: _float = 1) -> Tensor:
        """self + value * tensor1 / tensor2. [...], [...], [...] -> [...]"""
    def clamp(
        self, min: Tensor | _float | HostScalar | None = None, max: Tensor | _float | HostScalar | None = None
    ) -> Tensor:
        """Values below min become min, above max max; NaN stays; the slope at both ends is 1.

        Raises ValueError where neither min nor max is given."""
    def clip(
        self, min: Tensor | _float | HostScalar | None = None, max: Tensor | _float | HostScalar | None = None
    ) -> Tensor:
        """Values below min become min, above max max; NaN stays; the slope at both ends is 1.

        Raises ValueError where neither min nor max is given."""
    def clamp_min(self, min: Tensor | _float | HostScalar) -> Tensor:
        """Values below min become min. [...] -> [...]"""
    def clamp_max(self, max: Tensor | _float | HostScalar) -> Tensor:
        """Values above max become max. [...] -> [...]"""
    def lerp(self, end: Tensor | _float | HostScalar, weight: Tensor | _float | HostScalar) -> Tensor:
        """self + weight * (end - self); with weight 1 just `end`. [...], [...], [...] -> [...]"""
    def deg2rad(self) -> Tensor:
        """Degrees as radians. [...] -> [...]"""
    def rad2deg(self) -> Tensor:
        """Radians as degrees. [...] -> [...]"""
    def positive(self) -> Tensor:
        """Itself; bools are refused, as by neg. [...] -> [...]

        Raises TypeError for bools."""
    def frac(self) -> Tensor:
        """x - trunc(x): the part after the point, with the sign of x. [...] -> [...]"""
    def float_power(self, exponent: Tensor | _float | HostScalar) -> Tensor:
        """self**exponent in floats, whatever the inputs are (PyTorch: in float64). [...], [...] -> [...]"""
    def fmax(self, other: Tensor | _float | HostScalar) -> Tensor:
        """The larger of both, self of equals; where one is NaN, the other. [...], [...] -> [...]"""
    def fmin(self, other: Tensor | _float | HostScalar) -> Tensor:
        """The smaller of both, self of equals; where one is NaN, the other. [...], [...] -> [...]"""
    def heaviside(self, values: Tensor | _float | HostScalar) -> Tensor:
        """0 below 0, 1 above, `values` at 0; 0 for NaN. [...], [...] -> [...]

        Raises TypeError where the dtypes differ."""
    def lcm(self, other: Tensor) -> Tensor:
        """Least common multiple, 0 where either is. [...], [...] -> [...]"""
    def logaddexp2(self, other: Tensor) -> Tensor:
        """log2(2**x + 2**y). [...], [...] -> [...]"""
    def nan_to_num(
        self, nan: _float = 0.0, posinf: _float | None = None, neginf: _float | None = None
    ) -> Tensor:
        """NaN becomes `nan`, infinities posinf and neginf (by default the largest floats). [...] -> [...]"""
    def isposinf(self) -> Tensor:
        """Whether x is infinite and positive. [...] -> [...]"""
    def isneginf(self) -> Tensor:
        """Whether x is infinite and negative. [...] -> [...]"""
    def isclose(
        self,
        other: Tensor | _float | HostScalar,
        rtol: _float = 1e-05,
        atol: _float = 1e-08,
        equal_nan: _bool = False,
    ) -> Tensor:
        """Whether |self - other| <= atol + rtol * |other|; infinities are close to themselves.

        equal_nan: NaNs equal each other
        Raises ValueError where a tolerance is below 0."""
    def allclose(
        self, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False
    ) -> _bool:
        """Whether |input - other| <= atol + rtol * |other| everywhere, as a Python bool: runs the graph and
        waits. equal_nan: NaNs equal each other."""
    def equal(self, other: Tensor) -> _bool:
        """Whether shapes and all values are equal, as a Python bool: runs the graph and waits. TypeError
        where other is no tensor."""
    def random_bits(self, other: Tensor | _float | HostScalar) -> Tensor:
        """32 random bits an element"""
    def swapdims(self, dim0: _int, dim1: _int) -> Tensor:
        """Two dims exchanged. [..., a, ..., b, ...] -> [..., b, ..., a, ...]

        dim0: the one dim
        dim1: the first of the two dims
        Raises IndexError where there is no such dim."""
    def select(self, dim: _int, index: _int) -> Tensor:
        """The slice at one index of a dim, without it. [..., n, ...] -> [..., ...]

        Raises IndexError where the index is out of range."""
    def broadcast_to(self, shape: _int | Sequence[_int]) -> Tensor:
        """The tensor expanded to a shape, without copying. [n, 1], (n, m) -> [n, m]"""
    def expand_as(self, other: Tensor) -> Tensor:
        """The tensor expanded to the shape of another."""
    def view_as(self, other: Tensor) -> Tensor:
        """The same elements in order, in the shape of another."""
    def reshape_as(self, other: Tensor) -> Tensor:
        """The same elements in order, in the shape of another."""
    def ravel(self) -> Tensor:
        """The same elements in order, in one dim; a view of what lies in order. [...] -> [n]"""
    def movedim(self, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
        """One dim or several moved to other places, the others in order.

        source: the dims that move
        destination: where they go to
        Raises ValueError where source and destination are not as many dims, or one is named twice."""
    def moveaxis(self, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
        """One dim or several moved to other places, the others in order.

        source: the dims that move
        destination: where they go to
        Raises ValueError where source and destination are not as many dims, or one is named twice."""
    def fliplr(self) -> Tensor:
        """Dim 1 in reverse order. [n, m, ...] -> [n, m, ...]

        Raises ValueError where the input has fewer than 2 dims."""
    def flipud(self) -> Tensor:
        """Dim 0 in reverse order. [n, ...] -> [n, ...]

        Raises ValueError where the input is 0-d."""
    def rot90(self, k: _int = 1, dims: _int | Sequence[_int] = (0, 1)) -> Tensor:
        """k quarter turns from the first dim towards the second. [n, m] -> [m, n]

        Raises ValueError where the dims are not two different ones."""
    def roll(self, shifts: _int | Sequence[_int], dims: _int | Sequence[_int] | None = None) -> Tensor:
        """Elements moved on along dims (or flattened, without), those past the end to the front.

        shifts: how far, one number a dim
        Raises ValueError where shifts and dims differ in number."""
    def repeat(self, *repeats: _int | Sequence[_int]) -> Tensor:
        """Copies of the tensor side by side, along each dim. [n, m], (2, 3) -> [2 * n, 3 * m]

        repeats: how often
        Raises ValueError where there are fewer counts than dims."""
    def clone(self) -> Tensor:
        """The same value as a tensor of its own: assigning to one leaves the other. [...] -> [...]"""
    def sum_to_size(self, *size: _int | Sequence[_int]) -> Tensor:
        """Sums over what broadcasting from that size has repeated. [n, m], (1, m) -> [1, m]

        Raises ValueError where the size does not broadcast to the shape."""
    def tile(self, *dims: _int | Sequence[_int]) -> Tensor:
        """repeat, where counts for leading dims may be left out. [n, m], (2,) -> [n, 2 * m]

        Raises TypeError where a size is no whole number."""
    def repeat_interleave(
        self, repeats: _int | Tensor | None = None, dim: _int | None = None, output_size: _int | None = None
    ) -> Tensor:
        """Each element so many times in a row: a count, a list, or a tensor of counts. Without
        any, the tensor has the counts, and its places are repeated.

        Counts in a tensor take one read for their sum, unless it is given as output_size.
        [..., n, ...] -> [..., sum of the counts, ...]

        repeats: how often
        Raises ValueError where counts are not one for each element, or below 0."""
    def tensor_unfold(self, dimension: _int, size: _int, step: _int) -> Tensor:
        """Windows sliding over a dim, as a new last dim. [.., n, ..] -> [.., positions, .., size]

        dimension: the dim that is cut
        step: the distance of windows
        Raises ValueError where size and step do not fit the dim."""
    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor:
        """Windows sliding over a dim, as a new last dim. [.., n, ..] -> [.., positions, .., size]

        dimension: the dim that is cut
        step: the distance of windows
        Raises ValueError where size and step do not fit the dim."""
    def pad(self, pad: _int | Sequence[_int], mode: str = "constant", value: _float | None = None) -> Tensor:
        """Padding, (left, right) of the last dim first; mode constant, reflect, replicate or circular.

        Negative amounts cut. [..., n] -> [..., left + n + right]

        pad: how many elements at both ends, the last dim first
        value: what is added
        Raises ValueError where there are too many pairs, more is cut than is there, or the mode takes no value."""
    def sum(
        self,
        dim: _int | Sequence[_int] | None = None,
        keepdim: _bool = False,
        dtype: DType | type[Any] | str | None = None,
    ) -> Tensor:
        """Sum over all dims or some. [..., n, ...] -> [...] (or [..., 1, ...] with keepdim)"""
    def prod(
        self,
        dim: _int | Sequence[_int] | None = None,
        keepdim: _bool = False,
        dtype: DType | type[Any] | str | None = None,
    ) -> Tensor:
        """Product over all dims or some. [..., n, ...] -> [...] (or [..., 1, ...] with keepdim)"""
    def mean(
        self,
        dim: _int | Sequence[_int] | None = None,
        keepdim: _bool = False,
        dtype: DType | type[Any] | str | None = None,
    ) -> Tensor:
        """Mean over all dims or some, in floats. [..., n, ...] -> [...] (or [..., 1, ...] with keepdim)"""
    def amax(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False) -> Tensor:
        """Largest value; the gradient is shared among equals. [..., n, ...] -> [...]

        Raises ValueError where there are no elements."""
    def amin(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False) -> Tensor:
        """Smallest value; the gradient is shared among equals. [..., n, ...] -> [...]

        Raises ValueError where there are no elements."""
    def argmax(self, dim: _int | None = None, keepdim: _bool = False) -> Tensor:
        """Index (int64) of the first largest value; NaN counts as largest. [..., n, ...] -> [...]"""
    def argmin(self, dim: _int | None = None, keepdim: _bool = False) -> Tensor:
        """Index (int64) of the first smallest value; NaN counts as smallest. [..., n, ...] -> [...]"""
    @overload
    def max(self) -> Tensor:
        """Largest of all, or (values, indices) over one dim; the gradient goes to the first largest. With a
        tensor in the place of dim, or as other: maximum."""
    @overload
    def max(self, dim: _int, keepdim: _bool = False) -> Chosen: ...
    @overload
    def min(self) -> Tensor:
        """Smallest of all, or (values, indices) over one dim; the gradient goes to the first smallest. With a
        tensor in the place of dim, or as other: minimum."""
    @overload
    def min(self, dim: _int, keepdim: _bool = False) -> Chosen: ...
    def var(
        self,
        dim: _int | Sequence[_int] | None = None,
        unbiased: _bool | None = None,
        keepdim: _bool = False,
        *,
        correction: _int | None = 1,
    ) -> Tensor:
        """Variance, dividing by n - correction; unbiased=False is correction=0. [..., n, ...] -> [...]"""
    def std(
        self,
        dim: _int | Sequence[_int] | None = None,
        unbiased: _bool | None = None,
        keepdim: _bool = False,
        *,
        correction: _int | None = 1,
    ) -> Tensor:
        """Standard deviation, the root of var. [..., n, ...] -> [...]

        unbiased: False is correction=0
        correction: what is subtracted from n in the divisor"""
    def var_mean(
        self,
        dim: _int | Sequence[_int] | None = None,
        unbiased: _bool | None = None,
        keepdim: _bool = False,
        *,
        correction: _int | None = 1,
    ) -> tuple[Tensor, Tensor]:
        """(var, mean) of the same elements. [..., n, ...] -> [...], [...]

        unbiased: False is correction=0
        correction: what is subtracted from n in the divisor"""
    def std_mean(
        self,
        dim: _int | Sequence[_int] | None = None,
        unbiased: _bool | None = None,
        keepdim: _bool = False,
        *,
        correction: _int | None = 1,
    ) -> tuple[Tensor, Tensor]:
        """(std, mean) of the same elements. [..., n, ...] -> [...], [...]

        unbiased: False is correction=0
        correction: what is subtracted from n in the divisor"""
    def nansum(
        self,
        dim: _int | Sequence[_int] | None = None,
        keepdim: _bool = False,
        dtype: DType | type[Any] | str | None = None,
    ) -> Tensor:
        """sum, NaN counting as 0. [..., n, ...] -> [...]"""
    def nanmean(
        self,
        dim: _int | Sequence[_int] | None = None,
        keepdim: _bool = False,
        dtype: DType | type[Any] | str | None = None,
    ) -> Tensor:
        """The mean of what is not NaN; NaN where all is. [..., n, ...] -> [...]"""
    def aminmax(self, dim: _int | None = None, keepdim: _bool = False) -> Extremes:
        """(amin, amax) of all elements or of one dim. [..., n, ...] -> [...], [...]"""
    def all(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False) -> Tensor:
        """Whether every element is true (not 0). [..., n, ...] -> [...]

        Raises IndexError where there is no such dim; ValueError where one is named twice."""
    def any(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False) -> Tensor:
        """Whether some element is true (not 0). [..., n, ...] -> [...]

        Raises IndexError where there is no such dim; ValueError where one is named twice."""
    def logsumexp(self, dim: _int | Sequence[_int], keepdim: _bool = False) -> Tensor:
        """log(sum(exp(x))), shifted so that nothing overflows. [..., n, ...] -> [...]"""
    def softmax(self, dim: _int = -1, dtype: DType | type[Any] | str | None = None) -> Tensor:
        """exp(x) normalised to sum to 1 along a dim. [..., n, ...] -> [..., n, ...]"""
    def log_softmax(self, dim: _int = -1, dtype: DType | type[Any] | str | None = None) -> Tensor:
        """Logarithm of softmax along a dim, safe for large values. [..., n, ...] -> [..., n, ...]"""
    def bincount(
        self, weights: Tensor | None = None, minlength: _int = 0, *, length: _int | None = None
    ) -> Tensor:
        """How often each of 0, 1, ... occurs, or the sum of the weights there.

        The size is that of the largest plus 1 (or minlength), which takes one read; not so with `length`,
        which then is the size, what is larger being left out. [n] -> [max(...) + 1] or [length]

        Raises ValueError where the input has not 1 dim or weights have another shape; TypeError for other than integers."""
    def histc(self, bins: _int = 100, min: _float = 0, max: _float = 0) -> Tensor:
        """How many elements fall into each of `bins` equal parts of min to max, both included, as floats.

        Both 0: the range of the elements. Others and NaN are left out. [...] -> [bins]

        ValueError where bins is below 1, or max below min, or either is not finite; at the next read where
        the range of the elements is not."""
    def histogram(
        self,
        bins: _int | Tensor,
        *,
        range: tuple[_float, _float] | None = None,
        weight: Tensor | None = None,
        density: _bool = False,
    ) -> HistogramEdges:
        """(hist, bin_edges): how many elements, or what weight, fall between edges; the last is included.

        bins: a number of equal parts of `range` (low, high; of the elements' own without), or the edges.
        ValueError where bins is below 1, edges are fewer than 2, or the range is not finite (of the elements'
        own at the next read). [...] -> [bins], [bins + 1]

        density: divide so that the area is 1"""
    @overload
    def median(self) -> Tensor:
        """The lower of the two middle values of all, or (values, indices) over one dim; NaN wins.

        [..., n, ...] -> [...]"""
    @overload
    def median(self, dim: _int, keepdim: _bool = False) -> Chosen: ...
    @overload
    def nanmedian(self) -> Tensor:
        """The median of what is not NaN; as median otherwise. [..., n, ...] -> [...]"""
    @overload
    def nanmedian(self, dim: _int, keepdim: _bool = False) -> Chosen: ...
    def mode(self, dim: _int = -1, keepdim: _bool = False) -> Chosen:
        """(values, indices) of the most frequent value of a dim: the smallest of such, at its last place.

        [..., n, ...] -> [...], [...]

        Raises ValueError where the dim has no elements."""
    def quantile(
        self,
        q: _float | Tensor,
        dim: _int | None = None,
        keepdim: _bool = False,
        *,
        interpolation: str = "linear",
    ) -> Tensor:
        """The value below which a part q (0 to 1) lies; NaN where a line has one. q: a number or [k].

        [..., n, ...] -> [...] or [k, ...]

        interpolation: "linear", "lower", "higher", "nearest" or "midpoint": between two elements
        Raises ValueError where q is not in 0 to 1 or interpolation is unknown; TypeError for integers."""
    def nanquantile(
        self,
        q: _float | Tensor,
        dim: _int | None = None,
        keepdim: _bool = False,
        *,
        interpolation: str = "linear",
    ) -> Tensor:
        """The quantile of what is not NaN; as quantile otherwise. [..., n, ...] -> [...] or [k, ...]

        q: shares from 0 to 1
        interpolation: "linear", "lower", "higher", "nearest" or "midpoint": between two elements
        Raises ValueError where q is not in 0 to 1 or interpolation is unknown; TypeError for integers."""
    def cumsum(self, dim: _int, dtype: DType | type[Any] | str | None = None) -> Tensor:
        """Sums of the elements so far along a dim; integers as int64. [..., n, ...] -> [..., n, ...]"""
    def cumprod(self, dim: _int, dtype: DType | type[Any] | str | None = None) -> Tensor:
        """Products of the elements so far along a dim. [..., n, ...] -> [..., n, ...]"""
    def logcumsumexp(self, dim: _int) -> Tensor:
        """log(cumsum(exp(x))), without overflow. [..., n, ...] -> [..., n, ...]"""
    def cummax(self, dim: _int) -> Chosen:
        """(values, indices) of the largest element so far, the latest of equals; NaN counts as largest.

        [..., n, ...] -> [..., n, ...], [..., n, ...]"""
    def cummin(self, dim: _int) -> Chosen:
        """(values, indices) of the smallest element so far, the latest of equals; NaN counts as smallest.

        [..., n, ...] -> [..., n, ...], [..., n, ...]"""
    def diff(
        self, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None
    ) -> Tensor:
        """Differences of neighbours along a dim, n times. [..., m, ...] -> [..., m - n, ...]

        prepend: what is put before
        append: what is put behind
        Raises ValueError where n is below 0, or the input is 0-d."""
    def argsort(self, dim: _int = -1, descending: _bool = False, stable: _bool = False) -> Tensor:
        """Places (int64) of a dim's elements in order; always stable; NaN counts as largest.

        [..., n, ...] -> [..., n, ...]

        descending: the largest first
        Raises IndexError where there is no such dim."""
    def sort(self, dim: _int = -1, descending: _bool = False, stable: _bool = False) -> Chosen:
        """(values, indices) of a dim's elements in order; always stable; NaN counts as largest.

        [..., n, ...] -> [..., n, ...], [..., n, ...]

        descending: the largest first
        Raises IndexError where there is no such dim."""
    def msort(self) -> Tensor:
        """The elements in order along the first dim. [n, ...] -> [n, ...]"""
    def topk(self, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True) -> Chosen:
        """(values, indices) of the k largest (or smallest) of a dim, in order; NaN counts as largest.

        [..., n, ...] -> [..., k, ...], [..., k, ...]

        sorted: in order
        Raises ValueError where k is not from 0 to n."""
    def kthvalue(self, k: _int, dim: _int = -1, keepdim: _bool = False) -> Chosen:
        """(values, indices) of the k-th smallest of a dim, counted from 1. [..., n, ...] -> [...], [...]

        Raises ValueError where k is not from 1 to n."""
    def lgamma(self) -> Tensor:
        """logarithm of |gamma(x)|. [...] -> [...]"""
    def digamma(self) -> Tensor:
        """slope of lgamma. [...] -> [...]"""
    def zeta(self, other: Tensor | _float | HostScalar) -> Tensor:
        """Hurwitz' zeta: the sum of (y + k)**-x over k >= 0, for x > 1 and y > 0; no slope by x. [...], [...] -> [...]"""
    def igamma(self, other: Tensor | _float | HostScalar) -> Tensor:
        """the share of the gamma function's integral of x up to y, for x and y from 0 on; no slope by x. [...], [...] -> [...]"""
    def igammac(self, other: Tensor | _float | HostScalar) -> Tensor:
        """the share of the gamma function's integral of x from y on, for x and y from 0 on; no slope by x. [...], [...] -> [...]"""
    def erfc(self) -> Tensor:
        """1 - erf(x), exact far out. [...] -> [...]"""
    def erfcx(self) -> Tensor:
        """exp(x * x) * erfc(x). [...] -> [...]"""
    def ndtri(self) -> Tensor:
        """x of a normal distribution with this mass below it. [...] -> [...]"""
    def erfinv(self) -> Tensor:
        """inverse of erf. [...] -> [...]"""
    def i0e(self) -> Tensor:
        """exp(-|x|) * i0(x). [...] -> [...]"""
    def i1e(self) -> Tensor:
        """exp(-|x|) * i1(x). [...] -> [...]"""
    def xlogy(self, other: Tensor | _float | HostScalar) -> Tensor:
        """x * log(y); 0 where x is, whatever y is. [...], [...] -> [...]"""
    def xlog1py(self, other: Tensor | _float | HostScalar) -> Tensor:
        """x * log(1 + y); 0 where x is, whatever y is. [...], [...] -> [...]"""
    def i0(self) -> Tensor:
        """Modified Bessel function of the first kind, order 0. [...] -> [...]"""
    def i1(self) -> Tensor:
        """Modified Bessel function of the first kind, order 1. [...] -> [...]"""
    def polygamma(self, n: _int | Tensor | None = None) -> Tensor:
        """The nth derivative of digamma; polygamma(n, x), or x.polygamma(n) as a method. [...] -> [...]

        Raises ValueError where n is no whole number from 0."""
    def logit(self, eps: _float | None = None) -> Tensor:
        """log(x / (1 - x)), x first held inside [eps, 1 - eps] where eps is given. [...] -> [...]"""
    def sinc(self) -> Tensor:
        """sin(pi * x) / (pi * x), 1 at 0. [...] -> [...]"""
    def entr(self) -> Tensor:
        """-x * log(x), 0 at 0 and -inf below. [...] -> [...]"""
    def ndtr(self) -> Tensor:
        """The mass of the normal distribution below x. [...] -> [...]"""
    def log_ndtr(self) -> Tensor:
        """Logarithm of the normal distribution's mass below x, exact far out. [...] -> [...]"""
    def mvlgamma(self, p: _int) -> Tensor:
        """Logarithm of the gamma function of p dims, x above (p - 1) / 2. [...] -> [...]

        Raises ValueError where p is no whole number above 0."""
    def cov(
        self, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
    ) -> Tensor:
        """Covariances of rows: fweights count, aweights weigh columns. [n, m] -> [n, n]; [m], [1, m] -> []

        ValueError where there are more dims, or weights are not one for each column; at the next read where
        one is negative or all are 0. TypeError where fweights are no integers, or aweights no floats.

        correction: what is subtracted from n in the divisor"""
    def corrcoef(self) -> Tensor:
        """Pearson's correlations of rows, held inside [-1, 1]. [n, m] -> [n, n]; [m], [1, m] -> []

        Raises ValueError where there are more than 2 dims."""

class Plans(list[Any]):
    """Kernels in order; printing shows them as a table."""

    text: str
    def __init__(self, plan: Any, text: str) -> None: ...
    def __repr__(self) -> str: ...

def own(node: Any) -> Any:
    """A node of its own over the same value: marking or replacing it touches nothing else."""

def tensor(
    data: Any, dtype: DType | type[Any] | str | None = None, device: Any = None, requires_grad: _bool = False
) -> Tensor:
    """A tensor of `data` (numbers, nested lists, an array or a tensor), copied to the device.

    Whole numbers are int64. Arrays of float64 become float32 and those of complex128 complex64, unless
    `dtype` (or `set_default_dtype`) asks for another: float64 and complex128 are not on GPUs."""
