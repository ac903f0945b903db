#ifndef LARDER_CSYSTEM_SHIM_H
#define LARDER_CSYSTEM_SHIM_H

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/// A function of jemalloc, with which the executable is linked; NULL if glibc's malloc is in use, as in the benchmarks.
/// The weak declaration lets modules work without jemalloc and its header.
extern int mallctl(const char *name, void *old, size_t *old_length, void *value, size_t length) __attribute__((weak));

/// Gives free memory back to the system, also from the middle of the heap. A shim, because Swift's Glibc module lacks
/// malloc.h.
static inline void csystem_return_free_memory(void) {
    // 4096 is MALLCTL_ARENAS_ALL.
    if (mallctl) mallctl("arena.4096.purge", NULL, NULL, NULL, 0);
    malloc_trim(0);
}

/// Not NULL under a sanitizer, which brings its own malloc.
extern void __asan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));

/// Makes jemalloc give back memory that has been free for some seconds, from a thread of its own. Otherwise jemalloc
/// gives memory back only while the process allocates. Does nothing under a sanitizer: jemalloc has no memory to give
/// back then, and ThreadSanitizer crashes, because it does not see the start of jemalloc's thread.
static inline void csystem_return_free_memory_soon(void) {
    bool yes = true;
    if (mallctl && !__asan_init && !__tsan_init) mallctl("background_thread", NULL, NULL, &yes, sizeof yes);
}

/// Reads the bytes of a file at `offset` that are in the page cache, without waiting for the disk. Returns their
/// number, or -1, also if the file system cannot tell. It is preadv2 with RWF_NOWAIT, which glibc declares for GNU C
/// only.
static inline long csystem_read_cached(int descriptor, const struct iovec *targets, long count, long offset) {
    const int nowait = 8;
    return syscall(SYS_preadv2, descriptor, targets, count, offset, 0L, nowait);
}

/// Opens a path if no directory and no inode must come from the disk. Returns the descriptor, or -1: with EAGAIN if the
/// disk is needed, with other errors also if the kernel (before 5.12) or a sandbox does not know the call. It is
/// openat2 with RESOLVE_CACHED, for which glibc has no function.
static inline int csystem_open_cached(const char *path, int flags) {
    struct { uint64_t flags, mode, resolve; } how = { (unsigned)flags, 0, 0x20 };
    return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

/// Makes the kernel begin to write a file's modified pages, without waiting for it. It is sync_file_range, which glibc
/// declares for GNU C only. The call guarantees no durability.
static inline void csystem_begin_writing(int descriptor) {
    const unsigned write = 2;
    syscall(SYS_sync_file_range, descriptor, 0L, 0L, write);
}

/// Gives back the blocks of a part of a file, which reads as zeros afterwards; no effect if the file system cannot do
/// so. It is fallocate with FALLOC_FL_PUNCH_HOLE and FALLOC_FL_KEEP_SIZE, which glibc declares for GNU C only.
static inline void csystem_erase(int descriptor, long offset, long length) {
    const int keep_size = 1, punch_hole = 2;
    syscall(SYS_fallocate, descriptor, (long)(keep_size | punch_hole), offset, length);
}

/// Makes an eventfd on which no call blocks, and which no child process inherits; -1 with errno if the process has no
/// descriptor left. Its flags are an enumeration in glibc, which Swift does not combine.
static inline int csystem_eventfd(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

/// Makes a pipe that no child process inherits; -1 with errno if the process has no descriptor left. It is pipe2 with
/// O_CLOEXEC, which glibc declares for GNU C only.
static inline int csystem_pipe(int ends[2]) { return (int)syscall(SYS_pipe2, ends, O_CLOEXEC); }

/// Closes all descriptors from `first` on in a process that is about to start. It is
/// posix_spawn_file_actions_addclosefrom_np, which glibc declares for GNU C only.
static inline int csystem_close_from(posix_spawn_file_actions_t *actions, int first) {
    extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *, int);
    return posix_spawn_file_actions_addclosefrom_np(actions, first);
}

/// Names the thread for debuggers and `top -H`, which show the first 15 bytes. They do not show a name set with
/// Foundation's `Thread`.
static inline void csystem_name_this_thread(const char *name) { prctl(PR_SET_NAME, name); }

/// Prefetches memory that the caller is about to read. Any address is allowed. A shim, because Swift has no function
/// for it.
static inline void csystem_prefetch(const void *start, size_t length) {
    for (size_t offset = 0; offset < length; offset += 64) __builtin_prefetch((const char *)start + offset);
}

#endif
