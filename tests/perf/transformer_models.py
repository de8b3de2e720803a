"""Transformers as torch's exporter writes them, with random weights, for measuring.

BERT (Devlin 2019, sizes of Turc 2019) with integer tokens, types and a mask; ViT (Dosovitskiy 2021)
with a class token; XLNet (Yang 2019) with relative positions, tokens before the batch, and its Einsums. Layer normalisation and GELU are decomposed, as at opset 13, unless `fused`.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIZES = {  # layers, width, heads, inner width
    "bert-tiny": (2, 128, 2, 512),
    "bert-small": (4, 512, 8, 2048),
    "bert-base": (12, 768, 12, 3072),
    "vit-tiny": (12, 192, 3, 768),
    "xlnet-tiny": (2, 128, 2, 512),
    "xlnet-base": (12, 768, 12, 3072),
}


class Model:
    def __init__(self, name, seed, own_seed=None, opset=13, fused=False, adapters=None):
        self.name, self.opset, self.fused = name, opset, fused
        self.adapters, self.linears = adapters, 0  # rank, parts of a layer (0: q, .. 5: outer), merged
        self.nodes, self.constants, self.count = [], [], 0
        self.shared = np.random.default_rng(seed)
        self.own = np.random.default_rng(own_seed if own_seed is not None else seed + 1)

    def add(self, op, *inputs, outputs=1, **attributes):
        self.count += 1
        names = [f"{op}_{self.count}_{i}" if outputs > 1 else f"{op}_{self.count}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, name=f"n{self.count}_{op}", **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, array, name=None):
        self.count += 1
        name = name or f"c{self.count}"
        self.constants.append(numpy_helper.from_array(np.array(array, order="C"), name))
        return name

    def number(self, value):
        return self.constant(np.array(value, np.float32))

    def weight(self, *shape, deviation=None, own=False):
        rng = self.own if own else self.shared
        deviation = deviation if deviation is not None else 1 / np.sqrt(shape[0])
        return self.constant((rng.standard_normal(shape) * deviation).astype(np.float32))

    def vector(self, size, middle=0.0, spread=0.05, own=False):
        rng = self.own if own else self.shared
        return self.constant((middle + spread * rng.standard_normal(size)).astype(np.float32))

    def linear(self, x, inner, outer, own=False):
        part, self.linears = self.linears % 6, self.linears + 1
        if self.adapters and part in self.adapters[1]:
            return self.adapted(x, inner, outer)
        y = self.add("MatMul", x, self.weight(inner, outer, own=own))
        return self.add("Add", self.vector(outer, own=own), y)

    def adapted(self, x, inner, outer):
        """A product with an adapter of low rank beside its weight, or merged into it (LoRA, Hu 2021)."""
        rank, _, merged = self.adapters
        weight = (self.shared.standard_normal((inner, outer)) / np.sqrt(inner)).astype(np.float32)
        down = (self.own.standard_normal((inner, rank)) / np.sqrt(inner)).astype(np.float32)
        up = (self.own.standard_normal((rank, outer)) * 0.1).astype(np.float32)
        if merged:
            y = self.add("MatMul", x, self.constant(weight + 2 * (down @ up)))
        else:
            y = self.add("MatMul", x, self.constant(weight))
            low = self.add("MatMul", self.add("MatMul", x, self.constant(down)), self.constant(up))
            y = self.add("Add", y, self.add("Mul", low, self.number(2.0)))
        return self.add("Add", self.vector(outer), y)

    def norm(self, x, width, epsilon):
        scale, bias = self.vector(width, 1.0), self.vector(width)
        if self.fused:
            return self.add("LayerNormalization", x, scale, bias, axis=-1, epsilon=epsilon)
        centred = self.add("Sub", x, self.add("ReduceMean", x, axes=[-1]))
        square = self.add("Pow", centred, self.number(2.0))
        variance = self.add("Add", self.add("ReduceMean", square, axes=[-1]), self.number(epsilon))
        y = self.add("Div", centred, self.add("Sqrt", variance))
        return self.add("Add", self.add("Mul", y, scale), bias)

    def gelu(self, x, tanh=False):
        if tanh:
            cube = self.add("Mul", self.add("Mul", x, x), x)
            inside = self.add("Add", x, self.add("Mul", cube, self.number(0.044715)))
            t = self.add("Tanh", self.add("Mul", inside, self.number(np.sqrt(2 / np.pi))))
            return self.add("Mul", self.add("Mul", x, self.number(0.5)), self.add("Add", t, self.number(1.0)))
        half = self.add("Erf", self.add("Div", x, self.number(np.sqrt(2.0))))
        return self.add("Mul", self.add("Mul", x, self.add("Add", half, self.number(1.0))), self.number(0.5))

    def heads(self, x, rows, heads, size, perm):
        shape = self.constant(np.array([1, rows, heads, size], np.int64))
        return self.add("Transpose", self.add("Reshape", x, shape), perm=perm)

    def attention(self, x, rows, width, heads, mask=None):
        size = width // heads
        q = self.heads(self.linear(x, width, width), rows, heads, size, [0, 2, 1, 3])
        k = self.heads(self.linear(x, width, width), rows, heads, size, [0, 2, 3, 1])
        v = self.heads(self.linear(x, width, width), rows, heads, size, [0, 2, 1, 3])
        scores = self.add("Div", self.add("MatMul", q, k), self.number(np.sqrt(size)))
        if mask:
            scores = self.add("Add", scores, mask)
        context = self.add("MatMul", self.add("Softmax", scores, axis=-1), v)
        context = self.add("Transpose", context, perm=[0, 2, 1, 3])
        context = self.add("Reshape", context, self.constant(np.array([1, rows, width], np.int64)))
        return self.linear(context, width, width)

    def finish(self, inputs, outputs, path):
        graph = helper.make_graph(self.nodes, self.name, inputs, outputs, self.constants)
        opset = 17 if self.fused else self.opset
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        model.ir_version = 8
        onnx.save(model, path)


def bert(path, size, seed=1, own_seed=None, rows=128, words=2000, classes=2, tokens=True, mask=True,
         fused=False, tanh=False, adapters=None, dynamic=False):
    """dynamic: any number of tokens up to `rows`, as an export with a dynamic axis has it; the length is symbolic."""
    layers, width, heads, inner = SIZES[size]
    m = Model(size, seed, own_seed, fused=fused, adapters=adapters)
    inputs, most, length = [], rows, "length" if dynamic else rows
    rows = -1 if dynamic else rows
    if tokens:
        inputs.append(helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, length]))
        x = m.add("Gather", m.weight(words, width, deviation=0.1), "input_ids")
    else:
        inputs.append(helper.make_tensor_value_info("embeddings", TensorProto.FLOAT, [1, length, width]))
        x = "embeddings"
    places = m.weight(1, most, width, deviation=0.1)
    if dynamic:
        one = m.constant(np.array([1], np.int64))
        places = m.add("Slice", places, m.constant(np.array([0], np.int64)), m.add("Gather", m.add("Shape", x), one), one)
    x = m.add("Add", x, places)
    x = m.norm(x, width, 1e-12)
    bias = None
    if mask:
        inputs.append(helper.make_tensor_value_info("attention_mask", TensorProto.INT64, [1, length]))
        wide = m.add("Unsqueeze", m.add("Unsqueeze", "attention_mask", m.constant(np.array([1], np.int64))),
                     m.constant(np.array([2], np.int64)))
        wide = m.add("Cast", wide, to=TensorProto.FLOAT)
        bias = m.add("Mul", m.add("Sub", m.number(1.0), wide), m.number(-10000.0))
    for _ in range(layers):
        x = m.norm(m.add("Add", m.attention(x, rows, width, heads, bias), x), width, 1e-12)
        y = m.gelu(m.linear(x, width, inner), tanh)
        x = m.norm(m.add("Add", m.linear(y, inner, width), x), width, 1e-12)
    first = m.add("Gather", x, m.constant(np.array(0, np.int64)), axis=1)
    own = adapters is None  # with adapters the pooler is the frozen one
    pooled = m.add("Tanh", m.add("Gemm", first, m.weight(width, width, own=own), m.vector(width, own=own)))
    logits = m.add("Gemm", pooled, m.weight(width, classes, own=True), m.vector(classes, own=True))
    m.finish(inputs, [helper.make_tensor_value_info(logits, TensorProto.FLOAT, [1, classes])], path)


def vit(path, size="vit-tiny", seed=1, own_seed=None, image=224, patch=16, classes=10, fused=False):
    layers, width, heads, inner = SIZES[size]
    m = Model(size, seed, own_seed, fused=fused)
    side = image // patch
    rows = side * side + 1
    kernel = m.shared.standard_normal((width, 3, patch, patch)) / np.sqrt(3 * patch * patch)
    x = m.add("Conv", "image", m.constant(kernel.astype(np.float32)), m.vector(width), strides=[patch, patch],
              kernel_shape=[patch, patch])
    x = m.add("Reshape", x, m.constant(np.array([1, width, side * side], np.int64)))
    x = m.add("Transpose", x, perm=[0, 2, 1])
    x = m.add("Concat", m.weight(1, 1, width, deviation=0.1), x, axis=1)
    x = m.add("Add", x, m.weight(1, rows, width, deviation=0.1))
    for _ in range(layers):
        x = m.add("Add", m.attention(m.norm(x, width, 1e-6), rows, width, heads), x)
        y = m.gelu(m.linear(m.norm(x, width, 1e-6), width, inner))
        x = m.add("Add", m.linear(y, inner, width), x)
    x = m.norm(x, width, 1e-6)
    first = m.add("Gather", x, m.constant(np.array(0, np.int64)), axis=1)
    logits = m.add("Gemm", first, m.weight(width, classes, own=True), m.vector(classes, own=True))
    m.finish([helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, image, image])],
             [helper.make_tensor_value_info(logits, TensorProto.FLOAT, [1, classes])], path)


def distances(rows, width):
    """Sines and cosines of the distances rows .. 1 - rows, which exporters fold into a constant."""
    frequencies = 1 / 10000 ** (np.arange(0, width, 2) / width)
    angles = np.arange(rows, -rows, -1.0)[:, None] * frequencies[None]
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=-1)[:, None].astype(np.float32)


def xlnet_attention(m, x, positions, batch, rows, width, heads, mask):
    size = width // heads

    def product(value):
        weight = m.constant((m.shared.standard_normal((width, heads, size)) / np.sqrt(width)).astype(np.float32))
        return m.add("Einsum", value, weight, equation="ibh,hnd->ibnd")

    q, k, v, r = product(x), product(x), product(x), product(positions)
    content = m.add("Einsum", m.add("Add", q, m.vector((heads, size))), k, equation="ibnd,jbnd->bnij")
    far = m.add("Einsum", m.add("Add", q, m.vector((heads, size))), r, equation="ibnd,jbnd->bnij")
    far = m.add("Reshape", far, m.constant(np.array([batch, heads, 2 * rows, rows], np.int64)))
    far = m.add("Slice", far, m.constant(np.array([1], np.int64)), m.constant(np.array([2**31], np.int64)),
                m.constant(np.array([2], np.int64)))
    far = m.add("Reshape", far, m.constant(np.array([batch, heads, rows, 2 * rows - 1], np.int64)))
    far = m.add("Gather", far, m.constant(np.arange(rows)), axis=3)
    scores = m.add("Mul", m.add("Add", m.add("Add", content, far), m.number(0.0)), m.number(1 / np.sqrt(size)))
    if mask:
        scores = m.add("Sub", scores, m.add("Mul", m.add("Einsum", mask, equation="ijbn->bnij"), m.number(1e30)))
    y = m.add("Einsum", m.add("Softmax", scores, axis=3), v, equation="bnij,jbnd->ibnd")
    out = m.constant((m.shared.standard_normal((width, heads, size)) / np.sqrt(width)).astype(np.float32))
    return m.add("Einsum", y, out, equation="ibnd,hnd->ibh")


def xlnet(path, size="xlnet-base", seed=1, own_seed=None, rows=128, words=2000, classes=2, mask=True, fused=False, batch=1):
    layers, width, heads, inner = SIZES[size]
    m = Model(size, seed, own_seed, fused=fused)
    inputs = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, [batch, rows])]
    x = m.add("Gather", m.weight(words, width, deviation=1.0), m.add("Transpose", "input_ids", perm=[1, 0]))
    positions = m.constant(distances(rows, width).repeat(batch, axis=1))
    hidden = None
    if mask:
        inputs.append(helper.make_tensor_value_info("attention_mask", TensorProto.FLOAT, [batch, rows]))
        hidden = m.add("Transpose", m.add("Sub", m.number(1.0), "attention_mask"), perm=[1, 0])
        hidden = m.add("Unsqueeze", hidden, m.constant(np.array([0, 3], np.int64)))
        own = m.constant(-np.eye(rows, dtype=np.float32)[:, :, None, None])  # a token sees itself
        hidden = m.add("Cast", m.add("Greater", m.add("Add", hidden, own), m.number(0.0)), to=TensorProto.FLOAT)
    for _ in range(layers):
        x = m.norm(m.add("Add", xlnet_attention(m, x, positions, batch, rows, width, heads, hidden), x), width, 1e-12)
        y = m.gelu(m.linear(x, width, inner))
        x = m.norm(m.add("Add", m.linear(y, inner, width), x), width, 1e-12)
    last = m.add("Gather", m.add("Transpose", x, perm=[1, 0, 2]), m.constant(np.array(-1, np.int64)), axis=1)
    pooled = m.add("Tanh", m.add("Gemm", last, m.weight(width, width, own=True), m.vector(width, own=True)))
    logits = m.add("Gemm", pooled, m.weight(width, classes, own=True), m.vector(classes, own=True))
    m.finish(inputs, [helper.make_tensor_value_info(logits, TensorProto.FLOAT, [batch, classes])], path)
