// Dead links, in the target's own way.

#ifdef __TARGET_TOFINO__
#include "tna/links.p4"
#else
#include "v1model/links.p4"
#endif
