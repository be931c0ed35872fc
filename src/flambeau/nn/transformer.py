"""The layers of transformers (Vaswani et al., 2017), under PyTorch's names."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from ..core.dtype import DTypeLike
from ..core.op import COMPOSED
from ..device import DeviceLike
from ..errors import ValueError
from ..ops.elementwise import relu
from ..tensor import Tensor
from . import init
from .attention import MultiheadAttention
from .containers import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module, cast_layer
from .norm import LayerNorm

ACTIVATIONS = {"relu": relu, "gelu": COMPOSED["gelu"]}


def _activation(choice: Any) -> Callable[[Tensor], Tensor]:
    if isinstance(choice, str) and choice not in ACTIVATIONS:
        raise ValueError(f"activation={choice!r}: is unknown: use 'relu', 'gelu' or a function")
    return ACTIVATIONS[choice] if isinstance(choice, str) else choice


@dataclass(eq=False, repr=False)
class _Layer(Module):
    d_model: int
    nhead: int
    dim_feedforward: int = 2048
    dropout: Any = 0.1
    activation: Any = "relu"
    layer_norm_eps: float = 1e-5
    batch_first: bool = False
    norm_first: bool = False
    bias: bool = True
    device: DeviceLike | None = None
    dtype: DTypeLike | None = None
    self_attn: ClassVar[Any]
    multihead_attn: ClassVar[Any]

    def __post_init__(self):
        p, width = self.dropout, self.d_model
        own = self.__dict__
        # Constructor options that are not attributes in PyTorch.
        device, dtype, eps, bias = map(own.pop, ("device", "dtype", "layer_norm_eps", "bias"))
        self.activation = _activation(self.activation)
        for name in self.attentions():
            attention = MultiheadAttention(
                width, self.nhead, p, bias, batch_first=self.batch_first, device=device
            )
            setattr(self, name, attention)
        self.linear1 = Linear(width, self.dim_feedforward, bias, device=device)
        self.dropout = Dropout(p)
        self.linear2 = Linear(self.dim_feedforward, width, bias, device=device)
        # One norm and dropout more than attentions: for the linear layers.
        parts = range(1, len(self.attentions()) + 2)
        for i in parts:
            setattr(self, f"norm{i}", LayerNorm(width, eps, bias=bias, device=device))
        for i in parts:
            setattr(self, f"dropout{i}", Dropout(p))
        cast_layer(self, dtype)

    def attentions(self) -> tuple[str, ...]:
        """The names of its attention layers, in order."""
        return ("self_attn",)

    def _sa_block(
        self,
        x: Tensor,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        is_causal: bool = False,
    ) -> Tensor:
        """The self-attention of the first sublayer; subclasses may override it, as in PyTorch."""
        masks = {"key_padding_mask": key_padding_mask, "attn_mask": attn_mask}
        return self.self_attn(x, x, x, need_weights=False, is_causal=is_causal, **masks)[0]

    def _through(self, x: Tensor, parts: list[Callable[[Tensor], Tensor]]) -> Tensor:
        """Add the result of each sublayer to x, with the norm before or after it."""
        for i, part in enumerate(parts, 1):
            # module attributes norm1, norm2 ... as PyTorch names them, which state_dicts need
            norm, drop = getattr(self, f"norm{i}"), getattr(self, f"dropout{i}")
            # pre-norm or post-norm
            x = x + drop(part(norm(x))) if self.norm_first else norm(x + drop(part(x)))
        return x

    def _ff_block(self, x: Tensor) -> Tensor:
        """The linear layers of the last sublayer; subclasses may override it, as in PyTorch."""
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Self-attention, then two linear layers, each with a residual connection and a norm. [n, b, d] -> same

    d_model: features. nhead: heads. dim_feedforward: features between the linear layers. activation: "relu",
    "gelu" or a function. batch_first: the batch before the sequence. norm_first: norms before the sublayers,
    not after. dropout: the fraction that is dropped. layer_norm_eps: eps of the norms. ValueError for another
    activation.
    """

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """[n, b, d] -> [n, b, d]; masks as of MultiheadAttention; is_causal: src_mask is the causal one."""
        attend = partial(
            self._sa_block, attn_mask=src_mask, key_padding_mask=src_key_padding_mask, is_causal=is_causal
        )
        return self._through(src, [attend, self._ff_block])


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to a memory, then two linear layers. [n, b, d], [m, b, d] -> [n, b, d]

    d_model: features. nhead: heads. dim_feedforward: features between the linear layers. activation: "relu",
    "gelu" or a function. batch_first: the batch before the sequence. norm_first: norms before the sublayers,
    not after. dropout: the fraction that is dropped. layer_norm_eps: eps of the norms. ValueError for another
    activation.
    """

    def attentions(self) -> tuple[str, ...]:
        return ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """[n, b, d], [m, b, d] -> [n, b, d]; masks as of MultiheadAttention. tgt_is_causal, memory_is_causal:
        whether the masks are the causal ones."""
        attend = partial(
            self._sa_block, attn_mask=tgt_mask, key_padding_mask=tgt_key_padding_mask, is_causal=tgt_is_causal
        )
        look = partial(
            self._mha_block,
            mem=memory,
            attn_mask=memory_mask,
            key_padding_mask=memory_key_padding_mask,
            is_causal=memory_is_causal,
        )
        return self._through(tgt, [attend, look, self._ff_block])

    def _mha_block(
        self,
        x: Tensor,
        mem: Tensor,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        is_causal: bool = False,
    ) -> Tensor:
        """The attention to the memory; subclasses may override it, as in PyTorch."""
        masks = {"key_padding_mask": key_padding_mask, "attn_mask": attn_mask}
        return self.multihead_attn(x, mem, mem, need_weights=False, is_causal=is_causal, **masks)[0]


def _is_causal(mask: Tensor | None, hint: bool | None) -> bool:
    """Whether the caller says that a mask is causal: a check would read the mask."""
    return bool(hint) and mask is not None


class _Stack(Module):
    """Copies of a layer one after another, and a norm after the last."""

    norm: Module | None

    def _make(self, layer: Module, num_layers: int, norm: Module | None) -> None:
        # deep copies: the layers begin with equal weights, as in PyTorch, but share none
        self.layers = ModuleList(deepcopy(layer) for _ in range(num_layers))
        self.num_layers, self.norm = num_layers, norm

    def _normalize(self, x: Tensor) -> Tensor:
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(_Stack):
    """Copies of an encoder layer one after another. [n, b, d] -> [n, b, d]

    encoder_layer: the layer to copy. num_layers: the number of copies. norm: a layer after the last.
    enable_nested_tensor, mask_check: accepted and ignored: they choose a faster path of PyTorch.
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ):
        self._make(encoder_layer, num_layers, norm)

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """[n, b, d] -> [n, b, d]; masks as of MultiheadAttention; is_causal: mask is the causal one."""
        causal = _is_causal(mask, is_causal)
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, causal)
        return self._normalize(src)


