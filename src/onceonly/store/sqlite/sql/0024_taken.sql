-- Another step has this number; nothing happens here.
SELECT 1;
