-- Requests a list of targets repeatedly: walk.lua FILE THREADS
-- FILE contains one target per line. The requests are built before the first is sent, so that sending costs little.

local folder = debug.getinfo(1, "S").source:match("^@(.*/)")
dofile(folder .. "report.lua")

local requests, count, at = {}, 0, 0

function init(arguments)
   for target in io.lines(arguments[1]) do
      count = count + 1
      requests[count] = wrk.format("GET", target)
   end
   at = math.floor(count * thread_number / tonumber(arguments[2]))
end

function request()
   at = at + 1
   if at > count then at = 1 end
   return requests[at]
end
