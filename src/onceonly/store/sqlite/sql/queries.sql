-- Every statement of the SQLite store, by name. Bindings are by position.

-- name: get_store
SELECT party, epoch FROM store

-- name: create_store
INSERT INTO store (only_row, party, epoch, opened_at, last_offset) VALUES (1, ?, 0, 0, 0)

-- name: begin_epoch
UPDATE store SET epoch = ?, opened_at = ?

-- name: forget_deadlines
UPDATE outbound INDEXED BY outbound_by_status SET due_ns = NULL
  WHERE status = 'sending' AND status <> 'acknowledged' AND status <> 'sent'
    AND due_ns IS NOT NULL

-- name: get_epoch
SELECT epoch FROM store

-- name: put_counts
UPDATE store SET last_offset = ?, queued = queued + ?, sending = sending + ?,
    in_doubt = in_doubt + ?, acknowledged = acknowledged + ?, failed = failed + ?,
    expired = expired + ?, cancelled = cancelled + ?, sent = sent + ?,
    settled_delivered = settled_delivered + ?, settled_not_delivered = settled_not_delivered + ?,
    stored = stored + ?, handed_over = handed_over + ?, forwarded = forwarded + ?,
    cancelled_by_sender = cancelled_by_sender + ?

-- name: get_last_offset
SELECT last_offset FROM store

-- name: count_by_status
SELECT queued, sending, in_doubt, acknowledged, failed, expired, cancelled, sent,
    settled_delivered, settled_not_delivered, stored, handed_over, forwarded, cancelled_by_sender
  FROM store

-- name: get_carried
SELECT last_offset,
    (SELECT max(position) IS NOT NULL FROM inbound INDEXED BY inbound_without_key
      WHERE has_key = 0),
    (SELECT min(message_id) IS NOT NULL FROM tombstone)
  FROM store

