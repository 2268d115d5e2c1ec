-- Fewer statements and pages for each message.

-- The number of messages of each status stands in the one row that a commit writes anyway, so that
-- one statement says how many they are and which offset was the last.
ALTER TABLE store ADD COLUMN queued INTEGER NOT NULL DEFAULT 0;
ALTER TABLE store ADD COLUMN sending INTEGER NOT NULL DEFAULT 0;
ALTER TABLE store ADD COLUMN in_doubt INTEGER NOT NULL DEFAULT 0;
ALTER TABLE store ADD COLUMN acknowledged INTEGER NOT NULL DEFAULT 0;
ALTER TABLE store ADD COLUMN failed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE store ADD COLUMN expired INTEGER NOT NULL DEFAULT 0;
ALTER TABLE store ADD COLUMN cancelled INTEGER NOT NULL DEFAULT 0;
ALTER TABLE store ADD COLUMN sent INTEGER NOT NULL DEFAULT 0;
ALTER TABLE store ADD COLUMN stored INTEGER NOT NULL DEFAULT 0;
ALTER TABLE store ADD COLUMN handed_over INTEGER NOT NULL DEFAULT 0;
ALTER TABLE store ADD COLUMN forwarded INTEGER NOT NULL DEFAULT 0;
ALTER TABLE store ADD COLUMN cancelled_by_sender INTEGER NOT NULL DEFAULT 0;

UPDATE store SET
  queued = coalesce((SELECT messages FROM tally WHERE status = 'queued'), 0),
  sending = coalesce((SELECT messages FROM tally WHERE status = 'sending'), 0),
  in_doubt = coalesce((SELECT messages FROM tally WHERE status = 'in_doubt'), 0),
  acknowledged = coalesce((SELECT messages FROM tally WHERE status = 'acknowledged'), 0),
  failed = coalesce((SELECT messages FROM tally WHERE status = 'failed'), 0),
  expired = coalesce((SELECT messages FROM tally WHERE status = 'expired'), 0),
  cancelled = coalesce((SELECT messages FROM tally WHERE status = 'cancelled'), 0),
  sent = coalesce((SELECT messages FROM tally WHERE status = 'sent'), 0),
  stored = coalesce((SELECT messages FROM tally WHERE status = 'stored'), 0),
  handed_over = coalesce((SELECT messages FROM tally WHERE status = 'handed_over'), 0),
  forwarded = coalesce((SELECT messages FROM tally WHERE status = 'forwarded'), 0),
  cancelled_by_sender =
    coalesce((SELECT messages FROM tally WHERE status = 'cancelled_by_sender'), 0);

DROP TABLE tally;

-- The duplicate key (R-01) is an index of the messages and no table of its own: the same tree, but
-- SQLite sees to it in the statement that stores the message.
DROP TABLE inbound_key;

CREATE UNIQUE INDEX inbound_by_key ON inbound (message_id, from_party, to_party)
  WHERE has_key = 1;
