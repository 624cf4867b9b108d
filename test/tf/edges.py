# SPDX-License-Identifier: Apache-2.0
"""What users do at the edges: odd types, empty tensors, errors,
        threads; values and kinds of error as on stock XLA."""
import concurrent.futures
import tempfile
import threading

import numpy as np
import tensorflow as tf

from compared import case, expect_error, main


def jit(f=None, **k):
    return tf.function(f, jit_compile=True, **k)


def normal(*shape, seed=0, dtype=np.float32):
    return tf.constant(np.random.default_rng(seed).normal(size=shape).astype(dtype))


def np_of(x):
    x = tf.nest.flatten(x)
    out = []
    for v in x:
        v = tf.convert_to_tensor(v)
        if v.dtype in (tf.bfloat16, tf.float16):
            v = tf.cast(v, tf.float32)
        out.append(v.numpy())
    return out


@case()
def empty_tensors():
    out = []
    for shape in ((0,), (0, 3), (3, 0), (2, 0, 4)):
        x = tf.zeros(shape)
        out += np_of(jit(lambda x: (x + 1, tf.reduce_sum(x), tf.reduce_max(x), tf.reduce_mean(x, 0), tf.concat([x,
                x], 0),
                              tf.transpose(x), tf.reduce_prod(x, -1), tf.cumsum(x, 0), tf.sort(x),
                                      tf.where(x > 0)))(x))
    a, b = tf.zeros([0, 3]), tf.zeros([3, 4])
    out += np_of(jit(lambda a, b: (a @ b, tf.transpose(a) @ a, tf.einsum("ij,jk->ik", a, b)))(a, b))
    out += np_of(jit(lambda x: tf.unique(x))(tf.zeros([0], tf.int32)))
    out += np_of(jit(lambda x: tf.boolean_mask(x, x > 0))(tf.zeros([0])))
    out += np_of(jit(lambda x, i: tf.gather(x, i))(tf.zeros([4, 3]), tf.zeros([0], tf.int32)))
    out += np_of(jit(lambda x: tf.nn.conv2d(x, tf.ones([3, 3, 2, 4]), 1, "SAME"))(tf.zeros([0, 5, 5, 2])))
    out += np_of(jit(lambda x: tf.nn.max_pool2d(x, 2, 2, "SAME"))(tf.zeros([0, 4, 4, 2])))
    out += np_of(jit(lambda x: tf.split(x, [0, 2, 1]))(tf.range(3.0)))
    out += np_of(jit(lambda x: tf.linalg.cholesky(x))(tf.zeros([0, 3, 3])))
    out += np_of(jit(lambda x: tf.math.unsorted_segment_sum(x, tf.zeros([0], tf.int32), 3))(tf.zeros([0, 2])))
    return out


@case()
def odd_types():
    out = []
    for t in (tf.int8, tf.uint8, tf.int16, tf.uint16, tf.int32, tf.uint32, tf.int64, tf.uint64):
        x = tf.cast(tf.constant([1, 2, 3, 100, 7, 120]), t)
        out += np_of(jit(lambda x: (x + x, x * x, x // 3, x % 3, tf.reduce_sum(x), tf.reduce_max(x), tf.cast(x,
                tf.float32),
                               tf.bitwise.invert(x), tf.bitwise.left_shift(x, tf.ones_like(x)), tf.minimum(x,
                                       5 * tf.ones_like(x)),
                               tf.where(x > 5), tf.cast(x, tf.bool), tf.reverse(x, [0])))(x))
    for t in (tf.float16, tf.bfloat16, tf.float64):
        x = tf.cast(normal(4, 5), t)
        out += np_of(jit(lambda x: (x + x, x @ tf.transpose(x), tf.reduce_max(x, 0), tf.sort(x),
                               tf.where(x > 0), tf.argmax(x, 1), x[::2, 1:], tf.round(x), tf.math.floor(x)))(x))
    for t in (tf.complex64, tf.complex128):
        x = tf.cast(tf.complex(normal(3, 3), normal(3, 3, seed=1)), t)
        out += np_of(jit(lambda x: (x * x, tf.abs(x), tf.math.angle(x), x @ x, tf.math.conj(x), tf.reduce_sum(x),
                tf.linalg.adjoint(x),
                               tf.math.real(x), tf.exp(x), tf.sqrt(x)))(x))
    b = tf.constant([True, False, True])
    out += np_of(jit(lambda b: (tf.reduce_any(b), tf.reduce_all(b), ~b, b ^ True, tf.cast(b, tf.int64),
            tf.where(b), tf.where(b, 1, 2)))(b))
    return out


