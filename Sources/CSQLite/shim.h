#ifndef LARDER_CSQLITE_SHIM_H
#define LARDER_CSQLITE_SHIM_H

#include <sqlite3.h>

/// Makes SQLite count no memory, because counting takes a lock of the whole process at each allocation. Call it before
/// any other use of SQLite. Returns 0 or SQLite's error. A function of C is needed, because Swift cannot call
/// sqlite3_config with its variable number of arguments.
static inline int csqlite_count_no_memory(void) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

#endif
