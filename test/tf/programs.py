# SPDX-License-Identifier: Apache-2.0
"""Programs with jit_compile=True, whose values on Braze and on stock XLA must agree.

A case is a function that returns arrays, or the text of the error it expects. compared.py runs it in two
processes.
"""
import numpy as np
import tensorflow as tf

from compared import case, expect_error, main


def jit(f):
    return tf.function(f, jit_compile=True)


def normal(*shape, seed=0, dtype=np.float32):
    return tf.constant(np.random.default_rng(seed).normal(size=shape).astype(dtype))


@case()
def seed_example():
    def model_fn(x, y, z):
        return tf.reduce_sum(x + y * z)
    x, y, z = (normal(64, 33, seed=s) for s in range(3))
    return jit(model_fn)(x, y, z)


@case()
def recompiled_on_launch():
    @jit
    def recompiled_on_launch(a, b):
        return a + b
    return [recompiled_on_launch(tf.ones([1, 10]), tf.ones([1, 10])),
            recompiled_on_launch(tf.ones([1, 100]), tf.ones([1, 100]))]


@case()
def nesting():
    @jit
    def inner(x):
        return tf.nn.softmax(x * 2)

    @tf.function
    def outer(x):
        tf.debugging.assert_all_finite(x, "x")
        return inner(x) + tf.cast(tf.strings.length(tf.strings.as_string(x)), tf.float32) * 0

    @jit
    def both(x):
        return inner(x) + inner(x + 1)
    return [outer(normal(3, 4)), both(normal(3, 4))]


@case()
def not_compilable():
    @jit
    def text(x):
        return tf.strings.length(tf.strings.as_string(x))
    return expect_error(tf.errors.InvalidArgumentError, lambda: text(tf.ones([3])))


@case()
def element_types():
    out = []
    for t in (tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.int8, tf.int16, tf.int32, tf.int64,
              tf.uint8, tf.uint16, tf.uint32, tf.uint64, tf.complex64, tf.complex128):
        x = tf.cast(tf.constant([[1, 2, 3], [4, 5, 6]]), t)
        out.append(tf.cast(jit(lambda x: x * x + x)(x), tf.complex128 if t.is_complex else tf.float64))
    out.append(jit(tf.logical_not)(tf.constant([True, False])))
    return out


@case()
def passed_through_and_constant():
    x, e = normal(4), tf.zeros([0, 3])
    return list(jit(lambda x, e: (x, tf.constant([1., 2.]), x, e, tf.concat([e, e], 0), x + 1))(x, e))


@case()
def variables():
    v, w = tf.Variable(tf.ones([3, 2])), tf.Variable(2.0)

    @jit
    def step(x):
        old = v.read_value()
        v.assign_add(x)
        w.assign(w * 1.5)
        v.assign(v * w)
        return old, v.read_value(), w + 1
    out = []
    for k in range(3):
        held = v.read_value()
        out += [*step(tf.fill([3, 2], float(k))), held, v.read_value() * 2, w.read_value()]
        v.assign_sub(tf.ones([3, 2]))
    return out


@case()
def variable_made_inside():
    class M(tf.Module):
        v = None

        @tf.function(jit_compile=True)
        def __call__(self, x):
            if self.v is None:
                self.v = tf.Variable([1.0, 2.0])
            return self.v.assign_add(x)
    m = M()
    return [m(tf.ones([2])), m(tf.ones([2])), m.v.read_value()]


@case()
def unaligned_inputs():
    base = np.arange(103, dtype=np.float32)
    out = []
    for k in (1, 2, 3):  # TensorFlow's own tensors are aligned; those of other libraries may not be
        t = tf.experimental.dlpack.from_dlpack(base[k:].__dlpack__())
        out += jit(lambda x: (tf.reduce_sum(x[1:] * x[:-1]), tf.tanh(x), tf.reverse(x, [0])))(t)
    s = tf.split(tf.constant(base[:99]), 3)
    return out + [jit(lambda a, b, c: a * b - c)(*s)]


@case()
def views_of_results():
    f, g = jit(lambda x: x * 2), jit(lambda x: x + 1)
    x = normal(4, 6)
    y = f(x)
    out = [g(v) for v in (tf.reshape(y, [-1]), tf.expand_dims(y, 0), tf.squeeze(y[None, :1]), tf.bitcast(y,
                tf.int32), y[1:3],
                          *tf.split(y, 2), *tf.unstack(y))]
    out.append(jit(lambda x: tf.cast(x, tf.int32) + 1)(tf.bitcast(y, tf.uint8)))
    v = tf.Variable(y)
    step = jit(lambda x: v.assign_add(f(x)))
    for _ in range(3):
        step(x)
        held = tf.reshape(v, [3, 8])
        step(x)
        out += [g(held), g(tf.reshape(v, [8, 3])), held]
    return out


@case()
def shape_argument():
    f = jit(lambda x, s: tf.reshape(x, s))
    return [f(tf.range(12), tf.constant([3, 4])), f(tf.range(12), tf.constant([2, 6]))]


