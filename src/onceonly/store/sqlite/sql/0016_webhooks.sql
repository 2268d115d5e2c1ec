-- Up to which journal row each webhook was told what happened, and how every delivery went.

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
