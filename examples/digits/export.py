# SPDX-License-Identifier: Apache-2.0
"""Exports train_step.mlir and predict.mlir from JAX 0.10.2 (pip install jax==0.10.2)."""
import jax, jax.numpy as jnp
def init_shapes():
    return [((64,128),),((128,),),((128,10),),((10,),)]
def logits(p, x):
    w1,b1,w2,b2 = p
    h = jnp.maximum(x @ w1 + b1, 0)
    return h @ w2 + b2
def loss(p, x, y):
    z = logits(p, x)
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(z), y[:,None], axis=1))
def train_step(w1,b1,w2,b2,m1,n1,m2,n2,x,y):
    p=(w1,b1,w2,b2); m=(m1,n1,m2,n2)
    l,g = jax.value_and_grad(loss)(p,x,y)
    m = jax.tree.map(lambda a,b: 0.9*a+b, m, g)
    p = jax.tree.map(lambda a,b: a-0.05*b, p, m)
    return (*p,*m,l)
def predict(w1,b1,w2,b2,x):
    return jnp.argmax(logits((w1,b1,w2,b2),x),axis=1).astype(jnp.int32)
f=lambda *s: jax.ShapeDtypeStruct(s, jnp.float32)
P=[f(64,128),f(128),f(128,10),f(10)]
t=jax.jit(train_step).lower(*P,*P,f(64,64),jax.ShapeDtypeStruct((64,),jnp.int32)).as_text()
open('train_step.mlir','w').write(t)
q=jax.jit(predict).lower(*P,f(297,64)).as_text()
open('predict.mlir','w').write(q)
