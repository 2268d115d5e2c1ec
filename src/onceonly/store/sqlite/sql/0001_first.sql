-- The first schema. Status words are checked here and tested equal to their Enums; with OR, since
-- SQLite builds a temporary tree for the list of an IN, on every row: five times the cost.
-- Text keys that are looked up per message are WITHOUT ROWID or a single unique index; what is
-- written once per message (header, package, bodies) lies apart from what changes, so that a
-- batch of acknowledgements touches few pages.

CREATE TABLE store (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  party TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  opened_at INTEGER NOT NULL,
  last_offset INTEGER NOT NULL
) STRICT;

-- Messages per status, kept in the transaction that changes a status: counting ten million rows
-- for every look at a dashboard would stall the gateway.
CREATE TABLE tally (
  status TEXT PRIMARY KEY,
  messages INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE outbound (
  position INTEGER PRIMARY KEY,
  message_id TEXT NOT NULL UNIQUE,
  from_party TEXT NOT NULL,
  to_party TEXT NOT NULL,
  agreement_id TEXT NOT NULL,
  status TEXT NOT NULL CHECK (
    status = 'queued' OR status = 'sending' OR status = 'in_doubt' OR
    status = 'acknowledged' OR status = 'failed' OR status = 'expired' OR
    status = 'cancelled'),
  attempt INTEGER NOT NULL,
  episode INTEGER NOT NULL,
  exposure TEXT NOT NULL CHECK (
    exposure = 'never' OR exposure = 'open' OR exposure = 'left'),
  sequence_number INTEGER,
  expires_at INTEGER,
  transients INTEGER NOT NULL,
  silence TEXT NOT NULL CHECK (
    silence = 'none' OR silence = 'paused' OR silence = 'held'),
  error_code TEXT,
  due_ns INTEGER,
  settled_at INTEGER
) STRICT;

CREATE INDEX outbound_queued ON outbound (from_party, to_party) WHERE status = 'queued';
CREATE INDEX outbound_by_status ON outbound (status) WHERE status <> 'acknowledged';
CREATE INDEX outbound_expiring ON outbound (expires_at)
  WHERE expires_at IS NOT NULL AND settled_at IS NULL;

CREATE TABLE outbound_message (
  position INTEGER PRIMARY KEY,
  from_ids TEXT NOT NULL,
  to_ids TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  service TEXT NOT NULL,
  action TEXT NOT NULL,
  timestamp_at INTEGER NOT NULL,
  semantics TEXT NOT NULL CHECK (
    semantics = 'OnceAndOnlyOnce' OR semantics = 'BestEffort' OR
    semantics = 'AtMostOnce' OR semantics = 'ExactlyOnce'),
  ref_to_message_id TEXT,
  payloads TEXT NOT NULL,
  digest TEXT NOT NULL,
  submitted_at INTEGER NOT NULL
) STRICT;

CREATE INDEX outbound_by_conversation ON outbound_message (conversation_id);

CREATE TABLE outbound_package (
  position INTEGER PRIMARY KEY,
  content_type TEXT NOT NULL,
  lengths TEXT NOT NULL,
  segments BLOB NOT NULL
) STRICT;

-- `place` is position * 65536 + number of the part, so that the bodies of a message are a range.
CREATE TABLE outbound_body (
  place INTEGER PRIMARY KEY,
  body BLOB NOT NULL
) STRICT;

CREATE TABLE idempotency (
  idempotency_key TEXT PRIMARY KEY,
  message_id TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sending_pair (
  from_party TEXT NOT NULL,
  to_party TEXT NOT NULL,
  status TEXT NOT NULL CHECK (
    status = 'open' OR status = 'suspended' OR status = 'quarantined'),
  sequence_number INTEGER,
  in_flight TEXT,
  reason TEXT,
  PRIMARY KEY (from_party, to_party)
) STRICT, WITHOUT ROWID;

CREATE TABLE receiving_pair (
  from_party TEXT NOT NULL,
  to_party TEXT NOT NULL,
  status TEXT NOT NULL CHECK (
    status = 'open' OR status = 'suspended' OR status = 'quarantined'),
  sequence_number INTEGER,
  refused_message_id TEXT,
  takes_any_number INTEGER NOT NULL CHECK (takes_any_number = 0 OR takes_any_number = 1),
  reason TEXT,
  PRIMARY KEY (from_party, to_party)
) STRICT, WITHOUT ROWID;

-- The duplicate table (ruling R-01). MessageId first: it tells most keys apart, and the inbox is
-- asked by it alone.
CREATE TABLE inbound_key (
  message_id TEXT NOT NULL,
  from_party TEXT NOT NULL,
  to_party TEXT NOT NULL,
  position INTEGER NOT NULL,
  PRIMARY KEY (message_id, from_party, to_party)
) STRICT, WITHOUT ROWID;

CREATE TABLE inbound (
  position INTEGER PRIMARY KEY,
  message_id TEXT NOT NULL,
  from_party TEXT NOT NULL,
  to_party TEXT NOT NULL,
  agreement_id TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status = 'stored' OR status = 'handed_over'),
  processing TEXT NOT NULL CHECK (
    processing = 'not-started' OR processing = 'in-progress' OR processing = 'complete'),
  digest TEXT NOT NULL,
  received_at INTEGER NOT NULL,
  inbox_offset INTEGER,
  handed_over_at INTEGER,
  CHECK ((status = 'stored') = (inbox_offset IS NULL))
) STRICT;

CREATE INDEX inbound_stored ON inbound (status) WHERE status = 'stored';
CREATE UNIQUE INDEX inbound_inbox ON inbound (inbox_offset) WHERE inbox_offset IS NOT NULL;

CREATE TABLE inbound_message (
  position INTEGER PRIMARY KEY,
  from_ids TEXT NOT NULL,
  to_ids TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  service TEXT NOT NULL,
  action TEXT NOT NULL,
  timestamp_at INTEGER NOT NULL,
  semantics TEXT NOT NULL CHECK (
    semantics = 'OnceAndOnlyOnce' OR semantics = 'BestEffort' OR
    semantics = 'AtMostOnce' OR semantics = 'ExactlyOnce'),
  ref_to_message_id TEXT,
  payloads TEXT NOT NULL,
  response_content_type TEXT,
  response_lengths TEXT,
  response_segments BLOB
) STRICT;

CREATE TABLE inbound_body (
  place INTEGER PRIMARY KEY,
  body BLOB NOT NULL
) STRICT;

CREATE TABLE notice (
  number INTEGER PRIMARY KEY,
  message_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind = 'DeliveryFailure' OR kind = 'AcknowledgedLate'),
  severity TEXT NOT NULL CHECK (severity = 'Warning' OR severity = 'Error'),
  error_code TEXT NOT NULL,
  reason TEXT NOT NULL,
  episode INTEGER NOT NULL,
  at INTEGER NOT NULL,
  UNIQUE (message_id, kind, episode)
) STRICT;

