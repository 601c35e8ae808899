// ECMP, the baseline: the same switch, but a hash of the flow in place of the pointer.

#define CHOOSE_BY_HASH
#include "../include/target.p4"
#include "../include/sizes.p4"
#include "../include/types.p4"
#include "../include/headers.p4"
#include "../include/parse.p4"
#include "../include/route.p4"
#include "../include/schedule.p4"
#include "../include/choose.p4"
#include "../include/links.p4"
#include "../include/forward.p4"
#include "../include/switch.p4"
