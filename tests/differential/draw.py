# SPDX-License-Identifier: Apache-2.0
"""What a recipe draws from: types, shapes, values and attributes of one case, all from its seed."""
import numpy as np

import schema


class Impossible(Exception):
    """These types or attributes do not go together by the clause: draw again."""


class Empty:
    """The one value of its type, EMPTY: an optional input that holds nothing."""


EMPTY = Empty()


class Case:
    """One node. inputs: arrays, lists of arrays (a sequence), EMPTY, or None (absent); outputs: how many are asked for.

    rule: a function of the inputs, floats widened to f64, that gives the outputs as the clause says; None where only
    peers judge. error: how many units in the last place the result may be from the rule's, rounded to its type.
    input_types, output_types: where they are no type parameters of the row's, as in variadic ones of mixed types.
    outer: {name: (type, value)} of graph inputs that bodies read.
    before: nodes of the same graph, which read inputs by their names, x0, x1 and so on.
    """

    def __init__(self, *inputs, outputs=1, rule=None, error=2, constants=(), input_types=None, output_types=None,
                 outer=None, before=(), **attributes):
        self.inputs, self.outputs, self.rule, self.error = list(inputs), outputs, rule, error
        self.input_types, self.output_types = input_types, output_types
        self.outer, self.before = outer or {}, list(before)
        self.constants = set(constants)  # inputs that are initializers, by index
        self.attributes = {name: value for name, value in attributes.items() if value is not None}


class Drawn(Case):
    """One node that draws at random: of these shapes, judged by `statistics`, a function of the outputs that says what is
    wrong with them, or None. varies: whether another seed has to give other outputs."""

    def __init__(self, *inputs, shapes, statistics, varies=True, **attributes):
        super().__init__(*inputs, outputs=len(shapes), **attributes)
        self.shapes, self.statistics, self.varies = shapes, statistics, varies


class Draw:
    def __init__(self, row, cell, types, rng):
        self.row, self.since, self.cell, self.types, self.rng = row, row.since, cell, types, rng

    def chance(self, probability=0.5):
        return self.rng.random() < probability

    def pick(self, *choices):
        return choices[int(self.rng.integers(len(choices)))]

    def int(self, low, high):
        """low <= result <= high"""
        return int(self.rng.integers(low, high + 1))

    def shape(self, low=0, high=4, dims=None):
        """Of rank low to high: small and odd dims, now and then a zero, a one, or a long axis."""
        rank = self.int(low, high)
        shape = [self.pick(*(dims or (1, 2, 3, 4, 5, 7))) for _ in range(rank)]
        if rank and dims is None and self.chance(0.08):
            shape[self.int(0, rank - 1)] = 0
        if rank and dims is None and self.chance(0.08):
            shape = [1] * rank
            shape[self.int(0, rank - 1)] = self.pick(63, 64, 65, 257, 1031)
        return shape

    def emptied(self, shape, *but):
        """Now and then without elements: a dim that is not among `but` becomes 0."""
        free = [i for i in range(len(shape)) if i not in [axis % len(shape) for axis in but]]
        if free and self.chance(0.08):
            shape = list(shape)
            shape[self.pick(*free)] = 0
        return shape

    def broadcast(self, n, high=4):
        """n shapes that broadcast together, in any of them missing leading dims and dims of 1."""
        whole = self.shape(0, high)
        shapes = []
        for _ in range(n):
            part = whole[self.int(0, len(whole)):] if self.chance(0.4) else list(whole)
            shapes.append([1 if self.chance(0.25) else dim for dim in part])
        shapes[self.int(0, n - 1)] = whole
        return shapes

    def axis(self, rank, negative=True):
        if rank == 0:
            raise Impossible
        axis = self.int(0, rank - 1)
        return axis - rank if negative and self.chance(0.4) else axis

    def axes(self, rank, negative=True, low=1):
        """Distinct axes in any order."""
        chosen = self.rng.permutation(rank)[:self.int(min(low, rank), rank)]
        return [int(a) - rank if negative and self.chance(0.3) else int(a) for a in chosen]

    def type(self, variable):
        return self.types.get(variable, variable.removeprefix("tensor(").removesuffix(")"))

    def dtype(self, variable):
        return schema.numpy_type(self.type(variable))

    def value(self, kind):
        """Of a type in the schema's words: a tensor, a sequence, or what an optional holds."""
        kind = schema.inner(kind)
        shapes = [self.shape(0, 2, (1, 2, 3)) for _ in range(self.int(1, 4))]
        if kind.startswith("seq("):
            return [self.values(schema.base(kind), shape) for shape in shapes]
        return self.values(kind, self.shape())

    def values(self, variable, shape, low=None, high=None, special=False):
        """Values of a type parameter or a type between low and high; special: infinities, NaN, and the far ends too.
        Without bounds they are small, now and then integers of any size."""
        name, dtype, rng = self.type(variable), self.dtype(variable), self.rng
        if low is None:
            special = special or name in schema.INTEGERS and self.chance(0.4)
            low, high = -4.0, 4.0
        if name == "string":
            words = ["", "a", "B", "straße", "Ωmega", "one two", "tail ", "0", "日本"]
            return np.array([words[i] for i in rng.integers(len(words), size=shape).flat], object).reshape(shape)
        if name == "bool":
            return np.asarray(rng.random(shape) < 0.5)
        if name in schema.COMPLEX:
            return np.asarray(rng.uniform(low, high, shape) + 1j * rng.uniform(low, high, shape), dtype)
        if name in schema.INTEGERS or name in schema.TINY_INTEGERS:
            return self._integers(name, dtype, shape, low, high, special)
        x = rng.uniform(low, high, shape)
        if special and name in schema.FLOATS:
            ends = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -65504.0]
            x = np.where(rng.random(shape) < 0.1, rng.choice(ends, size=shape), x)
        return np.asarray(x, np.float32).astype(dtype) if name != "double" else np.asarray(x)

    def _integers(self, name, dtype, shape, low, high, special):
        bits = int(name.lstrip("uint"))
        least, most = (0, 2**bits - 1) if name.startswith("u") else (-2**(bits - 1), 2**(bits - 1) - 1)
        a, b = max(least, int(np.ceil(low))), min(most, int(np.floor(high)))
        x = self.rng.integers(a, b, size=shape, endpoint=True, dtype=np.int64 if most < 2**63 else np.uint64)
        if special and name not in schema.TINY_INTEGERS:
            far = self.rng.integers(least, most, size=shape, endpoint=True, dtype=np.int64 if most < 2**63 else np.uint64)
            x = np.where(self.rng.random(shape) < 0.5, far, x)
        return np.asarray(x).astype(dtype)


RECIPES = {}


def recipe(*names, domain=""):
    """Registers a function of a Draw that returns a Case, for operators of a domain."""

    def register(function):
        for name in names:
            RECIPES[domain, name] = function
        return function

    return register
