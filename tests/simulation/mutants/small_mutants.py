"""`make small-mutants`: small changes made by a program, and which of them no world notices.

    small_mutants.py [--seeds N] [--tries N] [--processes N] [--out FILE] WHERE ...

WHERE is a path below the package (protocol/verdict.py). Conditions are turned round or never met,
terms, filters and effects are left out, signs turned, fields keep their value, calls are not made.
Each is tried in worlds that come by its line: those of the first N seeds are looked through once
for that. Nobody has said that such a change is a bug: many make no difference to anybody outside.
What is left is for a person to read; what is a bug goes into the catalogue, with the checker that
sees it.

Always exits 0.
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
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from hunt import hunt
from mutant import SOURCE

SEEDS = 2_000
TRIES = 200
AT_ONCE = 50
"""Seeds that one process looks through before it says what it saw."""

LONGEST_S = 120
"""A change may make a world run for ever; that is noticed, too."""


class TooLong(BaseException):
    """No Exception, since a world takes those for the product's."""


def _stop(*_: object) -> None:
    raise TooLong


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
    lines: range
    """Of the innermost statement that it is in, or of that statement's head."""
    what: str
    source: str

    def __str__(self) -> str:
        return f"{self.where}:{self.lines[0]}: {self.what}"


def changes(where: str) -> Iterator[Change]:
    """Every small change to a module, in its order."""
    tree = ast.parse((SOURCE / "onceonly" / where).read_text())
    functions = [node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS)]
    seen: set[ast.AST] = set()
    for function in functions:
        for node, lines in _with_lines(function, range(function.lineno, function.lineno + 1)):
            if node in seen:
                continue
            seen.add(node)
            for what in edited(node):
                ast.fix_missing_locations(tree)
                yield Change(where, lines, f"{function.name}: {what}", ast.unparse(tree))


def _with_lines(node: ast.AST, lines: range) -> Iterator[tuple[ast.AST, range]]:
    """Every node below this one, and where an interpreter that comes by it is seen."""
    if isinstance(node, ast.stmt):
        body = getattr(node, "body", None)
        last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
        lines = range(node.lineno, max(last, node.lineno) + 1)
    yield node, lines
    for child in ast.iter_child_nodes(node):
        yield from _with_lines(child, lines)


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def edited(node: ast.AST) -> Iterator[str]:  # noqa: C901, PLR0912 - because it is the list of what is changed
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
        case ast.comprehension(ifs=conditions):
            for at, left_out in enumerate(conditions):
                node.ifs = [*conditions[:at], *conditions[at + 1 :]]
                yield f"whether or not {ast.unparse(left_out)}"
            node.ifs = conditions
        case ast.BinOp(op=ast.Add() | ast.Sub() as op):
            shown = ast.unparse(node)
            node.op = ast.Sub() if isinstance(op, ast.Add) else ast.Add()
            yield f"{ast.unparse(node)}, not {shown}"
            node.op = op
        case ast.Tuple(elts=elements, ctx=ast.Load()):
            for at, left_out in enumerate(elements):
                if isinstance(left_out, ast.Call | ast.Starred):
                    node.elts = [*elements[:at], *elements[at + 1 :]]
                    yield f"without {ast.unparse(left_out)}"
            node.elts = elements
        case ast.Call(func=ast.Name(id="changed"), keywords=keywords):
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


def try_one(change: Change, seeds: Sequence[int]) -> dict[str, Any]:
    """Plant it in this process, which is of no other use afterwards, and hunt it."""
    signal.signal(signal.SIGALRM, _stop)
    signal.alarm(LONGEST_S)
    if not plant(change):
        return {"seed": None, "killed_by": ["nothing to plant"]}
    found: dict[str, Any] = {"seed": None, "killed_by": []}
    try:
        with redirect_stderr(StringIO()):
            for seed in seeds:
                found = hunt(seed, seed + 1)
                if found["killed_by"]:
                    break
    except TooLong:
        return {"seed": None, "killed_by": ["too long"]}
    finally:
        signal.alarm(0)
    return found


def look(seeds: Sequence[int], where: Sequence[str]) -> dict[int, set[tuple[str, int]]]:
    """The lines of these modules that each world comes by."""
    files = {str(SOURCE / "onceonly" / one): one for one in where}
    seen: dict[int, set[tuple[str, int]]] = {}
    hits: set[tuple[str, int]] = set()

    def on_line(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            hits.add((files[frame.f_code.co_filename], frame.f_lineno))
        return on_line

    def on_call(frame: FrameType, _event: str, _: Any) -> Any:
        return on_line if frame.f_code.co_filename in files else None

    # Whoever traces already, as `make excepts` does, goes on afterwards.
    before = sys.gettrace()
    for seed in seeds:
        sys.settrace(on_call)
        hunt(seed, seed + 1)
        sys.settrace(before)
        seen[seed] = {*hits}
        hits.clear()
    return seen


def main(words: Sequence[str]) -> int:
    """Try every small change to the modules that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--tries", type=int, default=TRIES)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, default=Path("build") / "small_mutants.jsonl")
    parser.add_argument("where", nargs="+")
    chosen = parser.parse_args(words)
    tried = [change for where in chosen.where for change in changes(where)]
    hunt(0, 1)  # Everything that a world needs is loaded now, once for all.
    gc.freeze()
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    unseen = unreached = 0
    with get_context("fork").Pool(chosen.processes, maxtasksperchild=1) as pool:
        chunks = [range(at, at + AT_ONCE) for at in range(0, chosen.seeds, AT_ONCE)]
        visits: dict[tuple[str, int], list[int]] = {}
        for seen in pool.imap(partial(look, where=chosen.where), chunks):
            for seed, hits in seen.items():
                for hit in hits:
                    visits.setdefault(hit, []).append(seed)
        found = []
        for change in tried:
            by = {seed for line in change.lines for seed in visits.get((change.where, line), ())}
            seeds = sorted(by)[: chosen.tries]
            found.append((change, len(by), pool.apply_async(try_one, (change, seeds))))
        with chosen.out.open("w") as out:
            for change, worlds, result in found:
                outcome = _outcome(result)
                line = {"what": str(change), "worlds": worlds, **outcome}
                out.write(json.dumps(line) + "\n")
                out.flush()
                if not outcome["killed_by"]:
                    unseen += 1
                    unreached += not worlds
                    sys.stdout.write(f"{change} ({worlds} worlds)\n")
                    sys.stdout.flush()
    sys.stdout.write(
        f"{len(tried)} small changes, {unseen} that nothing shows: {unreached} of them where none"
        f" of {chosen.seeds} worlds comes by, the others in {chosen.tries} worlds that do\n"
    )
    return 0


def _outcome(result: Any) -> dict[str, Any]:
    """A process that ended with its change never answers: that was noticed as well."""
    try:
        found: dict[str, Any] = result.get(LONGEST_S + 60)
    except Exception as error:  # noqa: BLE001 - because whatever ends the hunt shows the change
        return {"seed": None, "killed_by": [type(error).__name__], "text": ""}
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
