# SPDX-License-Identifier: Apache-2.0
"""Trains a classifier on real handwritten digits (scikit-learn's) with a compiled step, without Keras.

    python examples/tf/digits.py [--recompute]

--recompute computes the hidden layers' values again in the backward pass instead of keeping them.
"""
import sys

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

data = load_digits()
images = (data.data / 16).astype(np.float32)
labels = data.target.astype(np.int32)
train, test = slice(0, 1500), slice(1500, None)

generator = tf.random.Generator.from_seed(0)
sizes = [64, 128, 128, 10]
weights = [tf.Variable(generator.normal([a, b]) * (2 / a) ** 0.5) for a, b in zip(sizes, sizes[1:])]
biases = [tf.Variable(tf.zeros([b])) for b in sizes[1:]]


def hidden(x):
    for w, b in zip(weights[:-1], biases[:-1]):
        x = tf.nn.relu(x @ w + b)
    return x


if "--recompute" in sys.argv:
    hidden = tf.recompute_grad(hidden)


def logits(x):
    return hidden(x) @ weights[-1] + biases[-1]


@tf.function(jit_compile=True)
def train_mnist(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits(x)))
    variables = weights + biases
    for v, g in zip(variables, tape.gradient(loss, variables)):
        v.assign_sub(0.2 * g)
    return loss


@tf.function(jit_compile=True)
def accuracy(x, y):
    return tf.reduce_mean(tf.cast(tf.argmax(logits(x), 1, tf.int32) == y, tf.float32))


steps = tf.data.Dataset.from_tensor_slices((images[train], labels[train]))
steps = steps.shuffle(1500, seed=0).batch(100, drop_remainder=True)
for epoch in range(5):
    losses = [train_mnist(x, y) for x, y in steps]
    print(f"epoch {epoch}: loss {np.mean(losses):.4f}, "
          f"accuracy {float(accuracy(images[test], labels[test])):.4f}")
