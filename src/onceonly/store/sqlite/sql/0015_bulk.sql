-- Actions on many messages: what was selected, and what became of each message.

-- Numbers are never given twice: an operator may have noted one that is forgotten.
CREATE TABLE bulk (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  action TEXT NOT NULL
    CHECK (action = 'resend' OR action = 'resend-anyway' OR action = 'cancel' OR
      action = 'resume' OR action = 'ask'),
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
) STRICT;

CREATE INDEX bulk_running ON bulk (number) WHERE state = 'running';

CREATE TABLE bulk_item (
  bulk INTEGER NOT NULL,
  item INTEGER NOT NULL,
  message_id TEXT NOT NULL,
  outcome TEXT CHECK (outcome = 'done' OR outcome = 'skipped' OR outcome = 'failed'),
  name TEXT,
  text TEXT,
  at INTEGER,
  PRIMARY KEY (bulk, item)
) STRICT, WITHOUT ROWID;

CREATE INDEX bulk_item_open ON bulk_item (bulk, item) WHERE outcome IS NULL;
