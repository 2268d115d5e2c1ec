"""A desk without a configuration, for parts that are tested by themselves."""

from onceonly.gateway.chance import Chance
from onceonly.gateway.clock import Clock
from onceonly.gateway.desk import Desk
from onceonly.gateway.drill import Failpoints
from onceonly.message.identity import PartyId
from onceonly.steps.agreements import Agreements
from onceonly.steps.ground import House
from onceonly.steps.routes import Routes
from onceonly.steps.rows import Rows
from onceonly.store.contract.store import Store
from onceonly.store.group import GroupCommit

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


def desk_over(store: Store, group: GroupCommit, clock: Clock, party: str) -> Desk:
    """A desk that runs steps on the store."""
    return Desk(
        house=house_of_party(party),
        store=store,
        group=group,
        clock=clock,
        chance=Chance(),
        failpoints=Failpoints(),
    )
