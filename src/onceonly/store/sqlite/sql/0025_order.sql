-- The order of conversations (ebms-2.0, MessageOrder): rows only where an order is agreed.

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

-- Where in its conversation a message is that is stored and not handed over yet. Its row goes with
-- the hand-over, so that messages without an order have none.
CREATE TABLE order_place (
  from_party TEXT NOT NULL,
  to_party TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  place INTEGER NOT NULL,
  message_id TEXT NOT NULL,
  PRIMARY KEY (from_party, to_party, conversation_id, place)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX order_place_by_key ON order_place (message_id, from_party, to_party);

-- The conversation whose turn a queued message awaits; NULL: it is in the queue of its pair.
ALTER TABLE outbound ADD COLUMN awaits_in TEXT;

DROP INDEX outbound_queued;
CREATE INDEX outbound_queued ON outbound (from_party, to_party, awaits_in)
  WHERE status = 'queued';

-- Version 3 of the journal's columns. Rows of before have null here, and hashes without it.
ALTER TABLE journal ADD COLUMN order_number INTEGER;
