"""The commands that cross to a device: one flat list of integers, which any language can replay.

(DISPATCH, pipeline, params, offset, x, y, z, n, n buffers): a kernel; params is the buffer of its Params,
offset
their byte place in it. (COPY, from, to, bytes). Buffers and pipelines are the device's numbers for them.
"""

DISPATCH, COPY = 1, 2
