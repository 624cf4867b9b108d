#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training under a loaded tf.data pipeline: do TensorFlow's threads and the compiler's share the cores?

    bench/tf_pipeline.py [--rounds N] [--seconds S] [--size 96] [--batch 16]

JPEGs are decoded, resized, flipped, coloured, shuffled and batched by parallel maps (AUTOTUNE) with prefetch, so
that TensorFlow's pool is always busy, while a convolutional model trains. One process per engine, taking turns of S
seconds; while one runs the others' pipelines are full and stand still. Prints the median time of a step that waits
for its batch, of a step on a batch at hand (the pipeline is full and stands still), and of a batch alone; "both / sum" is
the first over the sum of the others, in time and in processor time: what sharing gains, and costs. Environment as for
test/tf/run.py.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

ENGINES = ("plain", "xla", "braze")
KINDS = ("both", "step", "batch")


def serve(engine, size, batch):
    import keras
    import numpy as np
    import tensorflow as tf
    keras.utils.set_random_seed(0)
    L = keras.layers
    jit = engine != "plain"
    noise = [tf.random.stateless_uniform([size * 2, size * 2, 3], [k, 1], 0, 255) for k in range(32)]
    pictures = [tf.io.encode_jpeg(tf.cast(x, tf.uint8)) for x in noise]

    def picture(data, label):
        x = tf.image.resize(tf.io.decode_jpeg(data), [size, size]) / 255
        x = tf.image.random_brightness(tf.image.random_flip_left_right(x), 0.2)
        return x, label
    data = tf.data.Dataset.from_tensor_slices((tf.stack(pictures), np.arange(32) % 10))
    data = data.repeat().shuffle(64, seed=1).map(picture, num_parallel_calls=tf.data.AUTOTUNE).batch(batch, drop_remainder=True)
    batches = iter(data.prefetch(tf.data.AUTOTUNE))
    layers = [keras.Input([size, size, 3])]
    for n in (16, 32, 64):
        layers += [L.Conv2D(n, 3, strides=2), L.BatchNormalization(), L.ReLU()]
    model = keras.Sequential([*layers, L.GlobalAveragePooling2D(), L.Dense(10)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = keras.optimizers.Adam(1e-3)
    optimizer.build(model.trainable_variables)

    @tf.function(jit_compile=jit)
    def step(x, y):
        with tf.GradientTape() as tape:
            value = loss(y, model(x, training=True))
        optimizer.apply(tape.gradient(value, model.trainable_variables), model.trainable_variables)
        return value
    held = next(batches)
    work = {"both": lambda: step(*next(batches)).numpy(), "step": lambda: step(*held).numpy(),
            "batch": lambda: next(batches)[1].numpy()}
    for _ in range(3):
        work["both"]()
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        kind, seconds = json.loads(line)
        start, cpu, n = time.perf_counter(), time.process_time(), 0
        while time.perf_counter() < start + seconds or n < 3:
            work[kind]()
            n += 1
        print(json.dumps([(time.perf_counter() - start) / n, (time.process_time() - cpu) / n]), flush=True)


def main():
    raw = argparse.RawDescriptionHelpFormatter
    p = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--seconds", type=float, default=2)
    p.add_argument("--size", type=int, default=96)
    p.add_argument("--batch", type=int, default=16)
    p.add_argument("--serve")
    a = p.parse_args()
    if a.serve:
        return serve(a.serve, a.size, a.batch)
    servers = {}
    for e in ENGINES:
        env = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", BRAZE_TF="verbose" if e == "braze" else "0")
        command = [sys.executable, __file__, "--serve", e, "--size", str(a.size), "--batch", str(a.batch)]
        servers[e] = subprocess.Popen(command, env=env, text=True, bufsize=1, stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        servers[e].stdout.readline()
    times = {(e, k): [] for e in ENGINES for k in KINDS}
    for r in range(a.rounds):
        for k in KINDS:
            for e in ENGINES[r % 3:] + ENGINES[:r % 3]:
                servers[e].stdin.write(json.dumps([k, a.seconds]) + "\n")
                times[e, k].append(json.loads(servers[e].stdout.readline()))
    print("| engine | both ms | CPU ms | step alone ms | CPU ms | batch alone ms | CPU ms | both / sum | CPU |\n"
          + "|---" * 9 + "|")
    for e in ENGINES:
        m = [statistics.median(t[i] for t in times[e, k]) * 1e3 for k in KINDS for i in (0, 1)]
        m += [statistics.median(b[i] / (s[i] + t[i]) for b, s, t in zip(*(times[e, k] for k in KINDS)))
              for i in (0, 1)]
        print(f"| {e} | " + " | ".join(f"{v:.2f}" for v in m) + " |")
    for s in servers.values():
        s.stdin.close()
        s.wait()


if __name__ == "__main__":
    main()