-- name: add_outbound
INSERT INTO outbound (message_id, from_party, to_party, agreement_id, status, attempt, episode,
    exposure, sequence_number, expires_at, transients, silence, pings, error_code, has_arrived,
    is_certain, due_ns, settled_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: add_outbound_message
INSERT INTO outbound_message (position, from_ids, to_ids, conversation_id, service, action,
    timestamp_at, semantics, ref_to_message_id, payloads, time_to_live_at, sync_reply_mode,
    delivery_receipt_requested, acknowledgment, cpa_header, digest, submitted_at, idempotency_key,
    header_digest)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: put_resent_as
UPDATE outbound_message SET resent_as = ? WHERE position = ?

-- name: put_resend_of
UPDATE outbound_message SET resend_of = ?,
    idempotency_key = (SELECT idempotency_key FROM outbound_message WHERE position = ?)
  WHERE position = ?

-- name: add_outbound_body
INSERT INTO outbound_body VALUES (?, ?)

-- name: add_idempotency_key
INSERT INTO idempotency VALUES (?, ?)

-- name: move_idempotency_key
UPDATE idempotency SET message_id = ?
  WHERE idempotency_key = (SELECT idempotency_key FROM outbound_message WHERE position = ?)

-- name: put_outbound
UPDATE outbound SET status = ?, attempt = ?, episode = ?, exposure = ?, sequence_number = ?,
    expires_at = ?, transients = ?, silence = ?, pings = ?, error_code = ?, has_arrived = ?,
    is_certain = ?, due_ns = ?,
    settled_at = CASE WHEN ?14 IS NULL THEN NULL ELSE coalesce(settled_at, ?14) END
  WHERE position = ?15

-- name: put_package
INSERT OR REPLACE INTO outbound_package VALUES (?, ?, ?, ?)

-- name: find_outbound
SELECT position, message_id, from_party, to_party, agreement_id, status, attempt, episode,
    exposure, sequence_number, expires_at, transients, silence, pings, error_code, has_arrived,
    is_certain, due_ns
  FROM outbound WHERE message_id = ?

-- name: find_outbound_view
SELECT position, message_id, from_party, to_party, agreement_id, status, attempt, episode,
    exposure, sequence_number, expires_at, transients, silence, pings, error_code, has_arrived,
    is_certain, due_ns, settled_at, from_ids, to_ids, conversation_id, service, action,
    timestamp_at, semantics, ref_to_message_id, payloads, time_to_live_at, sync_reply_mode,
    delivery_receipt_requested, acknowledgment, cpa_header, digest, submitted_at, header_digest,
    resend_of,
    resent_as
  FROM outbound JOIN outbound_message USING (position) WHERE message_id = ?

-- name: gather_by_key
SELECT position FROM outbound
  WHERE message_id = (SELECT message_id FROM idempotency WHERE idempotency_key = ?1)
UNION ALL
SELECT position FROM outbound_message INDEXED BY outbound_resent
  WHERE idempotency_key = ?1 AND (resent_as IS NOT NULL OR resend_of IS NOT NULL)
LIMIT ?2

-- name: gather_by_id
SELECT position FROM outbound INDEXED BY sqlite_autoindex_outbound_1
  WHERE message_id >= ? AND message_id < ? LIMIT ?

-- name: gather_settled
SELECT position FROM outbound INDEXED BY outbound_settled
  WHERE agreement_id IN (SELECT value FROM json_each(?)) AND settled_at IS NOT NULL LIMIT ?

-- name: list_ended_agreements
WITH RECURSIVE known (agreement_id) AS (
  SELECT min(agreement_id) FROM outbound INDEXED BY outbound_settled WHERE settled_at IS NOT NULL
  UNION ALL
  SELECT (SELECT min(agreement_id) FROM outbound INDEXED BY outbound_settled
      WHERE agreement_id > known.agreement_id AND settled_at IS NOT NULL)
    FROM known WHERE agreement_id IS NOT NULL)
SELECT agreement_id FROM known WHERE agreement_id IS NOT NULL

-- name: gather_ended
SELECT position FROM outbound INDEXED BY outbound_settled
  WHERE agreement_id IN (SELECT value FROM json_each(?1)) AND settled_at >= ?2 AND settled_at < ?3
    AND settled_at IS NOT NULL
  LIMIT ?4

-- name: gather_waiting
SELECT position, agreement_id FROM outbound INDEXED BY outbound_by_status
  WHERE status IN ('queued', 'sending', 'in_doubt') AND status <> 'acknowledged'
    AND status <> 'sent'
  LIMIT ?

-- name: gather_inbox_by_id
SELECT inbox_offset FROM inbound INDEXED BY inbound_by_key
  WHERE message_id >= ?1 AND message_id < ?2 AND has_key = 1
UNION ALL
SELECT inbox_offset FROM inbound INDEXED BY inbound_without_key
  WHERE message_id >= ?1 AND message_id < ?2 AND has_key = 0
LIMIT ?3

-- name: gather_journal_by_id
SELECT seq FROM journal INDEXED BY journal_by_message
  WHERE message_id >= ? AND message_id < ? LIMIT ?

-- name: gather_notices_by_id
SELECT number FROM notice INDEXED BY sqlite_autoindex_notice_1
  WHERE message_id >= ? AND message_id < ? LIMIT ?

-- name: gather_jobs_by_id
SELECT number FROM job INDEXED BY sqlite_autoindex_job_1 WHERE job_id >= ? AND job_id < ? LIMIT ?

-- name: gather_open_incidents
SELECT incident_id FROM incident INDEXED BY incident_unresolved WHERE resolved_at IS NULL LIMIT ?

-- name: list_stretches
SELECT number FROM stretch WHERE list = ? AND latest_at >= ? AND earliest_at < ? ORDER BY number

-- name: last_stretch
SELECT max(number) FROM stretch WHERE list = ?

-- name: end_stretch_of_messages
INSERT OR REPLACE INTO stretch
  SELECT 'outbound', ?1, min(submitted_at), max(submitted_at) FROM outbound_message
    WHERE position > ?1 << 10 AND position <= ?1 + 1 << 10

-- name: end_stretch_of_inbox
INSERT OR REPLACE INTO stretch
  SELECT 'inbox', ?1, min(received_at), max(received_at) FROM inbound
    WHERE inbox_offset > ?1 << 10 AND inbox_offset <= ?1 + 1 << 10 AND inbox_offset IS NOT NULL

-- name: end_stretch_of_journal
INSERT OR REPLACE INTO stretch
  SELECT 'journal', ?1, min(at), max(at) FROM journal
    WHERE seq > ?1 << 10 AND seq <= ?1 + 1 << 10

-- name: find_message_id_by_key
SELECT message_id FROM idempotency WHERE idempotency_key = ?

-- name: get_package
SELECT content_type, lengths, segments
  FROM outbound JOIN outbound_package USING (position) WHERE message_id = ?

-- name: list_payloads
SELECT position, payloads
  FROM outbound JOIN outbound_message USING (position) WHERE message_id = ?

-- name: list_outbound_bodies
SELECT place & 65535, body FROM outbound_body WHERE place BETWEEN ?1 << 16 AND ?1 << 16 | 65535

-- name: find_next_queued
SELECT position, message_id, from_party, to_party, agreement_id, status, attempt, episode,
    exposure, sequence_number, expires_at, transients, silence, pings, error_code, has_arrived,
    is_certain, due_ns
  FROM outbound
  WHERE from_party = ? AND to_party = ? AND awaits_in IS NULL AND status = 'queued'
  ORDER BY position LIMIT 1

-- name: list_in_flight
WITH RECURSIVE turn (message_id, rest) AS (
  SELECT NULL, in_flight || ' ' FROM sending_pair WHERE status = 'open' AND in_flight IS NOT NULL
  UNION ALL
  SELECT substr(rest, 1, instr(rest, ' ') - 1), substr(rest, instr(rest, ' ') + 1)
    FROM turn WHERE rest <> '')
SELECT position, message_id, from_party, to_party, agreement_id, status, attempt, episode,
    exposure, sequence_number, expires_at, transients, silence, pings, error_code, has_arrived,
    is_certain, due_ns
  FROM turn CROSS JOIN outbound USING (message_id) ORDER BY position

-- name: count_concerned
SELECT status, count(*) FROM outbound INDEXED BY outbound_queued
  WHERE from_party = ?1 AND to_party = ?2 AND status = 'queued' GROUP BY status
UNION ALL
SELECT status, count(*) FROM outbound INDEXED BY outbound_by_status
  WHERE status = 'sending' AND status <> 'acknowledged' AND status <> 'sent'
    AND from_party = ?1 AND to_party = ?2
  GROUP BY status
UNION ALL
SELECT status, count(*) FROM outbound INDEXED BY outbound_undelivered
  WHERE to_party = ?2 AND from_party = ?1 AND status <> 'acknowledged' AND status <> 'sent'
    AND status <> 'queued' AND status <> 'sending' AND (settled_at IS NULL OR settled_at >= ?3)
  GROUP BY status

-- name: list_unsent
SELECT position, message_id, from_party, to_party, agreement_id, status, attempt, episode,
    exposure, sequence_number, expires_at, transients, silence, pings, error_code, has_arrived,
    is_certain, due_ns
  FROM outbound INDEXED BY outbound_unsent CROSS JOIN outbound_message USING (position)
  WHERE agreement_id = ? AND settled_at IS NOT NULL AND is_certain = 1 AND exposure = 'never'
    AND error_code <> 'Unknown' AND resent_as IS NULL
  ORDER BY position LIMIT ?

-- name: list_waiting_pairs
WITH RECURSIVE waiting (from_party, to_party) AS (
  SELECT * FROM (SELECT from_party, to_party FROM outbound INDEXED BY outbound_queued
    WHERE status = 'queued' ORDER BY from_party, to_party LIMIT 1)
  UNION ALL
  SELECT later.from_party, later.to_party FROM waiting CROSS JOIN outbound AS later
    ON later.position = coalesce(
      (SELECT position FROM outbound AS one INDEXED BY outbound_queued
        WHERE one.status = 'queued' AND one.from_party = waiting.from_party
          AND one.to_party > waiting.to_party ORDER BY one.to_party LIMIT 1),
      (SELECT position FROM outbound AS one INDEXED BY outbound_queued
        WHERE one.status = 'queued' AND one.from_party > waiting.from_party
        ORDER BY one.from_party, one.to_party LIMIT 1)))
SELECT waiting.from_party, waiting.to_party
  FROM waiting LEFT JOIN sending_pair USING (from_party, to_party)
  WHERE coalesce(sending_pair.status, 'open') = 'open'
  ORDER BY waiting.from_party, waiting.to_party

-- name: list_overdue
SELECT position, message_id, from_party, to_party, agreement_id, status, attempt, episode,
    exposure, sequence_number, expires_at, transients, silence, pings, error_code, has_arrived,
    is_certain, due_ns
  FROM outbound INDEXED BY outbound_expiring
  WHERE expires_at < ? AND expires_at IS NOT NULL AND settled_at IS NULL
  ORDER BY expires_at, position LIMIT ?

-- name: list_unsettled_agreements
SELECT agreement_id FROM (
  SELECT DISTINCT agreement_id FROM outbound INDEXED BY outbound_by_status
    WHERE status IN ('queued', 'sending') AND status <> 'acknowledged' AND status <> 'sent')
UNION SELECT agreement_id FROM outbound INDEXED BY outbound_by_status
  WHERE status = 'in_doubt' AND status <> 'acknowledged' AND status <> 'sent'
    AND settled_at IS NULL
UNION SELECT agreement_id
  FROM recovery INDEXED BY recovery_at_work CROSS JOIN outbound USING (position)
  WHERE phase <> 'at-rest'
UNION SELECT agreement_id
  FROM recovery INDEXED BY recovery_awaited CROSS JOIN outbound USING (position)
  WHERE response = 'awaited'
UNION SELECT agreement_id FROM inbound WHERE status = 'stored' ORDER BY 1

-- name: get_sending_pair
SELECT status, sequence_number, in_flight, reason, trouble FROM sending_pair
  WHERE from_party = ? AND to_party = ?

-- name: put_sending_pair
INSERT OR REPLACE INTO sending_pair (from_party, to_party, status, sequence_number, in_flight,
    reason, trouble, used_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- name: get_receiving_pair
SELECT status, sequence_number, refused_message_id, takes_any_number, reason, forgotten_at
  FROM receiving_pair
  WHERE from_party = ? AND to_party = ?

-- name: put_receiving_pair
INSERT OR REPLACE INTO receiving_pair VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- name: put_forgotten
INSERT INTO receiving_pair VALUES (?, ?, 'open', NULL, NULL, 0, NULL, ?)
  ON CONFLICT (from_party, to_party)
  DO UPDATE SET forgotten_at = max(coalesce(forgotten_at, excluded.forgotten_at), excluded.forgotten_at)

-- name: list_pairs
SELECT 'sender', from_party, to_party, status, reason, sequence_number, in_flight,
    (SELECT count(*) FROM outbound WHERE outbound.from_party = sending_pair.from_party
      AND outbound.to_party = sending_pair.to_party AND outbound.status = 'queued'), trouble
  FROM sending_pair
UNION ALL
SELECT 'receiver', from_party, to_party, status, reason, sequence_number, NULL, 0, NULL
  FROM receiving_pair
ORDER BY 1 DESC, 2, 3

-- name: add_inbound
INSERT INTO inbound VALUES (NULL, ?, ?, ?, ?, ?, 'not-started', ?, ?, ?, ?, ?, ?, 0, 0, NULL, ?,
    ?, NULL, NULL, NULL)

-- name: add_inbound_message
INSERT INTO inbound_message (position, from_ids, to_ids, conversation_id, service, action,
    timestamp_at, semantics, ref_to_message_id, payloads, time_to_live_at, sync_reply_mode,
    delivery_receipt_requested, acknowledgment, cpa_header, response_content_type, response_lengths,
    response_segments)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: add_inbound_body
INSERT INTO inbound_body VALUES (?, ?)

-- name: find_inbound
SELECT position, message_id, from_party, to_party, agreement_id, status, processing, digest,
    received_at, is_withheld, parked, header_digest, ack_requested
  FROM inbound INDEXED BY inbound_by_key
  WHERE message_id = ? AND from_party = ? AND to_party = ? AND has_key = 1

-- name: find_inbound_without_key
SELECT position, message_id, from_party, to_party, agreement_id, status, processing, digest,
    received_at, is_withheld, parked, header_digest, ack_requested
  FROM inbound INDEXED BY inbound_without_key
  WHERE message_id = ? AND from_party = ? AND to_party = ? AND has_key = 0
    AND first_offset IS NULL
  ORDER BY position DESC LIMIT 1

-- name: find_inbound_message
SELECT message_id, agreement_id, from_ids, to_ids, conversation_id, service, action,
    timestamp_at, semantics, ref_to_message_id, payloads, time_to_live_at, sync_reply_mode,
    delivery_receipt_requested, acknowledgment, cpa_header
  FROM inbound INDEXED BY inbound_by_key CROSS JOIN inbound_message USING (position)
  WHERE message_id = ? AND from_party = ? AND to_party = ? AND has_key = 1

-- name: find_inbound_position
SELECT position, status, inbox_offset FROM inbound INDEXED BY inbound_by_key
  WHERE message_id = ? AND from_party = ? AND to_party = ? AND has_key = 1

-- name: find_position_without_key
SELECT position, status, inbox_offset FROM inbound INDEXED BY inbound_without_key
  WHERE message_id = ? AND from_party = ? AND to_party = ? AND has_key = 0
    AND first_offset IS NULL
  ORDER BY position DESC LIMIT 1

-- name: get_response
SELECT response_content_type, response_lengths, response_segments
  FROM inbound INDEXED BY inbound_by_key CROSS JOIN inbound_message USING (position)
  WHERE message_id = ? AND from_party = ? AND to_party = ? AND has_key = 1
    AND response_segments IS NOT NULL

-- name: put_response
UPDATE inbound_message
  SET response_content_type = ?, response_lengths = ?, response_segments = ? WHERE position = ?

-- name: hand_over
UPDATE inbound SET status = 'handed_over', inbox_offset = ?, handed_over_at = ?
  WHERE position = ?

-- name: find_repeated
SELECT position,
    coalesce((SELECT max(other.repetition) FROM inbound AS other INDEXED BY inbound_without_key
      WHERE other.message_id = it.message_id AND other.has_key = 0
        AND other.first_offset = coalesce(it.first_offset, it.inbox_offset)), it.repetition, 0)
  FROM inbound AS it WHERE inbox_offset = ? AND inbox_offset IS NOT NULL

-- name: repeat_inbound
INSERT INTO inbound (message_id, from_party, to_party, agreement_id, status, processing, digest,
    received_at, inbox_offset, handed_over_at, has_key, keep_until_at, header_digest, ack_requested,
    repetition, first_offset, first_handed_over_at)
  SELECT message_id, from_party, to_party, agreement_id, 'handed_over', 'not-started', digest,
      received_at, ?2, ?3, 0, keep_until_at, header_digest, ack_requested, ?4,
      coalesce(first_offset, inbox_offset), coalesce(first_handed_over_at, handed_over_at)
    FROM inbound WHERE position = ?1

-- name: repeat_inbound_message
INSERT INTO inbound_message (position, from_ids, to_ids, conversation_id, service, action,
    timestamp_at, semantics, ref_to_message_id, payloads, time_to_live_at, sync_reply_mode,
    delivery_receipt_requested, acknowledgment, cpa_header)
  SELECT ?2, from_ids, to_ids, conversation_id, service, action, timestamp_at, semantics,
      ref_to_message_id, payloads, time_to_live_at, sync_reply_mode, delivery_receipt_requested,
      acknowledgment, cpa_header
    FROM inbound_message WHERE position = ?1

-- name: repeat_inbound_bodies
INSERT INTO inbound_body
  SELECT ?2 << 16 | (place & 65535), body FROM inbound_body
    WHERE place BETWEEN ?1 << 16 AND ?1 << 16 | 65535

-- name: repeat_inbound_spooled
INSERT INTO spooled
  SELECT digest, way, ?2 << 16 | (place & 65535) FROM spooled
    WHERE way = 'in' AND place BETWEEN ?1 << 16 AND ?1 << 16 | 65535

-- name: put_processing
UPDATE inbound SET processing = ? WHERE inbox_offset = ? AND inbox_offset IS NOT NULL

-- name: put_withheld
UPDATE inbound SET is_withheld = ? WHERE position = ?

-- name: put_parked
UPDATE inbound SET parked = ? WHERE position = ?

-- name: put_refused
UPDATE inbound SET is_refused = 1 WHERE inbox_offset = ? AND inbox_offset IS NOT NULL

-- name: find_inbox_standing
SELECT status, processing, is_refused
  FROM inbound WHERE inbox_offset = ? AND inbox_offset IS NOT NULL

-- name: list_stored
SELECT position, message_id, from_party, to_party, agreement_id, status, processing, digest,
    received_at, is_withheld, parked, header_digest, ack_requested
  FROM inbound WHERE status = 'stored' AND parked IS NULL ORDER BY position

-- name: list_inbox
SELECT inbox_offset, message_id, agreement_id, received_at, handed_over_at, processing, digest,
    header_digest, repetition, first_offset, first_handed_over_at, from_ids, to_ids,
    conversation_id, service, action, timestamp_at, semantics, ref_to_message_id, payloads,
    time_to_live_at, sync_reply_mode, delivery_receipt_requested, acknowledgment, cpa_header
  FROM inbound CROSS JOIN inbound_message USING (position)
  WHERE inbox_offset > ? AND inbox_offset IS NOT NULL AND status = 'handed_over'
  ORDER BY inbox_offset LIMIT ?

-- name: count_offsets
SELECT count(*) FROM inbound
  WHERE inbox_offset > ? AND inbox_offset <= ? AND inbox_offset IS NOT NULL

-- name: list_not_complete
SELECT inbox_offset, message_id, agreement_id, received_at, handed_over_at, processing, digest,
    header_digest, repetition, first_offset, first_handed_over_at, from_ids, to_ids,
    conversation_id, service, action, timestamp_at, semantics, ref_to_message_id, payloads,
    time_to_live_at, sync_reply_mode, delivery_receipt_requested, acknowledgment, cpa_header
  FROM inbound INDEXED BY inbound_unfinished CROSS JOIN inbound_message USING (position)
  WHERE inbox_offset > ? AND inbox_offset <= ? AND inbox_offset IS NOT NULL AND status = 'handed_over'
    AND processing <> 'complete' AND is_refused = 0
  ORDER BY inbox_offset LIMIT ?

-- name: list_not_started
SELECT inbox_offset, message_id, agreement_id, received_at, handed_over_at, processing, digest,
    header_digest, repetition, first_offset, first_handed_over_at, from_ids, to_ids,
    conversation_id, service, action, timestamp_at, semantics, ref_to_message_id, payloads,
    time_to_live_at, sync_reply_mode, delivery_receipt_requested, acknowledgment, cpa_header
  FROM inbound INDEXED BY inbound_unfinished CROSS JOIN inbound_message USING (position)
  WHERE inbox_offset > ? AND inbox_offset <= ? AND inbox_offset IS NOT NULL AND status = 'handed_over'
    AND processing <> 'complete' AND is_refused = 0 AND processing = 'not-started'
  ORDER BY inbox_offset LIMIT ?

-- name: find_inbox_item
SELECT inbox_offset, message_id, agreement_id, received_at, handed_over_at, processing, digest,
    header_digest, repetition, first_offset, first_handed_over_at, from_ids, to_ids,
    conversation_id, service, action, timestamp_at, semantics, ref_to_message_id, payloads,
    time_to_live_at, sync_reply_mode, delivery_receipt_requested, acknowledgment, cpa_header
  FROM inbound CROSS JOIN inbound_message USING (position)
  WHERE inbox_offset = ? AND inbox_offset IS NOT NULL

-- name: list_inbox_offsets
SELECT max(inbox_offset) AS newest FROM (
  SELECT inbox_offset, inbox_offset AS place
    FROM inbound INDEXED BY inbound_by_key
    WHERE message_id = ?1 AND has_key = 1 AND inbox_offset IS NOT NULL
  UNION ALL
  SELECT inbox_offset, coalesce(first_offset, inbox_offset)
    FROM inbound INDEXED BY inbound_without_key
    WHERE message_id = ?1 AND has_key = 0 AND inbox_offset IS NOT NULL)
  GROUP BY place ORDER BY newest LIMIT ?2

-- name: find_newest_offset
SELECT max(other.inbox_offset)
  FROM inbound AS it CROSS JOIN inbound AS other INDEXED BY inbound_without_key
  WHERE it.inbox_offset = ? AND it.inbox_offset IS NOT NULL
    AND other.message_id = it.message_id AND other.has_key = 0
    AND other.first_offset = coalesce(it.first_offset, it.inbox_offset)

-- name: list_inbox_payloads
SELECT position, payloads
  FROM inbound CROSS JOIN inbound_message USING (position)
  WHERE inbox_offset = ? AND inbox_offset IS NOT NULL

-- name: list_inbound_bodies
SELECT place & 65535, body FROM inbound_body WHERE place BETWEEN ?1 << 16 AND ?1 << 16 | 65535

-- name: add_notice
INSERT INTO notice VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (message_id, kind, episode) DO NOTHING

-- name: list_notices
SELECT number, message_id, kind, severity, error_code, reason, episode, at
  FROM notice WHERE number > ? ORDER BY number LIMIT ?

-- name: open_incident
INSERT INTO incident (role, from_party, to_party, reason, opened_at, message_id)
  VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (role, from_party, to_party, reason) WHERE resolved_at IS NULL AND is_trouble = 0
  DO NOTHING

-- name: open_trouble
INSERT INTO incident (role, from_party, to_party, reason, opened_at, is_trouble)
  VALUES (?, ?, ?, ?, ?, 1)
  ON CONFLICT (role, from_party, to_party) WHERE resolved_at IS NULL AND is_trouble = 1
  DO UPDATE SET reason = excluded.reason

-- name: resolve_incidents
UPDATE incident SET resolved_at = ?
  WHERE role = ? AND from_party = ? AND to_party = ? AND resolved_at IS NULL
    AND (message_id IS NULL OR ?)

-- name: resolve_trouble
UPDATE incident SET resolved_at = ?
  WHERE role = ? AND from_party = ? AND to_party = ? AND resolved_at IS NULL AND is_trouble = 1

-- name: resolve_parked
UPDATE incident SET resolved_at = ?
  WHERE role = ? AND from_party = ? AND to_party = ? AND resolved_at IS NULL AND message_id = ?

-- name: resolve_about
UPDATE incident INDEXED BY incident_unresolved SET resolved_at = ?1
  WHERE role = ?2 AND from_party = ?3 AND to_party = ?4 AND resolved_at IS NULL
    AND is_trouble = 0 AND substr(reason, -length(?5)) = ?5

-- name: resolve_reason
UPDATE incident SET resolved_at = ?
  WHERE role = ? AND from_party = ? AND to_party = ? AND reason = ? AND resolved_at IS NULL
    AND is_trouble = 0

-- name: list_open_incidents
SELECT incident_id, role, from_party, to_party, reason, opened_at, resolved_at, message_id,
    is_trouble
  FROM incident INDEXED BY incident_unresolved WHERE resolved_at IS NULL ORDER BY incident_id

-- name: list_incidents
SELECT incident_id, role, from_party, to_party, reason, opened_at, resolved_at, message_id,
    is_trouble
  FROM incident ORDER BY incident_id

-- name: append
INSERT INTO journal VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
    ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?36, ?37, ?38, ?39, ?29, ?30, ?31, ?32,
    ?33, ?34, ?35)

-- name: get_journal_end
SELECT seq, chain_hash FROM journal ORDER BY seq DESC LIMIT 1

-- name: list_journal
SELECT party, event, at, monotonic_ns, direction, from_party, to_party, message_id,
    ref_to_message_id, conversation_id, agreement_id, profile, semantics, service, action,
    sequence_number, attempt, transport, endpoint, outcome, status_code, error_code, severity,
    size_bytes, digest, hop, actor, reason, header_digest, message_timestamp_at, time_to_live_at,
    ack_requested, receipt_requested, order_number, signer, schema_version, seq, store_epoch,
    chain_hash
  FROM journal WHERE seq > ? ORDER BY seq LIMIT ?

-- name: list_asked
SELECT party, event, at, monotonic_ns, direction, from_party, to_party, message_id,
    ref_to_message_id, conversation_id, agreement_id, profile, semantics, service, action,
    sequence_number, attempt, transport, endpoint, outcome, status_code, error_code, severity,
    size_bytes, digest, hop, actor, reason, header_digest, message_timestamp_at, time_to_live_at,
    ack_requested, receipt_requested, order_number, signer, schema_version, seq, store_epoch,
    chain_hash
  FROM journal INDEXED BY journal_asked WHERE event = 'Asked' AND seq < ? ORDER BY seq DESC LIMIT ?

-- name: list_journal_of
SELECT party, event, at, monotonic_ns, direction, from_party, to_party, message_id,
    ref_to_message_id, conversation_id, agreement_id, profile, semantics, service, action,
    sequence_number, attempt, transport, endpoint, outcome, status_code, error_code, severity,
    size_bytes, digest, hop, actor, reason, header_digest, message_timestamp_at, time_to_live_at,
    ack_requested, receipt_requested, order_number, signer, schema_version, seq, store_epoch,
    chain_hash
  FROM journal WHERE message_id = ? ORDER BY seq

-- name: list_outcomes
SELECT party, event, at, monotonic_ns, direction, from_party, to_party, message_id,
    ref_to_message_id, conversation_id, agreement_id, profile, semantics, service, action,
    sequence_number, attempt, transport, endpoint, outcome, status_code, error_code, severity,
    size_bytes, digest, hop, actor, reason, header_digest, message_timestamp_at, time_to_live_at,
    ack_requested, receipt_requested, order_number, signer, schema_version, seq, store_epoch,
    chain_hash
  FROM journal WHERE message_id = ? AND (event = 'Transmitted' OR event = 'PingSent')
  ORDER BY seq DESC LIMIT ?

-- name: is_cancelled
SELECT 1 FROM tombstone WHERE message_id = ? AND from_party = ? AND to_party = ?

-- name: put_tombstone
INSERT INTO tombstone VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (message_id, from_party, to_party)
  DO UPDATE SET keep_until_at = max(keep_until_at, excluded.keep_until_at)

-- name: cancel_inbound
UPDATE inbound SET status = 'cancelled' WHERE position = ?

-- name: find_first_response
SELECT message_id FROM outbound_message INDEXED BY outbound_by_reference
    CROSS JOIN outbound USING (position) CROSS JOIN outbound_package USING (position)
  WHERE ref_to_message_id = ? AND to_party = ?
    AND status NOT IN ('failed', 'expired', 'cancelled', 'settled_not_delivered')
  ORDER BY position LIMIT 1

-- name: find_last_response
SELECT message_id FROM outbound_message INDEXED BY outbound_by_reference
    CROSS JOIN outbound USING (position) CROSS JOIN outbound_package USING (position)
  WHERE ref_to_message_id = ? AND to_party = ?
    AND status NOT IN ('failed', 'expired', 'cancelled', 'settled_not_delivered')
  ORDER BY position DESC LIMIT 1

-- name: get_recovery
SELECT phase, asked, inquiry_id, wants_new_version, replaced_by, response, response_due_at,
    recovery.status, processing, reported_at
  FROM outbound CROSS JOIN recovery USING (position) WHERE message_id = ?

-- name: put_recovery
INSERT OR REPLACE INTO recovery VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: list_recovering
SELECT message_id FROM recovery INDEXED BY recovery_at_work CROSS JOIN outbound USING (position)
  WHERE phase <> 'at-rest' ORDER BY position

-- name: list_responses_due
SELECT message_id FROM recovery INDEXED BY recovery_awaited CROSS JOIN outbound USING (position)
  WHERE response_due_at < ? AND response = 'awaited'
  ORDER BY response_due_at, position LIMIT ?

-- name: add_transit
INSERT INTO transit VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: add_transit_package
INSERT INTO transit_package VALUES (?, ?, ?, ?, ?)

-- name: add_transit_body
INSERT INTO transit_body VALUES (?, ?)

-- name: put_transit
UPDATE transit SET upstream_uri = ?, agreement_id = ?, conversation_id = ?, ack_requested = ?,
    digest = ?, hop = ?, status = ?, copies = ?
  WHERE message_id = ? AND route_id = ?

-- name: find_transit
SELECT message_id, route_id, from_party, to_party, upstream_uri, agreement_id, conversation_id,
    ack_requested, digest, hop, status, copies
  FROM transit WHERE message_id = ? AND route_id = ?

-- name: list_forwarding
SELECT message_id, route_id, from_party, to_party, upstream_uri, agreement_id, conversation_id,
    ack_requested, digest, hop, status, copies
  FROM transit INDEXED BY transit_forwarding WHERE status = 'forwarding' ORDER BY position

-- name: get_transit_package
SELECT content_type, lengths, segments
  FROM transit CROSS JOIN transit_package USING (position) WHERE message_id = ? AND route_id = ?

-- name: list_transit_payloads
SELECT position, payloads
  FROM transit CROSS JOIN transit_package USING (position) WHERE message_id = ? AND route_id = ?

-- name: list_transit_bodies
SELECT place & 65535, body FROM transit_body WHERE place BETWEEN ?1 << 16 AND ?1 << 16 | 65535

-- name: put_owed_notice
INSERT INTO owed_notice VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (message_id, from_party, to_party)
  DO UPDATE SET agreement_id = excluded.agreement_id, conversation_id = excluded.conversation_id,
    semantics = excluded.semantics, severity = excluded.severity, reason = excluded.reason,
    attempts = excluded.attempts

-- name: remove_owed_notice
DELETE FROM owed_notice WHERE message_id = ? AND from_party = ? AND to_party = ?

-- name: find_owed_notice
SELECT message_id, from_party, to_party, agreement_id, conversation_id, semantics, severity,
    reason, attempts
  FROM owed_notice WHERE message_id = ? AND from_party = ? AND to_party = ?

-- name: list_owed_notices
SELECT message_id, from_party, to_party, agreement_id, conversation_id, semantics, severity,
    reason, attempts
  FROM owed_notice ORDER BY number

-- name: add_spooled
INSERT INTO spooled VALUES (?, ?, ?)

-- name: is_spooled
SELECT 1 FROM spooled WHERE digest = ?1
UNION ALL SELECT 1 FROM staged_spooled WHERE digest = ?1 LIMIT 1

-- name: list_spooled_digests
SELECT digest FROM spooled UNION SELECT digest FROM staged_spooled

-- name: list_finished_inbound
SELECT position, status, from_party, to_party, timestamp_at
  FROM inbound INDEXED BY inbound_finished CROSS JOIN inbound_message USING (position)
  WHERE keep_until_at < ? AND keep_until_at IS NOT NULL AND status <> 'stored' AND
    (status <> 'handed_over' OR processing = 'complete' OR is_refused = 1) AND
    (status <> 'forwarded' OR NOT EXISTS (
      SELECT 1 FROM outbound AS twin WHERE twin.message_id = inbound.message_id
        AND twin.from_party = inbound.from_party AND twin.to_party = inbound.to_party
    ) AND NOT EXISTS (
      SELECT 1 FROM owed_notice AS owed WHERE owed.message_id = inbound.message_id
        AND owed.from_party = inbound.from_party AND owed.to_party = inbound.to_party
    ))
  ORDER BY keep_until_at, position LIMIT ?

-- name: list_finished_tombstones
SELECT message_id, from_party, to_party, cancelled_at
  FROM tombstone INDEXED BY tombstone_finished
  WHERE keep_until_at < ? AND keep_until_at IS NOT NULL
  ORDER BY keep_until_at, message_id, from_party, to_party LIMIT ?

-- name: list_finished_transits
SELECT position FROM transit INDEXED BY transit_finished
  WHERE keep_until_at < ? AND keep_until_at IS NOT NULL ORDER BY keep_until_at, position LIMIT ?

-- name: list_settled
SELECT position, message_id, status FROM outbound INDEXED BY outbound_settled
  WHERE agreement_id = ? AND settled_at < ? AND settled_at IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM recovery WHERE recovery.position = outbound.position
      AND (phase <> 'at-rest' OR response = 'awaited'))
    AND NOT EXISTS (SELECT 1 FROM outbound_message JOIN sending_order
      ON sending_order.from_party = outbound.from_party
        AND sending_order.to_party = outbound.to_party
        AND sending_order.conversation_id = outbound_message.conversation_id
      WHERE outbound_message.position = outbound.position AND in_turn = outbound.message_id)
  ORDER BY settled_at, position LIMIT ?

