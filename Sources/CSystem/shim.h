#ifndef LARDER_CSYSTEM_SHIM_H
#define LARDER_CSYSTEM_SHIM_H

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/// jemalloc's, which the executable is linked with; NULL where glibc's malloc is in use, as in the benchmarks. So parts
/// that know nothing of it need neither it nor its header.
extern int mallctl(const char *name, void *old, size_t *old_length, void *value, size_t length) __attribute__((weak));

/// Gives free memory back to the system, from the middle of the heap too. Swift's Glibc module does not have malloc.h.
static inline void csystem_return_free_memory(void) {
    // 4096 is MALLCTL_ARENAS_ALL.
    if (mallctl) mallctl("arena.4096.purge", NULL, NULL, NULL, 0);
    malloc_trim(0);
}

/// There under a sanitizer, which brings a malloc of its own.
extern void __asan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));

/// Has jemalloc give back from a thread of its own what has been free for some seconds; else it does so only while
/// memory is asked for. Under a sanitizer it has nothing to give back, and ThreadSanitizer crashes: jemalloc starts the
/// thread behind its back.
static inline void csystem_return_free_memory_soon(void) {
    bool yes = true;
    if (mallctl && !__asan_init && !__tsan_init) mallctl("background_thread", NULL, NULL, &yes, sizeof yes);
}

/// Reads at `offset` what is in memory of a file, without waiting for the disk: the number of bytes, or -1, also when
/// the file system cannot tell. It is preadv2 with RWF_NOWAIT, which glibc shows to GNU C only.
static inline long csystem_read_cached(int descriptor, const struct iovec *targets, long count, long offset) {
    const int nowait = 8;
    return syscall(SYS_preadv2, descriptor, targets, count, offset, 0L, nowait);
}

/// Opens a path if that needs no directory and no inode from the disk: the descriptor, or -1, with EAGAIN when it does;
/// other errors also when the kernel (before 5.12) or a sandbox does not know it. It is openat2 with RESOLVE_CACHED, for
/// which glibc has no function.
static inline int csystem_open_cached(const char *path, int flags) {
    struct { uint64_t flags, mode, resolve; } how = { (unsigned)flags, 0, 0x20 };
    return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

/// Has the kernel begin to write what of a file is in memory alone, without waiting for it: sync_file_range, which glibc
/// shows to GNU C only. Nothing is promised by it.
static inline void csystem_begin_writing(int descriptor) {
    const unsigned write = 2;
    syscall(SYS_sync_file_range, descriptor, 0L, 0L, write);
}

/// Gives the blocks of a part of a file back, which reads as zeros then; nothing happens where the file system cannot.
/// It is fallocate with FALLOC_FL_PUNCH_HOLE and FALLOC_FL_KEEP_SIZE, which glibc shows to GNU C only.
static inline void csystem_erase(int descriptor, long offset, long length) {
    const int keep_size = 1, punch_hole = 2;
    syscall(SYS_fallocate, descriptor, (long)(keep_size | punch_hole), offset, length);
}

/// Names the thread for debuggers and `top -H`; of the name 15 bytes count. Foundation's names stay in Foundation.
static inline void csystem_name_this_thread(const char *name) { prctl(PR_SET_NAME, name); }

/// Has the processor bring memory nearer that will be read soon. Any address will do. Swift has no word for it.
static inline void csystem_prefetch(const void *start, size_t length) {
    for (size_t offset = 0; offset < length; offset += 64) __builtin_prefetch((const char *)start + offset);
}

#endif
