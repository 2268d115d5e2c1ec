"""kill -9 of both gateways at random instants, under load, again and again (fault C1, C2)."""

import pytest
from nemesis_faults import Form
from nemesis_figures import Say
from nemesis_gateways import Exchange
from nemesis_load import strike
from nemesis_ways import RM_2000, RM_2001, Way, use_http


@pytest.mark.statement("S0-01", "S0-04", "S1-04", "S3-02", "S3-04", ruling="R-01")
@pytest.mark.parametrize("way", [RM_2000, RM_2001], ids=lambda way: way.name)
def test_random_kills_lose_nothing_and_double_nothing(
    exchange: Exchange, way: Way, form: Form, say: Say
) -> None:
    """kill -9 of either or both under load, both ways: all acknowledged, each handed over once."""
    use_http(exchange, way)
    strike(exchange, way, form.share(4), say)
