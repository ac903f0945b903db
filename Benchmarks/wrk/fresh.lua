-- Sends requests with a new number each: fresh.lua METHOD FIRST THREADS BODY-BYTES PREFIX SUFFIX
-- If BODY-BYTES is above 0, the requests carry a body of that length.

local folder = debug.getinfo(1, "S").source:match("^@(.*/)")
dofile(folder .. "report.lua")

local at, step, head, tail

function init(arguments)
   step = tonumber(arguments[3])
   at = tonumber(arguments[2]) + thread_number - step
   local size = tonumber(arguments[4])
   head = arguments[1] .. " " .. arguments[5]
   tail = (arguments[6] or "") .. " HTTP/1.1\r\nHost: " .. wrk.headers["Host"] .. "\r\n"
   if size > 0 then
      tail = tail .. "Content-Type: application/octet-stream\r\nContent-Length: " .. size .. "\r\n"
   end
   tail = tail .. "\r\n" .. string.rep("x", size)
end

function request()
   at = at + step
   return head .. string.format("%d", at) .. tail
end
