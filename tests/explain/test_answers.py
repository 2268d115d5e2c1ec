"""What a gateway would answer, and which of its checks would fail first."""

from datetime import UTC, datetime

import pytest
from captures import (
    CONFIGURATION,
    OUR_URI,
    THEIR_URI,
    THEIR_URI_2001,
    THEM_2001,
    answer,
    chunked,
    explained,
    failed,
    in_lf,
    mail,
    order,
    order_2001,
    request,
    signal,
)
from configuration_file import ROUTE, read
from packages import Parcel, error_list, wrap
from packages_2001 import ERROR, signed_element

from onceonly.explain.explanation import CaptureVerdict, CheckResult, Explanation
from onceonly.message.instant import US_PER_S, from_datetime
from onceonly.protocol.receiving import LOOKED_AT
from onceonly.steps.checks import ADMISSION, AGREED

CERTIFICATE = "ab" * 32
TLS = """
[tls]
certificate = "a.pem"
key = "a.key"
trusted = "ca.pem"
clients = true

"""


def when(found: Explanation, words: str):
    assert found.answer is not None
    return next(case for case in found.answer.cases if words in case.when)


@pytest.mark.parametrize("make", [request, chunked, mail])
@pytest.mark.parametrize("message", [order, order_2001])
def test_what_keeps_to_its_agreement_would_be_accepted(configuration, make, message):
    """And acknowledged, with the rows that the journal gets."""
    found = explained(make(message()), configuration)
    assert found.verdict is CaptureVerdict.ACCEPTED
    assert failed(found) is None
    case = when(found, "as a new message")
    assert case.status == (250 if make is mail else 204)
    assert [row.event for row in case.writes] == ["Stored", "AckSent", "HandedOver"]
    assert "an acknowledgement" in case.sends[0].says[0]
    assert case.sends[0].to in (THEIR_URI, THEIR_URI_2001)


def test_what_no_capture_can_tell_is_answered_in_each_case(configuration):
    """A repeat, other content, a message that was taken back, a number, a quarantine."""
    found = explained(request(order(number=7)), configuration)
    assert found.answer is not None
    said = {case.when: case.error for case in found.answer.cases}
    assert said == {
        "as a new message, whose SequenceNumber follows": None,
        "as a repeat of the same message": None,
        "where a message with other content is stored under its MessageId": "SecurityFailure",
        "where its sender took it back before": "DeliveryFailure",
        "where its SequenceNumber does not follow": "InvalidSequenceNumber",
        "where the pair is quarantined": "TransientError",
    }
    assert when(found, "repeat").writes[0].event == "DuplicateEliminated"
    unknown = {check.name for check in found.answer.checks if check.result is CheckResult.NOT_KNOWN}
    assert unknown == {"collision", "cancelled", "duplicate", "quarantined", "out-of-sequence"}


def test_the_first_number_always_follows(configuration):
    """1 begins a sequence anew, and a profile without numbers has no such cases."""
    for capture in (request(order(number=1)), request(order_2001())):
        found = explained(capture, configuration)
        assert found.answer is not None
        assert not any("does not follow" in case.when for case in found.answer.cases)


