# SPDX-License-Identifier: Apache-2.0
"""Keras models with compile(jit_compile=True): ResNet50 and an encoder in the manner of BERT.

    python examples/tf/keras_models.py [--bfloat16]
"""
import sys
import time

import keras
import numpy as np

if "--bfloat16" in sys.argv:
    keras.mixed_precision.set_global_policy("mixed_bfloat16")
keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
layers = keras.layers


def fit(name, model, x, y):
    model.compile(keras.optimizers.SGD(0.01), "sparse_categorical_crossentropy", jit_compile=True)
    start = time.time()
    losses = model.fit(x, y, batch_size=len(x), epochs=3, shuffle=False, verbose=0).history["loss"]
    print(f"{name}: losses {', '.join(f'{v:.4f}' for v in losses)} ({time.time() - start:.1f} s)", flush=True)


resnet = keras.applications.ResNet50(weights=None, input_shape=(64, 64, 3), classes=10)
fit("ResNet50", resnet, rng.normal(size=(4, 64, 64, 3)).astype(np.float32), np.arange(4))

ids = keras.Input([32], dtype="int32")
h = layers.Embedding(200, 64)(ids)
for _ in range(2):
    h = layers.LayerNormalization()(h + layers.MultiHeadAttention(4, 16)(h, h))
    h = layers.LayerNormalization()(h + layers.Dense(64)(layers.Dense(256, "gelu")(h)))
encoder = keras.Model(ids, layers.Dense(200, "softmax", dtype="float32")(h))
tokens = rng.integers(0, 200, (16, 32)).astype(np.int32)
fit("encoder", encoder, tokens, tokens)
