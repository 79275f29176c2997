ALTER TABLE trial ADD COLUMN problem JSON;  -- workload, data, memory, clients; NULL for trials from before it was kept