@pytest.mark.parametrize(
    ("parcel", "check", "code", "words"),
    [
        (order(agreement="tpa-zz"), "agreement", "ValueNotRecognized", "'tpa-zz' is not known"),
        (order(from_party="urn:x:1"), "from", "ValueNotRecognized", "From PartyId"),
        (order(to_party="urn:x:1"), "to", "ValueNotRecognized", "To PartyId"),
        (
            order(agreement="cpa-ab-1", from_party=THEM_2001),
            "profile",
            "Inconsistent",
            "profile rm-2000",
        ),
        (order(receiver_uri="http://x.example/"), "receiver-uri", "ValueNotRecognized", "not ours"),
        (
            order_2001(timestamp="2026-01-02T00:00:00Z", hop_timestamp="2026-01-01T00:00:00Z"),
            "times",
            "Inconsistent",
            "before that of the message",
        ),
        (
            order_2001(ref="x@b.example.com", particulars=signed_element()),
            "signature",
            "NotSupported",
            "signatures are not offered",
        ),
        (order_2001(method="Transport"), "terms", "Inconsistent", "reliableMessagingMethod"),
        (wrap("<ebXMLHeader/>"), "header", "OtherXml", "root element"),
        (wrap(b"\xff"), "header", "OtherXml", ""),
        (Parcel("text/plain", b"order"), "package", "NotSupported", "multipart/related"),
        (order(timestamp="20200101T000000.000Z"), "too-old", "TimeToLiveExpired", "older than"),
        (order(timestamp="20990101T000000.000Z"), "ahead", "Inconsistent", "in the future"),
        (
            order_2001(time_to_live="2021-01-01T00:00:00Z"),
            "expired",
            "TimeToLiveExpired",
            "TimeToLive is over",
        ),
        (order_2001(receipt="Signed"), "not-supported", "NotSupported", "delivery receipt"),
    ],
)
def test_the_first_check_that_fails_has_the_error_of_the_gateway(
    configuration, parcel, check, code, words
):
    """Its name, its code and its text; all before it passed, and nobody asked any after it."""
    found = explained(request(parcel), configuration)
    assert found.verdict is CaptureVerdict.REFUSED
    one = failed(found)
    assert one is not None
    assert one.problem is not None
    assert (one.name, one.problem.code) == (check, code)
    assert words in one.problem.text
    assert found.answer is not None
    case = found.answer.cases[0]
    assert (case.error, case.reason) == (code, one.problem.text)
    results = [each.result for each in found.answer.checks]
    at = results.index(CheckResult.FAILED)
    assert set(results[:at]) <= {CheckResult.PASSED, CheckResult.NOT_KNOWN}
    assert set(results[at + 1 :]) <= {CheckResult.NOT_REACHED}


def test_the_checks_are_in_the_order_in_which_the_gateway_makes_them(configuration):
    """Admission, agreement, payloads, and what depends on time and store."""
    found = explained(request(order()), configuration)
    assert found.answer is not None
    names = [check.name for check in found.answer.checks]
    admission = [check.name.lower().replace("_", "-") for check in (*ADMISSION, *AGREED)]
    arrival = [case.name.lower().replace("_", "-") for case in LOOKED_AT]
    around = ["door", "length", "package", "header"]
    assert names == [*around, *admission, "parts", "size", *arrival]


def test_the_endpoint_refuses_what_is_not_for_it(configuration):
    """Another path, and a head that is none; a head that a program has rewritten is read."""
    found = explained(request(order(), path="/other"), configuration)
    assert found.answer is not None
    assert (found.answer.cases[0].status, found.answer.cases[0].error) == (404, "NotFound")
    one = failed(found)
    assert one is not None
    assert one.name == "door"
    mixed = request(order()).replace(b"Host: 127.0.0.1:8401\r\n", b"Host: 127.0.0.1:8401\n")
    assert explained(mixed, configuration).answer.cases[0].error == "BareLineFeed"
    assert explained(in_lf(request(order())), configuration).answer.cases[0].status == 204
    long = request(order(), *(f"X-{n}: {'y' * 500}" for n in range(40)))
    assert explained(long, configuration).answer.cases[0].error == "HeadTooLarge"


def test_a_mail_is_refused_in_the_words_of_its_endpoint(configuration):
    """A header block that is none, and a body that no mail may have."""
    coded = mail(order()).replace(b"MIME-Version", b"Content-Transfer-Encoding: base64\r\nMIME-V")
    found = explained(coded, configuration)
    assert found.answer is not None
    assert (found.answer.cases[0].status, found.answer.cases[0].protocol) == (554, "SMTP")
    assert found.verdict is CaptureVerdict.REFUSED
    wide = mail(order()) + b"x" * 200_000
    assert explained(wide, configuration).answer.cases[0].error == "LineTooLong"
    assert "no listen in [smtp]" in explained(mail(order()), configuration).answer.checks[0].remark
    dotted = mail(order()) + b".\r\n.more\r\n"
    assert explained(dotted, configuration).answer.cases[0].status == 250


def test_an_automatic_mail_is_dropped(configuration):
    """Never taken for a package (attack M10)."""
    found = explained(
        mail(order()).replace(b"MIME-V", b"Auto-Submitted: auto-replied\r\nMIME-V"), configuration
    )
    one = failed(found)
    assert one is not None
    assert (one.name, one.problem and one.problem.code) == ("door", "AutoReply")
    assert found.answer.cases[0].status == 250
    assert found.verdict is CaptureVerdict.REFUSED


