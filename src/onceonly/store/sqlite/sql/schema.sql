-- The sum of the numbered steps, made by python -m onceonly.store.sqlite.migrate
CREATE TABLE store (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  party TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  opened_at INTEGER NOT NULL,
  last_offset INTEGER NOT NULL
, queued INTEGER NOT NULL DEFAULT 0, sending INTEGER NOT NULL DEFAULT 0, in_doubt INTEGER NOT NULL DEFAULT 0, acknowledged INTEGER NOT NULL DEFAULT 0, failed INTEGER NOT NULL DEFAULT 0, expired INTEGER NOT NULL DEFAULT 0, cancelled INTEGER NOT NULL DEFAULT 0, sent INTEGER NOT NULL DEFAULT 0, stored INTEGER NOT NULL DEFAULT 0, handed_over INTEGER NOT NULL DEFAULT 0, forwarded INTEGER NOT NULL DEFAULT 0, cancelled_by_sender INTEGER NOT NULL DEFAULT 0, settled_delivered INTEGER NOT NULL DEFAULT 0, settled_not_delivered INTEGER NOT NULL DEFAULT 0) STRICT;
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
, time_to_live_at INTEGER, sync_reply_mode TEXT CHECK (
    sync_reply_mode = 'none' OR sync_reply_mode = 'signalsOnly' OR
    sync_reply_mode = 'responseOnly' OR sync_reply_mode = 'signalsAndResponse'), delivery_receipt_requested TEXT CHECK (
    delivery_receipt_requested = 'None' OR delivery_receipt_requested = 'Unsigned' OR
    delivery_receipt_requested = 'Signed'), acknowledgment TEXT, idempotency_key TEXT, header_digest TEXT, resend_of TEXT, resent_as TEXT, cpa_header TEXT) STRICT;
CREATE INDEX outbound_by_conversation ON outbound_message (conversation_id);
CREATE TABLE outbound_package (
  position INTEGER PRIMARY KEY,
  content_type TEXT NOT NULL,
  lengths TEXT NOT NULL,
  segments BLOB NOT NULL
) STRICT;
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
  reason TEXT, used_at INTEGER NOT NULL DEFAULT 0, trouble TEXT,
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
  reason TEXT, forgotten_at INTEGER,
  PRIMARY KEY (from_party, to_party)
) STRICT, WITHOUT ROWID;
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
, time_to_live_at INTEGER, sync_reply_mode TEXT CHECK (
    sync_reply_mode = 'none' OR sync_reply_mode = 'signalsOnly' OR
    sync_reply_mode = 'responseOnly' OR sync_reply_mode = 'signalsAndResponse'), delivery_receipt_requested TEXT CHECK (
    delivery_receipt_requested = 'None' OR delivery_receipt_requested = 'Unsigned' OR
    delivery_receipt_requested = 'Signed'), acknowledgment TEXT, cpa_header TEXT) STRICT;
