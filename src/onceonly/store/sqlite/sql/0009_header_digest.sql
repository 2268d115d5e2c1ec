-- The digest of what a header says, beside that of the payloads (R-37). Messages of before have
-- none, and are known again by their payloads alone.

ALTER TABLE outbound_message ADD COLUMN header_digest TEXT;

-- With what its first copy asked for, so that a repeat that asks for something else can be told.
ALTER TABLE inbound ADD COLUMN header_digest TEXT;
ALTER TABLE inbound ADD COLUMN ack_requested TEXT CHECK (
    ack_requested = 'None' OR ack_requested = 'Unsigned' OR ack_requested = 'Signed');

-- Version 2 of the journal's columns. Rows of before have null here, and hashes without them.
ALTER TABLE journal ADD COLUMN header_digest TEXT;
ALTER TABLE journal ADD COLUMN message_timestamp_at INTEGER;
ALTER TABLE journal ADD COLUMN time_to_live_at INTEGER;
ALTER TABLE journal ADD COLUMN ack_requested TEXT;
ALTER TABLE journal ADD COLUMN receipt_requested TEXT;
