# SPDX-License-Identifier: Apache-2.0
"""Auto-clustering: nothing is marked; TensorFlow finds the parts to compile and leaves the string op out.

    TF_XLA_FLAGS="--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit" python examples/tf/clusters.py
"""
import os

os.environ.setdefault("TF_XLA_FLAGS", "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit")

import tensorflow as tf

x = tf.random.stateless_normal([256, 16], [1, 2])
y = tf.reduce_sum(x * tf.range(16, dtype=tf.float32), 1, keepdims=True)
w, b = tf.Variable(tf.zeros([16, 1])), tf.Variable(tf.zeros([1]))


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ w + b - y) ** 2)
    for v, g in zip((w, b), tape.gradient(loss, (w, b))):
        v.assign_sub(0.1 * g)
    tf.print(tf.strings.join(["loss ", tf.strings.as_string(loss, precision=4)]))
    return loss


for _ in range(5):
    step(x, y)