@case()
def casts_of_extremes():
    x = tf.constant([np.nan, np.inf, -np.inf, 1e30, -1e30, 3.7, -3.7, 255.5, -128.9, 65536.0, 2147483648.0, -0.0])
    out = []
    for t in (tf.int8, tf.uint8, tf.int16, tf.int32, tf.int64, tf.uint32, tf.uint64, tf.bool, tf.float16,
            tf.bfloat16, tf.float64):
        y = np_of(jit(lambda x: tf.cast(x, t))(x if t in (tf.bool, tf.float16, tf.bfloat16, tf.float64) else x[5:9]))
        out += y
    return out


@case()
def chains_of_unknown_sizes():
    @jit
    def f(x):
        u, i = tf.unique(x)
        w = tf.where(u > 2)[:, 0]
        g = tf.gather(u, w)
        return u, i, g, tf.size(u), tf.reduce_sum(g), tf.concat([u, g], 0), tf.sort(g), tf.reverse(g,
                [0])
    out = []
    for seed in range(4):
        x = tf.constant(np.random.default_rng(seed).integers(0, 9, 20).astype(np.int32))
        out += np_of(f(x))
    @jit
    def g(x, m):
        y = tf.boolean_mask(x, m)
        return tf.reduce_mean(y, 0), y * 2, tf.matmul(y, tf.transpose(x)), tf.shape(y), tf.nn.softmax(y)
    for seed in range(3):
        m = tf.constant(np.random.default_rng(seed).integers(0, 2, 6).astype(bool))
        out += np_of(g(normal(6, 4, seed=seed), m))
    return out


@case()
def counts_and_repeats():
    x = tf.constant([4, 4, 1, 2, 1, 9])
    return np_of([jit(lambda x: tf.math.bincount(x, minlength=10, maxlength=10))(x),
                  jit(lambda x: tf.repeat(x, 3))(x)])


@case()
def ragged():
    r = tf.ragged.constant([[1.0, 2.0], [], [3.0]])
    out = []
    try:
        out += np_of(jit(lambda r: tf.reduce_sum(r, 1))(r))
    except Exception as e:
        out.append(np.array(type(e).__name__))
    try:
        out += np_of(jit(lambda r: (r * 2.0).values)(r))
    except Exception as e:
        out.append(np.array(type(e).__name__))
    return out


