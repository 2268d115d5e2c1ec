"""Payloads built per row by Spark itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from pyspark_onceonly import template

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

WILD = "a<b>&\"c\" 'd' \\ {e} \n é"


def built(spark: SparkSession, text: str, escape: str) -> list[str]:
    frame = spark.createDataFrame([(1, WILD), (2, None)], "n int, t string")
    return [row[0] for row in frame.orderBy("n").select(template(text, escape=escape)).collect()]


def test_values_are_made_safe_for_xml(spark: SparkSession) -> None:
    """As content and in attributes; a null leaves nothing, doubled braces are braces."""
    first, second = built(spark, "<O n='{n}' t='{t}'>{{{t}}}</O>", "xml")
    safe = "a&lt;b&gt;&amp;&quot;c&quot; &apos;d&apos; \\ {e} \n é"
    assert first == f"<O n='1' t='{safe}'>{{{safe}}}</O>"
    assert second == "<O n='2' t=''>{}</O>"


def test_values_are_made_safe_for_json(spark: SparkSession) -> None:
    """Inside quotes."""
    first, second = built(spark, '{{"n": {n}, "t": "{t}"}}', "json")
    assert json.loads(first) == {"n": 1, "t": WILD}
    assert json.loads(second) == {"n": 2, "t": ""}


def test_values_can_stay_as_they_are(spark: SparkSession) -> None:
    """For a format of one's own."""
    assert built(spark, "{n};{t}", "none")[0] == f"1;{WILD}"


def test_another_escape_is_refused(spark: SparkSession) -> None:
    """By name."""
    with pytest.raises(ValueError, match="legal: xml, json, none"):
        template("{n}", escape="html")
