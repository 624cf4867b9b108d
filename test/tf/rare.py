# SPDX-License-Identifier: Apache-2.0
"""Rarely used parts of TensorFlow under jit_compile=True: values on Braze must agree with those of plain
TensorFlow in the same process, and with those of stock XLA.

ALL holds the cases, so that rare_clusters.py can run them by auto-clustering.
"""
import numpy as np
import tensorflow as tf
from tensorflow.python.framework import dtypes

from compared import case, main

ALL = []
JIT = True


def add(rtol=2e-5, atol=2e-6, stock=True):
    def keep(f):
        ALL.append((f, dict(rtol=rtol, atol=atol, stock=stock)))
        return case(rtol, atol, stock)(f)
    return keep


def normal(*shape, seed=0, dtype=np.float32):
    return tf.constant(np.random.default_rng(seed).normal(size=shape).astype(dtype))


def same(f, *args, rtol=1e-4, atol=1e-5):
    """Values of the compiled f, which are close to those of the ordinary one."""
    ours = tf.nest.flatten(tf.function(f, jit_compile=True if JIT else None)(*args))
    for k, (a, b) in enumerate(zip(ours, tf.nest.flatten(f(*args)), strict=True)):
        a, b = np.asarray(a), np.asarray(b)
        assert a.dtype == b.dtype and a.shape == b.shape, (k, a.dtype, a.shape, b.dtype, b.shape)
        if a.dtype.kind in "fcV" or a.dtype.name in ("bfloat16", "float8_e5m2", "float8_e4m3fn"):
            kind = np.complex128 if a.dtype.kind == "c" else np.float64
            np.testing.assert_allclose(a.astype(kind), b.astype(kind), rtol=rtol, atol=atol,
                                       err_msg=f"value {k}")
        else:
            np.testing.assert_array_equal(a, b, err_msg=f"value {k}")
    return [tf.cast(x, tf.float32) if x.dtype in (tf.bfloat16, tf.float16) else x for x in ours]


@add()
def tensor_arrays():
    def g(x):
        ta = tf.TensorArray(tf.float32, 5, element_shape=[3])
        for i in tf.range(5):
            ta = ta.write(i, x * tf.cast(i, tf.float32))
        return ta.stack(), tf.TensorArray(tf.float32, 4).unstack(tf.reshape(x[0] + tf.range(12.0), [4,
                3])).gather([3, 1])
    return same(g, normal(3))


@add()
def gradient_of_while_loop():
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            _, y, _ = tf.while_loop(lambda i, y, s: i < 7, lambda i, y, s: (i + 1, tf.sin(y) * s, s + y),
                                    (0, x, tf.ones_like(x)), maximum_iterations=7)
            z = tf.reduce_sum(y * y)
        return z, tape.gradient(z, x)
    return same(f, normal(6))


@add()
def gradients_of_branches():
    def f(x, p):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.cond(p > 0, lambda: tf.exp(x), lambda: x ** 3)
            y = tf.switch_case(p % 3, [lambda: y * 2, lambda: tf.sin(y), lambda: y + x])
            z = tf.reduce_sum(y)
        return z, tape.gradient(z, x)
    return [v for p in (0, 1, 2, 4, -4) for v in same(f, normal(5), tf.constant(p))]


@add()
def maps_scans_and_folds():
    def f(x):
        return (tf.map_fn(lambda r: tf.reduce_max(r) * r, x), tf.scan(lambda a, r: a * 0.5 + r, x),
                tf.foldl(lambda a, r: tf.maximum(a, r), x), tf.foldr(lambda a, r: a - r, x),
                tf.vectorized_map(lambda r: tf.linalg.diag(r) @ r[:, None], x),
                tf.map_fn(lambda a: (a[0] + a[1], a[0] * 2), (x, -x), fn_output_signature=(tf.float32,
                tf.float32)))
    return same(f, normal(4, 5))


