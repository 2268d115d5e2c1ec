"""Runs the fuzz targets: `python fuzz/run.py [TARGET …] [--executions N] [--keep]` (`make fuzz`).

Each target gets its share of the executions, in a process of its own under atheris. The table that
is printed is written to build/fuzz.json, too. Inputs that found something new gather under
build/fuzz; `--keep` puts the few of them into the kept corpus that reach what no smaller one
reaches. Exits with 1 where there is a finding; its input is under build/fuzz/findings. Without
atheris (no wheel for this machine) mutations are made by chance, and there are no features.
"""

import argparse
import json
import re
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import kept
from fuzzing import SIZE_MAX, TOKENS, fuzz, seeds_of
from targets import BY_NAME, TARGETS, Fuzzed

FUZZ = Path(__file__).parent
BUILD = FUZZ.parent / "build"
WORK = BUILD / "fuzz"
FINDINGS = WORK / "findings"

MEBIBYTES_MAX = 256
"""Of growth beside what the process has before the first input."""

BASE_MEBIBYTES = 160
"""The interpreter with every module of the targets loaded; measured 102 to 120."""

STUCK_S = 60
"""Wall clock of one input after which libFuzzer calls it a finding; CPU time is judged before."""

HEADING = (
    f"{'target':<10} {'executions':>10} {'features':>8} {'inputs':>6} {'findings':>8} {'s':>6}"
)

_STATUS = re.compile(r"^#(\d+)\s.*?cov: (\d+) ft: (\d+) corp: (\d+)", re.MULTILINE)


class Row(NamedTuple):
    """What became of one target."""

    target: str
    executions: int
    features: int
    inputs: int
    findings: int
    seconds: float


def main() -> int:
    """Run what is asked for; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(BY_NAME))
    parser.add_argument("--executions", type=int, default=100_000, help="of all targets together")
    parser.add_argument("--seed", type=int, default=0, help="0: another one each time")
    parser.add_argument("--keep", action="store_true", help="grow the kept corpus")
    arguments = parser.parse_args()
    chosen = [BY_NAME[name] for name in arguments.targets] or list(TARGETS)
    shares = sum(target.share for target in chosen)
    FINDINGS.mkdir(parents=True, exist_ok=True)
    rows = []
    run = _run if find_spec("atheris") else _run_seeded
    _say(HEADING)
    for target in chosen:
        # Rounded up, so that all together are not fewer than what was asked for.
        executions = -(-arguments.executions * target.share // shares)
        rows.append(run(target, executions, arguments.seed))
        _say("{:<10} {:>10,} {:>8,} {:>6,} {:>8} {:>6.0f}".format(*rows[-1]))
        if arguments.keep:
            kept.grow(target, WORK / target.name)
    total = sum(row.executions for row in rows)
    findings = sum(row.findings for row in rows)
    _say(f"{'all':<10} {total:>10,} {'':>8} {'':>6} {findings:>8}")
    described = [{**row._asdict(), "what": BY_NAME[row.target].what} for row in rows]
    report = {"executions": total, "findings": findings, "rows": described}
    (BUILD / "fuzz.json").write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    return 1 if findings else 0


def _run_seeded(target: Fuzzed, executions: int, seed: int) -> Row:
    """Without atheris: mutations by chance, and the first finding ends everything."""
    began_at = time.monotonic()
    seeds = seeds_of(target.folders)
    fuzz(target.judge, seeds, executions, seed)
    return Row(target.name, executions, 0, len(seeds), 0, round(time.monotonic() - began_at, 1))


def _run(target: Fuzzed, executions: int, seed: int) -> Row:
    folder = WORK / target.name
    folder.mkdir(parents=True, exist_ok=True)
    before = set(FINDINGS.iterdir())
    began_at = time.monotonic()
    command = [
        *(sys.executable, str(FUZZ / "one.py"), target.name),
        *(f"-runs={max(executions, 1)}", f"-max_len={SIZE_MAX}", f"-seed={seed}"),
        *(f"-rss_limit_mb={BASE_MEBIBYTES + MEBIBYTES_MAX}", f"-timeout={STUCK_S}"),
        *(f"-artifact_prefix={FINDINGS}/{target.name}-", f"-dict={_dictionary()}"),
        *(str(folder), *map(str, target.folders)),
    ]
    done = subprocess.run(  # noqa: S603 - because the command is ours
        command, capture_output=True, check=False, cwd=WORK
    )
    said = done.stderr.decode("utf-8", "replace") + done.stdout.decode("utf-8", "replace")
    found = set(FINDINGS.iterdir()) - before
    if done.returncode and not found:
        raise SystemExit(f"{target.name} could not be run:\n{said[-4000:]}")
    if found:
        (FINDINGS / f"{target.name}.log").write_text(said, "utf-8")
        _say(said[said.find("=== Uncaught") :][:4000])
    count, _, features, inputs = map(int, (_STATUS.findall(said) or [(0, 0, 0, 0)])[-1])
    return Row(
        target.name, count, features, inputs, len(found), round(time.monotonic() - began_at, 1)
    )


def _dictionary() -> Path:
    """What mutations may put in, as libFuzzer reads it."""
    path = WORK / "tokens.dict"
    lines = ("".join(f"\\x{byte:02x}" for byte in token) for token in TOKENS)
    path.write_text("".join(f'"{line}"\n' for line in lines), "ascii")
    return path


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
