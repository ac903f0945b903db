#ifndef LARDER_CSYSTEM_SHIM_H
#define LARDER_CSYSTEM_SHIM_H

#include <malloc.h>

/// Gives free memory back to the system, from the middle of the heap too. Swift's Glibc module does not have malloc.h.
static inline void csystem_return_free_memory(void) {
    malloc_trim(0);
}

#endif
