#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A soak: threads train Keras models, predict, run small functions, write variables and fail on purpose, all under
jit_compile; every result is compared with plain TensorFlow's in the same process.

    test/tf/soak.py [--minutes 30 | --rounds N] [--threads 3] [--seed 0] [--every N] [--fresh]

There are as many functions as a seed's first rounds make, so that memory is flat once all are compiled. With --fresh
small functions are made anew each time; TensorFlow keeps every function it ever traced, so that memory then grows.

The process runs on Braze as it is, on stock XLA with BRAZE_TF=0. Work is dealt by number: round k of a seed is
the same work on both, in whatever thread. Prints the resident memory every N rounds; the exit code is 1 if a result was
wrong or memory grew by more than 10 % over the second half.
"""
import argparse
import ctypes
import gc
import os
import random
import sys
import threading
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf

L = keras.layers


def mlp():
    return keras.Sequential([keras.Input([20]), L.Dense(32, "relu"), L.Dense(16, "gelu"), L.Dense(5)])


def convolutional():
    return keras.Sequential([keras.Input([20]), L.Reshape([5, 4, 1]), L.Conv2D(6, 3, padding="same"), L.ReLU(),
                             L.MaxPooling2D(2), L.Flatten(), L.Dense(5)])


def recurrent():
    return keras.Sequential([keras.Input([20]), L.Reshape([5, 4]), L.GRU(8), L.Dense(5)])


def attention():
    x = keras.Input([20])
    y = L.Reshape([5, 4])(x)
    y = L.LayerNormalization()(y + L.MultiHeadAttention(2, 4)(y, y))
    return keras.Model(x, L.Dense(5)(L.Flatten()(y)))


MODELS = (mlp, convolutional, recurrent, attention)


STEPS = (tf.sin, tf.tanh, tf.transpose, tf.nn.softmax, lambda x: x * 2 + 1, lambda x: tf.sort(x, 1),
         lambda x: x - tf.reduce_mean(x, 1, keepdims=True), lambda x: tf.cumsum(x, 1), lambda x: tf.reverse(x, [0]),
         lambda x: x @ tf.transpose(x) / 20, lambda x: tf.where(x > 0, x, -x), lambda x: tf.concat([x, x], 0)[:20])


class Learner:
    """A model twice, once compiled, and both steps."""

    def __init__(self, make, seed):
        keras.utils.set_random_seed(seed)
        self.models = [make(), make()]
        self.models[1].set_weights(self.models[0].get_weights())
        self.steps = [self.step(m, jit) for m, jit in zip(self.models, (True, False))]
        self.infer = [tf.function(m, jit_compile=jit) for m, jit in zip(self.models, (True, False))]
        self.lock = threading.Lock()

    def step(self, model, jit):
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        optimizer = keras.optimizers.SGD(0.01, momentum=0.5)
        optimizer.build(model.trainable_variables)

        def train(x, y):
            with tf.GradientTape() as tape:
                value = loss(y, model(x, training=True))
            optimizer.apply(tape.gradient(value, model.trainable_variables), model.trainable_variables)
            return value
        return tf.function(train, jit_compile=jit)


class Soak:
    def __init__(self, seed, fresh):
        self.seed, self.fresh, self.functions = seed, fresh, {}
        self.learners = [Learner(m, seed + k) for k, m in enumerate(MODELS)]
        self.next, self.lock, self.wrong = 0, threading.Lock(), []

    def compare(self, what, got, want, bound=2e-3):
        got, want = np.asarray(got), np.asarray(want)
        if got.shape != want.shape or not np.allclose(got, want, rtol=bound, atol=bound):
            self.wrong.append((what, got.ravel()[:4], want.ravel()[:4]))

    def train(self, r):
        k = r.randrange(len(self.learners))
        learner, g = self.learners[k], np.random.default_rng(r.getrandbits(32))
        with learner.lock:
            for _ in range(10):
                batch = r.choice((4, 8, 16))
                x = tf.constant(g.standard_normal((batch, 20)).astype(np.float32))
                y = tf.constant(g.integers(0, 5, batch))
                a, b = (step(x, y) for step in learner.steps)
                self.compare(f"loss of {MODELS[k].__name__}", a, b)
            # The two drift apart by rounding; from here on they are one again.
            for v, w in zip(*(m.trainable_variables for m in learner.models)):
                self.compare(f"weights of {MODELS[k].__name__}", v, w)
                v.assign(w)

    def predict(self, r):
        k = r.randrange(len(self.learners))
        learner = self.learners[k]
        with learner.lock:
            g = np.random.default_rng(r.getrandbits(32))
            x = g.standard_normal((r.choice((1, 8, 33)), 20)).astype(np.float32)
            a, b = (f(tf.constant(x)) for f in learner.infer)
            self.compare(f"prediction of {MODELS[k].__name__}", a, b)

    def function(self, key, make):
        if self.fresh:
            return make()
        with self.lock:
            return self.functions.setdefault(key, make())

    def chain(self, r):
        """A function of random steps."""
        key = r.randrange(60)
        r = random.Random(r.getrandbits(32) if self.fresh else self.seed * 1009 + key)
        steps = r.choices(STEPS, k=r.randint(1, 5))
        g = np.random.default_rng(r.getrandbits(32))
        x = tf.constant(g.standard_normal((r.randint(1, 20), r.randint(1, 20))).astype(np.float32))

        def chain(x):
            for f in steps:
                x = f(x)
            return x
        f = self.function(key, lambda: tf.function(chain, jit_compile=True, autograph=False))
        self.compare("chain", f(x), chain(x))

    def variables(self, r):
        v = tf.Variable(tf.zeros([5000]))
        step = self.function("variables", lambda: tf.function(lambda v, g: v.assign_sub(0.1 * g), jit_compile=True))
        for _ in range(10):
            held = v.read_value()
            step(v, tf.ones([5000]))
        self.compare("variable", v[:3], [-1] * 3)
        self.compare("held", held[:3], [-0.9] * 3)

    def sizes(self, r):
        x = np.random.default_rng(r.getrandbits(32)).standard_normal(40).astype(np.float32)
        self.compare("mask", mask(tf.constant(x)), x[x > 0])

    def failing(self, r):
        f = self.function("failing", lambda: tf.function(lambda x: tf.strings.length(tf.strings.as_string(x)),
                                                         jit_compile=True))
        try:
            f(tf.ones([3]))
            self.wrong.append(("failing", "no error"))
        except tf.errors.InvalidArgumentError:
            pass

    def round(self, number):
        r = random.Random(self.seed * 1_000_003 + number)
        kinds = [self.train] * 6 + [self.predict] * 8 + [self.chain, self.variables, self.sizes]
        kinds += [self.failing] * (number % 7 == 0)
        r.choice(kinds)(r)

    def work(self, until, rounds):
        while not self.wrong and time.time() < until:
            with self.lock:
                number = self.next
                self.next += 1
            if number >= rounds:
                return
            try:
                self.round(number)
            except Exception as e:
                self.wrong.append(("exception", repr(e)))


mask = tf.function(lambda x: tf.boolean_mask(x, x > 0), jit_compile=True)


def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20


def main():
    raw = argparse.RawDescriptionHelpFormatter
    p = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    p.add_argument("--minutes", type=float, default=30)
    p.add_argument("--rounds", type=int, help="end after so many rounds")
    p.add_argument("--threads", type=int, default=3)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--every", type=int, default=200, help="rounds between lines")
    p.add_argument("--fresh", action="store_true", help="make small functions anew each time")
    a = p.parse_args()
    start = time.time()
    soak = Soak(a.seed, a.fresh)
    rounds = a.rounds or sys.maxsize
    until = start + (a.minutes * 60 if not a.rounds else 1e9)
    threads = [threading.Thread(target=soak.work, args=(until, rounds)) for _ in range(a.threads)]
    for t in threads:
        t.start()
    trim = ctypes.CDLL(None).malloc_trim
    memory, due = [], a.every
    while any(t.is_alive() for t in threads):
        time.sleep(0.05)
        if soak.next < due and any(t.is_alive() for t in threads):
            continue
        due += a.every
        gc.collect()
        trim(0)  # what malloc keeps is no leak
        memory.append(resident())
        print(f"{time.time() - start:5.0f} s  {min(soak.next, rounds):6d} rounds  {memory[-1]:7.1f} MiB", flush=True)
    half = memory[len(memory) // 2:] or [0]
    grown = half[-1] / max(half[0], 1) - 1
    print(f"{len(soak.wrong)} wrong {soak.wrong[:3]}; memory grew by {grown:.1%} over the second half")
    sys.exit(int(bool(soak.wrong) or grown > 0.1))


if __name__ == "__main__":
    main()
