-- The whole protocol: a second profile, recovery, relays, inquiries, and a purge.
--
-- A CHECK cannot be altered, so the tables whose words grew are built anew and filled; the journal
-- and the payloads, which are nearly all of a large store, stay where they are.

-- Positions are the paging keys of clients, and a purge must not free them: hence AUTOINCREMENT.
ALTER TABLE outbound RENAME TO outbound_1;

CREATE TABLE outbound (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  message_id TEXT NOT NULL UNIQUE,
  from_party TEXT NOT NULL,
  to_party TEXT NOT NULL,
  agreement_id TEXT NOT NULL,
  status TEXT NOT NULL CHECK (
    status = 'queued' OR status = 'sending' OR status = 'in_doubt' OR
    status = 'acknowledged' OR status = 'failed' OR status = 'expired' OR
    status = 'cancelled' OR status = 'sent'),
  attempt INTEGER NOT NULL,
  episode INTEGER NOT NULL,
  exposure TEXT NOT NULL CHECK (
    exposure = 'never' OR exposure = 'open' OR exposure = 'left'),
  sequence_number INTEGER,
  expires_at INTEGER,
  transients INTEGER NOT NULL,
  silence TEXT NOT NULL CHECK (
    silence = 'none' OR silence = 'paused' OR silence = 'held' OR silence = 'pinging'),
  pings INTEGER NOT NULL,
  error_code TEXT,
  due_ns INTEGER,
  settled_at INTEGER
) STRICT;

INSERT INTO outbound
  SELECT position, message_id, from_party, to_party, agreement_id, status, attempt, episode,
      exposure, sequence_number, expires_at, transients, silence, 0, error_code, due_ns, settled_at
    FROM outbound_1 ORDER BY position;

DROP TABLE outbound_1;

CREATE INDEX outbound_queued ON outbound (from_party, to_party) WHERE status = 'queued';
CREATE INDEX outbound_by_status ON outbound (status)
  WHERE status <> 'acknowledged' AND status <> 'sent';
CREATE INDEX outbound_expiring ON outbound (expires_at)
  WHERE expires_at IS NOT NULL AND settled_at IS NULL;
CREATE INDEX outbound_settled ON outbound (agreement_id, settled_at)
  WHERE settled_at IS NOT NULL;

ALTER TABLE outbound_message ADD COLUMN time_to_live_at INTEGER;
ALTER TABLE outbound_message ADD COLUMN sync_reply_mode TEXT CHECK (
    sync_reply_mode = 'none' OR sync_reply_mode = 'signalsOnly' OR
    sync_reply_mode = 'responseOnly' OR sync_reply_mode = 'signalsAndResponse');
ALTER TABLE outbound_message ADD COLUMN delivery_receipt_requested TEXT CHECK (
    delivery_receipt_requested = 'None' OR delivery_receipt_requested = 'Unsigned' OR
    delivery_receipt_requested = 'Signed');
ALTER TABLE outbound_message ADD COLUMN acknowledgment TEXT;
-- The key is forgotten with its message, so the message has to know it.
ALTER TABLE outbound_message ADD COLUMN idempotency_key TEXT;

UPDATE outbound_message SET idempotency_key = idempotency.idempotency_key
  FROM idempotency CROSS JOIN outbound USING (message_id)
  WHERE outbound.position = outbound_message.position;

CREATE INDEX outbound_by_reference ON outbound_message (ref_to_message_id)
  WHERE ref_to_message_id IS NOT NULL;

-- `in_flight` holds several MessageIds now, separated by a space, which no identifier has.
-- When a pair was last used is known from now on; of older use, that it was no later than this.
ALTER TABLE sending_pair ADD COLUMN used_at INTEGER NOT NULL DEFAULT 0;

UPDATE sending_pair SET used_at = max(
  coalesce((SELECT max(submitted_at) FROM outbound_message), 0),
  coalesce((SELECT max(settled_at) FROM outbound WHERE settled_at IS NOT NULL), 0));

