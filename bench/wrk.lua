-- What wrk does here beyond GET of one path: POST a pod with a name of its own in each request, GET many pods in turn,
-- and tell its figures as JSON. The environment says what: BENCH_POST is the file with the pod, BENCH_NAMES how many
-- pods are read, BENCH_RUN three letters that are in the names of this run's pods and in no others.

local threads = 0

function setup(thread)
  thread:set("id", threads)
  threads = threads + 1
end

local form, count
local STRIDE = 7919  -- a prime: pods that were created one after the other are not read one after the other

-- The whole request with %07d for each number. All names are as long as the one that they replace, so one text serves
-- all requests, its Content-Length too.
local function numbered()
  local name = "web-" .. os.getenv("BENCH_RUN") .. "-%%07d"
  return (wrk.format():gsub("%%", "%%%%"):gsub(os.getenv("BENCH_NAME"):gsub("%-", "%%-"), name))
end

local function read_names(names)
  form, count = numbered(), 0
  request = function()
    count = count + 1
    return string.format(form, count * STRIDE % names)
  end
end

local function post_file(path)
  local file = assert(io.open(path, "rb"))
  wrk.method = "POST"
  wrk.body = file:read("*a")
  file:close()
  form, count = numbered(), id * 1000000
  request = function()
    count = count + 1
    return string.format(form, count, count)  -- the name stands once or twice
  end
end

function init(args)
  local post, names = os.getenv("BENCH_POST"), os.getenv("BENCH_NAMES")
  if post then
    post_file(post)
  elseif names then
    read_names(tonumber(names))
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
