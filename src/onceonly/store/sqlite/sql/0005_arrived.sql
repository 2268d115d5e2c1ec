-- Whether the To Party itself said that it has the message: no doubt of an intermediary's overtakes
-- its receipt. What receipts said before is in the journal.

ALTER TABLE outbound ADD COLUMN has_arrived INTEGER NOT NULL DEFAULT 0 CHECK (
    has_arrived = 0 OR has_arrived = 1);

UPDATE outbound SET has_arrived = 1
  WHERE status = 'acknowledged' AND EXISTS (SELECT 1 FROM journal
    WHERE journal.message_id = outbound.message_id AND journal.from_party = outbound.from_party
      AND event = 'ReceiptReceived');
