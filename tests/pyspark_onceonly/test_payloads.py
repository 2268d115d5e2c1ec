"""Payloads built per row by Spark itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

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
    safe = "a&lt;b&gt;&amp;&quot;c&quot; &apos;d&apos; \\ {e} &#10; é"
    assert first == f"<O n='1' t='{safe}'>{{{safe}}}</O>"
    assert second == "<O n='2' t=''>{}</O>"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (WILD, WILD),
        ("1\t2\n3\r4\r\n5 😀", "1\t2\n3\r4\r\n5 😀"),
        ("a\x00\x0b\x1f\ufffeb", "a\ufffd\ufffd\ufffd\ufffdb"),
    ],
)
def test_a_parser_of_xml_reads_the_value_again(
    spark: SparkSession, value: str, expected: str
) -> None:
    """From content and from an attribute; what XML does not have is replaced where it stands."""
    frame = spark.createDataFrame([(value,)], "t string")
    [[written]] = frame.select(template("<O t='{t}'>{t}</O>")).collect()
    read = ET.fromstring(written)
    assert (read.text, read.get("t")) == (expected, expected)


def test_values_are_made_safe_for_json(spark: SparkSession) -> None:
    """Inside quotes."""
    first, second = built(spark, '{{"n": {n}, "t": "{t}"}}', "json")
    assert json.loads(first) == {"n": 1, "t": WILD}
    assert json.loads(second) == {"n": 2, "t": ""}


def test_values_can_stay_as_they_are(spark: SparkSession) -> None:
    """For a format of one's own."""
    assert built(spark, "{n};{t}", "none")[0] == f"1;{WILD}"


@pytest.mark.parametrize("text", ["{buyer.name}", "{order-id}", "{}", '{"n": {n}}', "{{n}"])
def test_a_brace_that_is_around_no_name_is_refused(text: str) -> None:
    """It would go out as it stands, in every message."""
    with pytest.raises(ValueError, match="is not around a column's name; double it"):
        template(text, escape="none")


def test_another_escape_is_refused(spark: SparkSession) -> None:
    """By name."""
    with pytest.raises(ValueError, match="legal: xml, json, none"):
        template("{n}", escape="html")
