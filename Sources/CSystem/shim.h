#ifndef LARDER_CSYSTEM_SHIM_H
#define LARDER_CSYSTEM_SHIM_H

#include <malloc.h>

/// Gives free memory back to the system, from the middle of the heap too. Swift's Glibc module does not have malloc.h.
static inline void csystem_return_free_memory(void) {
    malloc_trim(0);
}

#endif

/* Has the processor bring memory nearer that will be read soon. Any address will do. Swift has no word for it. */
static inline void csystem_prefetch(const void *start, size_t length) {
    for (size_t offset = 0; offset < length; offset += 64) __builtin_prefetch((const char *)start + offset);
}
