#ifndef LARDER_CSQLITE_SHIM_H
#define LARDER_CSQLITE_SHIM_H

#include <sqlite3.h>

/// Has SQLite count no memory: it takes a lock of the whole process for that, at each allocation. Only before anything
/// of SQLite is used; 0, or SQLite's error. sqlite3_config has arguments of no fixed number, which Swift cannot call.
static inline int csqlite_count_no_memory(void) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

#endif
