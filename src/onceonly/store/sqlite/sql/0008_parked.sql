-- A stored message that a bug of ours met: set aside until an operator takes it up (R-43). The text
-- is the bug; without one the message is owed to the application like any other.
ALTER TABLE inbound ADD COLUMN parked TEXT;

-- The message that an incident is about, where it is one message's alone.
ALTER TABLE incident ADD COLUMN message_id TEXT;
