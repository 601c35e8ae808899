// The target's own language: Tofino 1 or 2 (TNA) when the compiler is told so, else BMv2 (v1model).

#ifndef TARGET_P4
#define TARGET_P4

#include <core.p4>
#if __TARGET_TOFINO__ == 1
#include <tna.p4>
#define PACKET_GENERATOR 68
#elif __TARGET_TOFINO__ == 2
#include <t2na.p4>
#define PACKET_GENERATOR 6
#else
#include <v1model.p4>
#endif
// Multicast groups 0x4000 to 0x4003: all pipes but one.
#define PORT_DOWN_GROUPS 14w0x1000

#endif
