# Calls of every kind, nested at random. Each function here takes what it is to call, and calls it in its own way.
import asyncio
import contextlib
import ctypes
import functools
import os
import random
import re
import sys
import threading

sys.path.insert(0, os.environ["WL"])
from burn import burn

chance = random.Random(7)


def plainly(go):
    return go()


def over_lines(go):
    return [
        1,
        (2,
         go(),
         3),
    ]


def recursively(go, depth=6):
    if depth:
        return recursively(go, depth - 1)
    return go()


def keywords(*args, **kwargs):
    return kwargs["go"]()


def with_keywords(go):
    return keywords(1, 2, go=go, other=3)


def generated(go):
    yield 1
    yield go()


def by_generator(go):
    for value in generated(go):
        pass
    return value


def delegated(go):
    result = yield from generated(go)
    return result


def by_delegation(go):
    return list(delegated(go))


def by_expression(go):
    return sum(len(str(go())) for i in range(1))


def by_comprehensions(go):
    return [go() for i in range(1)], {i: i for i in range(3)}


def by_lambda(go):
    return (lambda: go())()


def by_sort(go):
    return sorted([2, 1], key=lambda it: (go() if it == 2 else 0, it)[1])


def by_map(go):
    return list(map(functools.partial(plainly), [go]))


def by_reduce(go):
    return functools.reduce(lambda a, b: (go(), a)[1], [1, 2])


def by_pattern(go):
    return re.sub("a", lambda match: (go(), "b")[1], "a")


def by_max(go):
    return max([1, 2], key=lambda it: (go() if it == 1 else 0, it)[1])


CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def by_qsort(go):
    numbers = (ctypes.c_int * 2)(2, 1)
    compare = CALLBACK(lambda a, b: (go(), 1)[1])
    ctypes.CDLL(None).qsort(numbers, 2, ctypes.sizeof(ctypes.c_int), compare)


class Made:
    def __init__(self, go):
        self.go = go
        if go:
            go()

    def __add__(self, other):
        return other()

    def __getattr__(self, name):
        return self.__dict__["other"]()

    @property
    def value(self):
        return self.other()

    def __len__(self):
        self.other()
        return 1

    def __iter__(self):
        yield self.other()

    def __getitem__(self, index):
        return self.other()

    def __call__(self, *args):
        return args[0]()

    def __enter__(self):
        self.other()
        return self

    def __exit__(self, *args):
        return self.other()

    def __eq__(self, other):
        self.other()
        return True

    @classmethod
    def of_class(cls, go):
        return go()

    @staticmethod
    def of_none(go):
        return go()


def made(go):
    one = Made(None)
    one.other = go
    return one


def by_init(go): return Made(go)
def by_add(go): return made(go) + go
def by_attribute(go): return made(go).missing
def by_property(go): return made(go).value
def by_length(go): return len(made(go))
def by_iteration(go): return [*made(go)]
def by_item(go): return made(go)[3]
def by_call(go): return made(go)(go)
def by_class(go): return Made.of_class(go)
def by_static(go): return Made.of_none(go)
def by_equality(go): return [made(go)].index(3)


def by_with(go):
    with made(go) as one:
        return one


@contextlib.contextmanager
def managed(go):
    yield go()


def by_manager(go):
    with managed(go):
        return 1


def by_exec(go):
    exec("def inner(go):\n\n\n    return go()\ninner(go)\n", {"go": go})


def by_class_body(go):
    class Local:
        value = go()
    return Local


def by_exception(go):
    try:
        raise ValueError
    except ValueError:
        return go()
    finally:
        plainly(int)


def in_finally(go):
    try:
        return 1
    finally:
        go()


async def awaited(go):
    return go()


async def awaiting(go):
    return await awaited(go)


def by_coroutine(go):
    try:
        awaiting(go).send(None)
    except StopIteration as end:
        return end.value


async def yielding(go):
    yield go()


async def iterating(go):
    async for value in yielding(go):
        return value


def by_async_generator(go):
    try:
        iterating(go).send(None)
    except StopIteration as end:
        return end.value


@functools.lru_cache(maxsize=None)
def cached(go, unique):
    return go()


def by_cache(go):
    return cached(go, object())


def by_closure(go):
    def inner(*args):
        return go(), args
    return inner(1)


def größe(go): return go()
def имя(go): return go()
def 名前(go): return go()
def 𝔘𝔫𝔦(go): return go()


KINDS = [it for name, it in sorted(globals().items()) if name.startswith(("by_", "over_", "in_", "with_"))]
KINDS += [plainly, recursively, größe, имя, 名前, 𝔘𝔫𝔦]


def nest(depth):
    if depth == 0:
        return burn()
    return chance.choice(KINDS)(lambda: nest(depth - 1))


async def task():
    nest(chance.randrange(4))
    await asyncio.sleep(0)
    nest(chance.randrange(4))


async def tasks():
    await asyncio.gather(*(task() for i in range(3)))


def forever():
    while True:
        nest(chance.randrange(1, 12))
        asyncio.run(tasks())
        thread = threading.Thread(target=nest, args=(chance.randrange(1, 6),))
        thread.start()
        thread.join()


if __name__ == "__main__":
    forever()
