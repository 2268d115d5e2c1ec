-- What is wrong now, what was, which rules are muted, and who was told of what.

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

-- The level is NULL where the alert ended.
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

-- When the gateway last looked; its write also shows that the store takes one.
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
