ALTER TABLE trial ADD COLUMN product VARCHAR DEFAULT '';  -- of a real run; empty for our own engines

-- A run of one contender in one round of `tunebench verify`: real, or, in round 0, what was predicted.
-- Contenders of a session are compared with the first.
CREATE TABLE verification (
    session    UUID    NOT NULL,
    study      VARCHAR NOT NULL,
    place      INTEGER NOT NULL,  -- of the contender, from 0: the base of comparison
    contender  VARCHAR NOT NULL,
    round      INTEGER NOT NULL,
    trial      UUID    NOT NULL
);
