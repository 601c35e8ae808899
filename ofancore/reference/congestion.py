"""Congestion controls of the slow twin: a class by control, one object a flow.

Times are floats of ticks. `keys` are the control's keys of the scenario, and of the fabric: `slot` (ticks from packet to packet at line
rate), `base_rtt` (of the longest path), `bdp` (the same in packets), `wire_bytes` (of a data packet with its gap), `trim`.
"""

from __future__ import annotations

import math

REORDERED, NACKED, TIMED_OUT = range(3)  # why a packet is taken for lost
LONG_AGO = -1e18


class Control:
    """Line rate, and the base of all: no window, no rate."""

    windowed = False
    cwnd = math.inf  # packets that may be on their way
    rate = 1.0  # share of the line rate

    def __init__(self, keys: dict, base: float):
        self.keys = keys
        self.base = base  # round trip of the flow's own path without queues

    def on_ack(self, now: float, rtt: float, ecn: bool, n: float, inflight: float) -> None:
        """`n` packets more are known to have arrived; `rtt` is negative if there is no sample."""

    def on_loss(self, now: float, n: float, cause: int, inflight: float) -> None:
        """`n` packets are taken for lost; `inflight` others are on their way."""

    def on_send(self, now: float) -> int | None:
        """A data packet is sent: ticks until the next one may follow; None if only the NIC decides."""
        return None


class Window(Control):
    """Base of the controls with a window."""

    windowed = True

    def __init__(self, keys, base):
        super().__init__(keys, base)
        self.cap = largest_window(keys)
        self.last = LONG_AGO  # time of the last cut
        self.cwnd = self.clamp(keys["initial_window_bdp"] * keys["bdp"])

    def clamp(self, x: float) -> float:
        return min(max(x, 1.0), self.cap)


def largest_window(keys: dict) -> float:
    """The largest window, in packets."""
    return max(keys["max_window_bdp"] * keys["bdp"], 1.0)


class Swift(Window):
    """Keep the round trip at a target: grow a little every round trip below it, shrink by the excess once a round trip above it."""

    def __init__(self, keys, base):
        super().__init__(keys, base)
        self.target = base + float(round(keys["target_packets"] * keys["slot"]))

    def judged(self, rtt: float) -> float:
        """The round trip that decides."""
        return rtt

    def on_ack(self, now, rtt, ecn, n, inflight):
        if rtt < 0:
            return
        rtt = self.judged(rtt)
        if rtt <= self.target:
            self.cwnd = self.clamp(self.cwnd + self.keys["additive_packets"] * n / self.cwnd)
        elif now - self.last >= rtt:
            share = 1.0 - self.keys["beta"] * (rtt - self.target) / rtt
            self.cwnd = self.clamp(self.cwnd * max(share, 1.0 - self.keys["max_decrease"]))
            self.last = now

    def on_loss(self, now, n, cause, inflight):
        if self.keys["cut_on_loss"] and now - self.last >= self.base:
            self.cwnd = self.clamp(self.cwnd * (1.0 - self.keys["max_decrease"]))
            self.last = now


