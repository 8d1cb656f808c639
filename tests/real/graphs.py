# SPDX-License-Identifier: Apache-2.0
"""Networks in torch that export to more than layers: boxes that are suppressed, spectra, loops over lists of tensors.

A graph is a function that returns (model, feeds). Weights are random by a fixed seed.
"""
import io

import numpy as np
import onnx
import torch
from torch import nn
from torchvision.models import detection
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.models.detection.faster_rcnn import FastRCNNPredictor, TwoMLPHead
from torchvision.ops import MultiScaleRoIAlign, nms


def exported(module, feeds, dims, outputs, opset, dynamo=False):
    """By TorchScript, or by the exporter on torch.export, where batch and length are dynamic as `dims` says."""
    module.eval()
    args = tuple(torch.from_numpy(value) for value in feeds[0].values())
    if dynamo:
        program = torch.onnx.export(module, args, dynamo=True, dynamic_shapes=tuple(dims.values()), verbose=False,
                                    opset_version=opset, input_names=list(dims), output_names=outputs)
        return program.model_proto
    file = io.BytesIO()
    torch.onnx.export(module, args, file, dynamo=False, dynamic_axes=dims, opset_version=opset, input_names=list(dims),
                      output_names=outputs)
    return onnx.load_from_string(file.getvalue())


def scenes(random, *shape):
    """Bright boxes on a dark, grainy ground."""
    x = 0.1 * random.random(shape)
    for _ in range(6):
        top, left = random.integers(0, shape[-2] - 16), random.integers(0, shape[-1] - 16)
        x[..., top:top + int(random.integers(8, 30)), left:left + int(random.integers(8, 30))] += random.random((shape[-3], 1, 1))
    return np.clip(x, 0, 1).astype(np.float32)


class Trunk(nn.Sequential):
    out_channels = 16

    def __init__(self):
        super().__init__(nn.Conv2d(3, 8, 5, 4, 2), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU())


def spread(module, factor):
    """Scores of random weights lie close together; spread, no two runtimes order them otherwise."""
    for part in module.modules():
        if isinstance(part, (nn.Conv2d, nn.Linear)):
            nn.init.normal_(part.weight, std=factor / part.weight[0].numel() ** 0.5)
    return module


class Pictures(nn.Module):
    """A detector of torchvision takes a list of pictures and returns dictionaries."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, picture):
        found = self.model([picture])[0]
        return found["boxes"], found["scores"], found["labels"]


def detector(model):
    random = np.random.default_rng(21)
    feeds = [{"picture": scenes(random, 3, *size)} for size in [(64, 64), (48, 72)]]
    return exported(Pictures(model), feeds, {"picture": {1: "height", 2: "width"}}, ["boxes", "scores", "labels"], 16), feeds


def faster_rcnn():
    """Regions are proposed, suppressed, pooled, scored, and suppressed again."""
    torch.manual_seed(22)
    model = detection.FasterRCNN(Trunk(), min_size=64, max_size=96, rpn_anchor_generator=AnchorGenerator(((8, 16, 32),), ((0.5, 1.0, 2.0),)),
                       box_roi_pool=MultiScaleRoIAlign(["0"], 3, 2), box_head=TwoMLPHead(16 * 9, 32),
                       box_predictor=FastRCNNPredictor(32, 4), rpn_post_nms_top_n_test=40, box_score_thresh=0.3)
    return detector(spread(model, 1.2))


def retina():
    """One stage: every anchor has a score for every class, and classes are suppressed apart."""
    torch.manual_seed(23)
    model = detection.RetinaNet(Trunk(), 4, min_size=64, max_size=96, anchor_generator=AnchorGenerator(((8, 16, 32),), ((0.5, 1.0, 2.0),)),
                      score_thresh=0.02, topk_candidates=100, detections_per_img=30)
    return detector(spread(model, 1.2))


class Yolo(nn.Module):
    """As small detectors are deployed: a grid of boxes, NonMaxSuppression by class, the boxes that are left."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.SiLU(), nn.Conv2d(16, 16, 3, 2, 1), nn.SiLU(),
                                  nn.Conv2d(16, 24, 3, 2, 1), nn.SiLU(), nn.Conv2d(24, 3 * 8, 1))

    def forward(self, x):
        y = self.body(x)
        n, _, h, w = y.shape
        y = y.view(n, 3, 8, h, w).permute(0, 1, 3, 4, 2)
        rows, columns = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        centre = (torch.stack([columns, rows], -1) + y[..., :2].sigmoid() * 2 - 0.5) * 8
        size = (y[..., 2:4].sigmoid() * 2) ** 2 * torch.tensor([12.0, 24.0, 40.0]).view(1, 3, 1, 1, 1)
        boxes = torch.cat([centre - size / 2, centre + size / 2], -1).view(n, -1, 4)
        scores = (y[..., 4:5].sigmoid() * y[..., 5:].softmax(-1)).view(n, -1, 3)
        kept = nms(boxes[0], scores[0].amax(-1), 0.45)
        return boxes[0][kept], scores[0][kept]


