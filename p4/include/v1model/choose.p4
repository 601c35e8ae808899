// BMv2: the choice. Packets pass the ingress pipeline one at a time there; `@atomic` says that this is what is meant.

#ifndef CHOOSE_P4
#define CHOOSE_P4

#ifdef CHOOSE_BY_HASH

// ecmp: a hash of what names the flow. The slots that it maps to are entries, and so is the salt of the switch.
control Choose(in headers_t hdr, inout meta_t meta) {
    apply {
        bit<32> value;
        hash(value, HashAlgorithm.crc32, (bit<32>)0,
            { hdr.ipv4.src, hdr.ipv4.dst, hdr.ipv4.protocol, meta.source_port, meta.queue_pair }, (bit<64>)0x1_0000_0000);
        meta.position = (position_t)value[HASH_BITS - 1:0];
    }
}

#else

// ofan, pofan: one atomic read-modify-write of the pointer of the group and size bin. A register of BMv2 is seen by all ports: pofan takes
// the part of it that belongs to the pipe of the input port.
control Choose(in headers_t hdr, inout meta_t meta) {
#ifdef POINTERS_OF_PIPES
    register<position_t>(PIPES << 12) pointers;
#define POINTER (meta.pipe ++ meta.group ++ meta.bin)
#else
    register<position_t>(1 << 12) pointers;
#define POINTER (meta.group ++ meta.bin)
#endif
    position_t at = 0;

    apply {
        @atomic {
            pointers.read(at, (bit<32>)POINTER);
            meta.position = 0;
            if (at <= meta.last) {  // not so when the schedule became shorter
                meta.position = at;
            }
            if (at >= meta.last) {
                at = 0;
            } else {
                at = at + 1;
            }
            pointers.write((bit<32>)POINTER, at);
        }
    }
}

#endif

#endif
