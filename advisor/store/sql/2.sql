ALTER TABLE trial ADD COLUMN hardware VARCHAR;  -- NULL for trials from before it was kept
ALTER TABLE trial ADD COLUMN steady BOOLEAN;    -- NULL for those and for trials that nobody judged
