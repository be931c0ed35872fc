"""Activations without parameters, a row each."""

from ..ops import activation, softmax
from ..ops.elementwise import Elementwise
from .layer import layer

CELU = layer("CELU", activation.celu, shows_all=True)
ELU = layer("ELU", activation.elu, shows_all=True)
GELU = layer("GELU", activation.gelu, shows_all=True)
GLU = layer("GLU", activation.glu, shows_all=True)
Hardshrink = layer("Hardshrink", activation.hardshrink)
Hardsigmoid = layer("Hardsigmoid", activation.hardsigmoid)
Hardswish = layer("Hardswish", activation.hardswish)
Hardtanh = layer("Hardtanh", activation.hardtanh, shows_all=True)
LeakyReLU = layer("LeakyReLU", activation.leaky_relu, shows_all=True)
LogSigmoid = layer("LogSigmoid", activation.logsigmoid)
LogSoftmax = layer("LogSoftmax", softmax.Softmax.log_softmax, shows_all=True)
Mish = layer("Mish", activation.mish)
ReLU = layer("ReLU", Elementwise.relu)
ReLU6 = layer("ReLU6", activation.relu6)
SELU = layer("SELU", activation.selu)
Shrink = layer("Shrink", activation.shrink)
SiLU = layer("SiLU", activation.silu)
Sigmoid = layer("Sigmoid", Elementwise.sigmoid)
Softmax = layer("Softmax", softmax.Softmax.softmax)
Softmin = layer("Softmin", activation.softmin)
Softplus = layer("Softplus", activation.softplus, shows_all=True)
Softshrink = layer("Softshrink", activation.softshrink)
Softsign = layer("Softsign", activation.softsign)
SwiGLU = layer("SwiGLU", activation.swiglu)
Tanh = layer("Tanh", Elementwise.tanh)
Tanhshrink = layer("Tanhshrink", activation.tanhshrink)
Threshold = layer("Threshold", activation.threshold)
ThresholdedReLU = layer("ThresholdedReLU", activation.thresholded_relu)