-- name: forget_idempotency_key
DELETE FROM idempotency WHERE (idempotency_key, message_id) =
  (SELECT idempotency_key, message_id FROM outbound_message JOIN outbound USING (position)
    WHERE position = ?)

-- name: forget_outbound
DELETE FROM outbound WHERE position = ?

-- name: forget_outbound_message
DELETE FROM outbound_message WHERE position = ?

-- name: forget_outbound_package
DELETE FROM outbound_package WHERE position = ?

-- name: forget_outbound_bodies
DELETE FROM outbound_body WHERE place BETWEEN ?1 << 16 AND ?1 << 16 | 65535

-- name: forget_outbound_spooled
DELETE FROM spooled WHERE way = 'out' AND place BETWEEN ?1 << 16 AND ?1 << 16 | 65535

-- name: forget_recovery
DELETE FROM recovery WHERE position = ?

-- name: forget_inbound
DELETE FROM inbound WHERE position = ?

-- name: forget_inbound_message
DELETE FROM inbound_message WHERE position = ?

-- name: forget_inbound_bodies
DELETE FROM inbound_body WHERE place BETWEEN ?1 << 16 AND ?1 << 16 | 65535

-- name: forget_inbound_spooled
DELETE FROM spooled WHERE way = 'in' AND place BETWEEN ?1 << 16 AND ?1 << 16 | 65535