@case()
def errors_of_all_kinds():
    out = []

    def kind(f):
        try:
            f()
            out.append(np.array("none"))
        except Exception as e:
            out.append(np.array(type(e).__name__))
    kind(lambda: jit(lambda x: tf.strings.as_string(x))(tf.constant(1)))
    kind(lambda: jit(lambda x: tf.py_function(lambda y: y, [x], tf.float32))(tf.constant(1.0)))
    kind(lambda: jit(lambda x: tf.numpy_function(lambda y: y, [x], tf.float32))(tf.constant(1.0)))
    kind(lambda: jit(lambda x, n: tf.reshape(x, n))(tf.range(6), tf.constant([4, 2])))
    kind(lambda: jit(lambda x: x @ x)(tf.zeros([2, 3])))
    kind(lambda: jit(lambda x: tf.debugging.assert_greater(x, 5.0) or x)(tf.constant(1.0)))
    kind(lambda: jit(lambda x: tf.debugging.check_numerics(x, "bad"))(tf.constant(np.nan)))
    kind(lambda: jit(lambda x: tf.io.decode_raw(x, tf.uint8))(tf.constant("ab")))
    kind(lambda: jit(lambda x, i: tf.gather(x, i))(tf.range(3), tf.constant([7])))
    kind(lambda: jit(lambda x: tf.linalg.inv(x))(tf.zeros([2, 2])))
    kind(lambda: jit(lambda x: tf.linalg.cholesky(x))(-tf.eye(2)))
    kind(lambda: jit(lambda x, n: tf.zeros([n]) + x)(tf.constant(1.0), tf.constant(3)))
    kind(lambda: jit(lambda x: x // 0)(tf.constant(3)))
    kind(lambda: jit(lambda x: tf.print(x) or x)(tf.constant(3)))
    kind(lambda: jit(lambda x: tf.sparse.to_dense(tf.sparse.from_dense(x)))(tf.constant([0, 3])))
    kind(lambda: jit(lambda x: tf.image.decode_png(x))(tf.constant("ab")))
    kind(lambda: jit(lambda: tf.constant("a"))())
    kind(lambda: jit(lambda x: tf.linalg.logm(x))(tf.complex(tf.eye(2), tf.zeros([2, 2]))))
    kind(lambda: jit(lambda x: tf.random.shuffle(x))(tf.range(4)))
    kind(lambda: jit(lambda x: tf.raise_error)(tf.range(4)))
    return out


@case()
def raises_then_works():
    @jit
    def f(x):
        if x.shape[0] == 2:
            raise ValueError("two")
        return x * 2
    out = [expect_error(ValueError, lambda: f(tf.ones([2])))]
    out += np_of(f(tf.ones([3])))
    v = tf.Variable(1.0)

    @jit
    def g(x, s):
        v.assign_add(x)
        return tf.reshape(s, [3])
    out.append(np.array(expect_error(Exception, lambda: g(2.0, tf.ones([2])))))
    out += np_of(v)
    return out


@case()
def tapes():
    w = tf.Variable(normal(4, 3))

    @jit
    def f(x):
        with tf.GradientTape(persistent=True) as t:
            t.watch(x)
            y = tf.reduce_sum(tf.tanh(x @ w) ** 2)
            z = y * tf.reduce_sum(w)
        return y, t.gradient(z, [x, w]), t.gradient(y, w)
    x = normal(2, 4, seed=3)
    out = np_of(f(x))
    with tf.GradientTape() as t2:
        t2.watch(x)
        with tf.GradientTape() as t1:
            t1.watch(x)
            y = jit(lambda x: tf.reduce_sum(tf.sin(x) * tf.exp(x)))(x)
        g = t1.gradient(y, x)
    out += np_of([g, t2.gradient(g, x)])
    with tf.GradientTape() as t:
        t.watch(x)
        y = jit(lambda x: tf.stop_gradient(x) * x + tf.gather(x, [1, 0, 0]) [0])(x)
    out += np_of(t.gradient(y, x))
    with tf.GradientTape() as t:
        e = jit(lambda: tf.gather(w, [0, 2, 2]))()
    out += np_of(tf.convert_to_tensor(t.gradient(e, w)))
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as acc:
        y = jit(lambda x: x * x * tf.cos(x))(x)
    out += np_of(acc.jvp(y))
    return out


@case()
def nested_functions():
    inner = jit(lambda x: x * 2 + 1)
    outer = tf.function(lambda x: inner(inner(x)) - inner(x + 1))
    both = jit(lambda x: outer(x) + inner(x))

    @jit
    def recursive(x, n):
        return x if n == 0 else recursive(x + 1, n - 1)
    plain_in_jit = jit(lambda x: tf.map_fn(lambda r: inner(tf.reduce_sum(r)), x))
    x = normal(3, 2)
    return np_of([outer(x), both(x), recursive(x, 3), plain_in_jit(x), jit(lambda x: tf.vectorized_map(inner, x))(x)])


@case()
def threads_of_one_function():
    v = tf.Variable(tf.zeros([64]))

    @jit
    def f(x):
        return tf.reduce_sum(tf.sin(x) @ tf.transpose(tf.cos(x))), x.shape[0]

    @jit
    def add(x):
        v.assign_add(x)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        r = list(pool.map(lambda k: np_of(f(normal(1 + k % 7, 5, seed=k % 7))), range(80)))
    for k in range(80):
        np.testing.assert_array_equal(r[k][0], r[k % 7][0])
    lock = threading.Lock()

    def locked(k):
        with lock:
            add(tf.fill([64], 1.0))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(locked, range(50)))
    return [a for q in r[:7] for a in q] + np_of(v)


class Model(tf.Module):
    def __init__(self):
        self.w = tf.Variable(normal(4, 3))
        self.n = tf.Variable(0)

    @tf.function(jit_compile=True, input_signature=[tf.TensorSpec([None, 4])])
    def __call__(self, x):
        self.n.assign_add(1)
        return {"y": tf.nn.relu(x @ self.w), "n": self.n.read_value()}


@case()
def saved_models():
    m = Model()
    out = np_of(m(normal(2, 4)))
    with tempfile.TemporaryDirectory() as d:
        tf.saved_model.save(m, d, signatures=m.__call__)
        l = tf.saved_model.load(d)
        out += np_of([l(normal(2, 4)), l(normal(5, 4)), l.signatures["serving_default"](x=normal(3, 4)), l.n, l.w])
        with tf.compat.v1.Session(graph=tf.Graph()) as s:
            tf.compat.v1.saved_model.load(s, ["serve"], d)
            sig = [o.name for o in s.graph.get_operations() if o.type == "Placeholder"]
            out.append(np.array(len(sig)))
    return out


@case()
def sessions():
    out = []
    g = tf.Graph()
    with g.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [None, 4])
        v = tf.compat.v1.get_variable("v", [4, 2], initializer=tf.compat.v1.ones_initializer(), use_resource=True)
        u = tf.compat.v1.get_variable("u", [2], initializer=tf.compat.v1.zeros_initializer(), use_resource=False)
        f = jit(lambda x: tf.nn.sigmoid(x @ v))
        y = f(x)
        loss = tf.reduce_sum(y + u)
        step = tf.compat.v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        with tf.compat.v1.Session() as s:
            s.run(tf.compat.v1.global_variables_initializer())
            for n in (1, 3, 3, 0):
                out += s.run([y, loss, step, v, u], {x: np.ones([n, 4], np.float32)})[0:2]
            out += s.run([v, u])
    return [np.asarray(o) for o in out]


