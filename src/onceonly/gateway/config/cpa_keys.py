"""The keys of `[[agreement]]` that only a CPA has: `ebms-2.0` alone."""

from onceonly.gateway.config import cpa_values as cpa_read
from onceonly.gateway.config import values as read
from onceonly.gateway.config.key import ENDPOINT, FLAG, Key, listed, table_of
from onceonly.message.cpa import AckActor, CheckHeader, Demand, MessageIdForm

_INSTANT_TEXT = "an instant such as 2026-01-31T00:00:00Z; a TOML date-time with its zone is one too"

CPA_KEYS = table_of(
    Key(
        "cpa_id",
        cpa_read.wire_text,
        "a text of 1 to 255 characters",
        "CPAId in headers and journals, if it is another than `id`. Several agreements may share "
        "it where no action of a service is in two of them.",
        default_text="`id`",
        section="ebMS 2.0 §3.1.2",
    ),
    Key(
        "role",
        cpa_read.wire_text,
        "a text of 1 to 255 characters",
        "Our Role: written into what we send, and expected in what we receive.",
        section="ebMS 2.0 §3.1.1.2",
    ),
    Key(
        "partner_role",
        cpa_read.wire_text,
        "a text of 1 to 255 characters",
        "The partner's Role; given where `role` is.",
        section="ebMS 2.0 §3.1.1.2",
    ),
    Key(
        "services",
        cpa_read.services,
        'a list of {id = "…", type = "…", send = ["…"], receive = ["…"]}; type may be left out',
        "What may be exchanged: per service the actions that we send, and those that we receive.",
        default_text="any service and action",
        section="ebMS 2.0 §3.1.4, §3.1.5; CPA 2.0 ServiceBinding",
    ),
    Key(
        "check_header",
        read.one_of(one.value for one in CheckHeader),
        listed(CheckHeader),
        "A received header that asks for something else than was agreed: `strict` refuses the "
        "message, `lenient` does what the header asks for, and opens an incident once a day.",
        default="strict",
        default_text='`"strict"`',
        section="ours",
    ),
    Key(
        "duplicate_elimination",
        read.one_of(one.value for one in Demand),
        listed(Demand),
        "Whether received headers must ask that repeats are suppressed.",
        default_text="by `delivery_semantics`",
        section="ebMS 2.0 §6.4.1",
    ),
    Key(
        "ack_actor",
        read.one_of(one.value for one in AckActor),
        listed(AckActor),
        "Which MSHs our messages ask for an acknowledgement.",
        default="toPartyMSH",
        default_text='`"toPartyMSH"`',
        section="ebMS 2.0 §6.3.1.1",
    ),
    Key(
        "signals_to",
        read.endpoint,
        ENDPOINT,
        "Where acknowledgements, pings, and questions and answers about a status are posted.",
        default_text="`send_to`",
        section="CPA 2.0 defaultMshChannelId",
    ),
    Key(
        "soap_action",
        cpa_read.soap_action,
        "a text, perhaps with {service} and {action}",
        "SOAPAction of what we send; its quotes are added. Any is taken; another than this opens "
        "an incident once a day.",
        default="ebXML",
        default_text='`"ebXML"`',
        section="ebMS 2.0 §B.2.2",
    ),
    Key(
        "answer_status",
        cpa_read.one_of_numbers(200, 202, 204),
        "200, 202, 204",
        "Status of HTTP for a message that was taken, and is answered by a post of our own.",
        default=204,
        default_text="`204`",
        section="ebMS 2.0 §B.2.5",
    ),
    Key(
        "plain_when_empty",
        read.flag,
        FLAG,
        "Write a message without payload as the SOAP document alone, without a multipart frame.",
        default=True,
        default_text="`true`",
        section="ebMS 2.0 §2.1.2",
    ),
    Key(
        "strict_parts",
        read.flag,
        FLAG,
        "Refuse a package with a part that its Manifest does not name; else the part is dropped.",
        default=False,
        default_text="`false`",
        section="ours",
    ),
    Key(
        "valid_from",
        cpa_read.instant,
        _INSTANT_TEXT,
        "Before it no message is sent or taken under the agreement.",
        section="CPA 2.0 Start",
    ),
    Key(
        "valid_until",
        cpa_read.instant,
        _INSTANT_TEXT,
        "From it on no message is sent or taken; what is under way comes to its end.",
        section="CPA 2.0 End",
    ),
    Key(
        "retriable_faults",
        cpa_read.short_texts,
        "a list of texts",
        "Codes in the detail of a SOAP Fault after which the message is sent again.",
        default_text="none: a Fault of the Client is a refusal",
        section="ours, for the NHS",
    ),
    Key(
        "reports_refusals",
        read.flag,
        FLAG,
        "Tell the partner by an error message (Unknown, with the application's words) when our "
        "application refuses what was acknowledged, and give ours a notice (NotProcessed) when "
        "such an error comes. Without it the partner is told nothing.",
        default=False,
        default_text="`false`",
        section="ours",
    ),
    Key(
        "lenient_signal_parties",
        read.flag,
        FLAG,
        "Take acknowledgements and errors whose PartyIds have another type than was agreed, if "
        "all else fits.",
        default=False,
        default_text="`false`",
        section="ours, for products that write one fixed type",
    ),
    Key(
        "roles_on_signals",
        read.flag,
        FLAG,
        "Write the Roles into acknowledgements, errors and answers, too.",
        default=False,
        default_text="`false`",
        section="ours",
    ),
    Key(
        "extensions",
        read.flag,
        FLAG,
        "Both gateways are onceonly: write our own elements (namespace urn:onceonly:extension), "
        "which others skip, for `ack_status`, `passed_on` and `reports_processing`, and ask to "
        "cancel a message and to send a response again (levels 3 and 5).",
        default=False,
        default_text="`false`",
        section="ours",
    ),
    Key(
        "answers_inquiries",
        read.flag,
        FLAG,
        "Tell the partner the status of its messages. false: every StatusRequest of it is answered "
        "with UnAuthorized, whatever message it names. A Ping is answered all the same.",
        default=True,
        default_text="`true`",
        section="ebMS 2.0 §7.1.3",
    ),
    Key(
        "message_id_form",
        read.one_of(one.value for one in MessageIdForm),
        listed(MessageIdForm),
        "How the MessageIds look that the gateway makes; an application may give others.",
        default="local@domain",
        default_text='`"local@domain"`',
        section="ours, for the NHS",
    ),
    Key(
        "xml_part_first",
        read.flag,
        FLAG,
        "Put payloads in XML before the others, in the order in which the application gave them.",
        default=False,
        default_text="`false`",
        section="ours, for the NHS",
    ),
    Key(
        "status_request_ref",
        read.flag,
        FLAG,
        "Name the message that a StatusRequest is about in MessageData, too.",
        default=False,
        default_text="`false`",
        section="ours, for Hermes",
    ),
    Key(
        "description",
        cpa_read.wire_text,
        "a text of 1 to 255 characters",
        "Description of every message that we send; it has no effect.",
        section="ebMS 2.0 §3.1.8",
    ),
)
