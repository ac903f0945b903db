-- Requests numbered targets in the order of a file: sequence.lua FILE THREADS START PREFIX SUFFIX
-- FILE contains one number per line, and all lines have the same length. START is the line of the first request.

local folder = debug.getinfo(1, "S").source:match("^@(.*/)")
dofile(folder .. "report.lua")

local file, head, tail

function init(arguments)
   file = assert(io.open(arguments[1]))
   -- The file is read during the run. Reading it here would take time in which the first threads already work, and wrk
   -- does not count that time.
   local length = #file:read("*l") + 1
   local count = file:seek("end") / length
   local at = (tonumber(arguments[3]) + math.floor(count * thread_number / tonumber(arguments[2]))) % count
   file:seek("set", at * length)
   head = "GET " .. arguments[4]
   tail = (arguments[5] or "") .. " HTTP/1.1\r\nHost: " .. wrk.headers["Host"] .. "\r\n\r\n"
end

function request()
   local line = file:read("*l")
   if not line then
      file:seek("set", 0)
      line = file:read("*l")
   end
   return head .. tonumber(line) .. tail
end
