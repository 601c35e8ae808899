// Tofino: the choice, which needs the registers or hash units of the target.

#ifndef CHOOSE_P4
#define CHOOSE_P4

#ifdef CHOOSE_BY_HASH

// ecmp: a hash of what names the flow. The slots that it maps to are entries, and so is the salt of the switch.
control Choose(in headers_t hdr, inout meta_t meta) {
    Hash<bit<HASH_BITS>>(HashAlgorithm_t.CRC32) crc;

    apply {
        meta.position[HASH_BITS - 1:0] = crc.get({ hdr.ipv4.src, hdr.ipv4.dst, hdr.ipv4.protocol, meta.source_port, meta.queue_pair });
    }
}

#else

// ofan, pofan: one atomic read-modify-write of the pointer of the group and size bin. Each pipe has a register of its own.
control Choose(in headers_t hdr, inout meta_t meta) {
    Register<position_t, pointer_t>(POINTERS) pointers;
    RegisterAction<position_t, pointer_t, position_t>(pointers) turn = {
        void apply(inout position_t at, out position_t position) {
            position = 0;
            if (at <= meta.last) {  // not so when the schedule became shorter
                position = at;
            }
            if (at >= meta.last) {
                at = 0;
            } else {
                at = at + 1;
            }
        }
    };

    apply {
        meta.position = turn.execute(meta.group ++ meta.bin);
    }
}

#endif

#endif
