/* A replacement of sigsuspend that is loaded before libc when Larder runs under valgrind. valgrind 3.19 writes to the
   mask that sigsuspend gets, to remove the signals that may not be blocked. The mask of libdispatch is in read-only
   memory, so Larder would crash. */
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

int sigsuspend(const sigset_t *mask)
{
    sigset_t copy = *mask;
    return (int)syscall(SYS_rt_sigsuspend, &copy, _NSIG / 8);
}
