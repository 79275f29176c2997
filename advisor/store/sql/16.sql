-- The views alone: beside real runs, predictions are without what the file system writes on its own account.
SELECT 1;