CREATE TABLE incident (
  incident_id INTEGER PRIMARY KEY,
  role TEXT NOT NULL CHECK (role = 'sender' OR role = 'receiver'),
  from_party TEXT NOT NULL,
  to_party TEXT NOT NULL,
  reason TEXT NOT NULL,
  opened_at INTEGER NOT NULL,
  resolved_at INTEGER
) STRICT;

CREATE UNIQUE INDEX incident_open ON incident (role, from_party, to_party, reason)
  WHERE resolved_at IS NULL;

-- The columns of journal.record.Record, in its order. Words of events are not checked here: they
-- grow with SCHEMA_VERSION, and a row is never rewritten.
CREATE TABLE journal (
  party TEXT NOT NULL,
  event TEXT NOT NULL,
  at INTEGER NOT NULL,
  monotonic_ns INTEGER NOT NULL,
  direction TEXT CHECK (direction = 'out' OR direction = 'in'),
  from_party TEXT,
  to_party TEXT,
  message_id TEXT,
  ref_to_message_id TEXT,
  conversation_id TEXT,
  agreement_id TEXT,
  profile TEXT,
  semantics TEXT,
  service TEXT,
  action TEXT,
  sequence_number INTEGER,
  attempt INTEGER,
  transport TEXT,
  endpoint TEXT,
  outcome TEXT,
  status_code INTEGER,
  error_code TEXT,
  severity TEXT,
  size_bytes INTEGER,
  digest TEXT,
  hop INTEGER,
  actor TEXT,
  reason TEXT,
  schema_version INTEGER NOT NULL,
  seq INTEGER PRIMARY KEY,
  store_epoch INTEGER NOT NULL,
  chain_hash TEXT NOT NULL
) STRICT;

CREATE INDEX journal_by_message ON journal (message_id) WHERE message_id IS NOT NULL;
