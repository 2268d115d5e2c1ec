-- A certificate of a caller that stands for a key: the SHA-256 of its bytes, hexadecimal.
ALTER TABLE api_key ADD COLUMN certificate TEXT;
