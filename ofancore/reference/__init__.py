"""The slow twin: the engine's model a second time, in plain objects and one event list, to compare with step for step.

    words.py      packets, random numbers, hashes        switches.py    the balancers' decisions at a switch
    events.py     event list                             senders.py     their decisions at a host
    links.py      links and the queues before them       balancers.py   both, by balancer
    network.py    switches                               recoveries.py  loss recovery: erasure.py, selective.py, go_back_n.py
    hosts.py      hosts: starts, the round, timers       congestion.py  windows and rates
    transport.py  flows, what all recoveries share       inputs.py      what both twins are given
    run.py        wiring and the event loop

No numba, no windows of time, no cleverness: what is fast in the engine is obvious here. Events at one instant and node are ordered as
the model says: changes of the fabric, then loss notices by (node of the loss, order there), then arrivals by input port, then the
choices of ports that serve control packets first, then flows that start by time, then flows that wake in the order in which they went
to sleep, then the timers, then one send. A new balancer, recovery or congestion control needs a twin here; a test compares the
registries.
"""

from ofancore.reference.inputs import inputs_of
from ofancore.reference.run import Inputs, Run, run_reference

__all__ = ["Inputs", "Run", "inputs_of", "run_reference"]
