# What the programs call: it writes down the stack as Python itself sees it, once for each different one, and uses the CPU
# on one line then. A line of the truth: "name|file|line" of each frame, innermost first, separated by tabs.
import os
import sys

seen = set()


def burn(rounds=int(os.environ.get("BURN_N", "20000"))):
    frames = []
    frame = sys._getframe(1)
    while frame:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        frames.append("%s|%s|%d" % (name, code.co_filename, frame.f_lineno))
        frame = frame.f_back
    line = "\t".join(frames) + "\n"
    if line not in seen:
        seen.add(line)
        with open(os.environ["BURN_TRUTH"], "a", encoding="utf-8") as truth:
            truth.write(line)
    total = 0
    for k in range(rounds): total += k ^ (total & 7)
    return total
