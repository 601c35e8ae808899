// Headers: Ethernet, IPv4 without options, UDP, and the base transport header (BTH) of RoCEv2.

#ifndef HEADERS_P4
#define HEADERS_P4

header ethernet_t {
    mac_t dst;
    mac_t src;
    bit<16> type;
}

header ipv4_t {
    bit<8> version_ihl;
    bit<8> dscp_ecn;
    bit<16> total_bytes;
    bit<16> id;
    bit<3> flags;
    bit<13> fragment;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    ip_t src;
    ip_t dst;
}

header udp_t {
    bit<16> src;
    bit<16> dst;
    bit<16> bytes;
    bit<16> checksum;
}

header bth_t {
    bit<8> opcode;
    bit<8> flags;
    bit<16> partition;
    bit<8> reserved;
    bit<24> queue_pair;
    bit<8> ack_request;
    bit<24> sequence;
}

#ifdef __TARGET_TOFINO__
#define PORT_DOWN_HEADER pktgen_port_down_header_t port_down;
#else
#define PORT_DOWN_HEADER
#endif

struct headers_t {
    PORT_DOWN_HEADER
    ethernet_t ethernet;
    ipv4_t ipv4;
    udp_t udp;
    bth_t bth;
}

#endif
