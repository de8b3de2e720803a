"""Requests that arrive by the clock whether or not those before them have ended, as apps/mts/open_loop.c has them.

For peers: one request at a time, in order. Times are milliseconds.
"""

import math


def poisson(count, random):
    """Arrivals of one request a second on average, the first after a gap as all others."""
    at, times = 0.0, []
    for _ in range(count):
        at -= 1e3 * math.log(1.0 - random.random())
        times.append(at)
    return times


def scale(times, rate):
    """The same arrivals from 0 on, `rate` a second on average: what `mts bench --trace FILE --rate R` makes of them."""
    has = 1e3 * (len(times) - 1) / (times[-1] - times[0])
    return [(time - times[0]) * has / rate for time in times]


def run_turn(times, now, sleep, run):
    """(arrived, ended) of each request; now() is 0 when the turn begins."""
    requests = []
    for arrived in times:
        while now() < arrived:
            sleep(arrived - now())
        run()
        requests.append((arrived, now()))
    return requests


def rank(ordered, part):
    """Nearest rank, as open_loop.c has it."""
    return ordered[int(part * (len(ordered) - 1) + 0.5)]


def summarise(requests):
    """The members that `mts bench --arrivals --json` prints of a rate."""
    latencies = sorted(ended - arrived for arrived, ended in requests)
    queues, done = [], 0
    for index, (arrived, _) in enumerate(requests):
        while done < index and requests[done][1] <= arrived:
            done += 1
        queues.append(index - done)
    return {"throughput_per_s": 1e3 * len(requests) / (requests[-1][1] - requests[0][0]),
            "latency_ms": {"mean": sum(latencies) / len(latencies), "p50": rank(latencies, 0.5),
                           "p90": rank(latencies, 0.9), "p99": rank(latencies, 0.99), "p99_9": rank(latencies, 0.999),
                           "max": latencies[-1]},
            "queue": {"mean": sum(queues) / len(queues), "max": max(queues)}}
