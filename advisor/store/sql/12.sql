-- A study's candidates at what was asked and at its neighbours (`tunebench robust`). A session that was killed has no
-- row in `robustness`, and a neighbour at which not all candidates ran has none in `robust_point`.
CREATE TABLE robustness (
    session  UUID      NOT NULL,
    study    VARCHAR   NOT NULL,
    created  TIMESTAMP NOT NULL,
    radius   DOUBLE    NOT NULL,  -- of the ball of mixes, in nats
    no_mix   VARCHAR   NOT NULL,  -- why no other mix is a neighbour; empty where one is
    ending   VARCHAR   NOT NULL
);

CREATE TABLE robust_point (
    session     UUID    NOT NULL,
    point       INTEGER NOT NULL,  -- 0: what was asked
    name        VARCHAR NOT NULL,
    divergence  DOUBLE,            -- of its mix from that of what was asked; NULL where that did not change
    profile     JSON    NOT NULL
);

CREATE TABLE robust_run (
    session    UUID    NOT NULL,
    study      VARCHAR NOT NULL,
    place      INTEGER NOT NULL,  -- of the candidate
    candidate  VARCHAR NOT NULL,
    point      INTEGER NOT NULL,
    again      BOOLEAN NOT NULL,  -- whether it ran after the choice, beside what it is compared with
    trial      UUID    NOT NULL
);