@add()
def jacobians_and_second_derivatives():
    def f(x, w):
        with tf.GradientTape(persistent=True) as outer:
            outer.watch([x, w])
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(tf.tanh(x @ w) ** 3)
            g = inner.gradient(y, x)
            s = tf.reduce_sum(g ** 2)
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as acc:
            z = tf.sin(x @ w)
        return g, outer.gradient(s, [x, w]), outer.batch_jacobian(g, x), acc.jvp(z)
    return same(f, normal(3, 4), normal(4, 5, seed=1))


@add()
def hessian():
    def f(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_prod(tf.sin(x)) + tf.reduce_logsumexp(x)
            g = inner.gradient(y, x)
        return outer.jacobian(g, x)
    return same(f, normal(4))


@add()
def custom_gradients():
    @tf.custom_gradient
    def clipped(x):
        def back(d):
            return tf.clip_by_value(d, -0.1, 0.1)
        return tf.identity(x) * 2, back

    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(clipped(x) ** 2) + tf.reduce_sum(tf.stop_gradient(x) * x)
        return y, tape.gradient(y, x)
    return same(f, normal(7))


@add()
def stateful_random_numbers():
    g = tf.random.Generator.from_seed(7, alg="philox")
                # Ordinary kernels have no threefry.
    h = tf.random.Generator.from_seed(7, alg="threefry" if JIT else "philox")

    @tf.function(jit_compile=True if JIT else None)
    def f():
        return g.normal([20]), g.uniform([5], 0, 100, tf.int32), g.truncated_normal([9]), h.uniform([20]), \
            h.uniform_full_int([3], tf.uint64)
    return [*f(), *f(), g.state.numpy(), h.state.numpy()]


@add()
def stateless_random_numbers():
    def f(seed):
        r = tf.random
        return (r.stateless_uniform([33], seed, dtype=tf.float64), r.stateless_normal([17], seed,
                dtype=tf.bfloat16),
                r.stateless_truncated_normal([17], seed), r.stateless_uniform([9], seed, -5, 5, tf.int64),
                r.stateless_uniform([9], seed, None, None, tf.uint32), r.split(seed, 3), r.fold_in(seed, 4),
                r.stateless_uniform([6], seed, alg="threefry"), r.stateless_uniform([6], seed, alg="philox"))
    return [tf.cast(x, tf.float32) if x.dtype == tf.bfloat16 else x
            for x in tf.function(f, jit_compile=True if JIT else None)(tf.constant([3, 9]))]


@add()
def variables_in_loops():
    def run(jit):
        v = tf.Variable(tf.zeros([4])), tf.Variable(tf.zeros([3, 4]))

        @tf.function(jit_compile=jit)
        def f(x):
            for i in tf.range(3):
                v[0].assign_add(x * tf.cast(i, tf.float32))
                v[1].scatter_nd_update([[i]], [v[0] * 2])
                v[1].scatter_nd_add([[0, 1]], [1.0])
            v[0].assign(tf.reverse(v[0], [0]))
            v[0][1:3].assign(v[0][:2])
            return v[0] + 1, v[1].sparse_read([2, 0])
        out = []
        for k in range(2):
            before = [w.read_value() for w in v]
            out += [*f(normal(4, seed=k)), *before, *[w.read_value() for w in v]]
        return out
    return run(True if JIT else None)


@add()
def aliases_of_variables():
    v = tf.Variable(tf.range(6.0))

    @tf.function(jit_compile=True if JIT else None)
    def f(x):
        old = v.read_value()
        v.assign(x)
        w = v + 0
        v.assign(old * x)
        return old, w, v.read_value(), x
    out = []
    for _ in range(3):
        out += f(v.read_value())
        out += f(v)
    return out


@add()
def swapped_variables():
    a, b = tf.Variable(tf.ones([5])), tf.Variable(tf.range(5.0))

    @tf.function(jit_compile=True if JIT else None)
    def f():
        t = a.read_value()
        a.assign(b)
        b.assign(t)
    out = []
    for _ in range(3):
        f()
        out += [a.numpy().copy(), b.numpy().copy()]
    return out


@add(rtol=2e-2, atol=2e-2)
def narrow_floats():
    def f(x, w):
        out = []
        for t in (tf.bfloat16, tf.float16):
            a, b = tf.cast(x, t), tf.cast(w, t)
            out += [a @ b, tf.nn.softmax(a), tf.reduce_sum(a, 0), tf.nn.relu(a) * 2 + 1, tf.sort(a, 1),
                    tf.cast(tf.argmax(a, 1), tf.int32), tf.tanh(a), tf.exp(a), tf.math.rsqrt(tf.abs(a) + 1)]
        return out
    return same(f, normal(6, 8), normal(8, 5, seed=1), rtol=3e-2, atol=3e-2)


@add()
def eight_bit_floats_and_narrow_integers():
    def f(x, n):
        e5, e4 = tf.dtypes.experimental.float8_e5m2, tf.dtypes.experimental.float8_e4m3fn
        return (tf.cast(tf.cast(x, e5), tf.float32), tf.cast(tf.cast(x, e4), tf.float32),
                tf.cast(n, tf.int8) * tf.cast(3, tf.int8), tf.cast(n, tf.uint8) + tf.cast(250, tf.uint8),
                tf.bitwise.left_shift(tf.cast(n, tf.int16), tf.cast(3, tf.int16)),
                tf.bitwise.bitwise_xor(n, 5), tf.bitwise.invert(n), tf.bitcast(x, tf.int32),
                tf.cast(x * 50, tf.int8), n // 3, n % 3, tf.math.floordiv(-n, 4), tf.truncatediv(-n, 4))
    return same(f, normal(9), tf.range(1, 10))


@add()
def four_bit_integers():
    def f(n):
        return tf.cast(tf.cast(n, dtypes.int4), tf.int32), tf.cast(tf.cast(n + 8, dtypes.uint4), tf.int32)
    return same(f, tf.range(-8, 8))


@add(stock=False)
def dynamic_sizes_reduced():
    def f(x):
        m = tf.boolean_mask(x, x > 0)
        w = tf.where(x > 0.5)
        u = tf.unique(tf.cast(x * 2, tf.int32))
        return (tf.reduce_sum(m), tf.size(m), tf.reduce_max(tf.concat([m, [-9.0]], 0)), tf.reduce_mean(m),
                tf.shape(w)[0],
                tf.reduce_sum(w), tf.reduce_sum(u.y), tf.size(u.y), tf.reduce_prod(m), tf.sort(m), tf.cumsum(m),
                tf.reverse(m, [0]), m * 2 + 1, tf.gather(x, w[:, 0]))
    return same(f, normal(20)) + same(f, normal(20, seed=5))


@add(stock=False)
def dynamic_sizes_reshaped():
    def f(x, y):
        m = tf.boolean_mask(x, x[:, 0] > 0)
        k = tf.boolean_mask(y, y[0, :, 0] > 0, axis=1)
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(tf.reshape(tf.boolean_mask(x, x[:, 0] > 0), [-1]) ** 2)
        return (tf.reshape(m, [-1]), tf.reshape(m, [3, -1]), tf.reshape(m, [tf.shape(m)[0], 3, 1]),
                tf.reduce_sum(tf.reshape(m, [-1, 3]), 0), tf.reshape(tf.transpose(m), [-1]), tf.reshape(k, [-1]),
                tf.reshape(k, [-1, 2]), tf.reshape(k, [4, -1]), tf.cumsum(tf.reshape(m, [-1])),
                tf.concat([tf.reshape(m, [-1]), x[0]], 0), tape.gradient(loss, x))
    return same(f, normal(9, 3), normal(4, 6, 2, seed=1)) + same(f, normal(9, 3, seed=2), normal(4, 6, 2, seed=3))


@add()
def sizes_decided_in_loops_and_branches():
    def f(x, c):
        s = 0.0
        for i in tf.range(5):
            s += tf.reduce_sum(tf.boolean_mask(x, x > tf.cast(i, tf.float32) * 0.1))
        n = tf.cond(c, lambda: tf.reduce_sum(tf.where(x > 0)[:, 0]), lambda: tf.constant(3, tf.int64))
        return s, n
    return same(f, normal(50), tf.constant(True)) + same(f, normal(50, seed=2), tf.constant(False))


@add()
def lists_in_loops():
    def f(x):
        out = tf.TensorArray(tf.float32, 6, element_shape=[3, 4])
        for i in tf.range(6):
            out = out.write(i, x * tf.cast(i, tf.float32))
        with tf.GradientTape() as tape:
            tape.watch(x)
            h = x
            for _ in tf.range(7):
                h = tf.tanh(h + x)
        return out.stack(), tape.gradient(h, x), tf.scan(lambda a, e: a * 0.5 + e, x)
    return same(f, normal(3, 4))


@add(stock=False)
def dynamic_sizes_in_products():
    def f(x, w):
        m = tf.boolean_mask(x, x[:, 0] > 0)
        y = m @ w
        return y, tf.reduce_sum(tf.nn.softmax(y, 1), 0), tf.transpose(y), tf.reduce_sum(y, 0), tf.concat([y,
                y[:1] * 0], 0)
    return same(f, normal(6, 4), normal(4, 3, seed=1))


@add(rtol=1e-3, atol=1e-4)
def linear_algebra():
    a = normal(2, 5, 5)
    s = tf.matmul(a, a, transpose_b=True) + 3 * tf.eye(5)

    def g(a, s):
        l = tf.linalg
        return (l.trace(a), l.norm(a, axis=(-2, -1)), l.cross(a[0, :, :3], a[1, :, :3]), l.band_part(a, 1, 0),
                l.diag_part(a), l.set_diag(a, a[:, 0]), l.cholesky_solve(l.cholesky(s), a), l.logdet(s),
                l.matvec(a, a[:, 0]), l.tensordot(a, s, [[2], [1]]), l.adjoint(a),
                l.triangular_solve(s, a, adjoint=True), l.inv(s), l.eigvalsh(s))
    return same(g, a, s, rtol=1e-3, atol=1e-3)


@add(rtol=1e-3, atol=1e-4)
def more_linear_algebra():
    a = normal(2, 5, 5)
    s = tf.matmul(a, a, transpose_b=True) + 3 * tf.eye(5)

    def f(a, s):
        l = tf.linalg
        return (l.expm(a * 0.1), l.lstsq(s, a, fast=True), l.svd(a, compute_uv=False),
                l.tridiagonal_matmul(tf.stack([a[:, 0], a[:, 1] + 9, a[:, 2]], 1), a,
                                     diagonals_format="compact"))
    return same(f, a, s, rtol=1e-3, atol=1e-3)


@add(rtol=1e-3, atol=1e-4)
def gradients_of_linear_algebra():
    def f(a):
        with tf.GradientTape() as tape:
            tape.watch(a)
            s = a @ tf.transpose(a) + 4 * tf.eye(4)
            y = tf.reduce_sum(tf.linalg.cholesky(s)) + tf.reduce_sum(tf.linalg.inv(s)) + tf.linalg.logdet(s) + \
                tf.reduce_sum(tf.linalg.eigvalsh(s) ** 2) + tf.reduce_sum(tf.linalg.solve(s, a))
        return y, tape.gradient(y, a)
    return same(f, normal(4, 4), rtol=1e-3, atol=1e-3)


@add(rtol=1e-4, atol=1e-4)
def signals():
    def f(x):
        s = tf.signal
        z = s.stft(x, 16, 8)
        return (z, s.inverse_stft(z, 16, 8), tf.abs(s.rfft(x)), s.fft2d(tf.cast(x[:, :32], tf.complex64)),
                s.irfft2d(s.rfft2d(x[:, :32])), s.dct(x), s.idct(x), s.frame(x, 8, 4), s.hann_window(16),
                s.fftshift(x),
                s.linear_to_mel_weight_matrix(8, 9), s.overlap_and_add(s.frame(x, 8, 4), 4))
    return same(f, normal(3, 64), rtol=1e-3, atol=1e-3)


@add(rtol=1e-4, atol=1e-4)
def einsums():
    a, b, c = normal(2, 3, 4), normal(2, 4, 5, seed=1), normal(3, 5, seed=2)

    def f(a, b, c):
        return (tf.einsum("bij,bjk->bik", a, b), tf.einsum("bij,bjk,ik->b", a, b, c), tf.einsum("bij->jb", a),
                tf.einsum("bii->bi", a[:, :, :3]), tf.einsum("...ij,...jk->...ki", a, b),
                tf.einsum("bij,ik->bjk", a, c),
                tf.einsum("bij,bij->", a, a), tf.einsum("i,j->ij", c[0], c[1]))
    return same(f, a, b, c)


@add()
def segments_and_scatters():
    def f(x):
        m, u = tf.math, tf.constant([0, 2, 0, 1, 2, 5])
        return (m.unsorted_segment_sum(x, u, 6), m.unsorted_segment_max(x, u, 6), m.unsorted_segment_min(x, u,
                6),
                m.unsorted_segment_prod(x, u, 6), m.unsorted_segment_mean(x, u, 6), m.unsorted_segment_sqrt_n(x,
                u,
                6),
                tf.scatter_nd([[1], [3], [1]], x[:3], [5, 4]), tf.tensor_scatter_nd_max(x, [[0], [0]], x[2:4]),
                tf.tensor_scatter_nd_add(x, [[5], [5]], x[2:4]), tf.tensor_scatter_nd_min(x, [[5], [5]],
                x[2:4]),
                tf.gather_nd(x, [[0, 1], [5, 3]]), tf.gather(x, [[1, 2], [3, 4]], axis=0, batch_dims=0),
                tf.gather(x, [[1], [2], [3], [0], [0], [1]], batch_dims=1), tf.dynamic_stitch([[0, 2], [1, 3]],
                [x[:2], x[2:4]]),
                m.bincount(u, minlength=6, maxlength=6), tf.math.confusion_matrix(u, u, 6))
    return same(f, normal(6, 4))


@add(rtol=1e-4, atol=1e-4)
def images():
    x = tf.constant(np.random.default_rng(0).uniform(size=(2, 12, 10, 3)).astype(np.float32))

    def f(x):
        i = tf.image
        return (i.resize(x, [7, 5]), i.resize(x, [24, 20], "nearest"),
                i.flip_left_right(x), i.rot90(x), i.adjust_contrast(x, 1.3), i.adjust_hue(x, 0.1),
                i.adjust_saturation(x, 0.7),
                i.rgb_to_hsv(x), i.hsv_to_rgb(x), i.rgb_to_grayscale(x), i.per_image_standardization(x),
                i.central_crop(x, 0.5),
                i.pad_to_bounding_box(x, 1, 2, 16, 16), i.sobel_edges(x), i.total_variation(x), i.psnr(x,
                x * 0.9,
                1.0),
                i.ssim(x, x * 0.9, 1.0, filter_size=5), i.image_gradients(x),
                tf.nn.space_to_depth(x, 2), tf.nn.depth_to_space(tf.tile(x, [1, 1, 1, 4]), 2))
    return same(f, x, rtol=1e-3, atol=1e-3)


@add(rtol=1e-4, atol=1e-4)
def losses():
    x, y = normal(6, 5), tf.constant([0, 1, 4, 2, 3, 1])

    def f(x):
        n = tf.nn
        t = tf.one_hot(y, 5)
        with tf.GradientTape() as tape:
            tape.watch(x)
            all = [n.sparse_softmax_cross_entropy_with_logits(y, x), n.softmax_cross_entropy_with_logits(t, x),
                   n.sigmoid_cross_entropy_with_logits(t, x), n.weighted_cross_entropy_with_logits(t, x, 2.0),
                   n.log_poisson_loss(t, x), n.l2_loss(x), n.log_softmax(x), n.leaky_relu(x), n.swish(x),
                   n.crelu(x), n.relu6(x),
                   n.l2_normalize(x, 1), n.moments(x, [0]), n.zero_fraction(n.relu(x)), n.softsign(x),
                   n.silu(x)]
            loss = tf.add_n([tf.reduce_sum(v) for v in tf.nest.flatten(all)])
        return all, tape.gradient(loss, x), n.in_top_k(y, x, 2)
    return same(f, x)


@add(rtol=1e-4, atol=1e-4)
def ctc():
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.nn.ctc_loss(tf.constant([[1, 2, 0], [2, 1, 3]]), x, tf.constant([2, 3]), tf.constant([8,
                7]),
                                  logits_time_major=False, blank_index=0)
        return loss, tape.gradient(loss, x)
    return same(f, normal(2, 8, 5))


@add(rtol=1e-4, atol=1e-3)  # gradients are near 1,000, some of their sums near 0
def batch_normalization_and_pools():
    x = normal(2, 8, 8, 4)

    def f(x, s):
        n = tf.nn
        with tf.GradientTape() as tape:
            tape.watch([x, s])
            y, mean, var = tf.compat.v1.nn.fused_batch_norm(x, s, s * 0.5, is_training=True)
            z = [n.max_pool2d(y, 2, 2, "SAME"), n.avg_pool2d(y, 3, 1, "SAME"), n.max_pool2d(y, 3, 2, "VALID"),
                 n.local_response_normalization(y), n.conv2d(y, tf.ones([3, 3, 4, 2]), 2, "SAME"),
                 n.separable_conv2d(y, tf.ones([3, 3, 4, 1]), tf.ones([1, 1, 4, 3]), [1, 1, 1, 1], "SAME"),
                 n.conv1d(y[:, 0], tf.ones([3, 4, 2]), 2, "SAME"),
                 n.conv3d(y[:, None], tf.ones([1, 3, 3, 4, 2]), [1, 1, 2, 2, 1], "VALID"),
                 n.max_pool3d(y[:, None], [1, 2, 2], [1, 2, 2], "VALID")]
            loss = tf.add_n([tf.reduce_sum(v ** 2) for v in z])
        return z, mean, var, tape.gradient(loss, [x, s])
    return same(f, x, tf.ones([4]) + normal(4) * 0.1, rtol=1e-3, atol=1e-2)


@add(rtol=1e-4, atol=1e-4)
def keras_layers():
    import keras
    L = keras.layers
    keras.utils.set_random_seed(3)
    x = normal(3, 10, 8)
    layers = [L.GRU(6, return_sequences=True), L.LSTM(6), L.Bidirectional(L.LSTM(4)), L.SimpleRNN(5), L.GRU(6,
                reset_after=False),
              L.LayerNormalization(), L.GroupNormalization(2), L.UnitNormalization(), L.Conv1D(4, 3),
              L.SeparableConv1D(4, 3),
              L.Conv1DTranspose(4, 3, strides=2), L.TimeDistributed(L.Dense(3)), L.PReLU(),
              L.GlobalMaxPooling1D(),
              L.AveragePooling1D(2), L.UpSampling1D(2), L.ZeroPadding1D(1), L.Cropping1D(1),
              L.EinsumDense("abc,cd->abd", [None, 5])]
    out = []
    for layer in layers:
        layer(x)
        out += same(lambda x: layer(x), x)
    att = L.MultiHeadAttention(2, 4)
    att(x, x)
    return out + same(lambda x: att(x, x, use_causal_mask=True, return_attention_scores=True), x)


@add(rtol=1e-4, atol=1e-5)
def masked_recurrent_training():
    import keras
    keras.utils.set_random_seed(3)
    L = keras.layers
    model = keras.Sequential([keras.Input([9], dtype="int32"), L.Embedding(20, 8, mask_zero=True),
                              L.LSTM(7, return_sequences=True), L.GRU(5), L.Dense(3)])
    ids = tf.constant(np.random.default_rng(0).integers(0, 20, (4, 9)) * (np.arange(9) < [[9], [4], [6], [7]]))

    def f(ids):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(model(ids) ** 2)
        return y, [tf.convert_to_tensor(g) for g in tape.gradient(y, model.trainable_variables)]
    return same(f, ids)


@add()
def dropout_and_noise():
    import keras
    keras.utils.set_random_seed(3)
    d, g = keras.layers.Dropout(0.3, seed=4), keras.layers.GaussianNoise(0.1, seed=5)
    f = tf.function(lambda x: g(d(x, training=True), training=True), jit_compile=True if JIT else None)
    return [f(tf.ones([50])), f(tf.ones([50]))]


@add()
def saved_and_loaded():
    import tempfile

    class M(tf.Module):
        def __init__(self):
            self.w, self.n = tf.Variable(normal(3, 3)), tf.Variable(0)

        @tf.function(jit_compile=True if JIT else None, input_signature=[tf.TensorSpec([None, 3])])
        def __call__(self, x):
            self.n.assign_add(1)
            return {"y": tf.nn.relu(x @ self.w), "n": self.n + 0}
    with tempfile.TemporaryDirectory() as d:
        m = M()
        m(normal(2, 3))
        tf.saved_model.save(m, d, signatures=m.__call__.get_concrete_function())
        n = tf.saved_model.load(d)
        r, s = n(normal(5, 3)), n.signatures["serving_default"](normal(4, 3))
        return [r["y"], r["n"], s["y"], s["n"]]


@add()
def retracing():
    traces = []

    @tf.function(jit_compile=True if JIT else None, reduce_retracing=True)
    def f(x, k=1, flag=True):
        traces.append(1)
        return tf.reduce_sum(x * k if flag else x - k)
    out = [f(normal(n)) for n in (3, 4, 5, 6, 3)] + [f(normal(3), 2), f(normal(3), 2.5), f(normal(3),
                tf.constant(2.0)),
                                                     f(normal(3), flag=False), f(normal(2, 3)),
                                                     f(tf.cast(normal(3), tf.float64), tf.constant(2.0,
                tf.float64))]
    return out + [np.array(len(traces))]


@add()
def strings_outside():
    inner = tf.function(lambda x: tf.reduce_sum(x * x, 1), jit_compile=True if JIT else None)

    @tf.function
    def f(s):
        x = tf.strings.to_number(tf.strings.split(s).to_tensor("0"))
        return tf.strings.as_string(inner(x), precision=2), inner(x) + 1
    return list(f(tf.constant(["1 2 3", "4 5", "6"])))


@add(rtol=1e-4, atol=1e-4)
def quantized():
    def f(x):
        q = tf.quantization
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = q.fake_quant_with_min_max_args(x, -1, 1) + q.fake_quant_with_min_max_vars(x, -0.5, 0.7)
            z = tf.reduce_sum(y)
        return y, tape.gradient(z, x), q.fake_quant_with_min_max_vars_per_channel(x, -tf.ones([5]),
                tf.ones([5]))
    return same(f, normal(4, 5))


@add()
def shapes_and_slices():
    def f(x, k):
        y = x[..., ::-1, tf.newaxis, 1:3]
        y2 = tf.strided_slice(x, [0, 1], [3, 6], [2, 2], end_mask=1)
        return (y, y2, x[k], tf.slice(x, [k, 0], [1, 4]), tf.pad(x, [[1, 1], [0, 2]], "REFLECT"),
                tf.pad(x, [[1, 1], [0, 2]], "SYMMETRIC"), tf.tile(x, [2, 1]), tf.broadcast_to(x[0], [3, 6]),
                tf.space_to_batch(x[None, :, :, None], [2, 2], [[0, 0], [0, 0]]),
                tf.meshgrid(x[0], x[:, 0]), tf.sequence_mask([1, 3, 2], 4), tf.repeat(x, 2, 1), tf.unstack(x,
                axis=1),
                tf.split(x, [1, 2, 3], 1), tf.rank(x), tf.shape(x), tf.linspace(0.0, 1.0, 5), tf.eye(3),
                tf.fill([2], x[0, 0]),
                tf.expand_dims(x, 1), tf.squeeze(x[:1]), tf.reverse_sequence(x, [2, 3, 1, 6], 1), tf.one_hot([1,
                -1], 3),
                tf.math.reduce_any(x > 1, 1), tf.reduce_all(x > -9), tf.math.count_nonzero(x > 0),
                tf.math.cumulative_logsumexp(x, 1),
                tf.math.nextafter(x, x + 1), tf.math.top_k(x, 2, sorted=True), tf.math.invert_permutation([2, 0,
                1]))
    return same(f, normal(4, 6), tf.constant(2))


@add()
def threads_with_variables():
    import threading
    v = [tf.Variable(tf.zeros([50])) for _ in range(4)]
    f = tf.function(lambda i, x: v[i].assign_add(tf.sin(x) + v[i] * 0.5), jit_compile=True if JIT else None)

    def work(i):
        for k in range(25):
            f(i, tf.fill([50], float(k + i)))
    ts = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [t.start() for t in ts]
    [t.join() for t in ts]
    return [w.numpy() for w in v]


@add(rtol=1e-4, atol=1e-5)
def optimizers():
    import keras
    out = []
    for kind in ("SGD", "Adam", "AdamW", "Adagrad", "Adadelta", "Adamax", "Nadam", "Ftrl", "RMSprop", "Lion",
                 "Adafactor", "LossScaleOptimizer"):
        o = getattr(keras.optimizers, kind)(keras.optimizers.Adam(0.1)) if kind == "LossScaleOptimizer" else \
            getattr(keras.optimizers, kind)(0.1, clipnorm=1.0)
        w = tf.Variable(normal(4, 3))
        o.build([w])

        @tf.function(jit_compile=True if JIT else None)
        def step(x):
            with tf.GradientTape() as tape:
                y = tf.reduce_mean((x @ w - 1) ** 2)
                z = o.scale_loss(y)
            o.apply(tape.gradient(z, [w]), [w])
            return y
        out += [step(normal(5, 4)) for _ in range(4)] + [w.numpy()]
    return out


@add()
def recomputed_with_dropout():
    w = tf.Variable(normal(6, 6))

    def block(x):
        return tf.nn.experimental.stateless_dropout(tf.tanh(x @ w), 0.3, [1, 2], rng_alg="philox")

    def f(x):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.recompute_grad(block)(x) ** 2)
        return y, tape.gradient(y, w)
    return same(f, normal(4, 6))


@add(rtol=1e-4, atol=1e-5)
def complex_numbers():
    def f(a, b):
        z = tf.complex(a, b)
        return (z * z, tf.exp(z), tf.math.log(z), tf.sqrt(z), tf.math.angle(z), tf.math.conj(z) / z, tf.abs(z),
                tf.sin(z), tf.tanh(z), z @ tf.transpose(z),
                tf.pow(z, 2), tf.reduce_sum(z, 0), tf.math.reciprocal(z), tf.reduce_prod(z, 1))
    return same(f, normal(4, 4), normal(4, 4, seed=1))


@add(rtol=1e-4, atol=1e-5)
def special_functions():
    def f(x, p):
        m = tf.math
        return (m.lgamma(p), m.digamma(p), m.polygamma(tf.fill([40], 2.0), p), m.zeta(p + 1, p), m.igamma(p, p),
                m.igammac(p, p + 1), m.betainc(p, p, m.sigmoid(x)), m.erf(x), m.erfc(x), m.erfinv(m.tanh(x)),
                m.ndtri(m.sigmoid(x)),
                m.xlogy(x, p), m.xlog1py(x, p), m.xdivy(x, p), m.multiply_no_nan(x, p), m.divide_no_nan(x,
                m.round(x)), m.is_finite(x), m.log1p(p), m.expm1(x), m.acosh(p + 1), m.atanh(m.tanh(x)),
                m.cosh(x), m.asin(m.tanh(x)),
                m.floor(x), m.rint(x * 3), m.softplus(x * 20), m.log_sigmoid(x), m.cumprod(x, exclusive=True,
                reverse=True),
                m.reduce_std(x),
                m.reduce_variance(x))
    return same(f, normal(40), tf.abs(normal(40, seed=2)) + 0.3)


@add()
def non_max_suppression():
    boxes = tf.constant(np.random.default_rng(0).uniform(size=(12, 2)).astype(np.float32))
    boxes = tf.concat([boxes, boxes + 0.3], 1)

    def f(b, s):
        return tf.image.non_max_suppression_padded(b[None], s[None], 6, 0.4, pad_to_max_output_size=True,
                                                   sorted_input=False, canonicalized_coordinates=True)
    return same(f, boxes, normal(12))


if __name__ == "__main__":
    main()
