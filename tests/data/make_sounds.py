#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Short sounds in every coding that .wav files have, and their spectrograms by numpy.

usage: make_sounds.py        writes sounds/

tone.wav is a rising tone with a second one that stops half-way, by 16 bits at 16 kHz; the others are the first 400 of its
samples: u8, s24, s32, f32, f64, stereo (the second channel is silent) and extensible. rate_8000.wav
and rate_22050.wav (two channels alike) are the whole tone, sampled so often. mel_16.npy [16, 48] and mel_80.npy
[80, 100] are what Whisper's input is defined to be: framed and transformed by numpy's FFT, in double.
"""
import pathlib
import struct

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent / "sounds"
RATE = 16000


def tone(n, rate=RATE):
    t = np.arange(n) / rate
    both = 0.5 * np.sin(2 * np.pi * (200 + 1500 * t) * t) + np.where(t < n / rate / 2, 0.25 * np.sin(2 * np.pi * 3100 * t), 0)
    return np.round(both * 32000).astype(np.int16)


def wav(coding, bits, channels, data, extensible=False, rate=RATE):
    block = channels * bits // 8
    head = struct.pack("<HHIIHH", 0xFFFE if extensible else coding, channels, rate, rate * block, block, bits)
    if extensible:
        head += struct.pack("<HHIH", 22, bits, 0, coding) + bytes.fromhex("000000001000800000aa00389b71")
    odd = struct.pack("<4sI3sx", b"LIST", 3, b"odd")  # a chunk of an odd length is followed by a byte
    chunks = struct.pack("<4sI", b"fmt ", len(head)) + head + odd + struct.pack("<4sI", b"data", len(data)) + data
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


def slaney(hz):
    return np.where(hz < 1000, hz * 3 / 200, 15 + np.log(np.maximum(hz, 1000) / 1000) * 27 / np.log(6.4))


def hertz(mel):
    return np.where(mel < 15, mel * 200 / 3, 1000 * np.exp((mel - 15) * np.log(6.4) / 27))


def filters(bands, n_fft):
    edges = hertz(np.linspace(0, slaney(np.array(8000.0)), bands + 2))
    bins = np.linspace(0, RATE // 2, n_fft // 2 + 1)
    up = (bins - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    down = (edges[2:, None] - bins) / (edges[2:] - edges[1:-1])[:, None]
    return np.maximum(0, np.minimum(up, down)) * (2 / (edges[2:] - edges[:-2]))[:, None]


def spectrogram(samples, bands, n_samples, n_fft=400, hop=160):
    """samples: floats of -1 to 1"""
    whole = np.zeros(n_samples)
    whole[: min(len(samples), n_samples)] = samples[:n_samples]
    whole = np.pad(whole, n_fft // 2, mode="reflect")
    frames = np.stack([whole[at:at + n_fft] for at in range(0, n_samples, hop)][: n_samples // hop])
    window = np.hanning(n_fft + 1)[:-1]
    power = np.abs(np.fft.rfft(frames * window)) ** 2
    log = np.log10(np.maximum(filters(bands, n_fft) @ power.T, 1e-10))
    return ((np.maximum(log, log.max() - 8) + 4) / 4).astype(np.float32)


def main():
    HERE.mkdir(exist_ok=True)
    sound = tone(6000)
    part = sound[:400].astype(np.int64)
    files = {
        "tone": wav(1, 16, 1, sound.tobytes()),
        "u8": wav(1, 8, 1, (part // 256 + 128).astype(np.uint8).tobytes()),
        "s24": wav(1, 24, 1, b"".join(struct.pack("<i", x * 256)[:3] for x in part.tolist())),
        "s32": wav(1, 32, 1, (part * 65536).astype(np.int32).tobytes()),
        "f32": wav(3, 32, 1, (part / 32768).astype(np.float32).tobytes()),
        "f64": wav(3, 64, 1, (part / 32768).tobytes()),
        "stereo": wav(1, 16, 2, np.stack([part, 0 * part], 1).astype(np.int16).tobytes()),
        "extensible": wav(1, 16, 1, part.astype(np.int16).tobytes(), extensible=True),
    }
    for rate, channels in ((8000, 1), (22050, 2)):
        same = tone(rate * len(sound) // RATE, rate).astype(np.int64)
        data = np.stack([same] * channels, 1).astype(np.int16).tobytes()
        files[f"rate_{rate}"] = wav(1, 16, channels, data, rate=rate)
    for name, content in files.items():
        (HERE / f"{name}.wav").write_bytes(content)
    np.save(HERE / "mel_16.npy", spectrogram(sound / 32768, 16, 7680))
    np.save(HERE / "mel_80.npy", spectrogram(sound / 32768, 80, 16000))


if __name__ == "__main__":
    main()
