-- Words by which the user finds a study again (`tunebench results STUDY --tag NAME`).
CREATE TABLE tag (
    study  VARCHAR NOT NULL,
    name   VARCHAR NOT NULL
);
