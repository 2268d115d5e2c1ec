"""Reloads under load, between kills: terms and agreements come and go, and no message is lost."""

import signal

from nemesis_faults import Form
from nemesis_figures import Say
from nemesis_gateways import Exchange, insist, until
from nemesis_load import strike
from nemesis_ways import RM_2000, use_http

from onceonly.client import Client

EXTRA = """
[[agreement]]
id = "tpa-extra-{cycle}"
with = ["urn:duns:777{cycle:06d}"]
send_to = "http://127.0.0.1:9/msh"
"""


def test_reloads_and_kills_under_load_lose_nothing_and_double_nothing(
    exchange: Exchange, form: Form, say: Say
) -> None:
    """Each cycle another file is taken over by SIGHUP, and then something is killed."""
    use_http(exchange, RM_2000)

    def reload(cycle: int) -> None:
        for gateway in exchange.gateways:
            # Until it is ready, the gateway ignores a SIGHUP.
            gateway.await_ready()
            gateway.agree(retry_interval=3 + cycle % 3)
            text = gateway.file.read_text("utf-8") + EXTRA.format(cycle=cycle)
            gateway.file.write_text(text, "utf-8")
            with Client(gateway.site.api) as client:
                before = insist(client.configuration).digest
                gateway.send(signal.SIGHUP)
                until(
                    lambda c=client, b=before: c.configuration().digest != b,
                    f"the {gateway.site.name} takes the file of cycle {cycle}",
                )

    strike(exchange, RM_2000, form.share(2), say, reload)
