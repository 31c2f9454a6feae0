# A program that lives a few milliseconds.
import json


def inner(rounds):
    total = 0
    for k in range(rounds): total += k ^ (total & 7)
    return total


def outer():
    return json.dumps([inner(2000) for i in range(60)])


outer()
