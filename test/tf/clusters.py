# SPDX-License-Identifier: Apache-2.0
"""Auto-clustering: ordinary functions, of which TensorFlow finds the parts to compile."""
import keras
import numpy as np
import tensorflow as tf

from compared import case, main
from training import Classifier, digits

FLAGS = "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit"


def normal(*shape, seed=0):
    return tf.constant(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


@case()
def one_cluster():
    f = tf.function(lambda x, y, z: tf.reduce_sum(x + y * z) * 2 - tf.reduce_mean(tf.tanh(x)))
    return f(normal(20, 30), normal(20, 30, seed=1), normal(20, 30, seed=2))


@case(rtol=1e-5)
def training_with_a_string_op():
    model = Classifier()
    x, y = digits()
    x = x.reshape(len(x), -1)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = model.loss(x, y)
        for v, g in zip(model.trainable_variables, tape.gradient(loss, model.trainable_variables)):
            v.assign_sub(0.1 * g)
        return loss, tf.strings.length(tf.strings.as_string(loss, precision=3))
    out = []
    for k in range(0, 512, 64):
        out += step(x[k:k + 64], y[k:k + 64])
    return out


@case()
def control_flow():
    @tf.function
    def f(x, n):
        for i in tf.range(n):
            x = tf.cond(tf.reduce_sum(x) > 5, lambda: tf.sin(x) * 2 + 1, lambda: x * x + tf.cast(i, tf.float32))
        return tf.where(x > 0, x, -x), tf.where(x > 0.5)
    return list(f(normal(6), tf.constant(4)))


@case(rtol=1e-5)
def keras_fit():
    keras.utils.set_random_seed(1)
    x, y = digits(256)
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(32, "relu"), keras.layers.Dense(10)])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)
    return np.array(model.fit(x, y, epochs=3, batch_size=64, shuffle=False, verbose=0).history["loss"])


if __name__ == "__main__":
    main()
