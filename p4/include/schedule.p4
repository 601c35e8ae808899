// Schedules are slot tables: weights, failures and random port orders are entries, not code.

#ifndef SCHEDULE_P4
#define SCHEDULE_P4

// The schedule of a group and size bin, and its last position: its length less one. All schedules share one table of slots.
control Schedule(inout meta_t meta, out bool known) {
    action set_schedule(schedule_t number, position_t last) {
        meta.schedule = number;
        meta.last = last;
    }
    table schedule {
        key = {
            meta.group : exact @name("group");
            meta.bin : exact @name("bin");
        }
        actions = { set_schedule; @defaultonly NoAction; }
        default_action = NoAction();
        size = POINTERS;
    }
    apply {
        known = schedule.apply().hit;
    }
}

// A slot names its uplink, and the next other uplink of the schedule in case that the first has lost its link.
control Slots(inout meta_t meta) {
    action set_uplink(port_t port, port_t backup) {
        meta.port = port;
        meta.backup = backup;
    }
    action no_uplink() {
        meta.way = WAY_NONE;
    }
    table slots {
        key = {
            meta.schedule : exact @name("schedule");
            meta.position : exact @name("position");
        }
        actions = { set_uplink; @defaultonly no_uplink; }
        default_action = no_uplink();
        size = SLOTS;
    }
    apply {
        slots.apply();
    }
}

#endif
