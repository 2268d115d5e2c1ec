"""Every fuzz target: its function, the corpora that it starts from, and its share of a budget."""

from pathlib import Path
from typing import NamedTuple

import fuzz_config
import fuzz_cpa
import fuzz_decision
import fuzz_envelope
import fuzz_forward
import fuzz_header
import fuzz_http
import fuzz_journal
import fuzz_mail
import fuzz_mime
import fuzz_package
import fuzz_rest
import fuzz_signature
import fuzz_smtp
import fuzz_stdlib
import fuzz_template
import fuzz_transfer
import fuzz_values
from fuzzing import CORPUS, Target


class Fuzzed(NamedTuple):
    """One target. Its own corpus comes first, and is where new inputs are kept."""

    name: str
    judge: Target
    corpora: tuple[str, ...]
    share: int
    """Of the executions, in parts: about as many as the others do in the same time."""
    what: str

    @property
    def folders(self) -> list[Path]:
        """Where its inputs are."""
        return [CORPUS / name for name in self.corpora if (CORPUS / name).is_dir()]


TARGETS = (
    Fuzzed("mime", fuzz_mime.split, ("mime",), 12, "MIME splitter, whole and in pieces"),
    Fuzzed("stdlib", fuzz_stdlib.compare, ("stdlib",), 8, "MIME splitter and the standard library"),
    Fuzzed("header", fuzz_header.read, ("header",), 8, "header documents of both profiles"),
    Fuzzed("template", fuzz_template.compare, ("template", "header"), 8, "template and tree"),
    Fuzzed("envelope", fuzz_envelope.read, ("envelope",), 6, "SOAP envelopes and signatures"),
    Fuzzed("canonical", fuzz_envelope.canonicalize, ("envelope", "header"), 8, "c14n and libxml2"),
    Fuzzed("signature", fuzz_signature.read, ("signature",), 6, "signatures and libxml2"),
    Fuzzed("signed-info", fuzz_signature.sign, ("signed-info",), 2, "SignedInfo and libxmlsec"),
    Fuzzed("transfer", fuzz_transfer.undo, ("transfer",), 8, "quoted-printable and base64"),
    Fuzzed("line-ends", fuzz_transfer.frame, ("mime",), 8, "one body with LF and with CRLF"),
    Fuzzed("two-frames", fuzz_transfer.package, ("two-frames",), 4, "one package in both frames"),
    Fuzzed("forward", fuzz_forward.relay, ("forward", "header"), 6, "one hop further, spliced"),
    Fuzzed("package", fuzz_package.decode, ("package",), 8, "whole packages"),
    Fuzzed("decision", fuzz_decision.decide, ("decision", "package"), 6, "package to decision"),
    Fuzzed("mail", fuzz_mail.travel, ("mail", "package"), 6, "packages as mail in seven bits"),
    Fuzzed("values", fuzz_values.read, ("values",), 14, "timestamps, numbers, durations, names"),
    Fuzzed("http-head", fuzz_http.read_head, ("http-head",), 10, "HTTP heads, and llhttp"),
    Fuzzed("http", fuzz_http.converse, ("http",), 4, "HTTP connections"),
    Fuzzed("smtp", fuzz_smtp.converse, ("smtp",), 3, "SMTP commands and data"),
    Fuzzed("journal", fuzz_journal.read, ("journal",), 3, "journal segments"),
    Fuzzed("config", fuzz_config.read, ("config",), 3, "configuration files"),
    Fuzzed("cpa", fuzz_cpa.read, ("cpa",), 3, "CPA documents, imported"),
    Fuzzed("rest", fuzz_rest.read, ("rest",), 8, "queries and bodies of the API"),
)
BY_NAME = {target.name: target for target in TARGETS}
