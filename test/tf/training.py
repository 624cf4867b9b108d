# SPDX-License-Identifier: Apache-2.0
"""Training, seeded, with and without Keras: losses on Braze and on stock XLA agree to five digits."""
import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

from compared import case, main

keras.utils.set_random_seed(1)


def digits(n=512):
    data = load_digits()
    return (data.images[:n, :, :, None] / 16).astype(np.float32), data.target[:n].astype(np.int32)


def fit(model, x, y, optimizer, epochs=4, batch=64, loss="sparse_categorical_crossentropy"):
    model.compile(optimizer, loss, jit_compile=True)
    h = model.fit(x, y, epochs=epochs, batch_size=batch, shuffle=False, verbose=0)
    return [np.array(h.history["loss"])]


class Classifier(tf.Module):
    def __init__(self, block=lambda f: f):
        g = tf.random.Generator.from_seed(3)
        sizes = [64, 48, 48, 10]
        self.w = [tf.Variable(g.normal([a, b]) / a**0.5) for a, b in zip(sizes, sizes[1:])]
        self.b = [tf.Variable(tf.zeros([b])) for b in sizes[1:]]
        self.block = block

    def loss(self, x, y):
        for w, b in zip(self.w[:-1], self.b[:-1]):
            x = self.block(lambda x, w=w, b=b: tf.nn.relu(x @ w + b))(x)
        logits = x @ self.w[-1] + self.b[-1]
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))

    @tf.function(jit_compile=True)
    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = self.loss(x, y)
        for v, g in zip(self.trainable_variables, tape.gradient(loss, self.trainable_variables)):
            v.assign_sub(0.1 * g)
        return loss


def train(model, epochs=4):
    x, y = digits()
    x = x.reshape(len(x), -1)
    losses = [[model.step(x[k:k + 64], y[k:k + 64]) for k in range(0, len(x), 64)] for _ in range(epochs)]
    return np.mean(np.array(losses), 1)


@case(rtol=1e-5)
def digits_by_hand():
    return train(Classifier())


@case(rtol=1e-5)
def digits_recomputed():
    def block(f):
        return tf.recompute_grad(f)
    return train(Classifier(block))


@case(rtol=1e-5)
def keras_mlp_adam():
    x, y = digits()
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(64, "relu"),
                              keras.layers.Dropout(0.2), keras.layers.Dense(10, "softmax")])
    return fit(model, x, y, keras.optimizers.Adam(1e-3))


@case(rtol=1e-5)
def keras_convolution_momentum():
    x, y = digits(256)
    layers = keras.layers
    model = keras.Sequential([layers.Conv2D(8, 3, padding="same"), layers.BatchNormalization(),
                              layers.ReLU(), layers.MaxPooling2D(), layers.Conv2D(16, 3, strides=2),
                              layers.GlobalAveragePooling2D(), layers.Dense(10, "softmax")])
    return fit(model, x, y, keras.optimizers.SGD(0.05, momentum=0.9)) + [model.predict(x[:40], verbose=0)]


def encoder(causal):
    layers = keras.layers
    ids = keras.Input([16], dtype="int32")
    x = layers.Embedding(50, 32)(ids) + layers.Embedding(16, 32)(tf.range(16)[None])
    for _ in range(2):
        a = layers.MultiHeadAttention(2, 16)(x, x, use_causal_mask=causal)
        x = layers.LayerNormalization()(x + a)
        f = layers.Dense(32)(layers.Dense(64, "gelu")(x))
        x = layers.LayerNormalization()(x + f)
    return keras.Model(ids, layers.Dense(50, "softmax")(x))


def tokens():
    return np.random.default_rng(0).integers(0, 50, (64, 16)).astype(np.int32)


@case(rtol=1e-5)
def keras_encoder_adam():
    t = tokens()
    return fit(encoder(False), t, t, keras.optimizers.Adam(1e-3), batch=16)


@case(rtol=1e-5)
def keras_decoder_adamw():
    t = tokens()
    return fit(encoder(True), t, np.roll(t, -1, 1), keras.optimizers.AdamW(1e-3), batch=16)


@case(rtol=1e-5)
def keras_recurrent():
    t = tokens()
    model = keras.Sequential([keras.layers.Embedding(50, 16), keras.layers.GRU(24),
                              keras.layers.Dense(50, "softmax")])
    return fit(model, t, t[:, 0], keras.optimizers.RMSprop(1e-3), batch=16)


@case(rtol=2e-2)
def keras_mixed_bfloat16():
    keras.mixed_precision.set_global_policy("mixed_bfloat16")
    try:
        x, y = digits(256)
        model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(64, "relu"),
                                  keras.layers.Dense(10), keras.layers.Activation("softmax", dtype="float32")])
        return fit(model, x, y, keras.optimizers.Adam(1e-3))
    finally:
        keras.mixed_precision.set_global_policy("float32")


if __name__ == "__main__":
    main()
