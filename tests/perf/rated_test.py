#!/usr/bin/env python3
"""Arrivals, drops and score of rated.py by a clock of the test's own, beside the cases of tests/cli/test_schedule.c."""

import math
import unittest

import rated


class World:
    """A clock, and networks that take some milliseconds of it."""

    def __init__(self, costs):
        self.time = 0.0
        self.order = []
        self.runs = {name: lambda name=name, cost=cost: self.run(name, cost) for name, cost in costs.items()}

    def now(self):
        return self.time

    def wait(self, _, ms):
        assert ms > 0
        self.time += ms

    def run(self, name, cost):
        self.order.append((name, self.time))
        self.time += cost

    def turn(self, networks, schedule, ms):
        return rated.run_turn(networks, schedule, ms, 1, self.now, self.wait, self.runs)


class Rated(unittest.TestCase):
    def test_frames_of_a_turn_are_those_that_arrive_before_its_end(self):
        self.assertEqual(rated.frames_before(10, 100), 10)
        self.assertEqual(rated.frames_before(10, 100.1), 11)
        self.assertEqual(rated.frames_before(1e3 / 45, 10e3), 450)
        self.assertEqual(rated.frames_before(10, 0), 0)

    def test_the_earliest_deadline_runs_first(self):
        networks = [rated.Network("a", 25), rated.Network("b", 50), rated.Network("c", 100)]
        world = World({"a": 3, "b": 2, "c": 1})
        self.assertEqual(world.turn(networks, "alone", 10), 3)
        self.assertEqual(world.order, [("c", 0.0), ("b", 1.0), ("a", 3.0)])
        self.assertEqual(networks[0].latencies, [6.0])

    def test_the_more_important_frame_runs_first(self):
        networks = [rated.Network("a", 100), rated.Network("b", 25, importance=1)]
        world = World({"a": 1, "b": 2})
        world.turn(networks, "alone", 10)
        self.assertEqual([name for name, _ in world.order], ["b", "a"])

    def test_a_frame_whose_deadline_passes_before_it_runs_is_dropped(self):
        networks = [rated.Network("a", 100), rated.Network("b", 10)]
        world = World({"a": 1, "b": 35})
        world.turn(networks, "alone", 40)
        self.assertEqual((networks[0].dropped, networks[0].latencies), (2, [1.0, 7.0]))

    def test_fit_drops_a_frame_that_cannot_end_in_time(self):
        networks = [rated.Network("a", 100, cost_ms=12), rated.Network("b", 30, cost_ms=6)]
        world = World({"a": 12, "b": 6})
        world.turn(networks, "fit", 30)
        self.assertEqual((networks[0].dropped, networks[1].latencies), (3, [6.0]))

    def test_a_wrong_cost_is_corrected_by_runs(self):
        network = rated.Network("a", 100, cost_ms=25)
        World({"a": 4}).turn([network], "fit", 400)
        self.assertEqual((network.dropped, len(network.latencies), network.cost_ms), (15, 25, 4))
        slow = rated.Network("a", 100, cost_ms=3)
        World({"a": 6}).turn([slow], "fit", 400)
        self.assertAlmostEqual(slow.cost_ms, 6, 3)
        never = rated.Network("a", 100, cost_ms=12)
        World({"a": 12}).turn([never], "fit", 480)
        self.assertTrue(2 <= len(never.latencies) <= 3 and never.cost_ms == 12)

    def test_each_frame_of_an_arrival_runs(self):
        networks = [rated.Network("a", 50, times=2)]
        world = World({"a": 3})
        self.assertEqual(world.turn(networks, "alone", 40), 4)
        self.assertEqual(networks[0].latencies, [3.0, 6.0, 3.0, 6.0])

    def test_a_frame_scores_by_the_milliseconds_after_its_deadline(self):
        self.assertAlmostEqual(rated.score_of_frame(0), 0.5)
        self.assertAlmostEqual(rated.score_of_frame(0.1), 1 / (1 + math.exp(1.5)))
        self.assertAlmostEqual(rated.score_of_frame(-1000), 1)
        self.assertAlmostEqual(rated.score_of_frame(1e9), 0)

    def test_the_score_is_the_mean_over_networks(self):
        first, second = rated.Network("a", 10), rated.Network("b", 10)
        first.latencies, first.dropped = [5.0] * 3, 1
        second.latencies = [5.0, 100.0]
        result = rated.result_of([first, second])
        self.assertAlmostEqual(result["score"], 100 * (0.5625 + 0.75) / 2)
        self.assertEqual((result["due"], result["kept"], result["late"]), (6, 5, 0))

    def test_percentiles_are_nearest_ranks(self):
        latency = rated.summary(range(1000, 0, -1))["latency_ms"]
        self.assertEqual((latency["p50"], latency["p99"], latency["p99_9"], latency["max"]), (501, 990, 999, 1000))

    def test_workers_share_the_frames(self):
        networks = [rated.Network("a", 100), rated.Network("b", 100)]
        world = World({"a": 0, "b": 0})
        ran = rated.run_turn(networks, "alone", 50, 2, lambda: 1e6, world.wait, world.runs)
        self.assertEqual((ran, sum(network.dropped for network in networks)), (0, 10))

    def search(self, limit, **options):
        search, tried = rated.Search(**options), []
        while not search.is_done():
            tried.append(search.next)
            search.tell(search.next <= limit)
        return search, tried

    def test_the_highest_sustained_speed_is_found_from_below_and_above(self):
        for limit in (0.1, 0.7, 1.0, 3.3, 40.0):
            search, tried = self.search(limit)
            self.assertTrue(search.held <= limit < search.failed <= search.held * 1.05, limit)
            self.assertLess(len(tried), 14)

    def test_a_search_ends_where_all_speeds_or_none_are_sustained(self):
        self.assertEqual(self.search(1e9)[0].held, 64.0)
        self.assertEqual(self.search(0.0)[0].held, 0.0)

    def test_a_load_is_sustained_with_a_score_and_few_late_frames(self):
        network = rated.Network("a", 100)
        network.latencies = [9.0] * 99 + [11.0]
        row = rated.result_of([network])
        self.assertTrue(rated.is_sustained(row, 95))
        network.latencies = [9.0] * 98 + [11.0] * 2
        self.assertFalse(rated.is_sustained(rated.result_of([network]), 95))
        network.latencies, network.dropped = [9.0] * 90, 10
        self.assertFalse(rated.is_sustained(rated.result_of([network]), 95))

    def test_a_load_is_not_sustained_where_a_network_keeps_no_frame(self):
        network, starved = rated.Network("a", 100), rated.Network("b", 100)
        network.latencies = [9.0] * 100
        self.assertTrue(rated.is_sustained(rated.result_of([network, starved]), 40))  # nothing was due
        starved.dropped = 5
        self.assertFalse(rated.is_sustained(rated.result_of([network, starved]), 40))


if __name__ == "__main__":
    unittest.main()
