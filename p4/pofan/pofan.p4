// pOfan: Ofan with pointers of each pipe's own, staggered by their initial values.

#define POINTERS_OF_PIPES
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
