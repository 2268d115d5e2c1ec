-- What only headers of ebms-2.0 say: roles, the type of the service, a description, and what they ask
-- for. JSON with a member for each that is there; NULL in messages of the older profiles.
ALTER TABLE outbound_message ADD COLUMN cpa_header TEXT;
ALTER TABLE inbound_message ADD COLUMN cpa_header TEXT;
ALTER TABLE staged ADD COLUMN cpa_header TEXT;