@case()
def where_of_one_argument():
    f = jit(lambda x: tf.where(x > 0))
    return [f(tf.constant([1., -1, 2, 0, 3])), f(tf.constant([-1., -1, -2, 0, 3])),
            f(-tf.ones([5])), f(normal(5, 6))]


@case()
def boolean_mask():
    f = jit(lambda x, m: tf.boolean_mask(x, m))
    x = normal(6, 3)
    g = jit(lambda x, m: tf.reduce_sum(tf.boolean_mask(x, m) * 2, 0))
    return [f(x, tf.constant([True, False, True, True, False, False])), f(x, tf.zeros([6], tf.bool)),
            g(x, tf.constant([True, False, True, True, False, False])), f(x, x > 0)]


@case()
def unique():
    f = jit(lambda x: tf.unique(x))
    r = f(tf.constant([3, 1, 3, 2, 2, 7]))
    return [r.y, r.idx]


@case()
def while_cond_case():
    @jit
    def f(x, n):
        i = tf.constant(0)
        while i < n:
            x = tf.cond(tf.reduce_sum(x) > 10.0, lambda: x * 0.5, lambda: x * 2.0 + 1.0)
            i += 1
        return tf.switch_case(n % 3, [lambda: x, lambda: -x, lambda: x * x])
    return [f(normal(5), tf.constant(k)) for k in (0, 3, 5, 7)]


@case()
def tensor_array_and_gradient():
    @jit
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            ta = tf.TensorArray(tf.float32, 6)
            y = x
            for i in tf.range(6):
                y = tf.tanh(y * 1.1 + tf.cast(i, tf.float32))
                ta = ta.write(i, y)
            loss = tf.reduce_sum(ta.stack() ** 2)
        return loss, tape.gradient(loss, x)
    return list(f(normal(4)))


@case()
def gradient_outside():
    @jit
    def f(x, w):
        return tf.nn.relu(x @ w)
    x, w = normal(8, 5), normal(5, 7, seed=1)
    with tf.GradientTape() as tape:
        tape.watch(w)
        loss = tf.reduce_sum(f(x, w) ** 2)
    return [loss, tape.gradient(loss, w)]


@case()
def random_numbers():
    @jit
    def f(x):
        a = tf.random.stateless_uniform([100], [1, 2])
        b = tf.random.stateless_normal([100], [3, 4])
        c = tf.random.stateless_uniform([100], [5, 6], 0, 10, tf.int32)
        return a, b, c, tf.nn.experimental.stateless_dropout(x, 0.4, [7, 8])
    g = tf.random.Generator.from_seed(5)
    h = jit(lambda: (g.normal([50]), g.uniform([50])))
    stateful = jit(lambda: tf.random.uniform([1000]))()
    return [*f(tf.ones([100])), *h(), *h(), tf.reduce_all((stateful >= 0) & (stateful < 1)),
            tf.math.abs(tf.reduce_mean(stateful) - 0.5) < 0.1]


@case(rtol=2e-4, atol=2e-5)
def linear_algebra():
    a = normal(2, 5, 5)
    s = tf.matmul(a, a, transpose_b=True) + 5 * tf.eye(5)

    @jit
    def f(a, s):
        q, r = tf.linalg.qr(a)
        return (tf.linalg.cholesky(s), q @ r, tf.matmul(q, q, transpose_a=True),
                tf.linalg.eigvalsh(s), tf.linalg.inv(s), tf.linalg.solve(s, a),
                tf.linalg.triangular_solve(s, a, lower=True))
    return list(f(a, s))


@case()
def eigenvectors():
    s = normal(6, 6)
    s = s + tf.transpose(s)
    e, v = jit(tf.linalg.eigh)(s)
    return [e, v @ tf.linalg.diag(e) @ tf.transpose(v)]


@case()
def sorting_and_indexing():
    x = normal(4, 9)

    @jit
    def f(x):
        v, i = tf.math.top_k(x, 3)
        return (v, i, tf.sort(x, 1), tf.argsort(x, 1), tf.argmax(x, 1), tf.argmin(x, 0), tf.cumsum(x, 1),
                tf.math.cumprod(x, 0), tf.gather(x, [2, 0], axis=1), tf.one_hot([1, 3], 5),
                tf.reverse(x, [1]), tf.roll(x, 2, 1), tf.searchsorted(tf.sort(x, 1), x[:, :2]),
                tf.tensor_scatter_nd_update(x, [[0, 1], [2, 3]], [9., 8.]),
                tf.math.unsorted_segment_sum(x, [0, 2, 0, 1], 3), tf.linalg.band_part(x, 1, 2))
    return list(f(x))


