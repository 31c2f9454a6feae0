# Interpreters that call each other, in the main thread and in another one: main calls one, which calls a second one.
import os
import sys
import textwrap
import threading

sys.path.insert(0, os.environ["WL"])

ENTER = textwrap.dedent("""
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    def enter(text):
        run = getattr(interpreters, "exec", None) or interpreters.run_string
        run(interpreters.create(), text)
""")

SECOND = textwrap.dedent("""
    def spin(rounds=60000):
        total = 0
        for i in range(rounds): total += i * 7
        return total
    def second_%s():
        while True: spin()
    second_%s()
""")

FIRST = ENTER + textwrap.dedent("""
    def first_%s(): enter(SECOND)
    first_%s()
""")

exec(ENTER)


def main_of(thread):
    second = "SECOND = %r\n" % (SECOND % (thread, thread))
    enter(second + FIRST % (thread, thread))


threading.Thread(target=main_of, args=("b",), daemon=True).start()
main_of("a")
