-- Keys of the API, and who did what with them.

-- A key has 256 random bits, so its SHA-256 is all that is kept of it.
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
) STRICT, WITHOUT ROWID;

-- The rows that operators answer for. Those of jobs have an actor, too, and are not their word.
CREATE INDEX journal_asked ON journal (seq) WHERE event = 'Asked';
