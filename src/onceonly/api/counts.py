"""Calls that count a list, each by the criteria of that list."""

from typing import Final

from onceonly.api import history, inbox, jobs, lists, messages, operating
from onceonly.api.operation import Nothing, Operation

COUNT_MESSAGES: Final = Operation(
    name="countMessages",
    method="get",
    path="/v1/counts/messages",
    summary="How many outbound messages there are; stops at 10,000",
    path_type=Nothing,
    query_type=messages.MessageCriteria,
    body_type=Nothing,
    answer_type=lists.Count,
)
COUNT_INBOX: Final = Operation(
    name="countInbox",
    method="get",
    path="/v1/counts/inbox",
    summary="How many received messages the inbox has; stops at 10,000",
    path_type=Nothing,
    query_type=inbox.InboxCriteria,
    body_type=Nothing,
    answer_type=lists.Count,
)
COUNT_JOURNAL: Final = Operation(
    name="countJournal",
    method="get",
    path="/v1/counts/journal",
    summary="How many journal rows there are; stops at 10,000",
    path_type=Nothing,
    query_type=history.JournalCriteria,
    body_type=Nothing,
    answer_type=lists.Count,
)
COUNT_NOTICES: Final = Operation(
    name="countNotices",
    method="get",
    path="/v1/counts/notices",
    summary="How many notices there are; stops at 10,000",
    path_type=Nothing,
    query_type=operating.NoticeCriteria,
    body_type=Nothing,
    answer_type=lists.Count,
)
COUNT_INCIDENTS: Final = Operation(
    name="countIncidents",
    method="get",
    path="/v1/counts/incidents",
    summary="How many incidents are open, or with `all` there were; stops at 10,000",
    path_type=Nothing,
    query_type=operating.IncidentCriteria,
    body_type=Nothing,
    answer_type=lists.Count,
)
COUNT_JOBS: Final = Operation(
    name="countJobs",
    method="get",
    path="/v1/counts/jobs",
    summary="How many jobs there are; stops at 10,000",
    path_type=Nothing,
    query_type=jobs.JobCriteria,
    body_type=Nothing,
    answer_type=lists.Count,
)

COUNTS: Final = (
    COUNT_MESSAGES,
    COUNT_INBOX,
    COUNT_JOURNAL,
    COUNT_NOTICES,
    COUNT_INCIDENTS,
    COUNT_JOBS,
)
"""All of them."""
