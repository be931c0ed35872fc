"""Operators against ONNX Runtime on the CPU: those of networks, of classical models, and com.microsoft's.

An output whose name begins with "~" is made, and not compared: there ONNX Runtime gives what nothing says.
"""

import numpy as np
import pytest
from helpers.onnx_nodes import ML, MS, Case, f, i, of, text, u8

pytestmark = pytest.mark.torch  # ONNX Runtime is in the same extra


def lin(n):
    """So many coefficients."""
    return {"coefficients": [float(x) for x in np.random.default_rng(1).normal(size=n)]}


CASES = [
    Case("QuantizeLinear", (f(3, 4), of(0.01)), domain=MS),
    Case("QuantizeLinear", (f(3, 4), of(0.01), of(3, "int8")), domain=MS),
    Case("QuantizeLinear", (f(3, 4), of([0.01, 0.02, 0.1, 0.5]), of([9, 0, 1, 7], "uint8")), {"axis": 1}, MS),
    Case("QuantizeLinear", (f(2, 3), of(1e-5), of(100, "uint16")), domain=MS),
    Case("DequantizeLinear", (u8(3, 4), of(0.5)), domain=MS),
    Case("DequantizeLinear", (u8(2, 3, 2), of([0.5, 1, 2]), of([9, 0, 255], "uint8")), {"axis": 1}, MS),
    Case("DequantizeLinear", (i(4, dtype="int32"), of(0.25), of(0, "int32")), domain=MS),
    Case("ExpandDims", (f(2, 3), of(1, "int32")), domain=MS),
    Case("ExpandDims", (f(2, 3), of(-1, "int32")), domain=MS),
    Case("Trilu", (f(3, 4),), domain=MS),
    Case("Trilu", (f(2, 3, 4), of(-1, "int64")), {"upper": 0}, MS),
    Case("Pad", (f(2, 3), of([0, 1, 2, 0], "int64")), domain=MS),
    Case("Pad", (f(2, 3), of([[0, 1, 2, -1]], "int64"), of([7])), domain=MS),
    Case("Pad", (f(3, 4), of([1, 2, 0, 1], "int64")), {"mode": "reflect"}, MS),
    Case("Pad", (f(3, 4), of([1, 2, 0, 1], "int64")), {"mode": "edge"}, MS),
    Case("Range", (of(1), of(4.5)), domain=MS),
    Case("Range", (of(9, "int32"), of(-2, "int32"), of(-3, "int32")), domain=MS),
    Case("Unique", (of([2, 1, 1, 3, 4, 3]),), domain=MS, outputs=("y", "idx", "counts")),
    Case("GatherND", (f(3, 4, 2), i(2, 2, high=3)), domain=MS),
    Case("GatherND", (f(3, 4), i(5, 2, high=3)), domain=MS),
    Case("GridSample", (f(1, 2, 4, 5), f(1, 3, 2, 2)), domain=MS),
    Case("GridSample", (f(1, 2, 4, 5), f(1, 3, 2, 2)), {"mode": "bicubic", "align_corners": 1}, MS),
    Case(
        "GridSample",
        (f(1, 2, 4, 5), f(1, 3, 2, 2, low=-2, high=2)),
        {"mode": "nearest", "padding_mode": "reflection"},
        MS,
    ),
    # weights of 7 bits: without VNNI, ONNX Runtime's products of uint8 and int8 saturate at 16 bits
    Case(
        "QAttention",
        (u8(2, 4, 6), i(6, 24, low=-64, high=64, dtype="int8"), f(24), of(0.01), of(0.02)),
        {"num_heads": 2},
        MS,
        tolerance=1e-4,
    ),
    Case(
        "QAttention",
        (
            u8(2, 3, 6),
            u8(6, 24),
            f(24),
            of(0.01),
            of(0.02),
            of([3, 2], "int32"),
            of(128, "uint8"),
            of(120, "uint8"),
        ),
        {"num_heads": 4, "unidirectional": 1},
        MS,
        tolerance=1e-4,
    ),
    Case(
        "QAttention",
        (
            u8(2, 3, 6),
            i(6, 24, low=-64, high=64, dtype="int8"),
            f(24),
            of(0.01),
            f(24, low=0.01, high=0.02),
            None,
            of(128, "uint8"),
            of([1] * 24, "int8"),
            f(2, 2, 2, 5, 4),
        ),
        {"num_heads": 2, "unidirectional": 1},
        MS,
        ("y", "present"),
        tolerance=1e-4,
    ),
    Case("Gelu", (f(3, 4),), domain=MS),
    Case("BiasGelu", (f(3, 4), f(4)), domain=MS),
    Case("FastGelu", (f(3, 4), f(4)), domain=MS),
    Case("QuickGelu", (f(3, 4),), {"alpha": 1.5}, MS),
    Case("FusedMatMul", (f(2, 4, 3), f(2, 5, 4)), {"alpha": 0.5, "transA": 1, "transB": 1}, MS),
    Case("FusedMatMul", (f(4, 2, 3), f(3, 2, 5)), {"alpha": 2.0, "transBatchA": 1, "transBatchB": 1}, MS),
    Case("FusedGemm", (f(2, 3), f(3, 4), f(4)), {"activation": "LeakyRelu", "activation_alpha": 0.1}, MS),
    Case("FusedConv", (f(1, 2, 5, 5), f(3, 2, 3, 3), f(3)), {"activation": "Relu", "pads": [1, 1, 1, 1]}, MS),
    Case(
        "FusedConv",
        (f(1, 2, 5, 5), f(3, 2, 3, 3), f(3), f(1, 3, 3, 3)),
        {"activation": "Clip", "activation_params": [0.0, 1.0]},
        MS,
    ),
    Case("Inverse", (f(2, 3, 3),), domain=MS, tolerance=1e-3),
    Case("SimplifiedLayerNormalization", (f(2, 3, 8), f(8)), {"epsilon": 1e-6}, outputs=("y", "inv")),
    Case(
        "SkipLayerNormalization",
        (f(2, 3, 8), f(2, 3, 8), f(8), f(8), f(8)),
        {"epsilon": 1e-6},
        MS,
        ("y", "", "", "sum"),
    ),
    Case("SkipLayerNormalization", (f(2, 3, 8), f(3, 8), f(8)), {"epsilon": 1e-6}, MS),
    Case(
        "SkipSimplifiedLayerNormalization",
        (f(2, 3, 8), f(2, 3, 8), f(8), f(8)),
        {"epsilon": 1e-6},
        MS,
        ("y", "", "", "sum"),
    ),
    Case(
        "EmbedLayerNormalization",
        (
            i(2, 4, dtype="int32"),
            i(2, 4, high=2, dtype="int32"),
            f(8, 6),
            f(5, 6),
            f(2, 6),
            f(6),
            f(6),
            of([[1, 1, 1, 0], [1, 1, 0, 0]], "int32"),
        ),
        {"epsilon": 1e-6},
        MS,
        ("y", "mask", "sum"),
    ),
    Case(
        "EmbedLayerNormalization",
        (i(2, 4, dtype="int32"), None, f(8, 6), f(5, 6), None, f(6), f(6)),
        {"mask_index_type": 0},
        MS,
        ("y", ""),
    ),
    Case("Attention", (f(2, 4, 6), f(6, 24), f(24)), {"num_heads": 2}, MS),
    Case(
        "Attention",
        (f(2, 4, 6), f(6, 24), f(24), of([3, 2], "int32")),
        {"num_heads": 4, "unidirectional": 1},
        MS,
    ),
    Case(
        "Attention",
        (
            f(2, 4, 6),
            f(6, 24),
            f(24),
            of([[1, 1, 1, 1, 1, 0], [1, 1, 1, 1, 0, 0]], "int32"),
            f(2, 2, 2, 2, 4),
        ),
        {"num_heads": 2},
        MS,
        ("y", "present"),
    ),
    Case(
        "Attention",
        (f(2, 4, 6), f(6, 24), f(24), None, None, f(2, 2, 4, 4)),
        {"num_heads": 2, "scale": 0.3},
        MS,
    ),
    Case(
        "Attention",
        (f(2, 4, 6), f(6, 24), f(24), of([3, 2, 1, 0], "int32")),
        {"num_heads": 2, "mask_filter_value": -5000.0},
        MS,
    ),
    Case("MultiHeadAttention", (f(2, 3, 8), f(2, 5, 8), f(2, 5, 8), f(24)), {"num_heads": 2}, MS),
    Case("MultiHeadAttention", (f(2, 3, 8), f(2, 2, 5, 4), f(2, 2, 5, 4)), {"num_heads": 2}, MS),
    Case(
        "MultiHeadAttention",
        (f(2, 3, 8), f(2, 3, 8), f(2, 3, 8), None, of([[1, 1, 0], [1, 0, 0]], "int32"), f(1, 2, 3, 3)),
        {"num_heads": 2, "unidirectional": 1},
        MS,
    ),
    Case(
        "MultiHeadAttention",
        (f(2, 3, 8), f(2, 3, 8), f(2, 3, 8), f(24), None, None, f(2, 2, 2, 4), f(2, 2, 2, 4)),
        {"num_heads": 2, "unidirectional": 1},
        MS,
        ("y", "pk", "pv"),
    ),
    Case(
        "GroupQueryAttention",
        (
            f(2, 3, 16),
            f(2, 3, 8),
            f(2, 3, 8),
            f(2, 1, 0, 8),
            f(2, 1, 0, 8),
            of([2, 2], "int32"),
            of([3], "int32"),
        ),
        {"num_heads": 2, "kv_num_heads": 1},
        MS,
        ("y", "pk", "pv"),
    ),
    Case(
        "GroupQueryAttention",
        (
            f(2, 3, 64),
            None,
            None,
            f(2, 1, 0, 16),
            f(2, 1, 0, 16),
            of([2, 2], "int32"),
            of([3], "int32"),
            f(8, 8),
            f(8, 8),
        ),
        {"num_heads": 2, "kv_num_heads": 1, "do_rotary": 1},
        MS,
        ("y", "pk", "pv"),
    ),
    Case(
        "GroupQueryAttention",
        (
            f(2, 1, 64),
            f(2, 1, 32),
            f(2, 1, 32),
            f(2, 2, 6, 16),
            f(2, 2, 6, 16),
            of([3, 5], "int32"),
            of([6], "int32"),
            f(8, 8),
            f(8, 8),
        ),
        {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1, "rotary_interleaved": 1, "scale": 0.4},
        MS,
        ("y", "~k", "~v"),
    ),
    Case(
        "GroupQueryAttention",
        (
            f(1, 1, 32),
            f(1, 1, 16),
            f(1, 1, 16),
            f(1, 2, 3, 8),
            f(1, 2, 3, 8),
            of([3], "int32"),
            of([4], "int32"),
        ),
        {"num_heads": 4, "kv_num_heads": 2, "softcap": 2.0},
        MS,
        ("y", "pk", "pv"),
    ),
    Case(
        "GroupQueryAttention",
        (
            f(1, 6, 32),
            f(1, 6, 16),
            f(1, 6, 16),
            f(1, 2, 0, 8),
            f(1, 2, 0, 8),
            of([5], "int32"),
            of([6], "int32"),
        ),
        {"num_heads": 4, "kv_num_heads": 2, "local_window_size": 3},
        MS,
        ("y", "pk", "pv"),
    ),
    Case(
        "GroupQueryAttention",
        (
            f(1, 6, 32),
            f(1, 6, 16),
            f(1, 6, 16),
            f(1, 2, 0, 8),
            f(1, 2, 0, 8),
            of([5], "int32"),
            of([6], "int32"),
        ),
        {"num_heads": 4, "kv_num_heads": 2, "smooth_softmax": 1},
        MS,
        ("y", "pk", "pv"),
    ),
    Case(
        "GroupQueryAttention",
        (
            f(1, 6, 32),
            f(1, 6, 16),
            f(1, 6, 16),
            f(1, 2, 0, 8),
            f(1, 2, 0, 8),
            of([5], "int32"),
            of([6], "int32"),
            None,
            None,
            None,
            f(1, 4, 6, 6),
            f(4),
        ),
        {"num_heads": 4, "kv_num_heads": 2},
        MS,
        ("y", "pk", "pv"),
    ),
    Case("RotaryEmbedding", (f(2, 3, 16), of([[0, 1, 2], [3, 4, 5]], "int64"), f(8, 4), f(8, 4)), {}, MS),
    Case("RotaryEmbedding", (f(2, 2, 3, 8), of([2], "int64"), f(8, 4), f(8, 4)), {"interleaved": 1}, MS),
    Case(
        "MatMulNBits", (f(2, 3, 40), u8(5, 3, 8), f(15)), {"K": 40, "N": 5, "bits": 4, "block_size": 16}, MS
    ),
    Case(
        "MatMulNBits",
        (f(3, 64), u8(5, 2, 16), f(10), u8(5, 1)),
        {"K": 64, "N": 5, "bits": 4, "block_size": 32},
        MS,
    ),
    Case("MatMulNBits", (f(3, 64), u8(5, 2, 32), f(10)), {"K": 64, "N": 5, "bits": 8, "block_size": 32}, MS),
    Case(
        "MatMulNBits",
        (f(3, 64), u8(5, 2, 16), f(5, 2), None, None, f(5)),
        {"K": 64, "N": 5, "bits": 4, "block_size": 32},
        MS,
    ),
    Case(
        "GatherBlockQuantized",
        (u8(7, 16), i(2, 3, high=7), f(7, 2), u8(7, 1)),
        {"bits": 4, "block_size": 16, "gather_axis": 0, "quantize_axis": 1},
        MS,
    ),
    Case(
        "GatherBlockQuantized",
        (u8(7, 32), i(4, low=-7, high=7), f(7, 2)),
        {"bits": 8, "block_size": 16, "gather_axis": 0, "quantize_axis": 1},
        MS,
    ),
    Case(
        "DynamicQuantizeMatMul", (f(3, 8), u8(8, 4), of(0.02), of(120, "uint8"), f(4)), {}, MS, tolerance=1e-4
    ),
    # weights of 7 bits: see QAttention above
    *(
        Case(
            "DynamicQuantizeLSTM",
            (
                f(5, batch, 3),
                i(directions, 3, 16, low=64, high=192, dtype="uint8"),
                i(directions, 4, 16, low=64, high=192, dtype="uint8"),
                f(directions, 32) if more else None,
                of([5, 3][:batch], "int32") if more else None,
                f(directions, batch, 4) if more else None,
                f(directions, batch, 4) if more else None,
                f(directions, 12) if more else None,
                *[of([0.01] * directions), of([128] * directions, "uint8")] * 2,
            ),
            {"direction": direction, "hidden_size": 4},
            MS,
            ("y", "h", "c"),
            tolerance=1e-4,
        )
        for direction, directions, batch, more in [
            ("forward", 1, 1, False),
            ("reverse", 1, 2, True),
            ("bidirectional", 2, 2, False),
            ("bidirectional", 2, 2, True),
        ]
    ),
    Case(
        "DynamicQuantizeLSTM",
        (
            f(4, 2, 3),
            *(i(1, n, 8, low=-64, high=64, dtype="int8") for n in (3, 2)),
            *[None] * 5,
            *[f(1, 8, low=0.005, high=0.02), np.zeros((1, 8), "i1")] * 2,
        ),
        {"hidden_size": 2, "clip": 1.0},
        MS,
        ("y", "h", "c"),
        tolerance=1e-4,
    ),
    Case(
        "MatMulIntegerToFloat",
        (u8(3, 8), u8(8, 4), of(0.02), of(0.03), of(100, "uint8"), of(120, "uint8"), f(4)),
        {},
        MS,
        tolerance=1e-4,
    ),
    Case(
        "QLinearAdd",
        (u8(3, 4), of(0.02), of(100, "uint8"), u8(4), of(0.03), of(120, "uint8"), of(0.05), of(110, "uint8")),
        {},
        MS,
        tolerance=1,
    ),
    Case(
        "QLinearMul",
        (
            u8(3, 4),
            of(0.02),
            of(100, "uint8"),
            u8(3, 4),
            of(0.03),
            of(120, "uint8"),
            of(0.05),
            of(110, "uint8"),
        ),
        {},
        MS,
        tolerance=1,
    ),
    Case(
        "QLinearSigmoid",
        (u8(3, 4), of(0.02), of(100, "uint8"), of(1 / 256), of(0, "uint8")),
        {},
        MS,
        tolerance=1,
    ),
    Case(
        "QLinearLeakyRelu",
        (u8(3, 4), of(0.02), of(100, "uint8"), of(0.02), of(20, "uint8")),
        {"alpha": 0.1},
        MS,
        tolerance=1,
    ),
    Case(
        "QLinearSoftmax",
        (u8(3, 4), of(0.02), of(100, "uint8"), of(1 / 256), of(0, "uint8")),
        {"axis": -1, "opset": 13},
        MS,
        tolerance=1,
    ),
    Case(
        "QLinearAveragePool",
        (u8(1, 2, 5, 5), of(0.02), of(100, "uint8"), of(0.02), of(90, "uint8")),
        {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]},
        MS,
        tolerance=1,
    ),
    Case(
        "QLinearGlobalAveragePool",
        (u8(1, 2, 5, 5), of(0.02), of(100, "uint8"), of(0.02), of(90, "uint8")),
        {},
        MS,
        tolerance=1,
    ),
    Case(
        "QLinearConcat",
        (
            of(0.03),
            of(100, "uint8"),
            u8(2, 3),
            of(0.02),
            of(90, "uint8"),
            u8(2, 2),
            of(0.04),
            of(110, "uint8"),
        ),
        {"axis": 1},
        MS,
        tolerance=1,
    ),
    Case(
        "QGemm",
        (
            u8(3, 8),
            of(0.02),
            of(100, "uint8"),
            u8(4, 8),
            of(0.03),
            of(120, "uint8"),
            i(4, high=100, dtype="int32"),
            of(0.05),
            of(110, "uint8"),
        ),
        {"transB": 1},
        MS,
        tolerance=1,
    ),
    Case(
        "QGemm",
        (u8(3, 8), of(0.02), of(100, "uint8"), u8(4, 8), of(0.03), of(120, "uint8")),
        {"transB": 1, "alpha": 0.5},
        MS,
        tolerance=1e-4,
    ),
    # ml
    Case("LinearRegressor", (f(4, 3),), {**lin(6), "intercepts": [0.1, 0.2], "targets": 2}, ML),
    Case(
        "LinearClassifier",
        (f(4, 3),),
        {**lin(9), "intercepts": [0.1, 0.2, 0.3], "classlabels_ints": [5, 6, 7], "post_transform": "SOFTMAX"},
        ML,
        ("l", "y"),
    ),
    Case(
        "LinearClassifier",
        (f(4, 3),),
        {
            **lin(9),
            "intercepts": [0.1, 0.2, 0.3],
            "classlabels_strings": ["a", "b", "c"],
            "post_transform": "LOGISTIC",
        },
        ML,
        ("l", "y"),
    ),
    Case(
        "LinearClassifier",
        (f(4, 3),),
        {**lin(3), "intercepts": [0.1], "classlabels_ints": [5, 6]},
        ML,
        ("l", "y"),
    ),
    Case(
        "LinearClassifier",
        (f(4, 3),),
        {**lin(3), "intercepts": [0.1], "classlabels_ints": [5, 6], "post_transform": "LOGISTIC"},
        ML,
        ("l", "y"),
    ),
    Case(
        "LinearClassifier",
        (f(4, 3),),
        {**lin(6), "intercepts": [0.1, 0.2], "classlabels_ints": [5, 6], "post_transform": "SOFTMAX_ZERO"},
        ML,
        ("l", "y"),
    ),
    Case(
        "SVMRegressor",
        (f(4, 3),),
        {
            **lin(5),
            "n_supports": 5,
            "rho": [0.3],
            "support_vectors": lin(15)["coefficients"],
            "kernel_type": "RBF",
            "kernel_params": [0.5, 0.0, 3.0],
        },
        ML,
        tolerance=1e-4,
    ),
    Case(
        "SVMRegressor",
        (f(4, 3),),
        {
            **lin(5),
            "n_supports": 5,
            "rho": [0.3],
            "support_vectors": lin(15)["coefficients"],
            "kernel_type": "POLY",
            "kernel_params": [0.5, 0.1, 3.0],
        },
        ML,
        tolerance=1e-4,
    ),
    Case(
        "SVMRegressor",
        (f(4, 3),),
        {
            **lin(5),
            "n_supports": 5,
            "rho": [0.3],
            "support_vectors": lin(15)["coefficients"],
            "kernel_type": "SIGMOID",
            "kernel_params": [0.5, 0.1, 3.0],
            "one_class": 1,
        },
        ML,
        tolerance=1e-4,
    ),
    Case(
        "SVMRegressor",
        (f(4, 3),),
        {**lin(3), "rho": [0.3], "kernel_params": [0.0, 0.0, 0.0], "kernel_type": "LINEAR"},
        ML,
    ),
    Case(
        "SVMClassifier",
        (f(6, 3),),
        {
            **lin(12),
            "support_vectors": lin(18)["coefficients"],
            "vectors_per_class": [2, 2, 2],
            "rho": [0.1, 0.2, 0.3],
            "kernel_type": "RBF",
            "kernel_params": [0.5, 0.0, 3.0],
            "classlabels_ints": [3, 4, 5],
        },
        ML,
        ("l", "y"),
        tolerance=1e-4,
    ),
    Case(
        "SVMClassifier",
        (f(6, 3),),
        {
            **lin(12),
            "support_vectors": lin(18)["coefficients"],
            "vectors_per_class": [2, 2, 2],
            "rho": [0.1, 0.2, 0.3],
            "kernel_type": "LINEAR",
            "kernel_params": [0.5, 0.0, 3.0],
            "classlabels_strings": ["a", "b", "c"],
            "prob_a": [-1.0, -1.2, -0.9],
            "prob_b": [0.1, 0.2, 0.3],
        },
        ML,
        ("l", "y"),
        tolerance=1e-4,
    ),
    Case(
        "SVMClassifier",
        (f(6, 3),),
        {
            **lin(6),
            "support_vectors": lin(18)["coefficients"],
            "vectors_per_class": [3, 3],
            "rho": [0.1],
            "kernel_type": "LINEAR",
            "kernel_params": [0.5, 0.0, 3.0],
            "classlabels_ints": [0, 1],
            "prob_a": [-1.0],
            "prob_b": [0.1],
        },
        ML,
        ("l", "y"),
        tolerance=1e-4,
    ),
    Case(
        "SVMClassifier",
        (f(6, 3),),
        {
            **lin(6),
            "support_vectors": lin(18)["coefficients"],
            "vectors_per_class": [3, 3],
            "rho": [0.1],
            "kernel_type": "LINEAR",
            "kernel_params": [0.5, 0.0, 3.0],
            "classlabels_ints": [0, 1],
        },
        ML,
        ("l", "y"),
        tolerance=1e-4,
    ),
    Case(
        "SVMClassifier",
        (f(6, 3),),
        {
            **lin(9),
            "rho": [0.1],
            "kernel_params": [0.0, 0.0, 0.0],
            "kernel_type": "LINEAR",
            "classlabels_ints": [0, 1, 2],
            "post_transform": "SOFTMAX",
        },
        ML,
        ("l", "y"),
        tolerance=1e-4,
    ),
    Case("Scaler", (f(2, 3),), {"offset": [0.1, 0.2, 0.3], "scale": [2.0, 3.0, 4.0]}, ML),
    Case("Scaler", (f(2, 3),), {"offset": [0.1], "scale": [2.0]}, ML),
    *[Case("Normalizer", (f(2, 3),), {"norm": n}, ML) for n in ("MAX", "L1", "L2")],
    Case(
        "Imputer",
        (of([[1.0, np.nan], [3.0, 4.0]]),),
        {"imputed_value_floats": [7.0, 8.0], "replaced_value_float": float("nan")},
        ML,
    ),
    Case(
        "Imputer",
        (of([[1, 0], [0, 4]], "int64"),),
        {"imputed_value_int64s": [9], "replaced_value_int64": 0},
        ML,
    ),
    Case("FeatureVectorizer", (f(2, 3), f(2, 1)), {"inputdimensions": [3, 1]}, ML),
    Case(
        "CategoryMapper",
        (text("a", "b", "q"),),
        {"cats_int64s": [4, 5], "cats_strings": ["a", "b"], "default_int64": -7},
        ML,
    ),
    Case(
        "CategoryMapper",
        (of([4, 5, 6], "int64"),),
        {"cats_int64s": [4, 5], "cats_strings": ["a", "b"], "default_string": "no"},
        ML,
    ),
    Case("OneHotEncoder", (of([[4, 5], [6, 4]], "int64"),), {"cats_int64s": [4, 5], "zeros": 1}, ML),
    Case("OneHotEncoder", (text("a", "c"),), {"cats_strings": ["a", "b", "c"]}, ML),
]