ALTER TABLE inbound RENAME TO inbound_1;

CREATE TABLE inbound (
  position INTEGER PRIMARY KEY,
  message_id TEXT NOT NULL,
  from_party TEXT NOT NULL,
  to_party TEXT NOT NULL,
  agreement_id TEXT NOT NULL,
  status TEXT NOT NULL CHECK (
    status = 'stored' OR status = 'handed_over' OR status = 'forwarded' OR
    status = 'cancelled'),
  processing TEXT NOT NULL CHECK (
    processing = 'not-started' OR processing = 'in-progress' OR processing = 'complete'),
  digest TEXT NOT NULL,
  received_at INTEGER NOT NULL,
  inbox_offset INTEGER,
  handed_over_at INTEGER,
  has_key INTEGER NOT NULL CHECK (has_key = 0 OR has_key = 1),
  keep_until_at INTEGER,
  CHECK ((status = 'cancelled') OR (status = 'handed_over') = (inbox_offset IS NOT NULL))
) STRICT;

INSERT INTO inbound
  SELECT position, message_id, from_party, to_party, agreement_id, status, processing, digest,
      received_at, inbox_offset, handed_over_at, 1, NULL
    FROM inbound_1 ORDER BY position;

DROP TABLE inbound_1;

CREATE INDEX inbound_stored ON inbound (status) WHERE status = 'stored';
CREATE UNIQUE INDEX inbound_inbox ON inbound (inbox_offset) WHERE inbox_offset IS NOT NULL;
CREATE INDEX inbound_without_key ON inbound (message_id) WHERE has_key = 0;
-- What may be forgotten: never a message that the application has not confirmed (seed 001 §1.1.1).
CREATE INDEX inbound_finished ON inbound (keep_until_at)
  WHERE keep_until_at IS NOT NULL AND status <> 'stored' AND
    (status <> 'handed_over' OR processing <> 'not-started');

ALTER TABLE inbound_message ADD COLUMN time_to_live_at INTEGER;
ALTER TABLE inbound_message ADD COLUMN sync_reply_mode TEXT CHECK (
    sync_reply_mode = 'none' OR sync_reply_mode = 'signalsOnly' OR
    sync_reply_mode = 'responseOnly' OR sync_reply_mode = 'signalsAndResponse');
ALTER TABLE inbound_message ADD COLUMN delivery_receipt_requested TEXT CHECK (
    delivery_receipt_requested = 'None' OR delivery_receipt_requested = 'Unsigned' OR
    delivery_receipt_requested = 'Signed');
ALTER TABLE inbound_message ADD COLUMN acknowledgment TEXT;

-- Up to which Timestamp ids of the pair were forgotten (R-19).
ALTER TABLE receiving_pair ADD COLUMN forgotten_at INTEGER;

-- Messages that their senders took back (R-08). One that never came has no row but this.
CREATE TABLE tombstone (
  message_id TEXT NOT NULL,
  from_party TEXT NOT NULL,
  to_party TEXT NOT NULL,
  cancelled_at INTEGER NOT NULL,
  keep_until_at INTEGER,
  PRIMARY KEY (message_id, from_party, to_party)
) STRICT, WITHOUT ROWID;

CREATE INDEX tombstone_finished ON tombstone (keep_until_at) WHERE keep_until_at IS NOT NULL;

-- By the position of the outbound message.
CREATE TABLE recovery (
  position INTEGER PRIMARY KEY,
  phase TEXT NOT NULL CHECK (
    phase = 'at-rest' OR phase = 'pinging' OR phase = 'asking' OR phase = 'cancelling' OR
    phase = 'asking-again'),
  asked INTEGER NOT NULL,
  inquiry_id TEXT,
  wants_new_version INTEGER NOT NULL CHECK (wants_new_version = 0 OR wants_new_version = 1),
  replaced_by TEXT,
  response TEXT NOT NULL CHECK (
    response = 'not-expected' OR response = 'awaited' OR response = 'overdue' OR
    response = 'received'),
  response_due_at INTEGER,
  status TEXT CHECK (
    status = 'UnAuthorized' OR status = 'NotRecognized' OR status = 'Received' OR
    status = 'Processed' OR status = 'Forwarded'),
  processing TEXT CHECK (
    processing = 'not-started' OR processing = 'in-progress' OR processing = 'complete' OR
    processing = 'not-known'),
  reported_at INTEGER
) STRICT;

