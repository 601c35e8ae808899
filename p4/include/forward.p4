// What a switch does with a packet, in order. `Choose` is the only part in which the three programs differ: it turns a group, a size bin
// and a schedule into a position in that schedule.

#ifndef FORWARD_P4
#define FORWARD_P4

control Forward(inout headers_t hdr, inout meta_t meta, in port_t in_port) {
    Ports() ports;
    Route() route;
    Schedule() schedule;
    Choose() choose;
    Slots() slots;
    Links() links;

    bool known = false;

    action use_backup() {
        meta.port = meta.backup;
    }
    action hop() {
        hdr.ethernet.src = ROUTER_MAC;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }

    apply {
        ports.apply(in_port, meta);
        if (meta.sane == 1 && !meta.bad_checksum) {
            route.apply(hdr, meta);
        }
        if (meta.way == WAY_UP) {
            // What came down does not go up again: with routes of different age a packet could go round in circles.
            if (meta.from_above == 0) {
                schedule.apply(meta, known);
            }
            if (known) {
                choose.apply(hdr, meta);
                slots.apply(meta);
            } else {
                meta.way = WAY_NONE;
            }
        }
        links.apply(hdr, meta, in_port);
        if (meta.dead == 1) {
            use_backup();
        }
        if (meta.way != WAY_NONE) {
            hop();
        }
    }
}

#endif
