-- One statement over and over: what tests/calibration/server_calls.py measures.
sysbench.cmdline.options = {
   table_size = {"Rows of the table", 100000},
   shape = {"Which statement", "point"},
   rows = {"Rows that it reads or changes", 1},
}

local shapes = {
   point = "SELECT c FROM sbtest1 WHERE id = %d",
   range = "SELECT c FROM sbtest1 WHERE id BETWEEN %d AND %d",
   sum = "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN %d AND %d",
   ordered = "SELECT c FROM sbtest1 WHERE id BETWEEN %d AND %d ORDER BY c",
   distinct = "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN %d AND %d ORDER BY c",
   joined = "SELECT SUM(b.k) FROM sbtest1 a STRAIGHT_JOIN sbtest1 b ON b.id = a.k WHERE a.id BETWEEN %d AND %d",
   update_one = "UPDATE sbtest1 SET c = '%s' WHERE id = %d",
   update = "UPDATE sbtest1 SET c = '%s' WHERE id BETWEEN %d AND %d",
   update_index = "UPDATE sbtest1 SET k = k + 1 WHERE id BETWEEN %d AND %d",
}

function thread_init()
   connection = sysbench.sql.driver():connect()
end

-- Rows behind all others.
local function insert(rows)
   local values = {}
   for row = 1, rows do
      values[row] = string.format("(%d, '%s', '%s')", sysbench.rand.uniform(1, sysbench.opt.table_size),
         sysbench.rand.string(string.rep("#", 119)), sysbench.rand.string(string.rep("#", 59)))
   end
   connection:query("INSERT INTO sbtest1 (k, c, pad) VALUES " .. table.concat(values, ", "))
end

function event()
   if sysbench.opt.shape == "insert" then
      return insert(sysbench.opt.rows)
   elseif sysbench.opt.shape == "begin_commit" then
      connection:query("BEGIN")
      return connection:query("COMMIT")
   end
   local first = sysbench.rand.uniform(1, sysbench.opt.table_size - sysbench.opt.rows)
   local values = {first, first + sysbench.opt.rows - 1}
   if sysbench.opt.shape == "update" or sysbench.opt.shape == "update_one" then
      table.insert(values, 1, sysbench.rand.string(string.rep("#", 119)))
   end
   connection:query(string.format(shapes[sysbench.opt.shape], unpack(values)))
end
