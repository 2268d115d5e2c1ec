-- Signed envelopes, kept on their own: evidence outlives the message that it is about (ebMS 2.0).

CREATE TABLE evidence (
  place INTEGER PRIMARY KEY,
  message_id TEXT NOT NULL,
  from_party TEXT NOT NULL,
  to_party TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind = 'message' OR kind = 'acknowledgment' OR kind = 'refused'),
  content_type TEXT NOT NULL,
  document BLOB NOT NULL,
  signer TEXT,
  verified_at INTEGER NOT NULL,
  keep_until_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX evidence_of ON evidence (message_id, from_party, to_party, kind);
-- Who signed the envelope that a row is about: the SHA-256 of the certificate, hexadecimal.
ALTER TABLE journal ADD COLUMN signer TEXT;

CREATE INDEX evidence_over ON evidence (keep_until_at);
