"""`make small-mutants`: small changes made by a program, and which of them no world notices.

    small_mutants.py [--seeds N] [--processes N] [--out FILE] WHERE ...

WHERE is a path below the package (protocol/verdict.py). Conditions are turned round or never met,
terms and effects are left out, fields keep their value, calls are not made. Nobody has said that
such a change is a bug: many make no difference to anybody outside, and some lie where few worlds
come by. What is left is for a person to read; what is a bug goes into the catalogue, with the
checker that sees it. Always exits 0.
"""

import argparse
import ast
import gc
import importlib
import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr
from functools import partial
from io import StringIO
from multiprocessing import get_context
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from hunt import hunt
from mutant import SOURCE

SEEDS = 400
LONGEST_S = 300
"""A change may make a world run for ever; that is noticed, too."""

_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}


class Change(NamedTuple):
    """One small change of one module, whose whole `source` it is."""

    where: str
    line: int
    what: str
    source: str

    def __str__(self) -> str:
        return f"{self.where}:{self.line}: {self.what}"


def changes(where: str) -> Iterator[Change]:
    """Every small change to a module, in its order."""
    tree = ast.parse((SOURCE / "onceonly" / where).read_text())
    functions = [node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS)]
    seen: set[ast.AST] = set()
    for function in functions:
        for node in ast.walk(function):
            if node in seen:
                continue
            seen.add(node)
            line = getattr(node, "lineno", function.lineno)
            for what in edited(node):
                ast.fix_missing_locations(tree)
                yield Change(where, line, f"{function.name}: {what}", ast.unparse(tree))


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def edited(node: ast.AST) -> Iterator[str]:  # noqa: C901 - because it is the list of what is changed
    """Change the node in its tree, say how, and undo it when asked for the next change."""
    match node:
        case ast.If(test=test) | ast.IfExp(test=test):
            shown = ast.unparse(test)
            node.test = ast.UnaryOp(ast.Not(), test)
            yield f"not {shown}"
            node.test = ast.Constant(value=False)
            yield f"never {shown}"
            node.test = test
        case ast.Compare(ops=[op]) if type(op) in _OPPOSITE:
            shown = ast.unparse(node)
            node.ops = [_OPPOSITE[type(op)]()]
            yield f"{ast.unparse(node)}, not {shown}"
            node.ops = [op]
        case ast.BoolOp(values=values):
            for at, left_out in enumerate(values):
                rest = [*values[:at], *values[at + 1 :]]
                node.values = rest if len(rest) > 1 else rest * 2
                yield f"without {ast.unparse(left_out)}"
            node.values = values
        case ast.Tuple(elts=elements, ctx=ast.Load()):
            for at, left_out in enumerate(elements):
                if isinstance(left_out, ast.Call | ast.Starred):
                    node.elts = [*elements[:at], *elements[at + 1 :]]
                    yield f"without {ast.unparse(left_out)}"
            node.elts = elements
        case ast.Call(func=ast.Attribute(attr="_replace"), keywords=keywords):
            for at, left_out in enumerate(keywords):
                node.keywords = [*keywords[:at], *keywords[at + 1 :]]
                yield f"{left_out.arg} stays"
            node.keywords = keywords
        case ast.Expr(value=ast.Call() | ast.Await() as value):
            shown = ast.unparse(value)
            node.value = ast.Constant(value=None)
            yield f"no {shown}"
            node.value = value
        case ast.Constant(value=bool() as flag):
            node.value = not flag
            yield f"{not flag}, not {flag}"
            node.value = flag
        case _:
            pass


def plant(change: Change) -> bool:
    """Give the functions of the running module their changed code; whether there was any.

    A module need not be loaded anew, so that a world begins at once in a forked process.
    """
    module = importlib.import_module("onceonly." + change.where[:-3].replace("/", "."))
    before = _codes((SOURCE / "onceonly" / change.where).read_text())
    is_planted = False
    for name, code in _codes(change.source).items():
        function = _function(module, name)
        if code != before[name] and function is not None:
            function.__code__ = code
            is_planted = True
    return is_planted


def _codes(source: str) -> dict[str, CodeType]:
    """The code of every function, by its qualified name; lines are those of one writing."""
    whole = compile(ast.unparse(ast.parse(source)), "<small mutant>", "exec")
    found: dict[str, CodeType] = {}
    waiting = [whole]
    while waiting:
        for constant in waiting.pop().co_consts:
            if isinstance(constant, CodeType) and "<" not in constant.co_qualname:
                found[constant.co_qualname] = constant
                waiting.append(constant)
    return found


def _function(module: ModuleType, name: str) -> FunctionType | None:
    found: Any = module
    for part in name.split("."):
        found = vars(found).get(part)
        found = getattr(found, "__func__", getattr(found, "fget", found))
        if found is None:
            return None
    found = getattr(found, "__wrapped__", found)
    return found if isinstance(found, FunctionType) else None


def try_one(change: Change, *, seeds: int) -> dict[str, Any]:
    """Plant it in this process, which is of no other use afterwards, and hunt it."""
    signal.alarm(LONGEST_S)
    if not plant(change):
        return {"seed": None, "killed_by": ["nothing to plant"]}
    with redirect_stderr(StringIO()):
        return hunt(0, seeds)


def main(words: Sequence[str]) -> int:
    """Try every small change to the modules that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, default=Path("build") / "small_mutants.jsonl")
    parser.add_argument("where", nargs="+")
    chosen = parser.parse_args(words)
    tried = [change for where in chosen.where for change in changes(where)]
    hunt(0, 1)  # Everything that a world needs is loaded now, once for all.
    gc.freeze()
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    unseen = 0
    with get_context("fork").Pool(chosen.processes, maxtasksperchild=1) as pool:
        task = partial(try_one, seeds=chosen.seeds)
        found = ((change, pool.apply_async(task, (change,))) for change in tried)
        with chosen.out.open("w") as out:
            for change, result in list(found):
                outcome = _outcome(result)
                out.write(json.dumps({**change._asdict(), **outcome, "source": None}) + "\n")
                if not outcome["killed_by"]:
                    unseen += 1
                    sys.stdout.write(f"{change}\n")
                    sys.stdout.flush()
    sys.stdout.write(
        f"{len(tried)} small changes, {unseen} that {chosen.seeds} seeds do not show\n"
    )
    return 0


def _outcome(result: Any) -> dict[str, Any]:
    """A process that its alarm ended never answers: its change was noticed as well."""
    try:
        found: dict[str, Any] = result.get(LONGEST_S + 60)
    except Exception as error:  # noqa: BLE001 - because whatever ends the hunt shows the change
        return {"seed": None, "killed_by": [type(error).__name__], "text": ""}
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