def tree(kind, n_targets=2, **more):
    """A tree of five nodes and one of three, whose leaves give to `kind`."""
    t = {
        "nodes_treeids": [0] * 5 + [1] * 3,
        "nodes_nodeids": [0, 1, 2, 3, 4, 0, 1, 2],
        "nodes_featureids": [0, 1, 0, 0, 0, 2, 0, 0],
        "nodes_values": [0.1, -0.2, 0, 0, 0, 0.0, 0, 0],
        "nodes_modes": ["BRANCH_LEQ", "BRANCH_LT", "LEAF", "LEAF", "LEAF", "BRANCH_GT", "LEAF", "LEAF"],
        "nodes_truenodeids": [1, 3, 0, 0, 0, 1, 0, 0],
        "nodes_falsenodeids": [2, 4, 0, 0, 0, 2, 0, 0],
        "nodes_missing_value_tracks_true": [1, 0, 0, 0, 0, 0, 0, 0],
    }
    return {
        **t,
        f"{kind}_treeids": [0, 0, 0, 1, 1, 1],
        f"{kind}_nodeids": [2, 3, 4, 1, 2, 2],
        f"{kind}_ids": [0, 1, 0, 1, 0, 1] if n_targets > 1 else [0] * 6,
        f"{kind}_weights": [0.5, 0.7, 0.9, -0.3, 0.4, 0.6],
        **more,
    }


