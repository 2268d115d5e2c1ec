-- Jobs: messages that are handed over in bulk and released together.

-- Numbers are the paging keys of clients, and a purge must not free them: hence AUTOINCREMENT.
CREATE TABLE job (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  job_id TEXT NOT NULL UNIQUE,
  opened_at INTEGER NOT NULL,
  staged_at INTEGER NOT NULL,
  releases INTEGER NOT NULL,
  released_at INTEGER
) STRICT;

-- One start of whoever hands a job over, and the rows that it staged; `number` is their `run`.
-- `staged` counts its messages that wait for a release. A run that was dropped stays known for a
-- while, over the end of its job, so that a straggler of it stages nothing: hence the job's name.
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

-- What became of each row that a job was given. `ended` is how the message of an accepted row
-- stood when it was purged, so that a job counts it for as long as there is the job.
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

-- What is durable and not sent. The columns of a message are those of outbound_message, where
-- their words are checked: a staged message becomes one as it is.
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
  digest TEXT NOT NULL,
  UNIQUE (run, row)
) STRICT;

-- `place` as in outbound_body.
CREATE TABLE staged_body (
  place INTEGER PRIMARY KEY,
  body BLOB NOT NULL
) STRICT;

CREATE TABLE staged_spooled (
  place INTEGER PRIMARY KEY,
  digest TEXT NOT NULL
) STRICT;

CREATE INDEX staged_spooled_by_digest ON staged_spooled (digest);