class TransformerDecoder(_Stack):
    """Copies of a decoder layer one after another. [n, b, d], [m, b, d] -> [n, b, d]

    decoder_layer: the layer to copy. num_layers: the number of copies. norm: a layer after the last.
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None):
        self._make(decoder_layer, num_layers, norm)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """[n, b, d], [m, b, d] -> [n, b, d]; masks as of MultiheadAttention. tgt_is_causal and
        memory_is_causal say that the masks are causal."""
        causal = {
            "tgt_is_causal": _is_causal(tgt_mask, tgt_is_causal),
            "memory_is_causal": memory_is_causal,
        }
        masks = (tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        for layer in self.layers:
            tgt = layer(tgt, memory, *masks, **causal)
        return self._normalize(tgt)


@dataclass(eq=False, repr=False)
class Transformer(Module):
    """An encoder, and a decoder that attends to the encoder's result. [m, b, d], [n, b, d] -> [n, b, d]

    d_model: features. nhead: heads. num_encoder_layers, num_decoder_layers: the numbers of layers.
    dim_feedforward: features between the linear layers. activation: "relu", "gelu" or a function.
    custom_encoder, custom_decoder: modules to use instead. batch_first: the batch before the sequence.
    norm_first: norms before the sublayers, not after. dropout: the fraction that is dropped. layer_norm_eps:
    eps of the norms.
    """

    d_model: int = 512
    nhead: int = 8
    num_encoder_layers: int = 6
    num_decoder_layers: int = 6
    dim_feedforward: int = 2048
    dropout: float = 0.1
    activation: str | Callable[[Tensor], Tensor] = "relu"
    custom_encoder: Module | None = None
    custom_decoder: Module | None = None
    layer_norm_eps: float = 1e-5
    batch_first: bool = False
    norm_first: bool = False
    bias: bool = True
    device: DeviceLike | None = None
    dtype: DTypeLike | None = None

    def __post_init__(self):
        # Options that PyTorch's module has no attributes for are removed from the dataclass's fields.
        own = vars(self)
        dtype = own.pop("dtype")
        names = ("dim_feedforward", "dropout", "activation", "layer_norm_eps", "bias", "device")
        options = {name: own.pop(name) for name in names} | {"norm_first": own.pop("norm_first")}
        sizes = (self.d_model, self.nhead)
        eps, bias, device = options["layer_norm_eps"], options["bias"], options["device"]
        norm = partial(LayerNorm, self.d_model, eps, bias=bias, device=device)
        count, others = own.pop("num_encoder_layers"), own.pop("num_decoder_layers")
        encoder, decoder = own.pop("custom_encoder"), own.pop("custom_decoder")
        options["batch_first"] = self.batch_first
        self.encoder = encoder or TransformerEncoder(
            TransformerEncoderLayer(*sizes, **options), count, norm()
        )
        self.decoder = decoder or TransformerDecoder(
            TransformerDecoderLayer(*sizes, **options), others, norm()
        )
        # PyTorch initialises all matrices of a Transformer in the same way; biases and norms keep their own
        # values.
        for p in self.parameters():
            if p.ndim > 1:
                init.xavier_uniform_(p)
        cast_layer(self, dtype)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """[m, b, d], [n, b, d] -> [n, b, d]; masks as of MultiheadAttention (the padding of the memory is not
        that of src), and *_is_causal, which say that they are causal."""
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: DeviceLike | None = None, dtype: DTypeLike | None = None
    ) -> Tensor:
        """The causal mask of sz positions: 0 where a query may attend, -inf for later keys. -> [sz, sz]"""
        # True above the diagonal: later keys than the query
        ones = Tensor.full((sz, sz), True, device=device)
        mask = ones.triu(1).where(float("-inf"), 0.0)
        return mask if dtype is None else mask.to(dtype)
