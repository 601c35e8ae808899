// Tofino 1 and 2 (TNA): parser, deparser and the pipeline around `Forward`. Nothing happens in egress, which is bypassed.

#ifndef SWITCH_P4
#define SWITCH_P4

parser ParseIngress(packet_in packet, out headers_t hdr, out meta_t meta, out ingress_intrinsic_metadata_t in_md) {
    ParsePacket() parse_packet;

    state start {
        packet.extract(in_md);
        packet.advance(PORT_METADATA_SIZE);
        meta.sane = 0;
        meta.bad_checksum = false;
        meta.from_above = 0;
        meta.way = WAY_NONE;
        meta.bin = 0;
        meta.position = 0;
        meta.dead = 0;
        meta.source_port = 0;
        meta.queue_pair = 0;
        meta.copy_to = 0;
        transition select(in_md.ingress_port) {
            PACKET_GENERATOR &&& 0x7F : port_down;
            default : packet_of_host;
        }
    }
    state port_down {
        packet.extract(hdr.port_down);
        transition accept;
    }
    state packet_of_host {
        parse_packet.apply(packet, hdr, meta);
        transition accept;
    }
}

control SwitchIngress(
        inout headers_t hdr,
        inout meta_t meta,
        in ingress_intrinsic_metadata_t in_md,
        in ingress_intrinsic_metadata_from_parser_t parser_md,
        inout ingress_intrinsic_metadata_for_deparser_t deparser_md,
        inout ingress_intrinsic_metadata_for_tm_t tm_md) {
    Forward() forward;

    apply {
        forward.apply(hdr, meta, in_md.ingress_port);
        tm_md.bypass_egress = 1;
        if (meta.way != WAY_NONE) {
            tm_md.ucast_egress_port = meta.port;
        } else if (meta.copy_to != 0) {
            tm_md.mcast_grp_a = meta.copy_to;
        } else {
            deparser_md.drop_ctl = 1;
        }
    }
}

control DeparseIngress(
        packet_out packet, inout headers_t hdr, in meta_t meta, in ingress_intrinsic_metadata_for_deparser_t deparser_md) {
    Checksum() ipv4_checksum;

    apply {
        hdr.ipv4.checksum = ipv4_checksum.update({
            hdr.ipv4.version_ihl, hdr.ipv4.dscp_ecn, hdr.ipv4.total_bytes, hdr.ipv4.id, hdr.ipv4.flags, hdr.ipv4.fragment,
            hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst });
        packet.emit(hdr);
    }
}

struct nothing_t {}

parser ParseEgress(packet_in packet, out nothing_t hdr, out nothing_t meta, out egress_intrinsic_metadata_t out_md) {
    state start {
        packet.extract(out_md);
        transition accept;
    }
}

control SwitchEgress(
        inout nothing_t hdr,
        inout nothing_t meta,
        in egress_intrinsic_metadata_t out_md,
        in egress_intrinsic_metadata_from_parser_t parser_md,
        inout egress_intrinsic_metadata_for_deparser_t deparser_md,
        inout egress_intrinsic_metadata_for_output_port_t port_md) {
    apply {}
}

control DeparseEgress(
        packet_out packet, inout nothing_t hdr, in nothing_t meta, in egress_intrinsic_metadata_for_deparser_t deparser_md) {
    apply {}
}

Pipeline(ParseIngress(), SwitchIngress(), DeparseIngress(), ParseEgress(), SwitchEgress(), DeparseEgress()) pipe;
Switch(pipe) main;

#endif
