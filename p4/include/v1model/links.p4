// BMv2: which ports have lost their link, a bit each. Nothing in this target tells a program of a dead link; the control plane sets the bit.

#ifndef LINKS_P4
#define LINKS_P4

control Links(in headers_t hdr, inout meta_t meta, in port_t in_port) {
    register<bit<1>>(PORTS) dead_links;

    apply {
        if (meta.way == WAY_UP) {
            dead_links.read(meta.dead, (bit<32>)meta.port);
        }
    }
}

#endif
