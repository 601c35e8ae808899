// The parser of a packet, and what counts as sane: a router's own MAC address, IPv4 without options, a total length that holds its header,
// and a TTL that outlives the hop. All else is dropped. Fragments are routed by their IPv4 header; nothing behind it is read.

#ifndef PARSE_P4
#define PARSE_P4

parser ParsePacket(packet_in packet, inout headers_t hdr, inout meta_t meta) {
#ifdef __TARGET_TOFINO__
    Checksum() ipv4_checksum;
#endif

    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.dst[47:16]) {
            ROUTER_MAC[47:16] : own;
            default : accept;
        }
    }
    state own {
        transition select(hdr.ethernet.dst[15:0], hdr.ethernet.type) {
            (ROUTER_MAC[15:0], ETHERTYPE_IPV4) : ipv4;
            default : accept;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
#ifdef __TARGET_TOFINO__
        ipv4_checksum.add(hdr.ipv4);
        meta.bad_checksum = ipv4_checksum.verify();
#endif
        transition select(hdr.ipv4.version_ihl, hdr.ipv4.ttl, hdr.ipv4.total_bytes) {
            (0x45, 0x00 &&& 0xFE, _) : accept;      // TTL 0 or 1
            (0x45, _, 0x0000 &&& 0xFFF0) : accept;  // total length 0 to 15
            (0x45, _, 0x0010 &&& 0xFFFC) : accept;  // 16 to 19
            (0x45, _, 0x0000 &&& SMALL_MASK) : small;
            (0x45, _, _) : data;
            default : accept;                       // another version, or options
        }
    }
    state small {
        meta.bin = 1;
        transition data;
    }
    state data {
        meta.sane = 1;
        transition select(hdr.ipv4.flags, hdr.ipv4.fragment, hdr.ipv4.protocol) {
            (0 &&& 1, 0, PROTOCOL_UDP) : udp;
            default : accept;
        }
    }
    state udp {
        packet.extract(hdr.udp);
        meta.source_port = hdr.udp.src;
        transition select(hdr.udp.dst) {
            UDP_ROCE : bth;
            default : accept;
        }
    }
    state bth {
        packet.extract(hdr.bth);
        meta.queue_pair = hdr.bth.queue_pair;
        transition accept;
    }
}

#endif