-- name: forget_tombstone
DELETE FROM tombstone WHERE message_id = ? AND from_party = ? AND to_party = ?

-- name: forget_transit
DELETE FROM transit WHERE position = ?

-- name: forget_transit_package
DELETE FROM transit_package WHERE position = ?

-- name: forget_transit_bodies
DELETE FROM transit_body WHERE place BETWEEN ?1 << 16 AND ?1 << 16 | 65535

-- name: forget_transit_spooled
DELETE FROM spooled WHERE way = 'through' AND place BETWEEN ?1 << 16 AND ?1 << 16 | 65535

-- name: forget_pair
UPDATE sending_pair SET sequence_number = NULL WHERE from_party = ? AND to_party = ?

-- name: list_idle_pairs
SELECT from_party, to_party FROM sending_pair
  WHERE status = 'open' AND sequence_number IS NOT NULL AND in_flight IS NULL AND used_at < ?
    AND NOT EXISTS (SELECT 1 FROM outbound INDEXED BY outbound_queued
      WHERE outbound.from_party = sending_pair.from_party
        AND outbound.to_party = sending_pair.to_party AND outbound.status = 'queued')
  ORDER BY from_party, to_party

-- name: open_job
INSERT INTO job VALUES (NULL, ?1, ?2, ?2, 0, NULL)