CASES += [
    Case(
        "TreeEnsembleRegressor",
        (f(9, 3),),
        tree("target", n_targets=2, aggregate_function=a) | {"n_targets": 2, "aggregate_function": a},
        ML,
    )
    for a in ("SUM", "AVERAGE", "MIN", "MAX")
]
CASES += [
    Case(
        "TreeEnsembleRegressor",
        (of([[np.nan, 0, 0], [np.nan, -1, np.nan]]),),
        tree("target", 1)
        | {"n_targets": 1, "target_weights": [0.5, 0.7, 0.9, -0.3, 0.4, 0.0], "base_values": [0.5]},
        ML,
    )
]
CASES += [
    Case(
        "TreeEnsembleClassifier",
        (f(9, 3),),
        tree("class") | {"classlabels_int64s": [10, 11], "post_transform": p},
        ML,
        ("~l", "y"),
    )
    for p in ("NONE", "SOFTMAX", "LOGISTIC")
]
CASES += [
    Case(
        "TreeEnsembleClassifier",
        (f(9, 3),),
        tree("class", 1) | {"classlabels_strings": ["n", "y"], "class_weights": w, "post_transform": p},
        ML,
        ("l", "y"),
    )
    for p in ("NONE", "LOGISTIC")
    for w in ([0.5, 0.1, 0.3, 0.2, 0.1, 0.3], [0.5, -0.7, 0.9, -0.3, -0.4, 0.6])
]