CREATE TABLE inbound_body (
  place INTEGER PRIMARY KEY,
  body BLOB NOT NULL
) STRICT;
CREATE TABLE incident (
  incident_id INTEGER PRIMARY KEY,
  role TEXT NOT NULL CHECK (role = 'sender' OR role = 'receiver'),
  from_party TEXT NOT NULL,
  to_party TEXT NOT NULL,
  reason TEXT NOT NULL,
  opened_at INTEGER NOT NULL,
  resolved_at INTEGER
, message_id TEXT, is_trouble INTEGER NOT NULL DEFAULT 0 CHECK (
    is_trouble = 0 OR is_trouble = 1)) STRICT;
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
, header_digest TEXT, message_timestamp_at INTEGER, time_to_live_at INTEGER, ack_requested TEXT, receipt_requested TEXT, order_number INTEGER, signer TEXT) STRICT;
CREATE INDEX journal_by_message ON journal (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX outbound_by_reference ON outbound_message (ref_to_message_id)
  WHERE ref_to_message_id IS NOT NULL;
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
  keep_until_at INTEGER, is_refused INTEGER NOT NULL DEFAULT 0 CHECK (
    is_refused = 0 OR is_refused = 1), is_withheld INTEGER NOT NULL DEFAULT 0 CHECK (
    is_withheld = 0 OR is_withheld = 1), parked TEXT, header_digest TEXT, ack_requested TEXT CHECK (
    ack_requested = 'None' OR ack_requested = 'Unsigned' OR ack_requested = 'Signed'), repetition INTEGER, first_offset INTEGER, first_handed_over_at INTEGER,
  CHECK ((status = 'cancelled') OR (status = 'handed_over') = (inbox_offset IS NOT NULL))
) STRICT;
CREATE INDEX inbound_stored ON inbound (status) WHERE status = 'stored';
CREATE UNIQUE INDEX inbound_inbox ON inbound (inbox_offset) WHERE inbox_offset IS NOT NULL;
CREATE INDEX inbound_without_key ON inbound (message_id) WHERE has_key = 0;
CREATE TABLE tombstone (
  message_id TEXT NOT NULL,
  from_party TEXT NOT NULL,
  to_party TEXT NOT NULL,
  cancelled_at INTEGER NOT NULL,
  keep_until_at INTEGER,
  PRIMARY KEY (message_id, from_party, to_party)
) STRICT, WITHOUT ROWID;
CREATE INDEX tombstone_finished ON tombstone (keep_until_at) WHERE keep_until_at IS NOT NULL;
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
CREATE TABLE spooled (
  digest TEXT NOT NULL,
  way TEXT NOT NULL CHECK (way = 'out' OR way = 'in' OR way = 'through'),
  place INTEGER NOT NULL,
  PRIMARY KEY (way, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX spooled_by_digest ON spooled (digest);
CREATE TABLE job (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  job_id TEXT NOT NULL UNIQUE,
  opened_at INTEGER NOT NULL,
  staged_at INTEGER NOT NULL,
  releases INTEGER NOT NULL,
  released_at INTEGER
) STRICT;
CREATE TABLE run (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  job_id TEXT NOT NULL,
  name TEXT,
  opened_at INTEGER NOT NULL,
  staged INTEGER NOT NULL,
  released_at INTEGER,
  dropped_at INTEGER
) STRICT;
CREATE INDEX run_of_job ON run (job_id, number);
CREATE INDEX run_unreleased ON run (job_id, number) WHERE released_at IS NULL;
CREATE INDEX run_dropped ON run (dropped_at) WHERE dropped_at IS NOT NULL;
CREATE TABLE job_row (
  job INTEGER NOT NULL,
  row INTEGER NOT NULL,
  run INTEGER NOT NULL,
  outcome TEXT NOT NULL CHECK (
    outcome = 'accepted' OR outcome = 'rejected' OR outcome = 'replayed'),
  message_id TEXT,
  fingerprint TEXT NOT NULL,
  error_code TEXT,
  reason TEXT,
  ended TEXT,
  PRIMARY KEY (job, row)
) STRICT, WITHOUT ROWID;
CREATE INDEX job_row_accepted ON job_row (message_id, job) WHERE outcome = 'accepted';
CREATE INDEX job_row_of_run ON job_row (run, row);
CREATE INDEX job_row_rejected ON job_row (job, row) WHERE outcome = 'rejected';
CREATE INDEX job_row_standing ON job_row (job) WHERE outcome = 'accepted' AND ended IS NULL;
CREATE TABLE staged (
  position INTEGER PRIMARY KEY,
  job INTEGER NOT NULL,
  run INTEGER NOT NULL,
  row INTEGER NOT NULL,
  message_id TEXT NOT NULL,
  agreement_id TEXT NOT NULL,
  from_ids TEXT NOT NULL,
  to_ids TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  service TEXT NOT NULL,
  action TEXT NOT NULL,
  timestamp_at INTEGER NOT NULL,
  semantics TEXT NOT NULL,
  ref_to_message_id TEXT,
  payloads TEXT NOT NULL,
  time_to_live_at INTEGER,
  sync_reply_mode TEXT,
  delivery_receipt_requested TEXT,
  acknowledgment TEXT,
  digest TEXT NOT NULL, cpa_header TEXT,
  UNIQUE (run, row)
) STRICT;
CREATE TABLE staged_body (
  place INTEGER PRIMARY KEY,
  body BLOB NOT NULL
) STRICT;
CREATE TABLE staged_spooled (
  place INTEGER PRIMARY KEY,
  digest TEXT NOT NULL
) STRICT;
CREATE INDEX staged_spooled_by_digest ON staged_spooled (digest);
CREATE INDEX inbound_finished ON inbound (keep_until_at)
  WHERE keep_until_at IS NOT NULL AND status <> 'stored' AND
    (status <> 'handed_over' OR processing = 'complete' OR is_refused = 1);
CREATE INDEX inbound_unfinished ON inbound (inbox_offset)
  WHERE inbox_offset IS NOT NULL AND status = 'handed_over' AND processing <> 'complete'
    AND is_refused = 0;
CREATE TABLE block (
  run INTEGER NOT NULL,
  block INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  PRIMARY KEY (run, block)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX incident_open ON incident (role, from_party, to_party, reason)
  WHERE resolved_at IS NULL AND is_trouble = 0;
CREATE UNIQUE INDEX incident_trouble ON incident (role, from_party, to_party)
  WHERE resolved_at IS NULL AND is_trouble = 1;
CREATE INDEX incident_unresolved ON incident (role, from_party, to_party)
  WHERE resolved_at IS NULL;
CREATE UNIQUE INDEX inbound_by_key ON inbound (message_id, from_party, to_party)
  WHERE has_key = 1;
CREATE TABLE stretch (
  list TEXT NOT NULL,
  number INTEGER NOT NULL,
  earliest_at INTEGER NOT NULL,
  latest_at INTEGER NOT NULL,
  PRIMARY KEY (list, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX outbound_resent ON outbound_message (idempotency_key)
  WHERE idempotency_key IS NOT NULL AND (resent_as IS NOT NULL OR resend_of IS NOT NULL);
CREATE TABLE bulk (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  reason TEXT NOT NULL,
  query TEXT NOT NULL,
  state TEXT NOT NULL
    CHECK (state = 'selecting' OR state = 'prepared' OR state = 'running' OR
      state = 'stopped' OR state = 'done'),
  prepared_at INTEGER NOT NULL,
  started_at INTEGER,
  finished_at INTEGER,
  items INTEGER NOT NULL DEFAULT 0,
  done INTEGER NOT NULL DEFAULT 0,
  skipped INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0
, action TEXT NOT NULL DEFAULT '', started_by TEXT) STRICT;
CREATE INDEX bulk_running ON bulk (number) WHERE state = 'running';
CREATE TABLE bulk_item (
  bulk INTEGER NOT NULL,
  item INTEGER NOT NULL,
  message_id TEXT NOT NULL,
  outcome TEXT CHECK (outcome = 'done' OR outcome = 'skipped' OR outcome = 'failed'),
  name TEXT,
  text TEXT,
  at INTEGER, inbox_offset INTEGER,
  PRIMARY KEY (bulk, item)
) STRICT, WITHOUT ROWID;
CREATE INDEX bulk_item_open ON bulk_item (bulk, item) WHERE outcome IS NULL;
CREATE TABLE webhook (
  id TEXT PRIMARY KEY,
  seq INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE delivery (
  webhook TEXT NOT NULL,
  seq INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (
    state = 'pending' OR state = 'delivered' OR state = 'dead' OR state = 'replay'),
  attempts INTEGER NOT NULL,
  first_at INTEGER NOT NULL,
  last_at INTEGER,
  status_code INTEGER,
  reason TEXT,
  PRIMARY KEY (webhook, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX delivery_by_state ON delivery (webhook, state, seq);
CREATE TABLE api_key (
  name TEXT NOT NULL PRIMARY KEY,
  digest TEXT NOT NULL UNIQUE,
  scopes TEXT NOT NULL,
  application TEXT,
  agreement_ids TEXT NOT NULL,
  made_at INTEGER NOT NULL,
  made_by TEXT NOT NULL,
  revoked_at INTEGER,
  last_used_at INTEGER
, certificate TEXT) STRICT, WITHOUT ROWID;
CREATE INDEX journal_asked ON journal (seq) WHERE event = 'Asked';
CREATE TABLE counter (
  span TEXT NOT NULL CHECK (span = 'minute' OR span = 'hour' OR span = 'total'),
  agreement_id TEXT NOT NULL,
  begins_at INTEGER NOT NULL,
  counts TEXT NOT NULL,
  PRIMARY KEY (span, agreement_id, begins_at)
) STRICT, WITHOUT ROWID;
CREATE INDEX counter_by_time ON counter (span, begins_at);
CREATE TABLE counted (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  seq INTEGER NOT NULL
) STRICT;
CREATE TABLE pair_time (
  from_party TEXT NOT NULL,
  to_party TEXT NOT NULL,
  heard_at INTEGER,
  changed_at INTEGER,
  PRIMARY KEY (from_party, to_party)
) STRICT, WITHOUT ROWID;
CREATE TABLE listed (
  seq INTEGER PRIMARY KEY,
  event TEXT NOT NULL,
  at INTEGER NOT NULL,
  from_party TEXT,
  to_party TEXT
) STRICT;
CREATE INDEX listed_by_event ON listed (event, seq, at, from_party, to_party);
CREATE TABLE alert (
  rule TEXT NOT NULL,
  subject TEXT NOT NULL,
  level TEXT NOT NULL CHECK (level = 'warning' OR level = 'critical'),
  since_at INTEGER NOT NULL,
  seen TEXT NOT NULL,
  expected TEXT NOT NULL,
  move TEXT NOT NULL,
  PRIMARY KEY (rule, subject)
) STRICT, WITHOUT ROWID;
CREATE TABLE alert_change (
  number INTEGER PRIMARY KEY,
  rule TEXT NOT NULL,
  subject TEXT NOT NULL,
  level TEXT CHECK (level = 'warning' OR level = 'critical'),
  at INTEGER NOT NULL,
  seen TEXT NOT NULL
) STRICT;
CREATE TABLE alert_mute (
  rule TEXT PRIMARY KEY,
  until_at INTEGER NOT NULL,
  reason TEXT NOT NULL,
  by TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE alert_look (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  at INTEGER NOT NULL
) STRICT;
CREATE TABLE alert_told (
  way TEXT NOT NULL,
  rule TEXT NOT NULL,
  subject TEXT NOT NULL,
  level TEXT NOT NULL CHECK (level = 'warning' OR level = 'critical'),
  told_at INTEGER NOT NULL,
  PRIMARY KEY (way, rule, subject)
) STRICT, WITHOUT ROWID;
CREATE TABLE outbound (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  message_id TEXT NOT NULL UNIQUE,
  from_party TEXT NOT NULL,
  to_party TEXT NOT NULL,
  agreement_id TEXT NOT NULL,
  status TEXT NOT NULL CHECK (
    status = 'queued' OR status = 'sending' OR status = 'in_doubt' OR
    status = 'acknowledged' OR status = 'failed' OR status = 'expired' OR
    status = 'cancelled' OR status = 'sent' OR status = 'settled_delivered' OR
    status = 'settled_not_delivered'),
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
  settled_at INTEGER,
  has_arrived INTEGER NOT NULL DEFAULT 0 CHECK (has_arrived = 0 OR has_arrived = 1),
  is_certain INTEGER NOT NULL DEFAULT 0 CHECK (is_certain = 0 OR is_certain = 1)
, awaits_in TEXT) STRICT;
CREATE INDEX outbound_expiring ON outbound (expires_at)
  WHERE expires_at IS NOT NULL AND settled_at IS NULL;
CREATE INDEX outbound_settled ON outbound (agreement_id, settled_at)
  WHERE settled_at IS NOT NULL;
CREATE INDEX outbound_delivered ON outbound (status)
  WHERE status = 'acknowledged' OR status = 'sent';
CREATE INDEX outbound_by_status ON outbound (status, position, agreement_id)
  WHERE status <> 'acknowledged' AND status <> 'sent';
CREATE INDEX outbound_by_partner ON outbound (to_party);
CREATE INDEX outbound_undelivered ON outbound (to_party, status)
  WHERE status <> 'acknowledged' AND status <> 'sent' AND status <> 'queued' AND
    status <> 'sending';
CREATE INDEX outbound_unsent ON outbound (agreement_id)
  WHERE settled_at IS NOT NULL AND is_certain = 1 AND exposure = 'never';
CREATE INDEX outbound_by_error ON outbound (error_code) WHERE error_code IS NOT NULL;
CREATE TABLE "notice" (
  number INTEGER PRIMARY KEY,
  message_id TEXT NOT NULL,
  kind TEXT NOT NULL
    CHECK (kind = 'DeliveryFailure' OR kind = 'AcknowledgedLate' OR kind = 'NotProcessed' OR
      kind = 'SettledByOperator'),
  severity TEXT NOT NULL CHECK (severity = 'Warning' OR severity = 'Error'),
  error_code TEXT NOT NULL,
  reason TEXT NOT NULL,
  episode INTEGER NOT NULL,
  at INTEGER NOT NULL,
  UNIQUE (message_id, kind, episode)
) STRICT;
CREATE TABLE agreement_change (
  number INTEGER PRIMARY KEY,
  agreement_id TEXT NOT NULL,
  change TEXT NOT NULL CHECK (change = 'added' OR change = 'changed' OR change = 'removed'),
  at INTEGER NOT NULL,
  by TEXT NOT NULL,
  digest TEXT NOT NULL,
  terms TEXT NOT NULL
) STRICT;
CREATE INDEX agreement_change_of ON agreement_change (agreement_id, number);
CREATE TABLE sending_order (
  from_party TEXT NOT NULL,
  to_party TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status = 'idle' OR status = 'busy' OR status = 'blocked'),
  next_number INTEGER,
  in_turn TEXT,
  number INTEGER,
  began INTEGER NOT NULL CHECK (began = 0 OR began = 1),
  keep_until_at INTEGER,
  PRIMARY KEY (from_party, to_party, conversation_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX sending_order_blocked ON sending_order (from_party, to_party, conversation_id)
  WHERE status = 'blocked';
CREATE INDEX sending_order_over ON sending_order (keep_until_at)
  WHERE status = 'idle' AND keep_until_at IS NOT NULL;
CREATE TABLE receiving_order (
  from_party TEXT NOT NULL,
  to_party TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  expected INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  held INTEGER NOT NULL,
  gap_due_at INTEGER,
  keep_until_at INTEGER,
  PRIMARY KEY (from_party, to_party, conversation_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX receiving_order_gap ON receiving_order (from_party, to_party, conversation_id)
  WHERE held > 0;
CREATE INDEX receiving_order_due ON receiving_order (gap_due_at) WHERE gap_due_at IS NOT NULL;
CREATE INDEX receiving_order_over ON receiving_order (keep_until_at)
  WHERE held = 0 AND keep_until_at IS NOT NULL;
CREATE TABLE order_place (
  from_party TEXT NOT NULL,
  to_party TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  place INTEGER NOT NULL,
  message_id TEXT NOT NULL,
  PRIMARY KEY (from_party, to_party, conversation_id, place)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX order_place_by_key ON order_place (message_id, from_party, to_party);
CREATE INDEX outbound_queued ON outbound (from_party, to_party, awaits_in)
  WHERE status = 'queued';
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
CREATE INDEX evidence_over ON evidence (keep_until_at);
INSERT INTO counted VALUES (1, 0);
PRAGMA user_version = 26;
