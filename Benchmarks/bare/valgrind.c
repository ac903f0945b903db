/* Loaded before libc when Larder runs under valgrind: valgrind 3.19 writes to the mask that sigsuspend is given
   (it takes out what may not be blocked), and libdispatch's is in memory that cannot be written: it would crash. */
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

int sigsuspend(const sigset_t *mask)
{
    sigset_t copy = *mask;
    return (int)syscall(SYS_rt_sigsuspend, &copy, _NSIG / 8);
}