def rnn(kind, g, dirs, n=3, inp=2, t=4, b=2, peep=False, lens=None, **a):
    """A recurrent layer of `g` gates."""
    ins = [f(t, b, inp), f(dirs, g * n, inp), f(dirs, g * n, n), f(dirs, 2 * g * n), lens, f(dirs, b, n)]
    if kind == "LSTM":
        ins += [f(dirs, b, n)] + ([f(dirs, 3 * n)] if peep else [])
    return Case(
        kind,
        tuple(ins),
        {"hidden_size": n, **a},
        outputs=("y", "h", "c")[: 2 + (kind == "LSTM")],
        opset=14,
        tolerance=1e-5,
    )


L = of([4, 2], "int32")
CASES += [
    rnn("LSTM", 4, 1),
    rnn("LSTM", 4, 2, direction="bidirectional", lens=L),
    rnn("LSTM", 4, 1, direction="reverse", lens=L, peep=True),
    rnn("LSTM", 4, 1, clip=0.3, input_forget=1),
    rnn(
        "LSTM",
        4,
        2,
        direction="bidirectional",
        activations=["HardSigmoid", "Relu", "Softsign", "Sigmoid", "Elu", "ScaledTanh"],
        activation_alpha=[0.3, 0.9, 1.2],
        activation_beta=[0.4, 0.8],
    ),
    rnn("GRU", 3, 1),
    rnn("GRU", 3, 1, linear_before_reset=1),
    rnn("GRU", 3, 2, direction="bidirectional", lens=L, linear_before_reset=1),
    rnn("GRU", 3, 2, direction="bidirectional", lens=L),
    rnn(
        "GRU",
        3,
        1,
        direction="reverse",
        clip=0.4,
        activations=["Sigmoid", "Affine"],
        activation_alpha=[0.5],
        activation_beta=[0.1],
    ),
    rnn("RNN", 1, 2, direction="bidirectional", lens=L),
    rnn("RNN", 1, 1, activations=["Relu"]),
    rnn("RNN", 1, 1, activations=["ThresholdedRelu"], activation_alpha=[0.1]),
    Case(
        "ConvTranspose", (f(1, 2, 4, 5), f(2, 3, 3, 3), f(3)), {"strides": [2, 3], "auto_pad": "SAME_UPPER"}
    ),
    Case(
        "ConvTranspose", (f(1, 2, 4, 5), f(2, 3, 3, 4), f(3)), {"strides": [2, 3], "auto_pad": "SAME_LOWER"}
    ),
    Case("ConvTranspose", (f(1, 2, 4, 5), f(2, 3, 3, 4), f(3)), {"strides": [2, 3], "output_shape": [8, 15]}),
    Case(
        "ConvTranspose",
        (f(1, 4, 4, 5), f(4, 3, 3, 4)),
        {"strides": [2, 3], "pads": [0, 1, 2, 1], "output_padding": [1, 2], "group": 2},
    ),
    Case("ConvTranspose", (f(1, 4, 7), f(4, 3, 3)), {"dilations": [2], "pads": [1, 2]}),
    Case(
        "Conv",
        (f(1, 4, 9, 8), f(6, 2, 3, 2), f(6)),
        {"strides": [2, 3], "auto_pad": "SAME_LOWER", "group": 2},
    ),
    Case(
        "Conv",
        (f(1, 4, 9, 8), f(6, 4, 3, 2), f(6)),
        {"strides": [2, 1], "pads": [0, 1, 2, 0], "dilations": [2, 3]},
    ),
    Case("Conv", (f(1, 2, 5, 6, 4), f(3, 2, 2, 3, 2), f(3)), {"pads": [0, 1, 1, 1, 0, 0]}),
    Case(
        "AveragePool",
        (f(1, 2, 9, 8),),
        {
            "kernel_shape": [3, 4],
            "strides": [2, 3],
            "pads": [1, 0, 0, 2],
            "ceil_mode": 1,
            "count_include_pad": 1,
        },
    ),
    Case(
        "AveragePool",
        (f(1, 2, 9, 8),),
        {
            "kernel_shape": [3, 2],
            "strides": [2, 3],
            "pads": [1, 0, 0, 1],
            "ceil_mode": 1,
            "dilations": [2, 1],
        },
    ),
    Case(
        "MaxPool",
        (f(1, 2, 9, 8),),
        {
            "kernel_shape": [3, 4],
            "strides": [2, 3],
            "pads": [1, 0, 0, 2],
            "ceil_mode": 1,
            "dilations": [2, 1],
        },
        outputs=("y", "i"),
    ),
    Case("MaxPool", (f(2, 2, 6, 5),), {"kernel_shape": [2, 2], "storage_order": 1}, outputs=("y", "i")),
    Case(
        "LpPool",
        (f(1, 2, 9, 8),),
        {"kernel_shape": [3, 4], "strides": [2, 3], "pads": [1, 0, 0, 2], "p": 3},
        tolerance=1e-4,
    ),
    Case("GlobalLpPool", (f(1, 2, 9, 8),), {"p": 3}, tolerance=1e-4, opset=16),
    Case(
        "GlobalMaxPool",
        (f(1, 2, 4),),
    ),
    Case(
        "MaxRoiPool",
        (f(2, 2, 9, 8), of([[0, 0, 0, 6, 6], [1, 2, 1, 7, 8], [0, 3, 3, 3, 3], [1, -2, 5, 20, 8]])),
        {"pooled_shape": [2, 3], "spatial_scale": 0.7},
        opset=16,
    ),
    Case(
        "RoiAlign",
        (f(2, 2, 9, 8), of([[0, 0, 6, 6], [2, 1, 7, 8.5], [3, 3, 3.5, 3.5]]), of([0, 1, 0], "int64")),
        {"output_height": 2, "output_width": 3, "spatial_scale": 0.7},
        opset=16,
        tolerance=1e-5,
    ),
    Case(
        "RoiAlign",
        (f(2, 2, 9, 8), of([[0, 0, 6, 6], [2, 1, 7, 8.5], [3, 3, 3.5, 3.5]]), of([0, 1, 0], "int64")),
        {
            "output_height": 2,
            "output_width": 3,
            "mode": "max",
            "sampling_ratio": 2,
            "coordinate_transformation_mode": "output_half_pixel",
        },
        opset=16,
        tolerance=1e-5,
    ),
    Case("Softmax", (f(2, 3, 4),), {"axis": 1}, opset=11),
    Case("LogSoftmax", (f(2, 3, 4),), {"axis": 1}, opset=9),
    Case("Hardmax", (f(2, 3, 4),), {"axis": 1}, opset=11),
    Case("BatchNormalization", (f(2, 3, 4), f(3), f(3), f(3), f(3, low=0.1)), {"epsilon": 1e-3}, opset=9),
    Case(
        "BatchNormalization",
        (f(2, 3, 4), f(3), f(3), f(3), f(3, low=0.1)),
        {"training_mode": 1},
        opset=15,
        outputs=("y", "m", "v"),
    ),
    Case("LRN", (f(2, 7, 3, 2),), {"size": 5, "alpha": 0.5, "beta": 0.6, "bias": 2.0}),
    Case("InstanceNormalization", (f(2, 3, 4), f(3), f(3))),
    Case("LpNormalization", (f(2, 3, 4),), {"axis": 1, "p": 1}),
    Case("MeanVarianceNormalization", (f(2, 3, 4, 2),), {"axes": [0, 2]}, tolerance=1e-4),
    Case("LayerNormalization", (f(2, 3, 4), f(3, 4), f(3, 4)), {"axis": 1}, outputs=("y", "m", "i")),
    Case("GroupNormalization", (f(2, 6, 4), f(6), f(6)), {"num_groups": 3}, opset=21),
    Case(
        "QLinearConv",
        (
            u8(1, 4, 6, 5),
            of(0.02),
            of(120, "uint8"),
            i(6, 2, 3, 3, low=-128, high=128, dtype="int8"),
            f(6, low=0.01, high=0.05),
            i(6, low=0, high=1, dtype="int8"),
            of(0.9),
            of(100, "uint8"),
            i(6, low=-500, high=500, dtype="int32"),
        ),
        {"group": 2, "pads": [1, 0, 0, 1], "strides": [2, 1]},
        tolerance=1,
    ),
    Case(
        "QLinearMatMul",
        (
            u8(3, 8),
            of(0.02),
            of(120, "uint8"),
            i(8, 5, low=-128, high=128, dtype="int8"),
            f(5, low=0.01, high=0.05),
            of([1, 2, 3, 4, 5], "int8"),
            of(0.2),
            of(100, "uint8"),
        ),
        tolerance=1,
    ),
    Case(
        "ConvInteger",
        (u8(1, 4, 6, 5), u8(6, 4, 3, 3), of(120, "uint8"), of(3, "uint8")),
        {"pads": [1, 1, 1, 1]},
        tolerance=0,
    ),
    Case("MatMulInteger", (u8(2, 3, 8), u8(8, 4), of(120, "uint8"), of(3, "uint8")), tolerance=0),
    Case("DynamicQuantizeLinear", (f(3, 4),), outputs=("y", "s", "z"), tolerance=1e-6),
    Case(
        "QuantizeLinear",
        (f(3, 4, low=-3, high=3), f(4, low=0.01, high=0.05), i(4, low=-5, high=5, dtype="int8")),
        {"axis": -1},
        tolerance=0,
    ),
    Case(
        "DequantizeLinear",
        (u8(4, 6), f(2, 6, low=0.01, high=0.05), i(2, 6, high=200, dtype="uint8")),
        {"axis": 0, "block_size": 2},
    ),
    Case("DFT", (f(2, 5, 2), None, of(1, "int64")), {"inverse": 1}, opset=20, tolerance=1e-5),
    Case("DFT", (f(2, 6, 1), of(8, "int64")), {"onesided": 1, "axis": 1}, opset=17),
    Case("STFT", (f(2, 16, 1), of(4, "int64"), f(8)), {}, tolerance=1e-5),
    Case(
        "MelWeightMatrix",
        (of(6, "int64"), of(32, "int64"), of(8000, "int64"), of(20.0), of(4000.0)),
        {},
        tolerance=1e-5,
    ),
    Case("HannWindow", (of(7, "int64"),), {"periodic": 0}),
    Case("BlackmanWindow", (of(7, "int64"),)),
    Case("HammingWindow", (of(7, "int64"),)),
    Case("Einsum", (f(2, 3, 4), f(2, 4, 5)), {"equation": "bij,bjk->bik"}),
    Case("Det", (f(2, 3, 3),)),
    Case("Gemm", (f(3, 2), f(4, 3), f(2, 1)), {"transA": 1, "transB": 1, "alpha": 0.5, "beta": 0.3}),
    Case(
        "GridSample",
        (f(1, 2, 5, 6), f(1, 3, 4, 2, low=-1.5, high=1.5)),
        {"mode": "cubic", "padding_mode": "reflection", "align_corners": 1},
        tolerance=1e-4,
    ),
    Case(
        "GridSample",
        (f(1, 2, 5, 6), f(1, 3, 4, 2, low=-1.5, high=1.5)),
        {"mode": "linear", "padding_mode": "border"},
        tolerance=1e-4,
    ),
    Case(
        "NonMaxSuppression",
        (f(2, 12, 4, low=0, high=4), f(2, 3, 12), of([4], "int64"), of([0.3]), of([0.1])),
        {},
        opset=11,
    ),
    Case(
        "NonMaxSuppression",
        (f(2, 12, 4, low=0.5, high=4), f(2, 3, 12), of([4], "int64"), of([0.3])),
        {"center_point_box": 1},
        opset=11,
    ),
    Case("DepthToSpace", (f(1, 8, 2, 3),), {"blocksize": 2, "mode": "CRD"}, opset=13),
    Case("Upsample", (f(1, 2, 3, 4), of([1, 1, 2.0, 1.5])), {"mode": "linear"}, opset=9),
    Case("Upsample", (f(1, 2, 3, 4), of([1, 1, 2.0, 2.5])), {"mode": "nearest"}, opset=9),
    Case(
        "PRelu",
        (f(2, 3, 4), f(3, 1)),
    ),
    Case("Selu", (f(4),)),
    Case("Shrink", (f(9, low=-3, high=3),), {"bias": 0.4, "lambd": 0.7}),
    Case("Celu", (f(5),), {"alpha": 0.6}),
    Case("Mish", (f(4),)),
    Case("HardSwish", (f(5, low=-5, high=5),)),
    Case("ThresholdedRelu", (f(6),), {"alpha": 0.3}),
    Case("Softsign", (f(4),)),
    Case("Elu", (f(6),), {"alpha": 0.3}),
    Case("LeakyRelu", (f(6),), {"alpha": 0.3}),
]
for mode in ("nearest", "linear", "cubic"):
    for ct in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric"):
        for sz in ([1, 2, 7, 3], [1, 2, 3, 11]):
            for aa in (0, 1) if mode != "nearest" and ct == "half_pixel" else (0,):
                CASES.append(
                    Case(
                        "Resize",
                        (f(1, 2, 5, 6), None, None, of(sz, "int64")),
                        {"mode": mode, "coordinate_transformation_mode": ct, "antialias": aa},
                        opset=19,
                        tolerance=1e-4,
                    )
                )