class MedianSwift(Swift):
    """Swift on the (lower) median of the last samples, about a window of them."""

    def __init__(self, keys, base):
        super().__init__(keys, base)
        self.samples: list[float] = []

    def judged(self, rtt):
        self.samples.append(rtt)
        n = min(max(1, int(self.keys["median_windows"] * self.cwnd)), self.keys["median_packets_max"])
        last = sorted(self.samples[-n:])
        return last[(len(last) - 1) // 2]


class Dctcp(Window):
    """Once a window of packets: shrink by half the smoothed share of marks."""

    def __init__(self, keys, base):
        super().__init__(keys, base)
        self.alpha = 1.0
        self.seen = self.marked = 0.0
        self.goal = self.cwnd

    def on_ack(self, now, rtt, ecn, n, inflight):
        self.seen += n
        if ecn:
            self.marked += n
        else:
            self.cwnd = self.clamp(self.cwnd + n / self.cwnd)
        if self.seen >= self.goal:
            g = self.keys["gain"]
            self.alpha = (1.0 - g) * self.alpha + g * (self.marked / self.seen)
            if self.marked > 0:
                self.cwnd = self.clamp(self.cwnd * (1.0 - self.alpha / 2.0))
            self.seen = self.marked = 0.0
            self.goal = self.cwnd

    def on_loss(self, now, n, cause, inflight):
        if cause == TIMED_OUT:
            self.cwnd = 1.0
            self.last = now
        elif now - self.last >= self.base:
            self.cwnd = self.clamp(self.cwnd * 0.5)
            self.last = now


class Nscc(Window):
    """NSCC of Ultra Ethernet, in packets: four cases by mark and queueing delay, and a quick adaptation to what got through."""

    def __init__(self, keys, base):
        super().__init__(keys, base)
        rtts = keys["target_rtts"]
        if rtts is None:
            rtts = 0.75 if keys["trim"] else 1.0
        self.rtt0 = float(keys["base_rtt"])
        self.target = rtts * self.rtt0
        a = keys["bdp"] * keys["wire_bytes"] / 150000.0
        b = self.target / 12e6
        self.proportional = keys["alpha"] * a * b / self.target
        self.fair = keys["fair"] * a
        self.eta = keys["eta"] * a
        self.fast = keys["fast"] * a
        self.average = 0.0  # queueing delay
        self.increase = 0.0  # what the next adjustment adds, times the window
        self.since = 0.0  # packets since the last adjustment
        self.adjusted = 0.0  # time of the last addition of eta
        self.decreased = LONG_AGO
        self.quick_end = 0.0  # end of the period of quick adaptation
        self.achieved = 0.0  # packets that arrived in it
        self.trigger = False  # a loss in it
        self.ignore = 0.0  # packets whose marks and losses do not count after a quick adaptation
        self.ignored = 0.0
        self.fast_count = 0.0  # packets in a row without queue

    def on_ack(self, now, rtt, ecn, n, inflight):
        delay = self.average if rtt < 0 else max(rtt - self.base, 0.0)
        if rtt >= 0:
            self.smooth(0.25 * self.base if not ecn and delay > self.target else delay)
        self.achieved += n
        if self.left_alone(now, ecn, n, delay, inflight):
            return
        self.judge(now, delay, ecn, n)
        self.since += n
        eta_is_due = now - self.adjusted >= self.rtt0
        if self.since > self.keys["adjust_packets"] or eta_is_due:
            self.cwnd = self.clamp(self.cwnd + self.increase / self.cwnd)
            self.increase = self.since = 0.0
        if eta_is_due:
            self.cwnd = self.clamp(self.cwnd + self.eta)
            self.adjusted = now

    def smooth(self, sample):
        self.average = self.keys["average_weight"] * sample + (1.0 - self.keys["average_weight"]) * self.average

    def left_alone(self, now, bad, n, delay, inflight) -> bool:
        """Whether the window is not for `n` packets to move, by old bad news or just adapted; then the increase begins anew."""
        self.ignored += n
        alone = bool(bad and self.ignored < self.ignore) or (now >= self.quick_end and self.adapt_quickly(now, delay, inflight))
        if alone:
            self.increase = self.since = 0.0
        return alone

    def adapt_quickly(self, now, delay, inflight) -> bool:
        """A period ends; whether the window was set to what arrived in it."""
        bad = self.trigger or delay > self.keys["adapt_threshold"] * self.target
        adapt = self.quick_end > 0 and bad and self.achieved < self.cap / 2 ** self.keys["adapt_gate"]
        if adapt:
            self.cwnd = self.clamp(self.achieved)
            self.ignore, self.ignored = inflight, 0.0
            self.trigger = False
        self.achieved = 0.0
        self.quick_end = now + self.base + self.target
        return adapt

    def judge(self, now, delay, ecn, n):
        """The four cases."""
        if ecn and delay < self.target:
            return
        if ecn:
            self.fast_count = 0.0
            if self.average > self.target and now - self.decreased >= self.base:
                share = 1.0 - self.keys["gamma"] * (self.average - self.target) / self.average
                self.cwnd = self.clamp(self.cwnd * max(share, 0.5))
                self.decreased = now
        elif delay >= self.target:
            self.increase += self.fair * n
        else:
            self.fast_count = self.fast_count + n if delay < 1e6 else 0.0
            if self.fast_count > self.cwnd:
                self.fast_count = math.inf  # once fast, it stays so while there is no queue
                self.cwnd = self.clamp(self.cwnd + n * self.fast)
            else:
                self.increase += self.proportional * n * (self.target - delay)

    def on_loss(self, now, n, cause, inflight):
        if cause != TIMED_OUT:
            self.smooth(self.rtt0)
            self.trigger = True
            if self.left_alone(now, True, n, 0.0, inflight + n):
                return
        self.cwnd = self.clamp(self.cwnd - n)


class Dcqcn(Control):
    """A rate, cut by marks at most once a notification time, that recovers by time and by packets sent."""

    def __init__(self, keys, base):
        super().__init__(keys, base)
        self.alpha_ticks, self.increase_ticks, self.notice_ticks = (
            float(round(keys[key] * 1000)) for key in ("decay_ns", "increase_ns", "notification_ns")
        )
        self.increase_packets = keys["increase_bytes"] / keys["wire_bytes"]
        self.rate = self.target = 1.0
        self.alpha = 1.0
        self.was_cut = False
        self.times = self.rounds = self.sent = 0.0  # increases by time, by packets, packets since the last of those
        self.alpha_at = self.increase_at = 0.0
        self.notice_at = LONG_AGO

    def settle(self, now):
        """Catch up with what time alone has done since."""
        if not self.was_cut:
            return
        while now - self.alpha_at >= self.alpha_ticks:
            self.alpha = (1.0 - self.keys["gain"]) * self.alpha
            self.alpha_at += self.alpha_ticks
        while now - self.increase_at >= self.increase_ticks:
            self.times += 1
            self.increase_at += self.increase_ticks
            self.recover()

    def recover(self):
        if min(self.times, self.rounds) >= self.keys["stages"]:
            self.target = min(1.0, self.target + self.keys["hyper_fraction"])
        elif max(self.times, self.rounds) >= self.keys["stages"]:
            self.target = min(1.0, self.target + self.keys["additive_fraction"])
        self.rate = (self.rate + self.target) / 2.0

    def cut(self, now):
        g = self.keys["gain"]
        self.target = self.rate
        self.rate = max(self.rate * (1.0 - self.alpha / 2.0), self.keys["least_fraction"])
        self.alpha = (1.0 - g) * self.alpha + g
        self.times = self.rounds = self.sent = 0.0
        self.alpha_at = self.increase_at = self.notice_at = now
        self.was_cut = True

    def hear_notice(self, now):
        if now - self.notice_at >= self.notice_ticks:
            self.cut(now)

    def on_ack(self, now, rtt, ecn, n, inflight):
        self.settle(now)
        if ecn:
            self.hear_notice(now)

    def on_loss(self, now, n, cause, inflight):
        self.settle(now)
        if cause == TIMED_OUT:
            self.cut(now)
        else:
            self.hear_notice(now)

    def on_send(self, now):
        self.settle(now)
        if self.was_cut:
            self.sent += 1
            if self.sent >= self.increase_packets:
                self.sent = 0.0
                self.rounds += 1
                self.recover()
        return round(self.keys["slot"] / self.rate)


CONTROLS: dict[str, type[Control]] = {
    "line_rate": Control,
    "swift": Swift,
    "mswift": MedianSwift,
    "dctcp": Dctcp,
    "nscc": Nscc,
    "dcqcn": Dcqcn,
}
