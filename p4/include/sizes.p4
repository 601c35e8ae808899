// Every size of the programs. RADIX is a build-time parameter (-DRADIX=8 to 64, the ports of a switch); the rest follows from it.
// `ofancore p4-entries` reads this file, too: it writes no more entries than there is room for.

#ifndef SIZES_P4
#define SIZES_P4

#ifndef RADIX
#define RADIX 64
#endif

// Edge switches of a three-tier fat tree: as many groups has an edge switch. An aggregation switch has RADIX of them.
#define EDGES (RADIX * RADIX / 2)

// A pointer for each group and size bin.
#define POINTERS (2 * EDGES)

// A prefix for each edge switch and an address for each own host. No table holds fewer than 512 entries in TCAM anyway.
#define ROUTES (EDGES + RADIX)

// Front ports, by the number that the target gives them (9 bits).
#define PORTS 512

// Packets of at most SMALL_BYTES - 1 bytes of IPv4 are small (ACKs); a power of two, so that one mask tells them.
#define SMALL_BYTES 256
#define SMALL_MASK 0xFF00

// Slots of all schedules of a switch. Without failures: 64 random orders of the RADIX / 2 uplinks. A schedule with weights has up to
// (RADIX / 2)^2 slots in each order that a pointer uses; there is room for one of them in 64 orders, or more in fewer.
// Hash values of ecmp, which map to the slots of a schedule by entries: a power of two.
#if RADIX <= 8
#define SLOTS 2048
#define HASH_BITS 8
#elif RADIX <= 16
#define SLOTS 8192
#define HASH_BITS 9
#elif RADIX <= 32
#define SLOTS 32768
#define HASH_BITS 10
#else
#define SLOTS 131072
#define HASH_BITS 10
#endif

// Pipes of a switch; on BMv2 a pipe is what the table `ports` says.
#define PIPES 4

#endif
