"""Settings of Spark that a command is given reach the Spark that it starts."""

from __future__ import annotations

import os
import shlex

import pytest
from click.testing import CliRunner

from onceonly.cli.lake import lake as commands
from onceonly.lake.jobs import spark_settings
from onceonly.lake.jobs.script import main as script
from onceonly.message.errors import LocalError

JARS = "spark.jars.packages=io.example:of a space_2.13:1"


@pytest.fixture(autouse=True)
def _unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--name mine pyspark-shell")
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)


def test_settings_stand_before_what_is_told_already():
    """Each is one word, whatever is in it."""
    spark_settings.give([JARS, "spark.x=1=2"])
    words = shlex.split(os.environ["PYSPARK_SUBMIT_ARGS"])
    assert words == ["--conf", JARS, "--conf", "spark.x=1=2", "--name", "mine", "pyspark-shell"]


def test_no_settings_change_nothing(monkeypatch: pytest.MonkeyPatch):
    """Not even where spark-submit has started Spark."""
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    spark_settings.give([])
    assert os.environ["PYSPARK_SUBMIT_ARGS"] == "--name mine pyspark-shell"


@pytest.mark.parametrize("wrong", ["spark.x", "packages=io.example:x:1", "=1"])
def test_what_is_no_setting_is_refused(wrong: str):
    """Spark itself would ignore it without a word."""
    with pytest.raises(LocalError, match=r"spark\.KEY=VALUE") as refused:
        spark_settings.give([wrong])
    assert refused.value.name == "BadSetting"


def test_a_submitted_job_takes_no_settings(monkeypatch: pytest.MonkeyPatch):
    """Its Spark runs already."""
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    with pytest.raises(LocalError, match="to spark-submit"):
        spark_settings.give([JARS])


def test_commands_and_script_take_settings(tmp_path):
    """Before they look at the lake, so that a mistyped one is said at once."""
    lake = str(tmp_path / "no lake")
    told = CliRunner().invoke(commands, ["ingest", lake, "--conf", "spark.x"])
    assert told.exit_code == 2
    assert "spark.KEY=VALUE" in told.output
    assert script(["ingest", "--lake", lake, "--conf", "spark.x"]) == 2
