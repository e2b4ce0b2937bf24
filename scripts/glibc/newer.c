/* Functions of glibc 2.32 to 2.36 that Debian 12's LLVM and libstdc++ call, for programs that run with 2.31.
   Linked by scripts/release.py; hidden, so that nobody else's program sees them. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* 2.32: whether a process has one thread. Never true here, so that reference counts are always atomic. */
HIDDEN char __libc_single_threaded = 0;

/* 2.33: mallinfo with wide members. LLVM shows the bytes in use when it is asked for statistics. */
struct wide_mallinfo {
  size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
HIDDEN struct wide_mallinfo mallinfo2(void) {
  struct wide_mallinfo none = {0};
  return none;
}

/* 2.36: random bits, for std::random_device. */
HIDDEN uint32_t arc4random(void) {
  uint32_t bits = 0;
  while (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits)
    if (errno != EINTR)
      abort();
  return bits;
}
