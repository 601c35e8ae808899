"""What every number of a result means, and its unit: `ofancore list metrics` and the tables of README.md. Tests compare the names."""

from __future__ import annotations

Words = dict[str, tuple[str, str]]  # name -> (unit, meaning)

LINKS: Words = {
    "host_edge": ("", "from a host to its edge switch; hosts have no queue, so its queues are 0"),
    "edge_agg": ("", "from an edge switch up to an aggregation switch of its pod (leaf to spine in two tiers)"),
    "agg_core": ("", "from an aggregation switch up to a core switch"),
    "core_agg": ("", "from a core switch down to a pod"),
    "agg_edge": ("", "from an aggregation switch down to an edge switch of its pod (spine to leaf)"),
    "edge_host": ("", "from an edge switch down to a host"),
}

METRICS: Words = {
    "finished": ("", "whether all flows were done before the time limit; if not, times and ratios that need it do not exist"),
    "ended_ns": ("ns", "when the last flow was done; of a run that did not finish, where it stood when it was stopped"),
    "cct_ns": ("ns", "collective completion time: from 0 until every sender has its last ACK"),
    "mean_done_ns": ("ns", "the same of a flow, mean over flows"),
    "last_data_ns": ("ns", "when the last message had arrived whole"),
    "lower_bound_ns": (
        "ns",
        "least CCT; under failures that of the damaged fabric and the paced rate; with rails that of servers, whatever NICs they use",
    ),
    "ideal_ns": (
        "ns",
        "as that, but each message of a chain takes the paper's bound of a permutation, with its ACKs in band; where all is one "
        "collective that starts at 0, that of the collective",
    ),
    "cct_over_ideal": (
        "share",
        "CCT over `ideal_ns`, less one; in a chain whose hosts ACK in pauses it may be a little below 0, which `cct_inflation` never is",
    ),
    "cct_inflation": ("share", "CCT over `lower_bound_ns`, less one"),
    "queue_max_bytes": ("B, by link class", "longest queue that a packet found at a link of the class: what was to be sent before it"),
    "queue_mean_bytes": ("B, by link class", "bytes waiting at a link, mean over time and over the links of the class"),
    "queue_max_packets": ("data packets", "longest queue that a packet found at any switch port"),
    "queue_mean_packets": ("data packets", "what waits at a switch port, mean over time and over all ports"),
    "link_overload": ("ratio, by stage", "bytes over the most loaded link between switches, over the mean of the links of its class"),
    "drops": (
        "packets, by reason",
        "`buffer`: no room; `dead_link`: sent into, or on, a dead link; `no_route`: the switch knows of no way; "
        "`random`: by `failures.loss_rate`",
    ),
    "replaced_packets": ("data packets", "erasure code: sent in place of lost ones"),
    "resent_packets": ("data packets", "other recoveries: sent again"),
    "spurious_packets": ("data packets", "came a second time"),
    "timeouts": ("", "times that a flow took packets for lost after a timeout"),
    "trimmed_packets": ("data packets", "cut down to their headers by full buffers"),
    "refused_packets": ("data packets", "go-back-N: came before one that was missing and were thrown away"),
    "ecn_marks": ("data packets", "marked at a switch; a packet may be marked at several"),
    "packets": ("packets", "data, ACKs, NACKs, trimmed headers: `sent` by hosts, `delivered` to hosts, `dropped`, `in_flight` at the end"),
    "reorder_fraction": ("share", "data packets that came after a later one of their flow, of all delivered"),
    "reorder_max_packets": ("data packets", "how far the latest of them was behind"),
    "utilisation": ("share", "of the time until the end that a sending host's link carried data, new or sent again; mean over senders"),
    "pointers_per_switch": ("", "round-robin pointers of an edge (`edge`) and an aggregation switch (`agg`)"),
    "state_bytes_per_switch": ("B", "balancing state of the same"),
    "state_bytes_per_host": ("B", "balancing state of the busiest host"),
    "packet_hops": ("", "packets times links crossed: the work of the simulator"),
    "collectives": (
        "list",
        "of the workload: `name`, `start_ns` (first packet at any rank), `end_ns` (last ACK at any), `cct_ns`, and `ideal_ns`, "
        "`cct_over_ideal` of the collective alone, from its own start",
    ),
    "step_ns": ("ns", "when the last collective or computation ended"),
    "compute_ns": ("ns", "what the busiest host computed"),
    "exposed_ns": ("ns", "`step_ns` less `compute_ns`: communication that computing did not hide"),
}

