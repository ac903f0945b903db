-- Asks for numbered targets in the order that a file tells: sequence.lua FILE THREADS START PREFIX SUFFIX
-- FILE has one number a line; START is the line of the first one.

local folder = debug.getinfo(1, "S").source:match("^@(.*/)")
dofile(folder .. "report.lua")

local numbers, count, at = {}, 0, 0
local head, tail

function init(arguments)
   for line in io.lines(arguments[1]) do
      count = count + 1
      numbers[count] = tonumber(line)
   end
   at = (tonumber(arguments[3]) + math.floor(count * thread_number / tonumber(arguments[2]))) % count
   head = "GET " .. arguments[4]
   tail = (arguments[5] or "") .. " HTTP/1.1\r\nHost: " .. wrk.headers["Host"] .. "\r\n\r\n"
end

function request()
   at = at + 1
   if at > count then at = 1 end
   return head .. numbers[at] .. tail
end
