"""Frames that arrive by the clock, for runtimes other than mts: the same arrivals, drops and score as mts bench
--scenario has (docs/SCENARIOS.md), one frame in each run.

Pure but for run_turn's threads: the clock is the caller's, so that tests/perf/rated_test.py needs no time.
"""

import math
import threading

REFUSED = 16  # of so many frames that cannot end in time by their cost alone, one runs and may show that they can
STEEPNESS = 15.0  # XRBench's k, per millisecond


def frames_before(interval_ms, ms):
    """How many frames arrive before `ms`."""
    return max(0, math.ceil(ms / interval_ms - 1e-9))


def score_of_frame(after_ms):
    """XRBench's real-time score of a frame that ended so many milliseconds after its deadline."""
    return 1 / (1 + math.exp(min(STEEPNESS * after_ms, 700.0)))


class Network:
    """Frames of one network: those that are open, and what became of the others."""

    def __init__(self, name, rate, deadline_ms=None, times=1, importance=0, cost_ms=0.0):
        self.name, self.times, self.importance, self.cost_ms = name, times, importance, cost_ms
        self.interval_ms = 1e3 / rate
        self.deadline_ms = deadline_ms or self.interval_ms
        self.frames = 0
        self.next = [0] * times  # of each frame of an arrival, the oldest that has neither run nor been dropped
        self.latencies, self.dropped = [], 0
        self.is_running = False
        self.refused = 0

    def begin(self, ms):
        self.frames = frames_before(self.interval_ms, ms)
        self.next = [0] * self.times
        self.refused = 0

    def arrival(self, which):
        return self.next[which] * self.interval_ms if self.next[which] < self.frames else math.inf

    def deadline(self, which):
        return self.arrival(which) + self.deadline_ms

    def drop_lost(self, now, fit):
        for which in range(self.times):
            while self.arrival(which) <= now and now + self.expected(fit) > self.deadline(which):
                self.next[which] += 1
                self.dropped += 1
                self.refused += self.cost_ms > self.deadline_ms

    def expected(self, fit):
        return self.cost_ms if fit and self.refused + 1 < REFUSED else 0.0

    def correct(self, ms):
        """What a run has taken corrects the cost, as correct_costs of mts bench does."""
        weight = 1.0 if self.cost_ms > self.deadline_ms else 0.25
        self.cost_ms += (min(ms, 2 * self.cost_ms) - self.cost_ms) * weight
        self.refused = 0

    def first(self):
        """Of the frames of an arrival the one that is furthest behind."""
        return min(range(self.times), key=lambda which: self.next[which])

    def result(self):
        late = sum(latency > self.deadline_ms for latency in self.latencies)
        due = len(self.latencies) + self.dropped
        scores = sum(score_of_frame(latency - self.deadline_ms) for latency in self.latencies)
        return {"name": self.name, "rate": 1e3 / self.interval_ms, "times": self.times, "deadline_ms": self.deadline_ms,
                "importance": self.importance, "alone_ms": self.cost_ms * self.times, **summary(self.latencies),
                "due": due, "kept": len(self.latencies), "dropped": self.dropped, "late": late,
                "realtime": scores / due if due else 1.0, "quality": 1 - self.dropped / due if due else 1.0}


def summary(latencies):
    """Nearest ranks, as mts bench has them."""
    ordered = sorted(latencies) or [0.0]
    rank = lambda part: ordered[int(part * (len(ordered) - 1) + 0.5)]
    return {"latency_ms": {"p50": rank(0.5), "p99": rank(0.99), "p99_9": rank(0.999), "max": rank(1.0)}}


def choose(networks, now):
    """The network of the due frame that runs next, or None. One that is running takes no second frame."""
    due = [network for network in networks if not network.is_running and network.arrival(network.first()) <= now]
    return min(due, key=lambda network: (-network.importance, network.deadline(network.first())), default=None)


def next_arrival(networks):
    """Of networks that are not running; infinity: there is none."""
    return min((network.arrival(network.first()) for network in networks if not network.is_running), default=math.inf)


class Turn:
    """One turn. Workers take frames from it; the lock guards the networks."""

    def __init__(self, networks, schedule, now, wait, runs):
        self.networks, self.fit, self.now, self.wait, self.runs = networks, schedule == "fit", now, wait, runs
        self.changed = threading.Condition()
        self.submissions = 0

    def take(self):
        """A network and which of its frames, once one is due; None when all frames are done with."""
        with self.changed:
            while True:
                now = self.now()
                for network in self.networks:
                    network.drop_lost(now, self.fit)
                network = choose(self.networks, now)
                if network:
                    network.is_running = True
                    self.submissions += 1
                    which = network.first()
                    return network, which, network.arrival(which)
                arrival = next_arrival(self.networks)
                if arrival == math.inf and not any(network.is_running for network in self.networks):
                    return None
                self.wait(self.changed, None if arrival == math.inf else arrival - now)

    def work(self):
        while True:
            taken = self.take()
            if not taken:
                return
            network, which, arrival = taken
            start = self.now()
            self.runs[network.name]()
            with self.changed:
                network.correct(self.now() - start)
                network.latencies.append(self.now() - arrival)
                network.next[which] += 1
                network.is_running = False
                self.changed.notify_all()


def run_turn(networks, schedule, ms, workers, now, wait, runs):
    """Runs the frames of `ms` milliseconds; returns how many ran. runs[name]() is one frame of a network."""
    for network in networks:
        network.begin(ms)
    turn = Turn(networks, schedule, now, wait, runs)
    threads = [threading.Thread(target=turn.work) for _ in range(workers - 1)]
    for thread in threads:
        thread.start()
    turn.work()
    for thread in threads:
        thread.join()
    return turn.submissions


def result_of(networks):
    """What mts bench --scenario prints of a strategy, for a peer."""
    rows = [network.result() for network in networks]
    total = lambda key: sum(row[key] for row in rows)
    scores = sum(row["realtime"] * row["due"] for row in rows)
    return {"score": 100 * sum(row["realtime"] * row["quality"] for row in rows) / len(rows),
            "due": total("due"), "kept": total("kept"), "dropped": total("dropped"), "late": total("late"),
            **summary([latency for network in networks for latency in network.latencies]),
            "realtime": scores / max(total("due"), 1), "quality": 1 - total("dropped") / max(total("due"), 1),
            "networks": rows}


def is_sustained(row, least_score):
    """Whether a result holds a load: it scores, no network with due frames dropped all of them, and of each network
    99 % of what ran ended by its deadline."""
    return row["score"] >= least_score and all(
        (network["kept"] > 0 or network["due"] == 0) and network["latency_ms"]["p99"] <= network["deadline_ms"]
        for network in row["networks"])


class Search:
    """The highest speed that is sustained: doubled or halved until it is between two, then bisected."""

    def __init__(self, first=1.0, width=0.05, least=1 / 64, most=64.0):
        self.next, self.width, self.least, self.most = first, width, least, most
        self.held, self.failed = 0.0, math.inf

    def is_done(self):
        low, high = max(self.held, self.least), min(self.failed, self.most)
        return high <= low * (1 + self.width)

    def tell(self, held):
        """Of `next`, the speed that was tried."""
        if held:
            self.held = max(self.held, self.next)
        else:
            self.failed = min(self.failed, self.next)
        if self.failed == math.inf:
            self.next = min(self.held * 2, self.most)
        elif self.held == 0.0:
            self.next = max(self.failed / 2, self.least)
        else:
            self.next = math.sqrt(self.held * self.failed)