FLOWS: Words = {
    "src": ("host", "sender"),
    "dst": ("host", "receiver; of a computation of training, the host itself"),
    "packets": ("data packets", "of the message, under `rails` of its part on one rail; 0: a computation"),
    "sent": ("data packets", "sent, those in place of lost ones included"),
    "delivered": ("data packets", "taken by the receiver, without copies and refused ones"),
    "acked": ("data packets", "that the sender knows to have arrived"),
    "started_ns": ("ns", "first packet sent; times of what has not happened are NaN"),
    "complete_ns": ("ns", "message whole at the receiver"),
    "done_ns": ("ns", "slot of the last ACK ended at the sender"),
    "late": ("data packets", "came after a later one"),
    "late_max": ("data packets", "how far the latest of them was behind"),
    "resent": ("data packets", "sent again (not with the erasure code)"),
    "duplicates": ("data packets", "came a second time"),
    "timeouts": ("", "times that it took packets for lost after a timeout"),
}

LINK_ROWS: Words = {
    "class": ("0 to 5", "link class, in the order of the table above"),
    "tail": ("node", "where packets enter: the link's sender (hosts come first, then edge, aggregation and core switches)"),
    "head": ("node", "where they leave: its receiver"),
    "bytes": ("B", "data packets and ACKs handed to it, without gaps"),
    "data": ("data packets", "handed to it"),
    "acks": ("packets", "ACKs, NACKs and trimmed headers handed to it"),
    "queue_max_bytes": ("B", "longest queue that a packet found"),
    "queue_mean_bytes": ("B", "bytes waiting, mean over time"),
    "drops": ("packets", "refused at its tail: no room, or the link is dead"),
    "ecn_marks": ("data packets", "marked at its tail"),
    "free_ns": ("ns", "when all that was handed to it, gaps included, is sent"),
}

TIERS: Words = {
    "stage": ("", "link class"),
    "links": ("", "links of the class"),
    "used": ("", "of them, those that were handed a packet"),
    "dead": ("", "of them, those that are dead after the failure"),
    "degraded": ("", "of them, those that have a part of their rate left"),
    "mean_bytes": ("B", "data packets and ACKs handed to a link, mean over all links of the class, dead and idle ones too"),
    "max_bytes": ("B", "the same of the most loaded one"),
    "overload": ("ratio", "`max_bytes` over `mean_bytes`: `link_overload`"),
    "cv": ("ratio", "coefficient of variation: standard deviation of bytes over the links, over their mean"),
}

USE: Words = {
    "flow": ("", "number of the flow: its row in `flows`"),
    "src": ("host", "its sender"),
    "dst": ("host", "its receiver"),
    "link": ("", "number of the link: its row in `links`"),
    "data": ("data packets", "of the flow, handed to the link; sent again counts again"),
    "acks": ("packets", "ACKs, NACKs and trimmed headers of the flow, handed to the link"),
    "bytes": ("B", "both, without gaps"),
    "first_ns": ("ns", "when the first of them was handed to it"),
    "last_ns": ("ns", "when the last was"),
}

PATH_LINKS: Words = {
    "link": ("", "number of the link: its row in `links`, whose columns follow"),
    "stage": ("", "link class"),
    "cable": ("", "its cable, as in `failures.cables`; of a host `host:N-edge:POD:INDEX`"),
    "direction": ("", "`up` or `down`"),
    "capacity": ("share", "of its rate that is left after the failure; 0: dead"),
    "over_mean": ("ratio", "its bytes over the mean of its class"),
}
