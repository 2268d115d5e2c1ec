"""DataFrames in and out through an API under TLS, where a certificate stands for the key."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from nemesis_gateways import until
from pyspark.errors import PySparkException
from sessions import orders

from certificates import certify
from onceonly.client import Client, GatewayUnreachable, client_tls
from ports import free_port
from pyspark_onceonly.options import Options

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

FILE = """
[gateway]
party    = ["urn:duns:111111111"]
listen   = "http://127.0.0.1:{port}/msh"
api      = "https://127.0.0.1:{api_port}"
api_keys = true
store    = "gateway.db"

[api_tls]
certificate = "api.pem"
key         = "api.key"
trusted     = "spark.pem"

[[agreement]]
id      = "tpa-ab-1"
with    = ["urn:duns:222222222"]
send_to = "http://127.0.0.1:9/msh"
"""


@pytest.fixture
def options(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Options that reach a gateway, which runs as a process, by a certificate alone."""
    for name in ("api", "spark"):
        certify(tmp_path, name)
    api_port = free_port()
    text = FILE.format(port=free_port(), api_port=api_port)
    (tmp_path / "gateway.toml").write_text(text, "utf-8")
    command = [sys.executable, "-m", "onceonly"]
    key = ["key", "create", "spark", "--scope", "submit", "--scope", "read"]
    by = ["--certificate", "spark.pem", "-c", "gateway.toml"]
    subprocess.run([*command, *key, *by], cwd=tmp_path, check=True, capture_output=True)
    files = {
        "ca": str(tmp_path / "api.pem"),
        "client_certificate": str(tmp_path / "spark.pem"),
        "client_key": str(tmp_path / "spark.key"),
    }
    serving = subprocess.Popen([*command, "serve", "-c", "gateway.toml"], cwd=tmp_path)
    try:
        given = {"api": f"https://127.0.0.1:{api_port}", **files}
        until(lambda: is_ready(given), "the gateway is ready")
        yield given
    finally:
        serving.terminate()
        serving.wait(30)


def client(options: dict[str, str]) -> Client:
    files = {name: file for name, file in options.items() if name != "api"}
    return Client(options["api"], tls=client_tls(**files))


def is_ready(options: dict[str, str]) -> bool:
    try:
        with client(options) as caller:
            return caller.health().status == "ok"
    except GatewayUnreachable:
        return False


@pytest.mark.spark
@pytest.mark.process
def test_rows_go_out_and_come_in_under_tls(spark: SparkSession, options: dict[str, str]) -> None:
    """By a certificate and without a token; one that is not trusted reaches nothing."""
    rows = orders(spark, "tls", 20)
    words = {"to": "urn:duns:222222222", "service": "Ordering", "action": "New", "job": "tls"}
    column = {"message_id_column": "order_id"}

    rows.write.format("onceonly").mode("append").options(**options, **words, **column).save()
    with client(options) as caller:
        assert caller.job("tls").accepted == 20
    journal = spark.read.format("onceonly").options(**options, read="journal").load()
    assert journal.where("event = 'Submitted'").count() == 20
    lacking = {**options, "ca": options["ca"].replace("api.pem", "no.pem")}
    with pytest.raises(PySparkException, match=r"this cannot be used: ca .*no\.pem"):
        spark.read.format("onceonly").options(**lacking, read="journal").load().count()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"api": "http://x", "ca": "ca.pem"}, "option ca is for an api that begins with https:"),
        ({"api": "https://x", "client_key": "a.key"}, "option client_key goes with"),
    ],
)
def test_files_that_mean_nothing_are_refused(given: dict[str, Any], said: str) -> None:
    """Before a task is started."""
    with pytest.raises(ValueError, match=said):
        Options(given).gateway()
