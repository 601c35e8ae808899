"""The P4 programs of `p4/`: their sizes and sources, table entries from the simulator's state, decision traces, replay on BMv2, and
what compilers report of resources. See `p4/README.md` for the data plane itself.
"""
