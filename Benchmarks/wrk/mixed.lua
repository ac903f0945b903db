-- Of 100 requests 95 are hits, 4 misses and 1 a purge by tag:
-- mixed.lua FILE THREADS FIRST MISS-PREFIX TAGS
-- FILE has the targets of the hits, one a line; misses count up from FIRST; TAGS is how many tags there are (tag-0 ...).

local folder = debug.getinfo(1, "S").source:match("^@(.*/)")
dofile(folder .. "report.lua")

local hits, count, at, turn = {}, 0, 0, 0
local miss, step, miss_head, tail, tags, tag

function init(arguments)
   for target in io.lines(arguments[1]) do
      count = count + 1
      hits[count] = wrk.format("GET", target)
   end
   step = tonumber(arguments[2])
   at = math.floor(count * thread_number / step)
   miss = tonumber(arguments[3]) + thread_number - step
   miss_head = "GET " .. arguments[4]
   tail = " HTTP/1.1\r\nHost: " .. wrk.headers["Host"] .. "\r\n\r\n"
   tags = tonumber(arguments[5])
   tag = thread_number
end

function request()
   turn = turn + 1
   if turn == 100 then
      turn = 0
      tag = (tag + step) % tags
      return "DELETE /entries?tag=tag-" .. tag .. tail
   end
   if turn % 25 == 0 or turn == 99 then
      miss = miss + step
      return miss_head .. string.format("%d", miss) .. tail
   end
   at = at + 1
   if at > count then at = 1 end
   return hits[at]
end
