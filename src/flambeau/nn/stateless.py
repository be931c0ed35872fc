"""The other layers without parameters, a row each: distances, channels into places and back."""

from ..ops import norm
from ..ops.movement import Movement
from .layer import layer

ChannelShuffle = layer("ChannelShuffle", norm.channel_shuffle)
CosineSimilarity = layer("CosineSimilarity", norm.cosine_similarity, inputs=2)
CrossMapLRN2d = layer("CrossMapLRN2d", norm.local_response_norm, k=1)
Flatten = layer("Flatten", Movement.flatten, shows_all=True, start_dim=1)
LocalResponseNorm = layer("LocalResponseNorm", norm.local_response_norm)
PairwiseDistance = layer("PairwiseDistance", norm.pairwise_distance, inputs=2)
PixelShuffle = layer("PixelShuffle", norm.pixel_shuffle)
PixelUnshuffle = layer("PixelUnshuffle", norm.pixel_unshuffle)
