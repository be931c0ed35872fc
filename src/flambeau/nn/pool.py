"""Layers without parameters over windows and places: pools, unpooling, folding and resizing, a row each."""

from ..ops.conv import adaptive, conv, pool, resize
from .layer import layer

AdaptiveAvgPool1d = layer("AdaptiveAvgPool1d", adaptive.adaptive_avg_pool1d)
AdaptiveAvgPool2d = layer("AdaptiveAvgPool2d", adaptive.adaptive_avg_pool2d)
AdaptiveAvgPool3d = layer("AdaptiveAvgPool3d", adaptive.adaptive_avg_pool3d)
AdaptiveMaxPool1d = layer("AdaptiveMaxPool1d", adaptive.adaptive_max_pool1d)
AdaptiveMaxPool2d = layer("AdaptiveMaxPool2d", adaptive.adaptive_max_pool2d)
AdaptiveMaxPool3d = layer("AdaptiveMaxPool3d", adaptive.adaptive_max_pool3d)
AvgPool1d = layer("AvgPool1d", pool.avg_pool1d)
AvgPool2d = layer("AvgPool2d", pool.avg_pool2d)
AvgPool3d = layer("AvgPool3d", pool.avg_pool3d)
Fold = layer("Fold", conv.col2im)
LPPool1d = layer("LPPool1d", pool.lp_pool1d)
LPPool2d = layer("LPPool2d", pool.lp_pool2d)
LPPool3d = layer("LPPool3d", pool.lp_pool3d)
MaxPool1d = layer("MaxPool1d", pool.max_pool1d, last=("ceil_mode",))
MaxPool2d = layer("MaxPool2d", pool.max_pool2d, last=("ceil_mode",))
MaxPool3d = layer("MaxPool3d", pool.max_pool3d, last=("ceil_mode",))
MaxUnpool1d = layer("MaxUnpool1d", pool.max_unpool1d, inputs=2, called=("output_size",))
MaxUnpool2d = layer("MaxUnpool2d", pool.max_unpool2d, inputs=2, called=("output_size",))
MaxUnpool3d = layer("MaxUnpool3d", pool.max_unpool3d, inputs=2, called=("output_size",))
Unfold = layer("Unfold", conv.im2col)
Upsample = layer("Upsample", resize.interpolate)
UpsamplingBilinear2d = layer("UpsamplingBilinear2d", resize.interpolate, mode="bilinear", align_corners=True)
UpsamplingNearest2d = layer("UpsamplingNearest2d", resize.interpolate)
