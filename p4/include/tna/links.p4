// Tofino: which ports have lost their link, a bit each, so that a dead uplink is passed over within microseconds.
//
// The packet generator of the pipe that owns the port makes a packet when the link goes down. It sets the bit in its pipe and is copied to
// the recirculation ports of the other pipes by a multicast group. Link up is the control plane's business: it clears the bits.

#ifndef LINKS_P4
#define LINKS_P4

control Links(in headers_t hdr, inout meta_t meta, in port_t in_port) {
    Register<bit<1>, port_t>(PORTS) dead_links;
    RegisterAction<bit<1>, port_t, bit<1>>(dead_links) look = {
        void apply(inout bit<1> dead, out bit<1> found) {
            found = dead;
        }
    };
    RegisterAction<bit<1>, port_t, bit<1>>(dead_links) mark = {
        void apply(inout bit<1> dead) {
            dead = 1;
        }
    };

    apply {
        if (hdr.port_down.isValid()) {
            mark.execute(hdr.port_down.port_num);
            if (hdr.port_down.pipe_id == in_port[8:7]) {
                meta.copy_to = PORT_DOWN_GROUPS ++ hdr.port_down.pipe_id;  // the multicast group of all pipes but this one
            }
        } else if (meta.way == WAY_UP) {
            meta.dead = look.execute(meta.port);
        }
    }
}

#endif
