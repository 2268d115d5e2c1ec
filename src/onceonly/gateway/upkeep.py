"""Care for the store of a gateway that does not run: what an upgrade takes, and free space.

Knows where the configuration has the store and its backups; what is done is the store's own.
"""

from onceonly.gateway.clock import Clock
from onceonly.gateway.config import Configuration
from onceonly.gateway.wiring import clock_of, open_store
from onceonly.store.files import make_parents
from onceonly.store.sqlite import compact as store_compact
from onceonly.store.sqlite import upgrade
from onceonly.store.sqlite.compact import Compacted
from onceonly.store.sqlite.upgrade import Rehearsal, Upgrade


def upgrade_of(configuration: Configuration) -> Upgrade:
    """What the next start would do to the store first. Raises `StoreRefused`."""
    return upgrade.plan_of(configuration.store, str(configuration.party[0]))


def rehearse(configuration: Configuration) -> Rehearsal:
    """Do that to a copy beside the backups. Raises `StoreRefused` and `OSError`."""
    place = configuration.backups
    make_parents(place / "rehearsal")
    return upgrade.rehearse(configuration.store, str(configuration.party[0]), place, Clock().at)


def migrate(configuration: Configuration) -> None:
    """Bring the store to this program's schema. Raises `StoreRefused`, above all if it is in use.

    As every opening it begins a new epoch.
    """
    open_store(configuration, clock_of(configuration)).close()


def compact(configuration: Configuration) -> Compacted:
    """Give free space of the store back to the disk. Raises `StoreRefused` and `OSError`."""
    return store_compact.compact(
        configuration.store, party=str(configuration.party[0]), clock_at=Clock().at
    )
