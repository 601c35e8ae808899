// Names and widths of what the programs carry.

#ifndef TYPES_P4
#define TYPES_P4

typedef bit<48> mac_t;
typedef bit<32> ip_t;
typedef bit<9> port_t;
typedef bit<2> pipe_t;
typedef bit<11> group_t;     // destination edge switch (at an edge switch) or pod (at an aggregation switch)
typedef bit<1> bin_t;        // size bin: 0 data, 1 small
typedef bit<12> pointer_t;   // group ++ bin
typedef bit<16> position_t;  // of a pointer in its schedule
typedef bit<12> schedule_t;  // number of a schedule

const mac_t ROUTER_MAC = 0x02_00_00_00_00_01;  // of every switch: routers of the fabric share one address
const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<8> PROTOCOL_UDP = 17;
const bit<16> UDP_ROCE = 4791;

// What the route says of a packet.
typedef bit<2> way_t;
const way_t WAY_NONE = 0;  // nothing: the packet is dropped
const way_t WAY_DOWN = 1;  // out of a port towards the only switch or host that leads there
const way_t WAY_UP = 2;    // to any uplink: the choice that the paper is about

struct meta_t {
    bit<1> sane;         // a well-formed IPv4 packet for this router
    bool bad_checksum;   // of the IPv4 header
    bit<1> from_above;   // came in by an uplink
    pipe_t pipe;         // of the input port
    way_t way;
    group_t group;
    bin_t bin;
    schedule_t schedule;
    position_t last;     // last position in the schedule: its length less one
    position_t position;
    port_t port;         // output port
    port_t backup;       // the next other port of the schedule
    bit<1> dead;         // `port` has lost its link
    bit<16> source_port; // UDP, 0 if there is none to be read (not UDP, or a fragment)
    bit<24> queue_pair;  // RoCEv2 destination, 0 if there is none to be read
    bit<16> copy_to;     // multicast group for the news of a dead link (Tofino), 0: none
}

#endif