def test_an_entitlement_is_shown_by_options(tmp_path):
    """The certificate of the caller, and the entrance, which no capture has."""
    held = CONFIGURATION.replace("http://", "https://").replace(
        "[[agreement]]",
        TLS + "[[agreement]]",
        1,
    )
    held = held.replace(
        'id      = "tpa-ab-1"', f'id = "tpa-ab-1"\ncaller_certificate = ["{CERTIFICATE}"]'
    )
    held = held.replace('api    = "https', 'api    = "http')
    configuration = read(tmp_path, held)
    capture = request(order(receiver_uri=OUR_URI.replace("http", "https")))
    stranger = explained(capture, configuration)
    one = failed(stranger)
    assert one is not None
    assert (one.name, stranger.answer.cases[0].status) == ("caller", 403)
    assert any("--caller-certificate" in word for word in stranger.answer.not_known)
    partner = explained(capture, configuration, certificate=CERTIFICATE)
    assert partner.verdict is CaptureVerdict.ACCEPTED
    at_mail = explained(capture, configuration, certificate=CERTIFICATE, entrance="mail")
    assert at_mail.verdict is CaptureVerdict.REFUSED


def test_it_comes_in_when_the_caller_says_so(configuration):
    """A capture of long ago is judged as of its day."""
    capture = request(order(timestamp="20001002T090000.000Z"))
    at = from_datetime(datetime(2000, 10, 2, 9, 0, 5, tzinfo=UTC))
    assert explained(capture, configuration, at=at).verdict is CaptureVerdict.ACCEPTED
    year = 366 * 86_400 * US_PER_S
    assert explained(capture, configuration, at=at + year).verdict is CaptureVerdict.REFUSED


def test_signals_are_taken_and_what_they_are_about_is_not_known(configuration):
    """An empty store has nothing that they fit, and they are never answered."""
    for parcel in (
        signal("Acknowledgement"),
        signal("Error", errors=error_list("TransientError", "Warning", 60)),
    ):
        found = explained(request(parcel), configuration)
        assert found.verdict is CaptureVerdict.ACCEPTED
        assert found.answer is not None
        assert not found.answer.cases[0].sends
        assert any("rehearsed is an empty one" in one for one in found.answer.not_known)


def test_an_inquiry_is_answered(configuration):
    """A Ping with a Pong, as long as its names are those of the agreement."""
    found = explained(request(signal("Ping")), configuration)
    assert found.answer is not None
    assert found.answer.falls_under == "agreement tpa-ab-1"
    assert "messages are taken" in found.answer.cases[0].sends[0].says


def test_a_package_in_an_answer_is_read_where_that_was_agreed(tmp_path):
    """Where syncReplyMode is none, and where the status is an error, nobody reads it."""
    service, action = ERROR
    parcel = order_2001(
        service=service,
        action=action,
        ref="po-1@b.example.com",
        payloads=(),
        particulars='  <ErrorList highestSeverity="Error">\n    <Error errorCode="MimeProblem"'
        ' severity="Error"/>\n  </ErrorList>\n',
    )
    silent = read(tmp_path, CONFIGURATION)
    one = failed(explained(answer(parcel), silent))
    assert one is not None
    assert one.name == "reply"
    with_mode = CONFIGURATION + 'sync_reply_mode = "signalsOnly"\n'
    agreed = read(tmp_path, with_mode)
    assert explained(answer(parcel), agreed).verdict is CaptureVerdict.ACCEPTED
    one = failed(explained(answer(parcel, "400 Bad Request"), agreed))
    assert one is not None
    assert one.name == "reply"


def test_what_goes_back_in_the_answer_is_told(tmp_path):
    """signalsOnly: the acknowledgement comes with 200."""
    configuration = read(tmp_path, CONFIGURATION + 'sync_reply_mode = "signalsOnly"\n')
    found = explained(request(order_2001()), configuration)
    case = when(found, "as a new message")
    assert case.status == 200
    assert "an acknowledgement" in case.answers_with[0]
    answered = read(tmp_path, CONFIGURATION + 'sync_reply_mode = "signalsAndResponse"\n')
    waits = explained(request(order_2001()), answered)
    assert any("what the application answers" in one for one in waits.answer.not_known)


