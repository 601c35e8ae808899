// The choice of a slot, in the target's own way.

#ifdef __TARGET_TOFINO__
#include "tna/choose.p4"
#else
#include "v1model/choose.p4"
#endif
