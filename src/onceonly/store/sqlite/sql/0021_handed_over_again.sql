-- Messages that are handed over again, one by one and in bulk.

-- Which hand-over of its message the row repeats; NULL in the one that a copy from the partner made.
-- A row that repeats has no key: it is no duplicate, and repeats of the message never meet it.
ALTER TABLE inbound ADD COLUMN repetition INTEGER;
ALTER TABLE inbound ADD COLUMN first_offset INTEGER;
ALTER TABLE inbound ADD COLUMN first_handed_over_at INTEGER;

-- The words of actions are not checked any more: they grow, as those of the journal do, and an
-- action that a program does not know is refused when it is read. A CHECK cannot be altered, but it
-- goes with its column.
ALTER TABLE bulk ADD COLUMN wanted TEXT NOT NULL DEFAULT '';
UPDATE bulk SET wanted = action;
ALTER TABLE bulk DROP COLUMN action;
ALTER TABLE bulk RENAME COLUMN wanted TO action;

-- Who started the action last: the actor of what is done with its items; NULL if it was not started,
-- or by an older program.
ALTER TABLE bulk ADD COLUMN started_by TEXT;

-- Which item of the inbox, where the action is about one.
ALTER TABLE bulk_item ADD COLUMN inbox_offset INTEGER;