CREATE INDEX recovery_at_work ON recovery (phase) WHERE phase <> 'at-rest';
CREATE INDEX recovery_awaited ON recovery (response_due_at) WHERE response = 'awaited';

-- Messages on their way through us as a relay (R-13); a relay may be on several routes.
CREATE TABLE transit (
  position INTEGER PRIMARY KEY,
  message_id TEXT NOT NULL,
  route_id TEXT NOT NULL,
  from_party TEXT NOT NULL,
  to_party TEXT NOT NULL,
  upstream_uri TEXT NOT NULL,
  agreement_id TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  ack_requested TEXT CHECK (
    ack_requested = 'None' OR ack_requested = 'Unsigned' OR ack_requested = 'Signed'),
  digest TEXT NOT NULL,
  hop INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (
    status = 'forwarding' OR status = 'acknowledged' OR status = 'refused' OR
    status = 'sent'),
  copies INTEGER NOT NULL,
  keep_until_at INTEGER,
  UNIQUE (message_id, route_id)
) STRICT;

CREATE INDEX transit_forwarding ON transit (status) WHERE status = 'forwarding';
CREATE INDEX transit_finished ON transit (keep_until_at) WHERE keep_until_at IS NOT NULL;

CREATE TABLE transit_package (
  position INTEGER PRIMARY KEY,
  content_type TEXT NOT NULL,
  lengths TEXT NOT NULL,
  segments BLOB NOT NULL,
  payloads TEXT NOT NULL
) STRICT;

CREATE TABLE transit_body (
  place INTEGER PRIMARY KEY,
  body BLOB NOT NULL
) STRICT;

-- DeliveryFailure notices that have not reached the From Party (R-14).
CREATE TABLE owed_notice (
  number INTEGER PRIMARY KEY,
  message_id TEXT NOT NULL,
  from_party TEXT NOT NULL,
  to_party TEXT NOT NULL,
  agreement_id TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  semantics TEXT NOT NULL CHECK (
    semantics = 'OnceAndOnlyOnce' OR semantics = 'BestEffort' OR
    semantics = 'AtMostOnce' OR semantics = 'ExactlyOnce'),
  severity TEXT NOT NULL CHECK (severity = 'Warning' OR severity = 'Error'),
  reason TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  UNIQUE (message_id, from_party, to_party)
) STRICT;

-- Which payloads are files of the spool: whoever clears the spool asks here, and a message with
-- small payloads has no row. `place` is as in the tables of bodies.
CREATE TABLE spooled (
  digest TEXT NOT NULL,
  way TEXT NOT NULL CHECK (way = 'out' OR way = 'in' OR way = 'through'),
  place INTEGER NOT NULL,
  PRIMARY KEY (way, place)
) STRICT, WITHOUT ROWID;

CREATE INDEX spooled_by_digest ON spooled (digest);

INSERT INTO spooled
  SELECT payload.value ->> 3, 'out', position << 16 | payload.key
    FROM outbound_message, json_each(payloads) AS payload
    WHERE NOT EXISTS (SELECT 1 FROM outbound_body WHERE place = position << 16 | payload.key)
  UNION ALL
  SELECT payload.value ->> 3, 'in', position << 16 | payload.key
    FROM inbound_message, json_each(payloads) AS payload
    WHERE NOT EXISTS (SELECT 1 FROM inbound_body WHERE place = position << 16 | payload.key);
