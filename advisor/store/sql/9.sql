ALTER TABLE trial ADD COLUMN rule VARCHAR DEFAULT '';  -- the name of a rule of thumb; empty for other settings
