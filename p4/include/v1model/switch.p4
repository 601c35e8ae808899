// BMv2 (v1model): parser, deparser and the pipeline around `Forward`.

#ifndef SWITCH_P4
#define SWITCH_P4

parser ParseIngress(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t standard) {
    ParsePacket() parse_packet;

    state start {
        meta.sane = 0;
        meta.bad_checksum = false;
        meta.from_above = 0;
        meta.way = WAY_NONE;
        meta.bin = 0;
        meta.dead = 0;
        meta.source_port = 0;
        meta.queue_pair = 0;
        parse_packet.apply(packet, hdr, meta);
        transition accept;
    }
}

#define IPV4_FIELDS { \
    hdr.ipv4.version_ihl, hdr.ipv4.dscp_ecn, hdr.ipv4.total_bytes, hdr.ipv4.id, hdr.ipv4.flags, hdr.ipv4.fragment, \
    hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst }

control Verify(inout headers_t hdr, inout meta_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(), IPV4_FIELDS, hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control SwitchIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard) {
    Forward() forward;

    apply {
        meta.bad_checksum = standard.checksum_error == 1;
        if (standard.parser_error != error.NoError) {
            meta.sane = 0;
        }
        forward.apply(hdr, meta, standard.ingress_port);
        if (meta.way != WAY_NONE) {
            standard.egress_spec = meta.port;
        } else {
            mark_to_drop(standard);
        }
    }
}

control SwitchEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard) {
    apply {}
}

control Update(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), IPV4_FIELDS, hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(ParseIngress(), Verify(), SwitchIngress(), SwitchEgress(), Update(), Deparse()) main;

#endif
