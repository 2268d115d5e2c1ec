-- A third kind of notice: the partner has the message, and could not process it (R-39).

CREATE TABLE notice_of_three (
  number INTEGER PRIMARY KEY,
  message_id TEXT NOT NULL,
  kind TEXT NOT NULL
    CHECK (kind = 'DeliveryFailure' OR kind = 'AcknowledgedLate' OR kind = 'NotProcessed'),
  severity TEXT NOT NULL CHECK (severity = 'Warning' OR severity = 'Error'),
  error_code TEXT NOT NULL,
  reason TEXT NOT NULL,
  episode INTEGER NOT NULL,
  at INTEGER NOT NULL,
  UNIQUE (message_id, kind, episode)
) STRICT;

INSERT INTO notice_of_three SELECT * FROM notice;

DROP TABLE notice;

ALTER TABLE notice_of_three RENAME TO notice;
