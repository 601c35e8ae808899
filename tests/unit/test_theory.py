"""Closed forms against direct simulation of the little systems that they describe."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from ofancore import theory


def test_reflected_walk_matches_the_random_spraying_forms():
    k, m, rng = 8, 2000, np.random.default_rng(3)
    steps = rng.binomial(k // 2, 2 / k, (1500, m)) - 1
    walk = np.cumsum(steps, axis=1)
    queue = walk - np.minimum(np.minimum.accumulate(walk, axis=1), 0)
    assert queue[:, -1].mean() == pytest.approx(theory.random_mean_queue(m, k), rel=0.07)
    assert queue.max(axis=1).mean() == pytest.approx(theory.random_largest_queue(m, k), rel=0.07)
    assert queue.mean() == pytest.approx(theory.random_time_mean_queue(m, k), rel=0.07)


def test_the_worst_of_one_link_is_that_link():
    assert theory.largest_of_links(100, 1) == pytest.approx(float(theory.random_largest_queue(100)), rel=2e-3)
    worst = [float(theory.largest_of_links(100, n)) for n in (1, 10, 100, 1000)]
    assert worst == sorted(worst)


def ndd1_by_hand(sources: int, period: float, rounds: int) -> float:
    """Mean unfinished work at a random time of periodic streams with random phases, by walking through the arrivals."""
    rng, total = np.random.default_rng(sources), 0.0
    for _ in range(rounds):
        phase = np.sort(rng.random(sources) * period)
        look = 3 * period + rng.random() * period
        work = last = 0.0
        for at in np.concatenate([phase + i * period for i in range(4)]):
            if at > look:
                break
            work, last = max(0.0, work - (at - last)) + 1, at
        total += max(0.0, work - (look - last))
    return total / rounds


@pytest.mark.parametrize(("sources", "period"), [(2, 2.0), (4, 4.0), (7, 7.0), (16, 16.0), (4, 6.0)])
def test_ndd1_mean_against_a_walk_through_arrivals(sources, period):
    assert theory.ndd1_mean(sources, period) == pytest.approx(ndd1_by_hand(sources, period, 4000), rel=0.06)


def test_ndd1_elementary_cases_and_limit():
    assert theory.ndd1_mean(0) == 0
    assert theory.ndd1_mean(1) == pytest.approx(0.5)
    assert theory.ndd1_mean(400) == pytest.approx(theory.bridge_mean(400), rel=0.02)
    assert theory.ndd1_tail(0.0, 3, 6.0) == pytest.approx(0.5)  # busy half of the time at load 1/2
    tails = [theory.ndd1_tail(x, 16, 16.0) for x in np.linspace(0.01, 16, 50)]
    assert all(a >= b - 1e-9 for a, b in itertools.pairwise(tails))
    assert tails[-1] == 0


def test_queue_models_order_and_growth():
    for stage in theory.STAGES:
        assert theory.rotation_queue("ofan", stage, 8) <= theory.rotation_queue("host_dr", stage, 8)
    ratio = [theory.rotation_queue("host_dr", "agg_core", k) / theory.rotation_queue("ofan", "agg_core", k) for k in (8, 16, 32)]
    assert ratio == sorted(ratio)


def test_rotation_bound_holds_for_any_window():
    rng, ports, pointers = np.random.default_rng(5), 4, 6
    for _ in range(50):
        turn = rng.integers(0, ports, pointers)
        load = np.zeros(ports)
        for chosen in rng.integers(0, pointers, 200):
            load[turn[chosen]] += 1
            turn[chosen] = (turn[chosen] + 1) % ports
        assert load.max() - 200 / ports <= theory.rotation_bound(pointers, ports) + 1e-9


def test_best_payloads_are_minima():
    d, h, alpha, beta = 1 << 20, 82.0, 10.0, 1.5
    p = np.linspace(200, 60_000, 200_000)
    assert p[np.argmin(d * (1 + h / p) + alpha * p)] == pytest.approx(theory.best_payload(d, h, alpha), rel=1e-3)
    measured = p[np.argmin(d * (1 + h / p) + beta * np.sqrt(d / p) * p)]
    assert measured == pytest.approx(theory.best_payload_sqrt(d, h, beta), rel=1e-3)
    assert theory.best_payload_sqrt(8 * d) / theory.best_payload_sqrt(d) == pytest.approx(2)
    assert theory.best_payload(4 * d) / theory.best_payload(d) == pytest.approx(2)
    assert math.isclose(theory.spray_variance(8), 0.75)
