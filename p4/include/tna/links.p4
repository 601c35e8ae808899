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

    action tell_others(bit<16> copy_to) {
        meta.copy_to = copy_to;  // the multicast group of all pipes but this one
    }
    // Is the port one of this pipe? A table, since a comparison of two fields would tie their places in containers together.
    table own_ports {
        key = {
            in_port[8:7] : exact @name("pipe");
            hdr.port_down.pipe_id : exact @name("pipe_of_port");
        }
        actions = { tell_others; @defaultonly NoAction; }
        const entries = {
            (0, 0) : tell_others(PORT_DOWN_GROUPS ++ 2w0);
            (1, 1) : tell_others(PORT_DOWN_GROUPS ++ 2w1);
            (2, 2) : tell_others(PORT_DOWN_GROUPS ++ 2w2);
            (3, 3) : tell_others(PORT_DOWN_GROUPS ++ 2w3);
        }
        const default_action = NoAction();
        size = 4;
    }

    apply {
        if (hdr.port_down.isValid()) {
            mark.execute(hdr.port_down.port_num);
            own_ports.apply();
        } else if (meta.way == WAY_UP) {
            meta.dead = look.execute(meta.port);
        }
    }
}

#endif
