-- What every script here ends with: the result as one line of JSON, for wrk itself does not print p99.9 (times in
-- microseconds). And what every one starts with: the number of each thread, so that no two ask in the same order.

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
