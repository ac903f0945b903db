-- The common parts of all scripts in this folder. At the start each thread gets a number, so that no two threads use
-- the same order. At the end the result is printed as one line of JSON (times in microseconds), because wrk itself does
-- not print p99.9.

local threads = 0

function setup(thread)
   thread:set("thread_number", threads)
   threads = threads + 1
end

function done(summary, latency, requests)
   local errors = summary.errors
   io.write(string.format(
      '\nRESULT {"microseconds":%d,"requests":%d,"bytes":%.0f,"p50":%d,"p99":%d,"p999":%d,"longest":%d,'
         .. '"failures":{"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d}}\n',
      summary.duration, summary.requests, summary.bytes,
      latency:percentile(50), latency:percentile(99), latency:percentile(99.9), latency.max,
      errors.connect, errors.read, errors.write, errors.status, errors.timeout))
end
