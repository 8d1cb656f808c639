# SPDX-License-Identifier: Apache-2.0
"""Points, regions and boxes of pictures."""
import itertools
import struct
import zlib

import numpy as np

import schema
from draw import Case, Impossible, recipe
from recipes.nn import windows


def positions(shape):
    return itertools.product(*map(range, shape))


def mirrored(x, low, high):
    """x reflected at low and high until it lies between them."""
    if high <= low:
        return low
    x = (x - low) % (2 * (high - low))
    return low + min(x, 2 * (high - low) - x)


def cubic(t):
    """Keys' kernel, a = -0.75."""
    t, a = abs(t), -0.75
    if t <= 1:
        return (a + 2) * t**3 - (a + 3) * t**2 + 1
    return a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a if t < 2 else 0.0


def line_taps(x, mode):
    """Pixels of one axis that a coordinate is of, and their weights."""
    if mode == "nearest":
        return [(int(np.rint(x)), 1.0)]
    low = int(np.floor(x))
    if mode == "linear":
        return [(low, 1 - (x - low)), (low + 1, x - low)]
    return [(low + k, cubic(x - low - k)) for k in (-1, 0, 1, 2)]


@recipe("GridSample")
def grid_sample(d):
    kind = d.types["T1"]
    exact = kind in schema.INTEGERS or kind == "bool"  # sums that are exact: what is cut off then does not hang on them
    mode = d.pick("linear", "nearest", "cubic")
    if kind == "string" and mode != "nearest" or kind.startswith("u") and mode == "cubic":
        raise Impossible  # strings have no sum; a negative one of unsigned integers is none
    padding, corners = d.pick(None, "zeros", "border", "reflection"), d.pick(None, 0, 1)
    axes = 2 if d.since < 20 else d.int(1, 3)
    dims, outs = [d.int(1, 5) for _ in range(axes)], [d.pick(1, 2, 3, 0) if d.chance(0.2) else d.int(1, 4) for _ in range(axes)]
    x = d.values("T1", [d.int(1, 2), d.int(1, 3), *dims], *([-4, 4] if mode != "nearest" else []))
    grid = d.rng.uniform(-1.6, 1.6, [len(x), *outs, axes])
    grid = (np.rint(grid * 4) / 4 if exact else grid).astype(np.float32).astype(d.dtype("T2"))
    outside = "" if kind == "string" else 0

    def place(at, dim):
        if corners:
            return (at + 1) / 2 * (dim - 1)
        return ((at + 1) * dim - 1) / 2

    def inside(at):
        """The pixel of a tap, or None."""
        if padding == "border":
            return tuple(min(max(a, 0), n - 1) for a, n in zip(at, dims))
        if padding == "reflection":
            low = [(0, n - 1) if corners else (-0.5, n - 0.5) for n in dims]
            return tuple(int(mirrored(a, *ends)) for a, ends in zip(at, low))
        return at if all(0 <= a < n for a, n in zip(at, dims)) else None

    def moved(at, dim):
        """Points are rounded, then brought inside, before their pixels are looked for."""
        low, high = (0, dim - 1) if corners else (-0.5, dim - 0.5)
        at = np.rint(at) if mode == "nearest" else at
        if padding == "border" and not low <= at <= high:
            return min(max(at, 0), dim - 1)
        return mirrored(at, low, high) if padding == "reflection" else at

    def rule(x, grid):
        wide = x if mode == "nearest" else x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
        y = np.full([*x.shape[:2], *outs], outside, wide.dtype)
        for n, *at in positions([len(x), *outs]):
            point = [moved(place(grid[(n, *at, axes - 1 - a)], dims[a]), dims[a]) for a in range(axes)]
            for taps in itertools.product(*(line_taps(p, mode) for p in point)):
                pixel, weight = inside(tuple(t[0] for t in taps)), np.prod([t[1] for t in taps])
                if pixel is not None:
                    value = wide[(n, slice(None), *pixel)]
                    y[(n, slice(None), *at)] = value if mode == "nearest" else y[(n, slice(None), *at)] + weight * value
        return y

    names = {"linear": "bilinear", "cubic": "bicubic"} if d.since < 20 else {}
    # a point is found in the precision of the grid, so that its weights are off by some of that type's units
    error = 0 if exact or mode == "nearest" else 64 * max(1, 2.0**-23 / schema.epsilon(kind))
    return Case(x, grid, rule=rule, error=error, mode=names.get(mode, mode), padding_mode=padding, align_corners=corners)


