-- How an engine looked from within at the end of an interval: a JSON object of numbers by their names. NULL where nobody
-- told.
ALTER TABLE trial_interval ADD COLUMN shape VARCHAR;
