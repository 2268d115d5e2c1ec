-- Lists by time, by error and by business key.

-- When the rows of a stretch of a list came: of 1,024 numbers, the last of which was given. A range
-- of time is found here, however often the clock was set back, and no row pays an index for it.
-- What is purged from a stretch makes its bounds too wide, which only costs reading.
CREATE TABLE stretch (
  list TEXT NOT NULL,
  number INTEGER NOT NULL,
  earliest_at INTEGER NOT NULL,
  latest_at INTEGER NOT NULL,
  PRIMARY KEY (list, number)
) STRICT, WITHOUT ROWID;

INSERT INTO stretch
  SELECT 'outbound', position - 1 >> 10, min(submitted_at), max(submitted_at)
    FROM outbound_message
    WHERE position - 1 >> 10 < (SELECT seq FROM sqlite_sequence WHERE name = 'outbound') >> 10
    GROUP BY 2
  UNION ALL
  SELECT 'inbox', inbox_offset - 1 >> 10, min(received_at), max(received_at)
    FROM inbound
    WHERE inbox_offset IS NOT NULL
      AND inbox_offset - 1 >> 10 < (SELECT last_offset FROM store) >> 10
    GROUP BY 2
  UNION ALL
  SELECT 'journal', seq - 1 >> 10, min(at), max(at)
    FROM journal
    WHERE seq - 1 >> 10 < (SELECT max(seq) FROM journal) >> 10
    GROUP BY 2;

-- Neither is ever written for a message that is delivered without an error.
CREATE INDEX outbound_by_error ON outbound (error_code) WHERE error_code IS NOT NULL;

-- Messages whose content was sent again, and those that do it: the table of keys names the last one
-- with its key alone.
CREATE INDEX outbound_resent ON outbound_message (idempotency_key)
  WHERE idempotency_key IS NOT NULL AND (resent_as IS NOT NULL OR resend_of IS NOT NULL);