-- name: touch_job
UPDATE job SET staged_at = max(staged_at, ?2) WHERE job_id = ?1

-- name: find_job
SELECT number, job_id, opened_at, staged_at, releases, released_at FROM job WHERE job_id = ?

-- name: list_jobs
SELECT number, job_id, opened_at, staged_at, releases, released_at
  FROM job WHERE number > ? ORDER BY number LIMIT ?

-- name: find_job_row
SELECT row, run, outcome, message_id, fingerprint, error_code, reason
  FROM job CROSS JOIN job_row ON job = number WHERE job_id = ? AND row = ?

-- name: find_accepted_row
SELECT row, run, outcome, message_id, fingerprint, error_code, reason
  FROM job CROSS JOIN job_row INDEXED BY job_row_accepted ON job = number
  WHERE job_id = ? AND message_id = ? AND outcome = 'accepted'

-- name: last_job_row
SELECT row FROM job CROSS JOIN job_row ON job = number WHERE job_id = ? ORDER BY row DESC LIMIT 1

-- name: list_rejects
SELECT row, run, outcome, message_id, fingerprint, error_code, reason
  FROM job CROSS JOIN job_row INDEXED BY job_row_rejected ON job = number
  WHERE job_id = ?1 AND row > ?2 AND outcome = 'rejected'
    AND NOT (run < coalesce((SELECT number FROM run INDEXED BY run_of_job
        WHERE run.job_id = ?1 AND name IS NOT NULL AND released_at IS NOT NULL
        ORDER BY number DESC LIMIT 1), 0)
      AND EXISTS (SELECT 1 FROM run AS its WHERE its.number = job_row.run AND its.name IS NOT NULL)
      AND (fingerprint = '' OR EXISTS (
        SELECT 1 FROM job_row AS same INDEXED BY job_row_accepted
          WHERE same.message_id = job_row.message_id AND same.job = job_row.job
            AND same.outcome = 'accepted')))
  ORDER BY row LIMIT ?3

-- name: count_job
SELECT CASE WHEN outcome <> 'accepted' THEN outcome
      WHEN staged.position IS NULL THEN coalesce(ended, outbound.status)
      WHEN its.released_at IS NOT NULL THEN 'queued' ELSE 'staged' END, count(*)
  FROM job CROSS JOIN job_row ON job_row.job = job.number
    LEFT JOIN staged ON staged.run = job_row.run AND staged.row = job_row.row
      AND outcome = 'accepted' AND ended IS NULL
    LEFT JOIN run AS its ON its.number = staged.run
    LEFT JOIN outbound ON outbound.message_id = job_row.message_id
      AND outcome = 'accepted' AND ended IS NULL AND staged.position IS NULL
  WHERE job.job_id = ?1 AND (outcome = 'accepted'
    OR NOT (job_row.run < coalesce((SELECT number FROM run INDEXED BY run_of_job
        WHERE run.job_id = ?1 AND name IS NOT NULL AND released_at IS NOT NULL
        ORDER BY number DESC LIMIT 1), 0)
      AND EXISTS (SELECT 1 FROM run AS whose
        WHERE whose.number = job_row.run AND whose.name IS NOT NULL)
      AND (outcome = 'rejected' AND job_row.fingerprint = ''
        OR (outcome = 'rejected') = EXISTS (
          SELECT 1 FROM job_row AS same INDEXED BY job_row_accepted
            WHERE same.message_id = job_row.message_id AND same.job = job_row.job
              AND same.outcome = 'accepted'))))
  GROUP BY 1

-- name: find_run
SELECT number, job_id, name, opened_at, staged, released_at, dropped_at
  FROM run INDEXED BY run_of_job WHERE job_id = ? AND name IS ? ORDER BY number DESC LIMIT 1

