-- Digests: the task of a collected delivery has a member "digest", '' until the digest is first taken to be sent, and
-- then its number, so that a digest that is sent again has the same content.
CREATE INDEX jobs_of_digest ON jobs ((task ->> 'digest')) WHERE kind = 'notify' AND task ->> 'digest' IS NOT NULL;
