"""A standalone Spark cluster of this machine: one master, workers of one core each.

Everything that is started here ends with the test, or with the process that runs it.
"""

from __future__ import annotations

import os
import queue
import re
import select
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pyspark
import pytest

from onceonly.lake import class_archive, java
from onceonly.lake.runner import LITTLE_JAVA, TINY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
WITHIN_S = 240.0
"""Longest wait for one line of a program; a quiet machine needs a tenth of it."""
ENDS_WITHIN_S = 30.0
"""Longest wait for the end of what was killed."""
DONE_WITHIN_S = 1_800.0
"""Longest wait for a program that does all jobs; a quiet machine needs a minute or two."""
LINES_KEPT = 40
"""So many lines are shown of a program that did not say what was waited for."""
GUARD = ("setpriv", "--pdeathsig", "KILL") if shutil.which("setpriv") else ()
"""Ends a process with the one that started it, where the machine has the word for it."""
MASTER = re.compile(r"Starting Spark master at (spark://\S+)")
WORKER = re.compile(r"Successfully registered with master")


class Program:
    """A process whose words are read as they come, so that it never waits for a reader."""

    def __init__(self, *command: str, environment: Mapping[str, str], stdout: Path) -> None:
        with stdout.open("w") as out:
            self.process = subprocess.Popen(
                [*GUARD, *command],
                stdout=out,
                stderr=subprocess.PIPE,
                text=True,
                env=dict(environment),
            )
        self.told: list[str] = []
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._lines.put(line)
        self._lines.put(None)

    def until(self, *patterns: re.Pattern[str]) -> re.Match[str]:
        """The next line that says one of these."""
        deadline = time.monotonic() + WITHIN_S
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                line = None
            if line is None:
                wanted = " or ".join(one.pattern for one in patterns)
                pytest.fail(f"never said {wanted}, but:\n{self.last_words}")
            self.told.append(line)
            found = [match for one in patterns if (match := one.search(line))]
            if found:
                return found[0]

    def ended(self) -> int:
        """Its exit code, when it has said everything."""
        code = self.process.wait(DONE_WITHIN_S)
        while (line := self._lines.get(timeout=ENDS_WITHIN_S)) is not None:
            self.told.append(line)
        return code

    @property
    def last_words(self) -> str:
        """Without the stacks of Java, which would hide the cause."""
        told = [line for line in self.told if not line.startswith("\tat ")]
        return "".join(told[-LINES_KEPT:])

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(ENDS_WITHIN_S)
        self._reader.join(ENDS_WITHIN_S)
        assert self.process.stderr is not None
        self.process.stderr.close()


class Cluster:
    """Where the master listens, and what the workers run."""

    def __init__(self, folder: Path) -> None:
        self.master = ""
        self._folder = folder
        self._programs: list[Program] = []

    def start(self, workers: int) -> None:
        package = "org.apache.spark.deploy"
        where = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        self.master = self._daemon(f"{package}.master.Master", *where).until(MASTER)[1]
        for number in range(workers):
            work = str(self._folder / f"work{number}")
            size = ("--cores", "1", "--memory", "1g", "--work-dir", work)
            self._daemon(f"{package}.worker.Worker", *where, *size, self.master).until(WORKER)

    def _daemon(self, *arguments: str) -> Program:
        environment = {
            **os.environ,
            "SPARK_NO_DAEMONIZE": "1",
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_JAVA_OPTS": " ".join([LITTLE_JAVA, *class_archive.options()]),
        }
        home = java.prepare()
        if home is not None:
            environment["JAVA_HOME"] = str(home)
        said = self._folder / f"daemon{len(self._programs)}"
        program = Program(str(SPARK_CLASS), *arguments, environment=environment, stdout=said)
        self._programs.append(program)
        return program

    def executors(self) -> list[int]:
        """Process ids of the executors that run now."""
        return list(self.by_number().values())

    def by_number(self) -> dict[str, int]:
        """The same, by the numbers that the driver knows them by."""
        workers = {program.process.pid for program in self._programs}
        found = {}
        for pid in (pid for pid, parent in parents().items() if parent in workers):
            number = re.search(r"--executor-id\0(\d+)", command_of(pid))
            if number:
                found[number[1]] = pid
        return found

    def kill_executor(self, number: str) -> None:
        """As `kill -9` does."""
        os.kill(self.by_number()[number], signal.SIGKILL)

    def stop(self) -> None:
        """End the workers with their executors, and the master."""
        handles = [os.pidfd_open(pid) for pid in self.executors()]
        for program in reversed(self._programs):
            program.kill()
        for handle in handles:
            end(handle)


def parents() -> dict[int, int]:
    """Every process and its parent."""
    found = {}
    for place in Path("/proc").iterdir():
        if not place.name.isdigit():
            continue
        try:
            words = (place / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found[int(place.name)] = int(words[1])
    return found


def command_of(pid: int) -> str:
    """The words that a process was started with; none where it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def end(handle: int) -> None:
    """End a process that is no child of ours, and wait until it has."""
    try:
        signal.pidfd_send_signal(handle, signal.SIGKILL)
        assert select.select([handle], [], [], ENDS_WITHIN_S)[0]
    except ProcessLookupError:
        return
    finally:
        os.close(handle)


@contextmanager
def cluster(folder: Path, *, workers: int = 2) -> Iterator[Cluster]:
    """A master and its workers, which keep their work in `folder`; ended by their ids."""
    if not hasattr(os, "pidfd_open"):
        pytest.skip("only Linux has handles on processes")
    found = Cluster(folder)
    try:
        found.start(workers)
        yield found
    finally:
        found.stop()


def settings(folder: Path) -> dict[str, str]:
    """The environment of a driver: as few partitions as the work is worth, a quick start."""
    # The default of 200 shuffle partitions is for clusters that are worth the name.
    few = {**TINY, "spark.sql.shuffle.partitions": "2"}
    (folder / "spark-defaults.conf").write_text(
        "".join(f"{key} {value}\n" for key, value in few.items())
        + f"spark.driver.extraJavaOptions {LITTLE_JAVA}\n"
        + f"spark.executor.extraJavaOptions {LITTLE_JAVA}\n"
    )
    return {**os.environ, "SPARK_CONF_DIR": str(folder)}
