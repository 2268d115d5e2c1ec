-- A person's word ends a doubt (R-49): two statuses and a kind of notice.
--
-- A CHECK cannot be altered, so the tables whose words grew are built anew and filled.

ALTER TABLE store ADD COLUMN settled_delivered INTEGER NOT NULL DEFAULT 0;
ALTER TABLE store ADD COLUMN settled_not_delivered INTEGER NOT NULL DEFAULT 0;

ALTER TABLE outbound RENAME TO outbound_19;

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
) STRICT;

INSERT INTO outbound SELECT * FROM outbound_19 ORDER BY position;

-- Positions of messages that are forgotten stay used.
DELETE FROM sqlite_sequence WHERE name = 'outbound';
UPDATE sqlite_sequence SET name = 'outbound' WHERE name = 'outbound_19';

DROP TABLE outbound_19;

CREATE INDEX outbound_queued ON outbound (from_party, to_party) WHERE status = 'queued';
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

CREATE TABLE notice_of_four (
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

INSERT INTO notice_of_four SELECT * FROM notice;

DROP TABLE notice;

ALTER TABLE notice_of_four RENAME TO notice;
