"""A desk without a configuration, for parts that are tested by themselves."""

from onceonly.gateway.bugs import Bugs
from onceonly.gateway.chance import Chance
from onceonly.gateway.clock import Clock
from onceonly.gateway.desk import Desk
from onceonly.gateway.drill import Failpoints
from onceonly.gateway.office import Office
from onceonly.gateway.refusals import Refusals
from onceonly.gateway.surroundings import Surroundings
from onceonly.gateway.tasks import Tasks
from onceonly.message.identity import PartyId
from onceonly.steps.agreements import Agreements
from onceonly.steps.ground import House
from onceonly.steps.routes import Routes
from onceonly.steps.rows import Rows
from onceonly.store.contract.store import Store
from onceonly.store.group import GroupCommit
from onceonly.store.spool import Spool
from onceonly.transport.http.client import HttpTransport
from onceonly.transport.transport import Transport

OUR_URI = "http://us.example/msh"


def house_of_party(party: str, uri: str = OUR_URI) -> House:
    """A house that has agreed on nothing."""
    return House(
        party=(PartyId(party),),
        uri=uri,
        uris=(uri,),
        domain="us.example",
        agreements=Agreements(()),
        routes=Routes((), our_uris=(uri,)),
        rows=Rows(party),
        queued_max=1,
    )


def desk_over(
    store: Store,
    group: GroupCommit,
    clock: Clock,
    party: str,
    spool: Spool,
    transport: Transport | None = None,
) -> Desk:
    """A desk that runs steps on the store; over real HTTP unless it has a transport."""
    house, tasks = house_of_party(party), Tasks()
    around = Surroundings(clock, Chance(), Failpoints(), transport or HttpTransport(), spool)
    office = Office(house=house, store=store, group=group, around=around)
    refusals = Refusals(office=office, tasks=tasks, rows_per_hour=1)
    bugs = Bugs(office=office, refusals=refusals, tasks=tasks, on_failure=_raise)
    return Desk(house=house, store=store, group=group, around=around, tasks=tasks, bugs=bugs)


def _raise(error: BaseException) -> None:
    raise error
