#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times TensorFlow programs as they are (plain), with stock XLA and with Braze.

    bench/tf_cases.py [--rounds N] [--seconds S] [CASE…]

One process per engine; each round lets every engine run every case for S seconds in turn, so that what
else the machine does meets all of them. Prints medians in milliseconds: of all calls' times, and of the
rounds' processor time per call, in which waiting for a busy machine does not count. Ratios are of medians
of the rounds' ratios. "first" is the first three calls with tracing and compiling; "peak" is how much resident
memory grew at most from before the model was made. Environment as for test/tf/run.py.
"""
import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import time

ENGINES = ("plain", "xla", "braze")


def cases(jit):
    import keras
    import numpy as np
    import tensorflow as tf
    keras.utils.set_random_seed(0)
    normal = lambda *s: tf.random.stateless_normal(s, [1, 2])
    function = lambda f: tf.function(f, jit_compile=jit)

    def call(f, *args):
        def run():
            r = f(*args)
            tf.nest.map_structure(lambda t: t.numpy() if t is not None else t, r)
        return run

    def add_one():
        return call(function(lambda x: x + 1), normal(4))

    def ten_in_ten_out():
        return call(function(lambda *xs: [x + 1 for x in xs]), *[normal(4) for _ in range(10)])

    def twenty_variables():
        vs = [tf.Variable(tf.ones([4])) for _ in range(20)]

        def step():
            for v in vs:
                v.assign_add(tf.ones([4]))
        return call(function(step))

    def seed_example():
        return call(function(lambda x, y, z: tf.reduce_sum(x + y * z)), *[normal(2000, 2000)] * 3)

    def trained(model, x, y):
        loss = keras.losses.SparseCategoricalCrossentropy()
        optimizer = keras.optimizers.Adam(1e-3)
        optimizer.build(model.trainable_variables)

        def step(x, y):
            with tf.GradientTape() as tape:
                value = loss(y, model(x, training=True))
            optimizer.apply(tape.gradient(value, model.trainable_variables), model.trainable_variables)
            return value
        return call(function(step), x, y)

    def mnist_train():
        layers = keras.layers
        model = keras.Sequential([keras.Input([28, 28]), layers.Flatten(), layers.Dense(128, "relu"),
                                  layers.Dropout(0.2), layers.Dense(10, "softmax")])
        return trained(model, normal(128, 28, 28), tf.zeros([128], tf.int32))

    def classifier(kind, size):
        return getattr(keras.applications, kind)(weights=None, input_shape=(size, size, 3), classes=10)

    def resnet50_train():
        return trained(classifier("ResNet50", 64), normal(4, 64, 64, 3), tf.zeros([4], tf.int32))

    def mobilenet_train():
        return trained(classifier("MobileNetV2", 96), normal(4, 96, 96, 3), tf.zeros([4], tf.int32))

    def resnet50_infer():
        model = keras.applications.ResNet50(weights=None, input_shape=(128, 128, 3))
        return call(function(lambda x: model(x, training=False)), normal(1, 128, 128, 3))

    def mobilenet_infer():
        model = keras.applications.MobileNetV2(weights=None, input_shape=(128, 128, 3))
        return call(function(lambda x: model(x, training=False)), normal(1, 128, 128, 3))

    def encoder_train():
        layers = keras.layers
        ids = keras.Input([64], dtype="int32")
        x = layers.Embedding(1000, 128)(ids)
        for _ in range(2):
            x = layers.LayerNormalization()(x + layers.MultiHeadAttention(4, 32)(x, x))
            x = layers.LayerNormalization()(x + layers.Dense(128)(layers.Dense(512, "gelu")(x)))
        model = keras.Model(ids, layers.Dense(1000, "softmax")(x))
        t = tf.constant(np.random.default_rng(0).integers(0, 1000, (8, 64)).astype(np.int32))
        return trained(model, t, t)

    return {f.__name__: f for f in (add_one, ten_in_ten_out, twenty_variables, seed_example, mnist_train,
                                    encoder_train, mobilenet_infer, resnet50_infer,
                                    mobilenet_train, resnet50_train)}


def memory(field):
    """MiB of VmRSS or VmHWM."""
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(field)) / 1024


def serve(engine):
    """Reads (case, seconds) by line; answers with the times of its calls."""
    made, known = {}, None
    for line in sys.stdin:
        name, seconds = json.loads(line)
        known = known or cases(engine != "plain")
        if name not in made:
            made.clear()
            gc.collect()
            with open("/proc/self/clear_refs", "w") as f:
                f.write("5")  # forget the peak so far
            before = memory("VmRSS")
            made[name] = known[name]()
            start = time.perf_counter()
            for _ in range(3):
                made[name]()
            print(json.dumps([time.perf_counter() - start, memory("VmHWM") - before]), flush=True)
            continue
        times, end, cpu = [], time.perf_counter() + seconds, time.process_time()
        while time.perf_counter() < end or len(times) < 3:
            start = time.perf_counter()
            made[name]()
            times.append(time.perf_counter() - start)
        print(json.dumps([times, (time.process_time() - cpu) / len(times)]), flush=True)


def start(engine):
    env = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", BRAZE_TF="verbose" if engine == "braze" else "0")
    return subprocess.Popen([sys.executable, __file__, "--serve", engine], env=env, text=True, bufsize=1,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def ask(process, name, seconds):
    process.stdin.write(json.dumps([name, seconds]) + "\n")
    return json.loads(process.stdout.readline())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--serve")
    parser.add_argument("case", nargs="*")
    args = parser.parse_args()
    if args.serve:
        return serve(args.serve)
    names = args.case or list("add_one ten_in_ten_out twenty_variables seed_example mnist_train encoder_train "
                              "mobilenet_infer resnet50_infer mobilenet_train resnet50_train".split())
    servers = {e: start(e) for e in ENGINES}
    print("| case | plain ms | XLA ms | Braze ms | plain / Braze | XLA / Braze | CPU: plain | XLA | Braze | "
          "first: plain s | XLA s | Braze s | peak: plain MiB | XLA | Braze |\n" + "|---" * 15 + "|")
    for name in names:
        first = {e: ask(servers[e], name, 0) for e in ENGINES}
        wall, cpu, all_times = ({e: [] for e in ENGINES} for _ in range(3))
        for k in range(args.rounds):
            for e in ENGINES[k % 3:] + ENGINES[:k % 3]:
                times, spent = ask(servers[e], name, args.seconds)
                all_times[e] += times
                wall[e].append(statistics.median(times))
                cpu[e].append(spent)
        m = [f"{statistics.median(all_times[e]) * 1e3:.3f}" for e in ENGINES]
        m += [f"{statistics.median(a / b for a, b in zip(wall[e], wall['braze'])):.2f}" for e in ENGINES[:2]]
        m += [f"{statistics.median(cpu[e]) * 1e3:.3f}" for e in ENGINES]
        m += [f"{first[e][0]:.2f}" for e in ENGINES] + [f"{first[e][1]:.0f}" for e in ENGINES]
        print(f"| {name} | {' | '.join(m)} |", flush=True)
    for s in servers.values():
        s.stdin.close()
        s.wait()


if __name__ == "__main__":
    main()
