-- What is certain of a message that was not delivered, and under which id its content goes out again
-- (R-41). Of an older failure only what never left is certain now: the rest needs a person's word.

ALTER TABLE outbound ADD COLUMN is_certain INTEGER NOT NULL DEFAULT 0 CHECK (
    is_certain = 0 OR is_certain = 1);

UPDATE outbound SET is_certain = 1
  WHERE (status = 'expired' OR status = 'failed') AND exposure = 'never';

ALTER TABLE outbound_message ADD COLUMN resend_of TEXT;
ALTER TABLE outbound_message ADD COLUMN resent_as TEXT;

UPDATE outbound_message SET resent_as = recovery.replaced_by
  FROM recovery WHERE recovery.position = outbound_message.position;

UPDATE outbound_message SET resend_of = earlier.message_id
  FROM recovery
  JOIN outbound AS earlier ON earlier.position = recovery.position
  JOIN outbound AS later ON later.message_id = recovery.replaced_by
  WHERE later.position = outbound_message.position;

-- Trouble with a partner (R-40): its last cause, and the one incident that it has in a pair.

ALTER TABLE sending_pair ADD COLUMN trouble TEXT;

ALTER TABLE incident ADD COLUMN is_trouble INTEGER NOT NULL DEFAULT 0 CHECK (
    is_trouble = 0 OR is_trouble = 1);

UPDATE sending_pair SET trouble = reason WHERE status = 'suspended' AND reason <> 'operator';

UPDATE incident SET is_trouble = 1
  FROM sending_pair AS pair
  WHERE resolved_at IS NULL AND role = 'sender' AND pair.trouble = incident.reason
    AND pair.from_party = incident.from_party AND pair.to_party = incident.to_party;

DROP INDEX incident_open;
CREATE UNIQUE INDEX incident_open ON incident (role, from_party, to_party, reason)
  WHERE resolved_at IS NULL AND is_trouble = 0;
CREATE UNIQUE INDEX incident_trouble ON incident (role, from_party, to_party)
  WHERE resolved_at IS NULL AND is_trouble = 1;
