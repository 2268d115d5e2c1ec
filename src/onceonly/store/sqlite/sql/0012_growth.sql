-- Indexes for questions that looked at every message, or at every incident, that there ever was.

-- The two ends that nearly all messages have; the other words are in outbound_by_status.
CREATE INDEX outbound_delivered ON outbound (status)
  WHERE status = 'acknowledged' OR status = 'sent';

-- With the agreement, which every start asks of all that is under way (a million rows, perhaps).
DROP INDEX outbound_by_status;
CREATE INDEX outbound_by_status ON outbound (status, position, agreement_id)
  WHERE status <> 'acknowledged' AND status <> 'sent';

CREATE INDEX outbound_by_partner ON outbound (to_party);

-- What went wrong, by partner. No message that is delivered is ever in it, so it costs them nothing.
CREATE INDEX outbound_undelivered ON outbound (to_party, status)
  WHERE status <> 'acknowledged' AND status <> 'sent' AND status <> 'queued' AND
    status <> 'sending';

-- What never left, by agreement: an operator sends it again with `partner resume --unsent` (R-41).
CREATE INDEX outbound_unsent ON outbound (agreement_id)
  WHERE settled_at IS NOT NULL AND is_certain = 1 AND exposure = 'never';

CREATE INDEX incident_unresolved ON incident (role, from_party, to_party)
  WHERE resolved_at IS NULL;
