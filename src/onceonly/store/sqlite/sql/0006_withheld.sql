-- Whether it is certain that no acknowledgement of a stored message has left (R-12). Of what is
-- stored by now nobody knows it: a stop may have come while an acknowledgement was on its way.

ALTER TABLE inbound ADD COLUMN is_withheld INTEGER NOT NULL DEFAULT 0 CHECK (
    is_withheld = 0 OR is_withheld = 1);
