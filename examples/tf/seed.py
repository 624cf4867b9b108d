# SPDX-License-Identifier: Apache-2.0
"""reduce_sum(x + y * z): one kernel. XLA_FLAGS=--xla_dump_to=DIR shows it; `braze explain` tells why."""
import tensorflow as tf


@tf.function(jit_compile=True)
def model_fn(x, y, z):
    return tf.reduce_sum(x + y * z)


x, y, z = (tf.random.stateless_normal([1000, 1000], [k, 0]) for k in range(3))
print("sum:", float(model_fn(x, y, z)))


@tf.function(jit_compile=True)
def recompiled_on_launch(a, b):
    return a + b


# BRAZE_DEBUG=1 tells of both compilations.
recompiled_on_launch(tf.ones([1, 10]), tf.ones([1, 10]))
recompiled_on_launch(tf.ones([1, 100]), tf.ones([1, 100]))


@tf.function
def outer(x):  # a compiled function inside one that is not
    tf.print("outer runs on", tf.strings.as_string(tf.shape(x)))
    return model_fn(x, x, x)


print("outer:", float(outer(tf.ones([3, 2]))))


@tf.function(jit_compile=True)
def not_compilable(x):
    return tf.strings.as_string(x)


try:
    not_compilable(x)
except tf.errors.InvalidArgumentError as e:
    print("error:", e.message.splitlines()[0][:100])