def test_a_message_for_somebody_else_falls_under_its_route(tmp_path):
    """And goes on to the next hop, in the rehearsal as in the field."""
    configuration = read(tmp_path, CONFIGURATION + ROUTE)
    parcel = order(
        from_party="urn:duns:333333333",
        to_party="urn:duns:444444444",
        sender_uri="http://127.0.0.1:8403/msh",
    )
    found = explained(request(parcel), configuration)
    assert found.verdict is CaptureVerdict.ACCEPTED
    assert found.answer is not None
    assert found.answer.falls_under == "route north"
    assert found.answer.cases[0].sends[0].to == "http://127.0.0.1:8404/msh"
    assert len(found.answer.cases[0].sends) == 1
    strange = {"from_party": "urn:duns:333333333", "to_party": "urn:duns:444444444"}
    other = explained(request(order(**strange)), configuration)
    one = failed(other)
    assert one is not None
    assert one.name == "route"
    assert one.problem is not None
    assert (other.answer.cases[0].error, other.answer.cases[0].reason) == (
        one.problem.code,
        one.problem.text,
    )
    lost = explained(request(order(from_party="urn:duns:333333333")), configuration)
    assert lost.verdict is CaptureVerdict.REFUSED


def test_an_accepting_intermediary_sends_on_once(tmp_path):
    """What it would send again later is no answer to the capture."""
    accepting = ROUTE + 'profile = "rm-2001"\nintermediary = "accept"\n'
    configuration = read(tmp_path, CONFIGURATION + accepting)
    parcel = order_2001(
        from_party="urn:duns:333333333",
        to_party="urn:duns:444444444",
        sender_uri="http://127.0.0.1:8403/msh",
        ack_requested="Unsigned",
    )
    found = explained(request(parcel), configuration)
    assert found.answer is not None
    assert found.verdict is CaptureVerdict.ACCEPTED
    assert {post.to for post in found.answer.cases[0].sends} == {
        "http://127.0.0.1:8403/msh",
        "http://127.0.0.1:8404/msh",
    }
    assert len(found.answer.cases[0].sends) == 2


def test_a_bare_header_document_is_checked_as_far_as_it_goes(configuration):
    """Its payloads are not there, so no answer is given where they would decide it."""
    document = order().body.split(b"\r\n\r\n", 1)[1].split(b"\r\n--")[0]
    found = explained(document, configuration)
    assert found.verdict is CaptureVerdict.UNDERSTOOD
    assert found.answer is not None
    assert not found.answer.cases
    one = failed(explained(document.replace(b"tpa-ab-1", b"tpa-zz-1"), configuration))
    assert one is not None
    assert one.name == "agreement"
    ping = signal("Ping").body.split(b"\r\n\r\n", 1)[1].split(b"\r\n--")[0]
    assert explained(ping, configuration).verdict is CaptureVerdict.ACCEPTED


def test_a_validator_is_named_and_not_asked(tmp_path):
    """It is an application's, and a rehearsal calls nobody."""
    validator = "http://127.0.0.1:9/validate"
    configuration = read(
        tmp_path, CONFIGURATION + f'ack_status = "content"\nvalidator = "{validator}"\n'
    )
    found = explained(request(order_2001()), configuration)
    assert found.answer is not None
    asked = next(check for check in found.answer.checks if check.name == "validator")
    assert asked.result is CheckResult.NOT_KNOWN
    assert validator in (asked.remark or "")


def test_payloads_above_the_limit_are_refused(tmp_path):
    """By what the head announces, and by what comes."""
    small = CONFIGURATION.replace("[gateway]", "[gateway]\npayload_bytes_max = 10", 1)
    one = failed(explained(request(order()), read(tmp_path, small)))
    assert one is not None
    assert (one.name, one.problem and one.problem.code) == ("size", "MessageTooLarge")
    huge = explained(request(order(), length=1 << 40), read(tmp_path, small))
    one = failed(huge)
    assert one is not None
    assert one.name == "length"
    assert huge.answer.cases[0].status == 413


def test_nothing_is_written_anywhere(tmp_path, monkeypatch):
    """Neither a store nor a lake nor a payload beside the configuration."""
    configuration = read(tmp_path, CONFIGURATION)
    monkeypatch.chdir(tmp_path)
    parcel = order()
    large = Parcel(parcel.content_type, parcel.body.replace(b"</Purchase", b"x" * 200_000 + b"</"))
    for capture in (request(parcel), request(large), mail(parcel)):
        explained(capture, configuration)
    assert [path.name for path in tmp_path.iterdir()] == ["gateway.toml"]
