-- What a real engine picked at the end of a search (`tunebench tune --finalists`): a contender of a session, by its place.
-- A session that was interrupted picks nothing.
CREATE TABLE final (
    session  UUID      NOT NULL,
    study    VARCHAR   NOT NULL,
    place    INTEGER   NOT NULL,
    decided  TIMESTAMP NOT NULL
);
