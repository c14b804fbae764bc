-- What wrk does here beyond GET: POST a pod with a name of its own in each request, and tell its figures as JSON.
-- The environment says what: BENCH_POST is the file with the pod, BENCH_RUN three letters that no other run has.

local threads = 0

function setup(thread)
  thread:set("id", threads)
  threads = threads + 1
end

local form, count

function init(args)
  local path = os.getenv("BENCH_POST")
  if not path then
    return
  end
  local file = assert(io.open(path, "rb"))
  wrk.method = "POST"
  wrk.body = file:read("*a")
  file:close()
  -- All names are as long as the one that they replace, so one text serves all requests, its Content-Length too.
  local name = "web-" .. os.getenv("BENCH_RUN") .. "-%%07d"
  form = wrk.format():gsub("%%", "%%%%"):gsub(os.getenv("BENCH_NAME"):gsub("%-", "%%-"), name)
  count = id * 1000000
  request = function()
    count = count + 1
    return string.format(form, count, count)  -- the name stands once or twice
  end
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.stderr:write(string.format(
    '{"requests": %d, "bytes": %d, "seconds": %.6f, "errors": %d, "mean": %.3f, "p50": %.3f, "p99": %.3f, "max": %.3f}\n',
    summary.requests, summary.bytes, summary.duration / 1e6,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout,
    latency.mean / 1e3, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, latency.max / 1e3))
end
