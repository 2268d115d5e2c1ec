-- Whose a block of rows is: one task of a run may have several attempts at once, and the latest
-- alone stages.
CREATE TABLE block (
  run INTEGER NOT NULL,
  block INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  PRIMARY KEY (run, block)
) STRICT, WITHOUT ROWID;