-- name: find_newest_run
SELECT number, job_id, name, opened_at, staged, released_at, dropped_at
  FROM run INDEXED BY run_of_job
  WHERE job_id = ? AND name IS NOT NULL AND dropped_at IS NULL ORDER BY number DESC LIMIT 1

-- name: find_latest_release
SELECT number, job_id, name, opened_at, staged, released_at, dropped_at
  FROM run INDEXED BY run_of_job
  WHERE job_id = ? AND name IS NOT NULL AND released_at IS NOT NULL ORDER BY number DESC LIMIT 1

-- name: get_run
SELECT number, job_id, name, opened_at, staged, released_at, dropped_at FROM run WHERE number = ?

-- name: list_unreleased_runs
SELECT number, job_id, name, opened_at, staged, released_at, dropped_at
  FROM run INDEXED BY run_unreleased WHERE job_id = ? AND released_at IS NULL ORDER BY number

-- name: list_released_runs
WITH RECURSIVE holding (run) AS (
  SELECT min(run) FROM staged
  UNION ALL
  SELECT (SELECT min(run) FROM staged WHERE run > holding.run) FROM holding WHERE run IS NOT NULL)
SELECT number FROM holding CROSS JOIN run ON number = holding.run WHERE released_at IS NOT NULL

-- name: list_released_of
SELECT number, job_id, opened_at, staged_at, releases, released_at, row, staged.run, outcome,
    job_row.message_id, fingerprint, error_code, reason, staged.message_id, agreement_id, from_ids, to_ids, conversation_id, service, action,
    timestamp_at, semantics, ref_to_message_id, payloads, time_to_live_at, sync_reply_mode,
    delivery_receipt_requested, acknowledgment, cpa_header, digest
  FROM staged CROSS JOIN job ON staged.job = number CROSS JOIN job_row USING (job, row)
  WHERE staged.run = ? ORDER BY row LIMIT ?

-- name: find_staged
SELECT number, job_id, opened_at, staged_at, releases, released_at, row, staged.run, outcome,
    job_row.message_id, fingerprint, error_code, reason, staged.message_id, agreement_id, from_ids, to_ids, conversation_id, service, action,
    timestamp_at, semantics, ref_to_message_id, payloads, time_to_live_at, sync_reply_mode,
    delivery_receipt_requested, acknowledgment, cpa_header, digest
  FROM job CROSS JOIN job_row ON job_row.job = number
    CROSS JOIN staged USING (job, run, row)
  WHERE job_id = ? AND row = ?

-- name: list_staged_payloads
SELECT position, payloads
  FROM job CROSS JOIN job_row ON job_row.job = number
    CROSS JOIN staged USING (job, run, row)
  WHERE job_id = ? AND row = ?

-- name: list_staged_bodies
SELECT place & 65535, body FROM staged_body WHERE place BETWEEN ?1 << 16 AND ?1 << 16 | 65535

