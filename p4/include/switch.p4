// The pipeline around `Forward`, in the target's own way.

#ifdef __TARGET_TOFINO__
#include "tna/switch.p4"
#else
#include "v1model/switch.p4"
#endif
