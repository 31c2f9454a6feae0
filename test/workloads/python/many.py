"""Many different stacks: reads the standard library's own sources, and writes them again from their syntax trees, for
as long as its parent lives."""

import ast
import glob
import os

sources = sorted(glob.glob(os.path.dirname(os.__file__) + "/*.py"))
parent = os.getppid()
while os.getppid() == parent:
    for path in sources:
        with open(path, encoding="utf-8") as source:
            tree = ast.parse(source.read())
        ast.unparse(tree)
        ast.dump(tree)