@case()
def signal_and_windows():
    x = normal(2, 12, 12, 3)
    k = normal(3, 3, 3, 4, seed=1)

    @jit
    def f(x, k):
        z = tf.signal.fft(tf.cast(x[..., 0], tf.complex64))
        return (tf.math.abs(z), tf.signal.irfft(tf.signal.rfft(x[..., 0])),
                tf.nn.conv2d(x, k, 2, "SAME"), tf.nn.conv2d(x, k, 1, "VALID"),
                tf.nn.depthwise_conv2d(x, k, [1, 1, 1, 1], "SAME"),
                tf.nn.conv2d_transpose(x[:, :, :, :1] * tf.ones([4]), k, [2, 24, 24, 3], 2),
                tf.nn.max_pool2d(x, 3, 2, "SAME"), tf.nn.avg_pool2d(x, 2, 2, "VALID"),
                tf.image.resize(x, [7, 9]))
    return list(f(x, k))


@case()
def many_elementwise():
    x, y = normal(50), normal(50, seed=1)

    @jit
    def f(x, y):
        p = tf.abs(x) + 0.1
        return [tf.exp(x), tf.math.log(p), tf.tanh(x), tf.sigmoid(x), tf.nn.gelu(x), tf.nn.softplus(x),
                tf.math.erf(x), tf.math.erfinv(tf.tanh(x)), tf.math.lgamma(p), tf.math.digamma(p), tf.sin(x),
                tf.atan2(x, y), tf.pow(p, y), tf.math.floormod(x, y), tf.round(x), tf.sign(x),
                tf.nn.elu(x), tf.nn.selu(x), tf.math.igamma(p, p + 1), tf.math.expm1(x),
                tf.math.betainc(p, p + 1, tf.sigmoid(x)), tf.math.special.bessel_i0e(x)
                if hasattr(tf.math.special, "bessel_i0e") else x, tf.math.squared_difference(x, y),
                tf.where(x > y, x, y), tf.clip_by_value(x, -1, 1), tf.math.rsqrt(p), tf.math.asinh(x)]
    return f(x, y)


@case()
def half_precision_matmul():
    x, w = normal(33, 65), normal(65, 17, seed=1)
    f = jit(lambda x, w: tf.cast(tf.matmul(tf.cast(x, tf.bfloat16), tf.cast(w, tf.bfloat16)), tf.float32))
    return tf.cast(tf.round(f(x, w)), tf.int32) // 2


@case()
def recompute_gradient():
    ws = [normal(16, 16, seed=s) / 4 for s in range(4)]

    def block(x):
        for w in ws:
            x = tf.tanh(x @ w)
        return x

    def loss_and_gradient(f):
        @jit
        def run(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                loss = tf.reduce_sum(f(x) ** 2)
            return loss, tape.gradient(loss, x)
        return run(normal(8, 16))
    return [*loss_and_gradient(block), *loss_and_gradient(tf.recompute_grad(block))]


@case()
def saved_model():
    import tempfile

    class M(tf.Module):
        def __init__(self):
            self.w = tf.Variable(normal(3, 3))

        @tf.function(jit_compile=True, input_signature=[tf.TensorSpec([None, 3])])
        def __call__(self, x):
            return tf.nn.relu(x @ self.w)
    with tempfile.TemporaryDirectory() as d:
        tf.saved_model.save(M(), d)
        return tf.saved_model.load(d)(normal(5, 3))


@case()
def session_of_tf1():
    v1 = tf.compat.v1
    g = tf.Graph()
    with g.as_default(), v1.Session(graph=g) as s:
        x = v1.placeholder(tf.float32, [None, 4])
        v = v1.get_variable("v", initializer=np.ones((4, 2), np.float32), use_resource=True)
        y = v1.nn.relu(tf.function(lambda x, v: x @ v - 1.0, jit_compile=True)(x, v))
        s.run(v1.global_variables_initializer())
        return [s.run(y, {x: np.arange(8, dtype=np.float32).reshape(2, 4)}),
                s.run(y, {x: np.ones((3, 4), np.float32)})]


@case()
def explicit_api_of_tf1():
    v1 = tf.compat.v1
    g = tf.Graph()
    with g.as_default(), v1.Session(graph=g) as s:
        x = v1.placeholder(tf.float32, [4])
        [y] = tf.xla.experimental.compile(lambda x: tf.nn.softmax(x) * 2, [x])
        return s.run(y, {x: np.arange(4, dtype=np.float32)})


@case()
def inside_data_pipeline():
    f = jit(lambda x: tf.reduce_sum(tf.cast(x, tf.float32) ** 2))
    d = tf.data.Dataset.range(6).batch(3, drop_remainder=True).map(lambda x: f(x))
    return [y.numpy() for y in d]


@case()
def threads():
    import threading
    f = jit(lambda x: tf.linalg.matmul(x, x) + tf.reduce_mean(x))
    out = [None] * 4

    def work(k):
        for _ in range(5):
            out[k] = f(tf.fill([8 + k, 8 + k], float(k)))
    ts = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [t.start() for t in ts]
    [t.join() for t in ts]
    return out


@case()
def second_device():
    cpus = tf.config.list_logical_devices("CPU")
    with tf.device(cpus[-1].name):
        return jit(lambda x: x * 3)(normal(4)), tf.constant(len(cpus))


if __name__ == "__main__":
    tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0],
                                               [tf.config.LogicalDeviceConfiguration()] * 2)
    main()
