"""The machines of a plan are configured as the real reader would configure them."""

from dataclasses import replace
from pathlib import Path
from ssl import DER_cert_to_PEM_cert

import pytest
from configuration_text import configuration_text

from onceonly.gateway.config import Configuration, read_configuration
from onceonly.message.word import changed
from onceonly.simulation.cast import configurations, with_terms
from onceonly.simulation.generator.workload import plan_of
from onceonly.simulation.plan import Machine, Plan
from onceonly.simulation.signing_keys import can_sign, pinned

SEEDS = 150


def as_read(directory: Path, plan: Plan, machine: Machine) -> Configuration:
    """What the reader makes of the machine's file."""
    file = directory / f"{machine.name}.toml"
    file.write_text(configuration_text(plan, machine))
    for one in plan.machines:
        if can_sign(one.name):
            pem = DER_cert_to_PEM_cert(pinned(one.name).der)
            (directory / f"{one.name}.pem").write_text(pem)
    return read_configuration(file)


def beside_files(made: Configuration, read: Configuration) -> Configuration:
    """What was made, with what depends on where a file lies and on worlds without a lake."""
    return replace(
        made,
        path=read.path,
        store=read.store,
        backups=read.backups,
        reports=read.reports,
        lake=read.lake,
        publish_interval_s=read.publish_interval_s,
        tls=made.tls and read.tls,
        identities=read.identities,
    )


def test_every_drawn_combination_is_legal_and_read_as_it_is_cast(tmp_path: Path) -> None:
    """Otherwise a world would try a gateway that nobody can configure."""
    seen = 0
    for plan in map(plan_of, range(SEEDS)):
        made = configurations(plan)
        for machine in plan.machines:
            read = as_read(tmp_path, plan, machine)
            assert beside_files(made[machine.name], read) == read, (plan.seed, machine.name)
            seen += 1
    assert seen >= 2 * SEEDS


def test_other_terms_after_a_restart_are_legal_too(tmp_path: Path) -> None:
    """A change of the configuration gives what its reader would let pass (fault C9)."""
    seen = 0
    for plan in map(plan_of, range(20 * SEEDS)):
        for action in plan.actions:
            if action.kind != "reconfigure":
                continue
            terms = {**action.args}
            agreement = terms.pop("agreement")
            del terms["down_ms"]
            line = next(
                one for one in plan.lines if f"{one.one}-{one.other}{one.name}" == agreement
            )
            after = changed(line, terms=changed(line.terms, **terms))
            lines = tuple(after if one is line else one for one in plan.lines)
            machine = next(one for one in plan.machines if one.name == action.node)
            read = as_read(tmp_path, changed(plan, lines=lines), machine)
            made = with_terms(configurations(plan)[action.node], agreement, terms)
            assert made.agreements == read.agreements, plan.seed
            seen += 1
        if seen >= SEEDS // 10:
            return
    pytest.fail(f"only {seen} changes of terms in {20 * SEEDS} plans")
