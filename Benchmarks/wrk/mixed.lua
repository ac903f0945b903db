-- Of 100 requests 95 are hits, 4 download a new URL, and 1 purges a tag, which removes the last four downloads:
-- mixed.lua FILE THREADS FIRST URL-PREFIX
-- FILE contains the targets of the hits, one per line. The numbers of the downloads count up from FIRST.

local folder = debug.getinfo(1, "S").source:match("^@(.*/)")
dofile(folder .. "report.lua")

local hits, count, at, turn = {}, 0, 0, 0
local miss, step, prefix, host

function init(arguments)
   for target in io.lines(arguments[1]) do
      count = count + 1
      hits[count] = wrk.format("GET", target)
   end
   step = tonumber(arguments[2])
   at = math.floor(count * thread_number / step)
   miss = tonumber(arguments[3]) + thread_number - step
   prefix = '{"ttl":86400,"url":"' .. arguments[4]
   host = " HTTP/1.1\r\nHost: " .. wrk.headers["Host"] .. "\r\n"
end

function request()
   turn = turn + 1
   local tag = string.format("tag-%d-%d", thread_number, math.floor(turn / 100))
   local place = turn % 100
   if place == 99 then return "DELETE /entries?tag=" .. tag .. host .. "\r\n" end
   if place % 25 == 20 then
      miss = miss + step
      local body = prefix .. string.format("%d", miss) .. '","tags":["' .. tag .. '"]}'
      return "POST /download" .. host .. "Content-Type: application/json\r\nContent-Length: " .. #body .. "\r\n\r\n" .. body
   end
   at = at + 1
   if at > count then at = 1 end
   return hits[at]
end