for nm in ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil"):
    CASES.append(
        Case(
            "Resize",
            (f(1, 1, 5, 6), None, of([1, 1, 0.7, 1.8])),
            {"mode": "nearest", "nearest_mode": nm, "coordinate_transformation_mode": "asymmetric"},
            opset=19,
        )
    )
CASES += [
    Case(
        "Resize",
        (f(1, 1, 5, 6), of([0, 0, 0.2, 0.3, 1, 1, 0.8, 1.2]), None, of([1, 1, 4, 5], "int64")),
        {
            "mode": "linear",
            "extrapolation_value": 9.0,
            "coordinate_transformation_mode": "tf_crop_and_resize",
        },
        opset=19,
        tolerance=1e-4,
    ),
    Case(
        "Resize",
        (f(1, 1, 5, 6), None, None, of([7, 9], "int64")),
        {"mode": "linear", "keep_aspect_ratio_policy": "not_larger", "axes": [2, 3]},
        opset=19,
        tolerance=1e-4,
    ),
    Case(
        "Resize",
        (f(1, 1, 5, 6), None, of([1, 1, 0.6, 0.4])),
        {"mode": "cubic", "exclude_outside": 1, "cubic_coeff_a": -0.5},
        opset=19,
        tolerance=1e-4,
    ),
]


def names():
    """A number for those that have one name."""
    return [f"{k}-{case.name}" for k, case in enumerate(CASES)]


@pytest.mark.parametrize("case", CASES, ids=names())
def test_an_operator_is_what_onnx_runtime_computes(case):
    import onnxruntime

    from flambeau.onnx.backend import prepare

    arrays = case.arrays()
    model, feeds = case.model(arrays), {f"i{k}": v for k, v in enumerate(arrays) if v is not None}
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1  # threads quantise parts of a batch
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    wanted, found = session.run(None, feeds), prepare(model).run(feeds)
    for name, w, y in zip([n for n in case.outputs if n], wanted, found, strict=True):
        assert (w.shape, w.dtype) == (y.shape, y.dtype), name
        if w.dtype == object:
            assert w.tolist() == y.tolist()
        elif name[0] != "~":
            near = case.tolerance * max(1, np.abs(w).max(initial=0))
            np.testing.assert_allclose(y.astype("f8"), w.astype("f8"), rtol=0, atol=near, err_msg=name)