@recipe("AffineGrid")
def affine_grid(d):
    axes, corners = d.int(2, 3), d.pick(None, 0, 1)
    theta = d.values("T1", [d.int(1, 3), axes, axes + 1], -2, 2)
    dims = [d.pick(1, 2, 3, 5) for _ in range(axes)]
    size = np.array([len(theta), d.int(1, 3), *dims], np.int64)

    def steps(n):
        if corners:
            return np.linspace(-1, 1, n) if n > 1 else np.zeros(1)  # one point is the middle, as in PyTorch
        return (2 * np.arange(n) + 1) / n - 1

    def rule(theta, size):
        where = np.meshgrid(*(steps(n) for n in dims), indexing="ij")
        homogeneous = np.stack([*where[::-1], np.ones(dims)], -1)
        return np.einsum("nij,...j->n...i", theta, homogeneous)

    return Case(theta, size, rule=rule, error=8, align_corners=corners)


@recipe("Col2Im")
def col2im(d):
    if d.types["T"] == "string":
        raise Impossible  # strings have no sum
    rank = d.int(1, 3)
    dims = [d.int(1, 6) for _ in range(rank)]
    written, held = windows(d, rank, dims)
    channels, blocks = d.int(1, 3), int(np.prod(held["out"]))
    block = np.array(held["kernel"], np.int64)
    x = d.values("T", [d.int(1, 2), channels * int(np.prod(block)), blocks], special=d.types["T"] in schema.INTEGERS)
    if held["pads"] != (written["pads"] or [0] * 2 * rank):
        raise Impossible  # there is no auto_pad

    def rule(x, image, block):
        y = np.zeros([len(x), channels, *dims], x.dtype)
        parts = x.reshape(len(x), channels, *block, *held["out"])
        for k, o in itertools.product(positions(block), positions(held["out"])):
            at = tuple(b * s + e * t - p for b, s, e, t, p in zip(o, held["strides"], held["dilations"], k, held["pads"]))
            if all(0 <= a < n for a, n in zip(at, dims)):
                y[(slice(None), slice(None), *at)] += parts[(slice(None), slice(None), *k, *o)]
        return y

    return Case(x, np.array(dims, np.int64), block, rule=rule, error=8, strides=written["strides"],
                dilations=written["dilations"], pads=written["pads"])


def bilinear(plane, at):
    """A picture between its pixels; each pixel outside is 0."""
    total = 0.0
    low = [int(np.floor(a)) for a in at]
    for corner in positions([2] * len(at)):
        pixel = tuple(b + c for b, c in zip(low, corner))
        if all(0 <= p < n for p, n in zip(pixel, plane.shape)):
            total += plane[pixel] * np.prod([1 - abs(a - p) for a, p in zip(at, pixel)])
    return total


