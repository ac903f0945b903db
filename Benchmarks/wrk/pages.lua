-- Captures pages with a new URL each, and waits for the end of each capture: pages.lua FIRST THREADS URL-PREFIX

local folder = debug.getinfo(1, "S").source:match("^@(.*/)")
dofile(folder .. "report.lua")

local at, step, head, prefix

function init(arguments)
   step = tonumber(arguments[2])
   at = tonumber(arguments[1]) + thread_number - step
   prefix = '{"ttl":86400,"mode":"static","url":"' .. arguments[3]
   head = "POST /pages HTTP/1.1\r\nHost: " .. wrk.headers["Host"]
      .. "\r\nContent-Type: application/json\r\nPrefer: wait=30\r\nContent-Length: "
end

function request()
   at = at + step
   local body = prefix .. string.format("%d", at) .. '"}'
   return head .. #body .. "\r\n\r\n" .. body
end
