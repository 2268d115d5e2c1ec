-- What the application is done with: complete, or refused. "In progress" may be said of what
-- nobody has read yet, so it ends nothing (seed 001 §1.1.1).

ALTER TABLE inbound ADD COLUMN is_refused INTEGER NOT NULL DEFAULT 0 CHECK (
    is_refused = 0 OR is_refused = 1);

UPDATE inbound SET is_refused = 1
  WHERE inbox_offset IS NOT NULL AND EXISTS (SELECT 1 FROM journal
    WHERE journal.message_id = inbound.message_id AND journal.from_party = inbound.from_party
      AND event = 'ApplicationRefused');

DROP INDEX inbound_finished;
CREATE INDEX inbound_finished ON inbound (keep_until_at)
  WHERE keep_until_at IS NOT NULL AND status <> 'stored' AND
    (status <> 'handed_over' OR processing = 'complete' OR is_refused = 1);

-- What a report about a range has to look at, however much of the range is done.
CREATE INDEX inbound_unfinished ON inbound (inbox_offset)
  WHERE inbox_offset IS NOT NULL AND status = 'handed_over' AND processing <> 'complete'
    AND is_refused = 0;
