-- wrk -s wrk.lua <url> -- <file> [check]
-- The file holds pairs of lines: a body, and the right reply to it. With `check` every reply is compared, which
-- costs wrk a third of its speed. Without it, the harness checks only the count of bytes and the statuses.

local requests, replies, at, threads = {}, {}, 0, {}
wrong = 0

function setup(thread)
  threads[#threads + 1] = thread
end

function init(args)
  wrk.headers["content-type"] = "application/json"
  local body
  for line in io.lines(args[1]) do
    if body then
      requests[#requests + 1] = wrk.format("POST", nil, nil, body)
      replies[line] = true
      body = nil
    else
      body = line
    end
  end
  if args[2] == "check" then
    response = function(status, _, reply)
      if status ~= 200 or not replies[reply] then wrong = wrong + 1 end
    end
  end
end

function request()
  at = at % #requests + 1
  return requests[at]
end

function done(summary, latency)
  local failed = 0
  for _, thread in ipairs(threads) do failed = failed + thread:get("wrong") end
  local errors = summary.errors
  print(string.format(
    '{"responses":%d,"us":%d,"bytes":%d,"wrong":%d,"errors":%d,"p50":%g,"p99":%g,"p999":%g}',
    summary.requests, summary.duration, summary.bytes, failed,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout,
    latency:percentile(50), latency:percentile(99), latency:percentile(99.9)))
end