-- name: put_job_row
INSERT OR REPLACE INTO job_row (job, row, run, outcome, message_id, fingerprint, error_code,
    reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- name: move_job_row
UPDATE OR REPLACE job_row SET row = ?3 WHERE job = ?1 AND row = ?2

-- name: move_staged
UPDATE staged SET row = ?2 WHERE position = ?1

-- name: open_run
INSERT INTO run VALUES (NULL, ?, ?, ?, 0, NULL, NULL)

-- name: find_block
SELECT attempt FROM block WHERE run = ? AND block = ?

-- name: put_block
INSERT OR REPLACE INTO block VALUES (?, ?, ?)

-- name: forget_blocks
DELETE FROM block WHERE run NOT IN (SELECT number FROM run)

-- name: count_staged
UPDATE run SET staged = staged + ?2 WHERE number = ?1

-- name: release_run
UPDATE run SET released_at = ?2 WHERE number = ?1

-- name: drop_run
UPDATE run SET dropped_at = ?2 WHERE number = ?1

-- name: forget_runs
DELETE FROM run WHERE job_id = ? AND dropped_at IS NULL

-- name: forget_dropped_runs
DELETE FROM run WHERE number IN (
  SELECT number FROM run INDEXED BY run_dropped
    WHERE dropped_at < ? AND NOT EXISTS (SELECT 1 FROM job WHERE job.job_id = run.job_id) LIMIT ?)

-- name: add_staged
INSERT INTO staged (job, run, row, message_id, agreement_id, from_ids, to_ids, conversation_id,
    service, action, timestamp_at, semantics, ref_to_message_id, payloads, time_to_live_at,
    sync_reply_mode, delivery_receipt_requested, acknowledgment, cpa_header, digest)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: add_staged_body
INSERT INTO staged_body VALUES (?, ?)

-- name: add_staged_spooled
INSERT INTO staged_spooled VALUES (?, ?)

-- name: is_filled
SELECT 1 FROM job_row INDEXED BY job_row_of_run WHERE run = ? LIMIT 1

-- name: release_job
UPDATE job SET releases = releases + 1, released_at = ? WHERE job_id = ?

-- name: forget_staged
DELETE FROM staged WHERE position = ?

-- name: forget_staged_bodies
DELETE FROM staged_body WHERE place BETWEEN ?1 << 16 AND ?1 << 16 | 65535

-- name: forget_staged_spooled
DELETE FROM staged_spooled WHERE place BETWEEN ?1 << 16 AND ?1 << 16 | 65535

-- name: list_rows_of_run
SELECT row, position FROM job_row INDEXED BY job_row_of_run LEFT JOIN staged USING (run, row)
  WHERE run = ? ORDER BY row LIMIT ?

-- name: forget_job_row
DELETE FROM job_row WHERE job = ? AND row = ?

-- name: forget_job
DELETE FROM job WHERE number = ?1 AND NOT EXISTS (SELECT 1 FROM job_row WHERE job = ?1)

-- name: list_jobs_by_age
SELECT number, job_id, staged_at < ?3 AND (released_at IS NULL OR released_at < ?3)
  FROM job WHERE number > ?1 ORDER BY number LIMIT ?2

-- name: is_standing
SELECT 1 FROM job_row INDEXED BY job_row_standing
  WHERE job = ? AND outcome = 'accepted' AND ended IS NULL LIMIT 1

-- name: list_job_rows
SELECT row FROM job_row WHERE job = ? ORDER BY row LIMIT ?

-- name: note_ended
UPDATE job_row INDEXED BY job_row_accepted SET ended = ?
  WHERE message_id = ? AND outcome = 'accepted' AND ended IS NULL
    AND NOT EXISTS (SELECT 1 FROM staged
      WHERE staged.job = job_row.job AND staged.run = job_row.run AND staged.row = job_row.row)

-- name: find_bulk
SELECT number, action, reason, query, state, prepared_at, started_at, finished_at, items, done,
    skipped, failed, started_by
  FROM bulk WHERE number = ?

-- name: list_bulks
SELECT number, action, reason, query, state, prepared_at, started_at, finished_at, items, done,
    skipped, failed, started_by
  FROM bulk WHERE number > ? ORDER BY number LIMIT ?

-- name: list_newest_bulks
SELECT number, action, reason, query, state, prepared_at, started_at, finished_at, items, done,
    skipped, failed, started_by
  FROM bulk WHERE number < ? ORDER BY number DESC LIMIT ?

-- name: list_running_bulks
SELECT number, action, reason, query, state, prepared_at, started_at, finished_at, items, done,
    skipped, failed, started_by
  FROM bulk WHERE state = 'running' ORDER BY number

-- name: list_bulk_items
SELECT item, message_id, outcome, name, text, at, inbox_offset
  FROM bulk_item WHERE bulk = ? AND item > ? ORDER BY item LIMIT ?

-- name: list_open_items
SELECT item, message_id, outcome, name, text, at, inbox_offset
  FROM bulk_item INDEXED BY bulk_item_open
  WHERE bulk = ? AND outcome IS NULL ORDER BY item LIMIT ?

-- name: find_bulk_item
SELECT item, message_id, outcome, name, text, at, inbox_offset
  FROM bulk_item WHERE bulk = ? AND item = ?

-- name: add_bulk
INSERT INTO bulk (action, reason, query, state, prepared_at) VALUES (?, ?, ?, 'selecting', ?)

-- name: add_bulk_item
INSERT INTO bulk_item (bulk, item, message_id, inbox_offset) VALUES (?, ?, ?, ?)

-- name: put_bulk
UPDATE bulk SET state = ?2, started_at = ?3, finished_at = ?4, items = ?5, done = ?6,
    skipped = ?7, failed = ?8, started_by = ?9
  WHERE number = ?1

-- name: put_bulk_item
UPDATE bulk_item SET outcome = ?3, name = ?4, text = ?5, at = ?6 WHERE bulk = ?1 AND item = ?2

-- name: forget_bulk_items
DELETE FROM bulk_item WHERE bulk = ?1 AND item IN
  (SELECT item FROM bulk_item WHERE bulk = ?1 ORDER BY item LIMIT ?2)

-- name: forget_bulk
DELETE FROM bulk WHERE number = ?

-- name: find_webhook
SELECT seq FROM webhook WHERE id = ?

-- name: list_webhooks
SELECT id FROM webhook ORDER BY id

-- name: put_webhook
INSERT INTO webhook (id, seq) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET seq = excluded.seq

-- name: find_delivery
SELECT webhook, seq, state, attempts, first_at, last_at, status_code, reason
  FROM delivery WHERE webhook = ? AND seq = ?

-- name: put_delivery
INSERT INTO delivery (webhook, seq, state, attempts, first_at, last_at, status_code, reason)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (webhook, seq) DO UPDATE SET state = excluded.state, attempts = excluded.attempts,
    first_at = excluded.first_at, last_at = excluded.last_at,
    status_code = excluded.status_code, reason = excluded.reason

-- name: list_deliveries
SELECT webhook, seq, state, attempts, first_at, last_at, status_code, reason
  FROM delivery WHERE webhook = ? AND seq > ? ORDER BY seq LIMIT ?

-- name: list_deliveries_in
SELECT webhook, seq, state, attempts, first_at, last_at, status_code, reason
  FROM delivery INDEXED BY delivery_by_state
  WHERE webhook = ? AND state = ? AND seq > ? ORDER BY seq LIMIT ?

-- name: find_kept_delivery
SELECT seq FROM delivery INDEXED BY delivery_by_state
  WHERE webhook = ? AND state = 'delivered' ORDER BY seq DESC LIMIT 1 OFFSET ?

-- name: forget_delivered
DELETE FROM delivery WHERE webhook = ?1 AND seq IN (
  SELECT seq FROM delivery INDEXED BY delivery_by_state
    WHERE webhook = ?1 AND state = 'delivered' AND seq <= ?2 ORDER BY seq LIMIT ?3)

-- name: forget_dead
DELETE FROM delivery WHERE webhook = ?1 AND last_at < ?2 AND seq IN (
  SELECT seq FROM delivery INDEXED BY delivery_by_state
    WHERE webhook = ?1 AND state = 'dead' ORDER BY seq LIMIT ?3)

-- name: forget_deliveries
DELETE FROM delivery WHERE webhook = ?1 AND seq IN (
  SELECT seq FROM delivery WHERE webhook = ?1 ORDER BY seq LIMIT ?2)

-- name: list_api_keys
SELECT name, digest, scopes, application, agreement_ids, made_at, made_by, revoked_at, last_used_at,
    certificate
  FROM api_key ORDER BY name

-- name: add_api_key
INSERT INTO api_key VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: revoke_api_key
UPDATE api_key SET revoked_at = ?2 WHERE name = ?1 AND revoked_at IS NULL

-- name: put_api_key_used
UPDATE api_key SET last_used_at = ?2 WHERE name = ?1
-- name: measure_inbound
SELECT min(received_at), sum((SELECT sum(length(body)) FROM inbound_body
    WHERE place BETWEEN position << 16 AND position << 16 | 65535))
  FROM json_each(?) CROSS JOIN inbound ON position = value

-- name: measure_outbound
SELECT min(submitted_at), sum((SELECT sum(length(body)) FROM outbound_body
    WHERE place BETWEEN position << 16 AND position << 16 | 65535))
  FROM json_each(?) CROSS JOIN outbound_message ON position = value

-- name: measure_transits
SELECT NULL, sum((SELECT sum(length(body)) FROM transit_body
    WHERE place BETWEEN value << 16 AND value << 16 | 65535))
  FROM json_each(?)

-- name: get_file_space
SELECT page_count, freelist_count, page_size
  FROM pragma_page_count, pragma_freelist_count, pragma_page_size
-- name: get_counted_seq
SELECT seq FROM counted WHERE only_row = 1

-- name: put_counted_seq
UPDATE counted SET seq = ? WHERE only_row = 1

-- name: tally_events
SELECT at - at % 60000000, agreement_id, event, direction,
    event = 'Notified' AND severity = 'Warning' AND reason = 'DeliveryFailure', count(*)
  FROM journal WHERE seq > ? AND seq <= ? GROUP BY 1, 2, 3, 4, 5

-- name: tally_latencies
SELECT at, agreement_id, attempt,
    at - (SELECT one.at FROM journal AS one INDEXED BY journal_by_message
      WHERE one.message_id = journal.message_id AND one.event = 'Submitted'
      ORDER BY one.seq LIMIT 1)
  FROM journal WHERE seq > ? AND seq <= ? AND event = 'AckReceived' ORDER BY seq

-- name: tally_pairs
SELECT from_party, to_party,
    max(at) FILTER (WHERE event NOT IN ('PairSuspended', 'PairResumed', 'PairQuarantined')),
    max(at) FILTER (WHERE event IN ('PairSuspended', 'PairResumed', 'PairQuarantined'))
  FROM journal WHERE seq > ? AND seq <= ? AND from_party IS NOT NULL AND to_party IS NOT NULL
    AND event IN ('AckReceived', 'LateAckReceived', 'RepeatedAckReceived', 'ErrorReceived',
      'PongReceived', 'ReportReceived', 'ResponseReceived', 'ReceiptReceived', 'Stored',
      'DuplicateEliminated', 'CollisionDetected', 'PairSuspended', 'PairResumed',
      'PairQuarantined')
  GROUP BY 1, 2

-- name: tally_listed
SELECT seq, event, at, from_party, to_party
  FROM journal WHERE seq > ? AND seq <= ?
    AND event IN ('DuplicateEliminated', 'CollisionDetected', 'Rejected', 'SecurityEvent',
      'ErrorReceived', 'OrphanAckReceived', 'LateAckReceived', 'Withheld', 'ApplicationRefused',
      'Parked', 'InternalError', 'SignatureRefused')
  ORDER BY seq

-- name: find_counter
SELECT counts FROM counter WHERE span = ? AND agreement_id = ? AND begins_at = ?

-- name: put_counter
INSERT INTO counter VALUES (?, ?, ?, ?)
  ON CONFLICT (span, agreement_id, begins_at) DO UPDATE SET counts = excluded.counts

-- name: list_counters
SELECT begins_at, counts FROM counter
  WHERE span = ? AND agreement_id = ? AND begins_at >= ? AND begins_at < ? ORDER BY begins_at

-- name: list_totals
SELECT agreement_id, counts FROM counter WHERE span = 'total' ORDER BY agreement_id

-- name: forget_counters
DELETE FROM counter INDEXED BY counter_by_time WHERE span = ? AND begins_at < ?

-- name: put_pair_times
INSERT INTO pair_time VALUES (?, ?, ?, ?)
  ON CONFLICT (from_party, to_party)
  DO UPDATE SET heard_at = excluded.heard_at, changed_at = excluded.changed_at

-- name: list_pair_times
SELECT from_party, to_party, heard_at, changed_at FROM pair_time ORDER BY from_party, to_party

-- name: add_listed
INSERT INTO listed VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (seq) DO NOTHING

-- name: list_listed
SELECT party, event, at, monotonic_ns, direction, from_party, to_party, message_id,
    ref_to_message_id, conversation_id, agreement_id, profile, semantics, service, action,
    sequence_number, attempt, transport, endpoint, outcome, status_code, error_code, severity,
    size_bytes, digest, hop, actor, reason, header_digest, message_timestamp_at, time_to_live_at,
    ack_requested, receipt_requested, order_number, signer, schema_version, seq, store_epoch,
    chain_hash
  FROM journal WHERE seq IN (
    SELECT seq FROM (
      SELECT seq, at, from_party, to_party FROM listed INDEXED BY listed_by_event
        WHERE event = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3)
      WHERE at >= ?4 AND at < ?5 AND (?6 IS NULL OR from_party = ?6 OR to_party = ?6)
      ORDER BY seq DESC LIMIT ?7)
  ORDER BY seq DESC

-- name: find_listed_end
SELECT seq FROM listed INDEXED BY listed_by_event
  WHERE event = ? AND seq < ? ORDER BY seq DESC LIMIT 1 OFFSET ?

-- name: find_first_of
SELECT party, event, at, monotonic_ns, direction, from_party, to_party, message_id,
    ref_to_message_id, conversation_id, agreement_id, profile, semantics, service, action,
    sequence_number, attempt, transport, endpoint, outcome, status_code, error_code, severity,
    size_bytes, digest, hop, actor, reason, header_digest, message_timestamp_at, time_to_live_at,
    ack_requested, receipt_requested, order_number, signer, schema_version, seq, store_epoch,
    chain_hash
  FROM journal INDEXED BY journal_by_message
  WHERE message_id = ? AND event = ? AND seq > ? ORDER BY seq LIMIT 1

-- name: list_alerts
SELECT rule, subject, level, since_at, seen, expected, move FROM alert ORDER BY rule, subject

-- name: put_alert
INSERT OR REPLACE INTO alert (rule, subject, level, since_at, seen, expected, move)
  VALUES (?, ?, ?, ?, ?, ?, ?)

-- name: drop_alert
DELETE FROM alert WHERE rule = ? AND subject = ?

-- name: list_alert_changes
SELECT number, rule, subject, level, at, seen FROM alert_change
  WHERE number < ? ORDER BY number DESC LIMIT ?

-- name: add_alert_change
INSERT INTO alert_change (rule, subject, level, at, seen) VALUES (?, ?, ?, ?, ?)

-- name: forget_alert_changes
DELETE FROM alert_change WHERE number <= (SELECT max(number) FROM alert_change) - ?

-- name: list_mutes
SELECT rule, until_at, reason, by FROM alert_mute ORDER BY rule

-- name: put_mute
INSERT OR REPLACE INTO alert_mute (rule, until_at, reason, by) VALUES (?, ?, ?, ?)

-- name: drop_mute
DELETE FROM alert_mute WHERE rule = ?

-- name: list_told
SELECT way, rule, subject, level, told_at FROM alert_told ORDER BY way, rule, subject

-- name: put_told
INSERT OR REPLACE INTO alert_told (way, rule, subject, level, told_at) VALUES (?, ?, ?, ?, ?)

-- name: drop_told
DELETE FROM alert_told WHERE way = ? AND rule = ? AND subject = ?

-- name: find_alert_look
SELECT at FROM alert_look WHERE only_row = 1

-- name: put_alert_look
INSERT OR REPLACE INTO alert_look (only_row, at) VALUES (1, ?)

-- name: list_agreement_changes
SELECT number, agreement_id, change, at, by, digest, terms FROM agreement_change
  WHERE agreement_id = ? AND number < ? ORDER BY number DESC LIMIT ?

-- name: list_last_agreement_changes
SELECT number, agreement_id, change, at, by, digest, terms FROM agreement_change
  WHERE number IN (SELECT max(number) FROM agreement_change GROUP BY agreement_id)
  ORDER BY agreement_id

-- name: add_agreement_change
INSERT INTO agreement_change (agreement_id, change, at, by, digest, terms)
  VALUES (?, ?, ?, ?, ?, ?)

-- name: forget_agreement_changes
DELETE FROM agreement_change WHERE agreement_id = ?1 AND number <= (
  SELECT number FROM agreement_change
    WHERE agreement_id = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)

-- name: count_unsettled
SELECT agreement_id, status, count(*) FROM (
  SELECT agreement_id, status FROM outbound INDEXED BY outbound_by_status
    WHERE status IN ('in_doubt', 'queued', 'sending') AND
      status <> 'acknowledged' AND status <> 'sent' LIMIT ?)
  GROUP BY agreement_id, status

-- name: list_evidence
SELECT from_party, to_party, kind, content_type, document, signer, verified_at, keep_until_at
  FROM evidence WHERE message_id = ? ORDER BY from_party, to_party, kind

-- name: find_evidence
SELECT place FROM evidence WHERE message_id = ? AND from_party = ? AND to_party = ? AND kind = ?

-- name: add_evidence
INSERT INTO evidence (message_id, from_party, to_party, kind, content_type, document, signer,
    verified_at, keep_until_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING

-- name: list_old_evidence
SELECT place FROM evidence WHERE keep_until_at < ? ORDER BY keep_until_at LIMIT ?

-- name: forget_evidence
DELETE FROM evidence WHERE place = ?

-- name: get_sending_order
SELECT status, next_number, in_turn, number, began FROM sending_order
  WHERE from_party = ? AND to_party = ? AND conversation_id = ?

-- name: find_end_of_numbers
SELECT keep_until_at FROM sending_order
  WHERE from_party = ? AND to_party = ? AND conversation_id = ?

-- name: put_sending_order
INSERT OR REPLACE INTO sending_order VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: get_receiving_order
SELECT expected, epoch, held, gap_due_at FROM receiving_order
  WHERE from_party = ? AND to_party = ? AND conversation_id = ?

-- name: put_receiving_order
INSERT INTO receiving_order VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (from_party, to_party, conversation_id) DO UPDATE SET
    expected = excluded.expected, epoch = excluded.epoch, held = excluded.held,
    gap_due_at = excluded.gap_due_at, keep_until_at = max(keep_until_at, excluded.keep_until_at)

-- name: find_next_in_order
SELECT message_id FROM outbound INDEXED BY outbound_queued
  WHERE from_party = ? AND to_party = ? AND awaits_in = ? AND status = 'queued'
  ORDER BY position LIMIT 1

-- name: list_agreements_awaiting_order
SELECT DISTINCT agreement_id FROM outbound INDEXED BY outbound_queued
  WHERE status = 'queued' AND awaits_in IS NOT NULL ORDER BY agreement_id

-- name: list_awaiting_order
SELECT message_id FROM outbound INDEXED BY outbound_queued
  WHERE status = 'queued' AND awaits_in IS NOT NULL AND agreement_id = ?
  ORDER BY from_party, to_party, awaits_in, position LIMIT ?

-- name: put_awaited_order
UPDATE outbound SET awaits_in = ? WHERE position = ?

-- name: find_conversation
SELECT conversation_id, place FROM order_place INDEXED BY order_place_by_key
  WHERE message_id = ? AND from_party = ? AND to_party = ?

-- name: list_placed
SELECT place, message_id FROM order_place
  WHERE from_party = ? AND to_party = ? AND conversation_id = ? AND place >= ?
  ORDER BY place LIMIT ?

-- name: add_placed
INSERT INTO order_place VALUES (?, ?, ?, ?, ?)

-- name: remove_placed
DELETE FROM order_place INDEXED BY order_place_by_key
  WHERE message_id = ? AND from_party = ? AND to_party = ?

-- name: list_blocked_orders
SELECT from_party, to_party, conversation_id, status, next_number, in_turn, number, began,
    (SELECT count(*) FROM outbound INDEXED BY outbound_queued
      WHERE outbound.from_party = sending_order.from_party
        AND outbound.to_party = sending_order.to_party AND outbound.status = 'queued'
        AND outbound.awaits_in = sending_order.conversation_id)
  FROM sending_order INDEXED BY sending_order_blocked WHERE status = 'blocked'
  ORDER BY from_party, to_party, conversation_id LIMIT ?

-- name: list_gaps
SELECT from_party, to_party, conversation_id, expected, epoch, held, gap_due_at,
    (SELECT min(received_at) FROM order_place CROSS JOIN inbound INDEXED BY inbound_by_key
        ON inbound.message_id = order_place.message_id
          AND inbound.from_party = order_place.from_party
          AND inbound.to_party = order_place.to_party AND inbound.has_key = 1
      WHERE order_place.from_party = receiving_order.from_party
        AND order_place.to_party = receiving_order.to_party
        AND order_place.conversation_id = receiving_order.conversation_id
        AND place >= epoch * 100000000 + expected)
  FROM receiving_order INDEXED BY receiving_order_gap WHERE held > 0
  ORDER BY from_party, to_party, conversation_id LIMIT ?

-- name: list_gaps_due
SELECT from_party, to_party, conversation_id FROM receiving_order INDEXED BY receiving_order_due
  WHERE gap_due_at < ? AND gap_due_at IS NOT NULL
  ORDER BY gap_due_at, from_party, to_party, conversation_id LIMIT ?

-- name: list_finished_sending_orders
SELECT from_party, to_party, conversation_id FROM sending_order INDEXED BY sending_order_over
  WHERE keep_until_at < ? AND status = 'idle' AND keep_until_at IS NOT NULL
  ORDER BY keep_until_at LIMIT ?

-- name: list_finished_receiving_orders
SELECT from_party, to_party, conversation_id FROM receiving_order INDEXED BY receiving_order_over
  WHERE keep_until_at < ? AND held = 0 AND keep_until_at IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM order_place
      WHERE order_place.from_party = receiving_order.from_party
        AND order_place.to_party = receiving_order.to_party
        AND order_place.conversation_id = receiving_order.conversation_id)
  ORDER BY keep_until_at LIMIT ?

-- name: forget_sending_order
DELETE FROM sending_order WHERE from_party = ? AND to_party = ? AND conversation_id = ?

-- name: forget_receiving_order
DELETE FROM receiving_order WHERE from_party = ? AND to_party = ? AND conversation_id = ?