@case(rtol=2e-2, atol=2e-2)
def mixed_precision():
    out = []
    for policy in ("mixed_float16", "mixed_bfloat16", "bfloat16"):
        tf.keras.utils.set_random_seed(1)
        tf.keras.mixed_precision.set_global_policy(policy)
        try:
            m = tf.keras.Sequential([tf.keras.layers.Dense(16, "relu"), tf.keras.layers.LayerNormalization(),
                    tf.keras.layers.Dense(3, dtype="float32")])
            m.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(True), jit_compile=True)
            h = m.fit(normal(64, 8).numpy(), np.arange(64) % 3, epochs=2, batch_size=16, verbose=0, shuffle=False)
            out += [np.asarray(h.history["loss"]), m.predict(normal(8, 8).numpy(), verbose=0).astype(np.float32)]
        finally:
            tf.keras.mixed_precision.set_global_policy("float32")
    return out


@case()
def strided_views_and_scatter():
    x = normal(5, 6, 7)

    @jit
    def f(x, u):
        y = tf.tensor_scatter_nd_update(x, [[0, 1], [4, 5]], u)
        z = tf.tensor_scatter_nd_add(y, [[1], [1]], tf.ones([2, 6, 7]))
        return z[..., ::-2], z[:, tf.newaxis, 2], tf.roll(z, [2, -3], [0, 2]), tf.pad(z, [[1, 0], [0, 2], [3, 3]],
                "REFLECT"), tf.tile(z, [2, 1, 3]), \
            tf.strided_slice(z, [4, 0, 6], [0, 6, 0], [-1, 2, -3]), tf.linalg.diag_part(z), tf.linalg.band_part(z,
                    1, 2), tf.space_to_batch(z[..., :6], [2, 3], [[0, 0], [0, 0]]), z
    return np_of(f(x, normal(2, 7, seed=4)))


@case()
def numbers_at_the_edge():
    x = tf.constant([0.0, -0.0, np.inf, -np.inf, np.nan, 3e38, 88.8, -104.0, 1e-8, 0.5])
    return np_of(jit(lambda x: (tf.exp(x), tf.math.log(x), tf.sqrt(x), tf.math.rsqrt(x), tf.tanh(x), tf.sigmoid(x),
            tf.math.log1p(x), tf.math.expm1(x),
                          tf.math.sign(x), tf.maximum(x, 0.0), tf.minimum(x, 0.0), tf.reduce_max(x[:4]),
                                  tf.nn.relu(x), tf.nn.softplus(x), tf.math.is_nan(x),
                          tf.math.is_inf(x), tf.round(x), tf.math.erf(x), tf.clip_by_value(x, -1.0, 1.0),
                                  tf.math.lgamma(x), tf.math.digamma(x), tf.nn.elu(x), tf.nn.gelu(x),
                          tf.math.pow(x, 2.0), tf.math.pow(2.0, x), tf.math.atan2(x, x[::-1]), tf.sin(x),
                                  tf.cos(x), tf.math.floormod(x, 3.0), tf.math.divide_no_nan(x, x)))(x))


@case()
def data_pipelines_and_states():
    f = jit(lambda x: tf.cast(x, tf.float32) ** 2 + 1)
    d = tf.data.Dataset.range(20).batch(6).map(f, num_parallel_calls=2).prefetch(1)
    out = [a for a in d.as_numpy_iterator()]
    g = jit(lambda s, x: (s + x, s * x))
    out.append(np.asarray(tf.data.Dataset.range(5).map(lambda x: tf.cast(x, tf.float32)).reduce(1.0, lambda s,
            x: g(s, x)[0])))
    out += [a for a in tf.data.Dataset.range(5).scan(tf.constant(1.0), lambda s, x: g(s, tf.cast(x,
            tf.float32))).as_numpy_iterator()]
    return out


@case(atol=1e-4)
def large_and_many_arguments():
    xs = [normal(3, seed=k) for k in range(200)]
    out = np_of(jit(lambda *a: [tf.add_n(a), tf.stack(a)[::40], *a[:3]])(*xs))
    out += np_of(jit(lambda x: tf.reduce_sum(x, 1))(normal(1000, 1000)))
    return out


@case()
def retracing_and_none_shapes():
    @tf.function(input_signature=[tf.TensorSpec([None, None])], jit_compile=True)
    def f(x):
        return tf.reduce_sum(x, 1) + tf.cast(tf.shape(x)[0], tf.float32)
    return [a for n in (1, 5, 2, 5, 0, 9) for a in np_of(f(tf.ones([n, 3])))]


if __name__ == "__main__":
    main()
