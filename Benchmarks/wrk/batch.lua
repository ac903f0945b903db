-- Sends POST /downloads, each with new URLs: batch.lua FIRST THREADS URLS-A-BATCH URL-PREFIX

local folder = debug.getinfo(1, "S").source:match("^@(.*/)")
dofile(folder .. "report.lua")

local at, step, size, head, prefix

function init(arguments)
   size = tonumber(arguments[3])
   step = tonumber(arguments[2]) * size
   at = tonumber(arguments[1]) + thread_number * size - step
   prefix = '{"url":"' .. arguments[4]
   head = "POST /downloads HTTP/1.1\r\nHost: " .. wrk.headers["Host"] .. "\r\nContent-Type: application/json\r\nContent-Length: "
end

function request()
   at = at + step
   local items = {}
   for i = 1, size do items[i] = prefix .. string.format("%d", at + i) .. '"}' end
   local body = "[" .. table.concat(items, ",") .. "]"
   return head .. #body .. "\r\n\r\n" .. body
end
