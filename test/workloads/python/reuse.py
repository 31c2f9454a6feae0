# Functions, classes and modules that are made, used and freed again and again: the next one lies where the one before
# it lay. The name, the file and the line of each say the same number.
import gc
import types

SOURCE = """{lines}def made_{number}():
    total = 0
    for k in range(20000): total += k ^ (total & 7)
    return total
"""
CLASS = """{lines}class Made_{number}:
    def method_{number}(self):
        total = 0
        for k in range(20000): total += k ^ (total & 7)
        return total
"""


def use(number):
    source = SOURCE.format(lines="\n" * number, number=number)
    module = types.ModuleType("reused")
    exec(compile(source, "file_%d.py" % number, "exec"), module.__dict__)
    module.__dict__["made_%d" % number]()
    source = CLASS.format(lines="\n" * number, number=number)
    space = {}
    exec(compile(source, "file_%d.py" % number, "exec"), space)
    getattr(space["Made_%d" % number](), "method_%d" % number)()


number = 0
while True:
    number = number % 900 + 1
    use(number)
    if number % 50 == 0:
        gc.collect()
