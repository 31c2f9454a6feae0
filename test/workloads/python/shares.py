# Shares of the CPU that are known: each kind of call goes on until it has had its milliseconds.
import asyncio
import time


def spin(total):
    for k in range(200):
        total += k ^ (total & 7)
    return total


def until(end):
    total = 0
    while time.thread_time() < end:
        total = spin(total)
    return total


def recursion(end, depth=20):
    return recursion(end, depth - 1) if depth else until(end)


def generator(end):
    yield until(end)


def callback(end):
    return sorted([end, end + 1], key=lambda it: until(end))


async def coroutine(end):
    await asyncio.sleep(0)
    return until(end)


async def awaiting(end):
    return await coroutine(end)


def by_recursion(end): recursion(end)
def by_generator(end): list(generator(end))
def by_callback(end): callback(end)
def by_async(end): asyncio.run(awaiting(end))


while True:
    for kind, milliseconds in ((by_recursion, 80), (by_generator, 60), (by_callback, 40), (by_async, 20)):
        kind(time.thread_time() + milliseconds / 1000)
