"""The parts of a gateway that its API serves."""

from dataclasses import dataclass

from onceonly.gateway.alerts.alerts import Alerts
from onceonly.gateway.application.agreements import KnownAgreements
from onceonly.gateway.application.bulk import Bulks
from onceonly.gateway.application.conditions import Conditions
from onceonly.gateway.application.conversations import Conversations
from onceonly.gateway.application.following import Following
from onceonly.gateway.application.inbox import Inbox
from onceonly.gateway.application.jobs import Jobs
from onceonly.gateway.application.operations import Operations
from onceonly.gateway.application.sent import SentMessages
from onceonly.gateway.application.statistics import Statistics
from onceonly.gateway.application.submissions import Submissions
from onceonly.gateway.backups import Backups
from onceonly.gateway.keys import Keys
from onceonly.gateway.office import Office
from onceonly.gateway.outside import Outside
from onceonly.gateway.partner_names import PartnerNames
from onceonly.gateway.purge import Purge
from onceonly.gateway.reload import Reload
from onceonly.gateway.reports import Reports
from onceonly.gateway.tasks import Tasks
from onceonly.store.contract.store import Store
from onceonly.store.spool import Spool


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What the calls of the API are thin readings of."""

    store: Store
    spool: Spool
    submissions: Submissions
    jobs: Jobs
    inbox: Inbox
    following: Following
    bulks: Bulks
    operations: Operations
    backups: Backups
    outside: Outside
    office: Office
    keys: Keys
    reload: Reload
    reports: Reports
    purge: Purge
    tasks: Tasks
    sent: SentMessages
    statistics: Statistics
    agreements: KnownAgreements
    names: PartnerNames
    conditions: Conditions
    alerts: Alerts
    conversations: Conversations
    payload_bytes_max: int
