// Where a packet may go. The role of a switch (edge or aggregation) is in these entries and nowhere else.

#ifndef ROUTE_P4
#define ROUTE_P4

// What the switch knows of its own ports. A packet from an unknown port is dropped.
control Ports(in port_t port, inout meta_t meta) {
    action below(pipe_t pipe) {
        meta.pipe = pipe;
        meta.from_above = 0;
    }
    action above(pipe_t pipe) {
        meta.pipe = pipe;
        meta.from_above = 1;
    }
    action unknown_port() {
        meta.sane = 0;
    }
    table ports {
        key = { port : exact @name("port"); }
        actions = { below; above; unknown_port; }
        default_action = unknown_port();
        size = PORTS;
    }
    apply {
        ports.apply();
    }
}

// The destination: a host or switch below, a group of destinations above, or nothing.
control Route(inout headers_t hdr, inout meta_t meta) {
    action down(port_t port, mac_t mac) {
        meta.way = WAY_DOWN;
        meta.port = port;
        hdr.ethernet.dst = mac;
    }
    action up(group_t group) {
        meta.way = WAY_UP;
        meta.group = group;
    }
    action no_route() {
        meta.way = WAY_NONE;
    }
    table route {
        key = { hdr.ipv4.dst : lpm @name("destination"); }
        actions = { down; up; no_route; }
        default_action = no_route();
        size = ROUTES;
    }
    apply {
        route.apply();
    }
}

#endif