def yolo():
    torch.manual_seed(24)
    random = np.random.default_rng(25)
    feeds = [{"x": scenes(random, 1, 3, *size)} for size in [(64, 64), (48, 72)]]
    return exported(spread(Yolo(), 1.5), feeds, {"x": {2: "height", 3: "width"}}, ["boxes", "scores"], 17), feeds


class Speech(nn.Module):
    """Samples to characters: STFT, a bank of filters, convolutions, a recurrent layer, scores by frame."""

    def __init__(self, recurrent):
        super().__init__()
        self.register_buffer("window", torch.hann_window(160))
        bank = torch.rand(81, 20) * (torch.rand(81, 20) > 0.7)
        self.register_buffer("bank", bank / bank.sum(0).clamp(min=1))
        self.convolutions = nn.Sequential(nn.Conv1d(20, 24, 3, 2, 1), nn.GELU(), nn.Conv1d(24, 24, 3, 1, 1), nn.GELU())
        self.recurrent = recurrent
        self.head = nn.Linear(recurrent.hidden_size * (2 if recurrent.bidirectional else 1), 12)

    def forward(self, samples):
        spectrum = torch.stft(samples, 160, 80, window=self.window, center=False, return_complex=False, onesided=True)
        mel = (spectrum.square().sum(-1).transpose(1, 2) @ self.bank + 1e-5).log()
        mel = (mel - mel.mean(1, keepdim=True)) / 4
        frames = self.convolutions(mel.transpose(1, 2)).transpose(1, 2)
        return self.head(self.recurrent(frames)[0]).log_softmax(-1)


def waves(random, rows, samples):
    """Harmonics that come and go, and noise."""
    t = np.arange(samples) / 8000.0
    pitch = 90.0 + 120.0 * random.random((rows, 1))
    wave = sum(np.sin(2 * np.pi * pitch * k * t) / k for k in range(1, 6)) * (np.sin(40 * t) > 0)
    return (0.2 * wave + 0.01 * random.standard_normal((rows, samples))).astype(np.float32)


def speech(recurrent, dynamo):
    torch.manual_seed(26)
    random = np.random.default_rng(27)
    feeds = [{"samples": waves(random, rows, samples)} for rows, samples in [(2, 1600), (1, 4000), (3, 800)]]
    module = Speech(recurrent(24, 16, batch_first=True, bidirectional=not dynamo))
    dims = {"samples": {0: "batch", 1: "samples"}}
    return exported(module, feeds, dims, ["scores"], 20 if dynamo else 17, dynamo), feeds


@torch.jit.script
def by_chunks(x, size: int, weight):
    """Chunks of unequal length in a list, each carried into the next."""
    carried = torch.zeros_like(x[:1])
    done = []
    for chunk in torch.split(x, size):
        carried = torch.tanh(chunk.mean(0, keepdim=True) @ weight + carried)
        done.append(chunk + carried)
    return torch.cat(done), carried


@torch.jit.script
def newest_first(x, steps: int):
    """A list that grows at its front, and is read by number."""
    found = [x]
    for i in range(steps):
        found.insert(0, found[i // 2] * 0.5 + float(i))
    return torch.cat(found, 1)


class Chunks(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(8, 8) / 3)

    def forward(self, x):
        y, carried = by_chunks(x, 3, self.weight)
        return y, newest_first(carried, 5)


def loop():
    torch.manual_seed(28)
    random = np.random.default_rng(29)
    feeds = [{"x": random.standard_normal((n, 8)).astype(np.float32)} for n in (7, 1, 24)]
    return exported(Chunks(), feeds, {"x": {0: "rows"}}, ["y", "found"], 16), feeds


GRAPHS = {
    "detector_faster_rcnn": faster_rcnn,
    "detector_retina": retina,
    "detector_yolo": yolo,
    "speech_gru": lambda: speech(nn.GRU, False),
    "speech_lstm": lambda: speech(nn.LSTM, True),
    "loop_sequence": loop,
}
