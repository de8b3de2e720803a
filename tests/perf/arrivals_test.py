#!/usr/bin/env python3
"""Arrivals, latencies and queues of arrivals.py by a clock of the test's own, beside what tests/cli/test_open_loop.c
expects of the program."""

import random
import unittest

import arrivals


class Clock:
    def __init__(self, cost):
        self.time, self.cost = 0.0, cost

    def now(self):
        return self.time

    def sleep(self, ms):
        assert ms > 0
        self.time += ms

    def run(self):
        self.time += self.cost

    def turn(self, times):
        return arrivals.run_turn(times, self.now, self.sleep, self.run)


class Test(unittest.TestCase):
    def test_a_request_waits_for_those_before_it(self):
        requests = Clock(10).turn([0, 4, 30, 31, 32])
        self.assertEqual([ended for _, ended in requests], [10, 20, 40, 50, 60])
        found = arrivals.summarise(requests)
        self.assertEqual(found["latency_ms"]["max"], 28)
        self.assertEqual(found["latency_ms"]["p50"], 16)
        self.assertEqual(found["queue"]["max"], 2)
        self.assertAlmostEqual(found["queue"]["mean"], (0 + 1 + 0 + 1 + 2) / 5)
        self.assertAlmostEqual(found["throughput_per_s"], 5e3 / 60)

    def test_a_queue_above_saturation_grows(self):
        short, long = (arrivals.summarise(Clock(10).turn([8.0 * i for i in range(n)])) for n in (50, 100))
        self.assertGreater(long["latency_ms"]["p99"], 1.8 * short["latency_ms"]["p99"])
        self.assertAlmostEqual(long["throughput_per_s"], 100, delta=1)

    def test_arrivals_keep_their_shape_at_any_rate(self):
        times = arrivals.poisson(2000, random.Random(1))
        self.assertAlmostEqual(times[-1], 2e6, delta=1e5)
        fast = arrivals.scale(times, 50.0)
        self.assertEqual(fast[0], 0)
        self.assertAlmostEqual(fast[-1], 1e3 * 1999 / 50.0)
        self.assertAlmostEqual((fast[7] - fast[6]) / (times[7] - times[6]), (fast[9] - fast[8]) / (times[9] - times[8]))


if __name__ == "__main__":
    unittest.main()