@recipe("DeformConv")
def deform_conv(d):
    rank, groups, offset_groups = d.pick(2, 2, 1, 3), d.pick(1, 1, 2), d.pick(1, 1, 2)
    channels, m = groups * offset_groups * d.int(1, 2), groups * d.int(1, 2)
    dims = [d.int(1, 4) for _ in range(rank)]
    written, held = windows(d, rank, dims)
    if held["pads"] != (written["pads"] or [0] * 2 * rank):
        raise Impossible  # there is no auto_pad
    x = d.values("T", [d.int(1, 2), channels, *dims])
    w = d.values("T", [m, channels // groups, *held["kernel"]])
    taps = list(positions(held["kernel"]))
    offset = d.values("T", [len(x), offset_groups * len(taps) * rank, *held["out"]], -1.5, 1.5)
    b = d.values("T", [m]) if d.chance() else None
    mask = d.values("T", [len(x), offset_groups * len(taps), *held["out"]], 0, 1) if d.chance() else None

    def rule(x, w, offset, b=None, mask=None):
        shifts = offset.reshape(len(x), offset_groups, len(taps), rank, *held["out"])
        weights = None if mask is None else mask.reshape(len(x), offset_groups, len(taps), *held["out"])
        y = np.zeros([len(x), m, *held["out"]])
        for n, o, (t, k) in itertools.product(range(len(x)), positions(held["out"]), enumerate(taps)):
            for c in range(channels):
                g = c // (channels // offset_groups)
                at = [a * s + e * j - p + shifts[(n, g, t, i, *o)] for i, (a, s, e, j, p) in
                      enumerate(zip(o, held["strides"], held["dilations"], k, held["pads"]))]
                value = bilinear(x[n, c], at) * (1 if weights is None else weights[(n, g, t, *o)])
                part = c // (channels // groups)
                outs = slice(part * m // groups, (part + 1) * m // groups)
                y[(n, outs, *o)] += w[(outs, c % (channels // groups), *k)] * value
        return y if b is None else y + b.reshape(-1, *[1] * rank)

    return Case(x, w, offset, b, mask, rule=rule, error=16, group=groups if groups > 1 else None,
                offset_group=offset_groups if offset_groups > 1 else None, kernel_shape=d.pick(None, held["kernel"]),
                strides=written["strides"], dilations=written["dilations"], pads=written["pads"])


@recipe("MaxUnpool")
def max_unpool(d):
    rank = d.int(1, 3)
    kernel = [d.int(1, 3) for _ in range(rank)]
    strides = [d.int(k, 3) for k in kernel] if d.chance(0.7) else None
    pads = [d.int(0, (k - 1) // 2) for k in kernel * 2] if d.chance(0.4) else None
    small = [d.int(1, 4) for _ in range(rank)]
    low, high = (pads or [0] * 2 * rank)[:rank], (pads or [0] * 2 * rank)[rank:]
    dims = [(n - 1) * s + k - a - b for n, s, k, a, b in zip(small, strides or [1] * rank, kernel, low, high)]
    shape = [d.int(1, 2), d.int(1, 2)]
    count = int(np.prod(small))
    if min(dims) < 1 or int(np.prod(dims)) < count:
        raise Impossible
    planes = [plane * int(np.prod(dims)) + d.rng.permutation(int(np.prod(dims)))[:count] for plane in range(shape[0] * shape[1])]
    x, indices = d.values("T1", shape + small), np.array(planes, np.int64).reshape(shape + small)

    def rule(x, indices):
        y = np.zeros(int(np.prod(shape + dims)))
        y[indices.reshape(-1)] = x.reshape(-1)
        return y.reshape(shape + dims)

    return Case(x, indices, rule=rule, error=0, kernel_shape=kernel, strides=strides, pads=pads)


@recipe("MaxRoiPool")
def max_roi_pool(d):
    x = d.values("T", [d.int(1, 2), d.int(1, 3), d.int(1, 7), d.int(1, 7)])
    height, width, scale = d.int(1, 3), d.int(1, 3), d.pick(None, 0.5, 2.0)
    factor = 1.0 if scale is None else scale
    boxes = [[d.int(0, len(x) - 1), *(d.int(-1, 5) for _ in "yx"), *(d.int(0, 9) for _ in "yx")] for _ in range(d.int(1, 4))]
    rois = np.array(boxes, np.float32).astype(d.dtype("T"))
    if factor == 0.5:
        rois[:, 1:] = (rois[:, 1:].astype(np.float32) * 2).astype(rois.dtype)  # no coordinate between two pixels

    def span(start, size, bins, i, dim):
        width = max(size, 1) / bins
        low, high = int(np.floor(i * width)) + start, int(np.ceil((i + 1) * width)) + start
        return slice(min(max(low, 0), dim), min(max(high, 0), dim))

    def rule(x, rois):
        y = np.zeros([len(rois), x.shape[1], height, width])
        for r, (batch, *box) in enumerate(rois):
            x1, y1, x2, y2 = (int(np.floor(v * factor + 0.5)) for v in box)
            for i, j in positions([height, width]):
                bin_ = x[int(batch), :, span(y1, y2 - y1 + 1, height, i, x.shape[2]), span(x1, x2 - x1 + 1, width, j, x.shape[3])]
                y[r, :, i, j] = bin_.max((1, 2)) if bin_.size else 0
        return y

    return Case(x, rois, rule=rule, error=0, pooled_shape=[height, width], spatial_scale=scale)


def corners_of(plane, y, x):
    """The four pixels around a point, weighed; none of a point more than a pixel outside."""
    if not (-1 <= y <= plane.shape[0] and -1 <= x <= plane.shape[1]):
        return np.zeros(4)
    y, x = (min(max(v, 0), n - 1) for v, n in zip((y, x), plane.shape))
    y0, x0 = int(y), int(x)
    y1, x1 = min(y0 + 1, plane.shape[0] - 1), min(x0 + 1, plane.shape[1] - 1)
    dy, dx = y - y0, x - x0
    return np.array([(1 - dy) * (1 - dx) * plane[y0, x0], (1 - dy) * dx * plane[y0, x1], dy * (1 - dx) * plane[y1, x0],
                     dy * dx * plane[y1, x1]])


@recipe("RoiAlign")
def roi_align(d):
    x = d.values("T1", [d.int(1, 2), d.int(1, 2), d.int(1, 6), d.int(1, 6)])
    height, width = d.int(1, 3), d.int(1, 3)
    mode, ratio, scale = d.pick(None, "avg", "max"), d.pick(None, 0, 1, 2), d.pick(None, 0.5)
    how = d.pick(None, "half_pixel", "output_half_pixel") if d.since >= 16 else None
    half = 0.5 if d.since >= 16 and how != "output_half_pixel" else 0.0
    n, factor = d.int(1, 3), 1.0 if scale is None else scale
    low, size = d.rng.uniform(-1, 3, (n, 2)), d.rng.uniform(0.2, 7, (n, 2))
    rois = np.concatenate([low, low + size], 1).astype(np.float32).astype(d.dtype("T1"))
    batches = d.rng.integers(0, len(x), n)

    def rule(x, rois, batches):
        y = np.zeros([n, x.shape[1], height, width])
        for r, (x1, y1, x2, y2) in enumerate(rois * factor - half):
            tall, wide = y2 - y1, x2 - x1
            if not half:
                tall, wide = max(tall, 1), max(wide, 1)
            rows, columns = (ratio or int(np.ceil(tall / height)), ratio or int(np.ceil(wide / width)))
            for c, i, j in positions(y.shape[1:]):
                points = [corners_of(x[int(batches[r]), c], y1 + (i + (a + 0.5) / rows) * tall / height,
                                     x1 + (j + (b + 0.5) / columns) * wide / width) for a, b in positions([rows, columns])]
                # the largest is that of weighed pixels, not of their sums: so the official data
                y[r, c, i, j] = np.max(points) if mode == "max" else np.sum(points) / len(points)
        return y

    return Case(x, rois, batches, rule=rule, error=32, mode=mode, sampling_ratio=ratio, spatial_scale=scale,
                output_height=height, output_width=width, coordinate_transformation_mode=how)


def overlap(a, b, centers):
    """Intersection over union."""
    def ends(box):
        if centers:
            x, y, w, h = box
            return x - w / 2, y - h / 2, x + w / 2, y + h / 2
        return min(box[0], box[2]), min(box[1], box[3]), max(box[0], box[2]), max(box[1], box[3])

    a, b = ends(a), ends(b)
    sides = [min(a[2 + i], b[2 + i]) - max(a[i], b[i]) for i in range(2)]
    shared = max(sides[0], 0) * max(sides[1], 0)
    area = lambda e: (e[2] - e[0]) * (e[3] - e[1])  # noqa: E731
    whole = area(a) + area(b) - shared
    return shared / whole if whole > 0 else 0


@recipe("NonMaxSuppression")
def suppression(d):
    batch, classes, n, centers = d.int(1, 2), d.int(1, 3), d.pick(0, 1, 3, 9, 40), d.pick(None, 0, 1)
    boxes = d.rng.uniform(0, 2, (batch, n, 4)).astype(np.float32)
    scores = d.rng.permutation(batch * classes * n).reshape(batch, classes, n).astype(np.float32)
    most = None if d.chance(0.1) else np.array([d.pick(0, 1, 2, 100)], np.int64)
    overlapping = None if d.chance(0.2) else np.array([d.rng.uniform(0, 0.8)], np.float32)
    least = None if d.chance(0.3) else np.array([d.pick(-1.0, 2.0, 1000.0)], np.float32)

    def rule(boxes, scores, most=None, overlapping=None, least=None):
        picked = []
        for b, c in positions([batch, classes]):
            kept = []
            for i in np.argsort(-scores[b, c], kind="stable"):
                if len(kept) == (0 if most is None else int(most[0])) or least is not None and scores[b, c, i] < least[0]:
                    break
                if all(overlap(boxes[b, i], boxes[b, k], centers) <= (0 if overlapping is None else overlapping[0]) for k in kept):
                    kept.append(i)
            picked += [[b, c, i] for i in kept]
        return np.array(picked, np.int64).reshape(-1, 3)

    return Case(boxes, scores, most, overlapping, least, rule=rule, center_point_box=centers)


def png(pixels):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width, channels = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    head = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def bmp(pixels):
    height, width, _ = pixels.shape
    rows = b"".join(row[:, ::-1].tobytes().ljust((3 * width + 3) // 4 * 4, b"\0") for row in pixels[::-1])
    head = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, len(rows), 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54 + len(rows), 0, 0, 54) + head + rows


def pnm(pixels):
    height, width, channels = pixels.shape
    return b"P%d %d %d 255\n" % (6 if channels == 3 else 5, width, height) + pixels.tobytes()


@recipe("ImageDecoder")
def image_decoder(d):
    """Formats without loss that a few lines write; the others have the official cases."""
    write = d.pick(png, bmp, pnm)
    want = d.pick(None, "RGB", "BGR", "Grayscale")
    if write is bmp and want == "Grayscale":
        raise Impossible  # how colours become gray is the decoder's
    channels = 1 if want == "Grayscale" else 3
    pixels = d.rng.integers(0, 256, (d.int(1, 9), d.int(1, 9), channels)).astype(np.uint8)
    stream = np.frombuffer(write(pixels), np.uint8)
    return Case(stream, rule=lambda x: pixels[..., ::-1] if want == "BGR" else pixels, pixel_format=want)
