/*
 * Loaded into a server or a worker by LD_PRELOAD, to turn its wall clock and to make its disk slow, from outside and
 * while it runs. The monotonic clock stays as it is, so what it measures stays comparable.
 *
 * HOLDFAST_SHIM names a file of 32 bytes, four numbers of 64 bits in the machine's order:
 *   0  nanoseconds to add to the wall clock          (written from outside)
 *   8  least nanoseconds that a flush takes          (written from outside)
 *  16  how often a turned wall clock was read        (written here)
 *  24  how often a flush was held up                 (written here)
 * Without the file everything is as without the shim.
 *
 * Nothing here allocates or looks up symbols: an allocator may read the clock before it is ready to allocate.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL
#define SLICE 5000000LL

struct handle {
  int64_t wall_offset;
  int64_t flush_delay;
  int64_t wall_reads;
  int64_t flushes;
};

static struct handle *handle;

__attribute__((constructor)) static void open_handle(void) {
  const char *path = getenv("HOLDFAST_SHIM");
  if (path == NULL) return;
  int before = errno;
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file >= 0) {
    void *at = mmap(NULL, sizeof(struct handle), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at != MAP_FAILED) __atomic_store_n(&handle, (struct handle *)at, __ATOMIC_RELEASE);
    close(file);
  }
  errno = before;
}

static int is_wall(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

static void turn(struct timespec *time) {
  struct handle *at = __atomic_load_n(&handle, __ATOMIC_ACQUIRE);
  if (at == NULL) return;
  int64_t offset = __atomic_load_n(&at->wall_offset, __ATOMIC_RELAXED);
  if (offset == 0) return;
  __atomic_fetch_add(&at->wall_reads, 1, __ATOMIC_RELAXED);
  int64_t nanos = time->tv_nsec + offset % SECOND;
  time->tv_sec += offset / SECOND;
  if (nanos < 0) {
    nanos += SECOND;
    time->tv_sec -= 1;
  } else if (nanos >= SECOND) {
    nanos -= SECOND;
    time->tv_sec += 1;
  }
  time->tv_nsec = nanos;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  int failed = (int)syscall(SYS_clock_gettime, clock, time);
  if (failed == 0 && is_wall(clock)) turn(time);
  return failed;
}

int gettimeofday(struct timeval *restrict into, void *restrict zone) {
  struct timespec now;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  into->tv_sec = now.tv_sec;
  into->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *into) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return (time_t)-1;
  if (into != NULL) *into = now.tv_sec;
  return now.tv_sec;
}

static int64_t monotonic(void) {
  struct timespec now;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return now.tv_sec * SECOND + now.tv_nsec;
}

/* In slices, so that a delay which is taken back ends at once. */
static void hold_up(void) {
  struct handle *at = __atomic_load_n(&handle, __ATOMIC_ACQUIRE);
  if (at == NULL || __atomic_load_n(&at->flush_delay, __ATOMIC_RELAXED) <= 0) return;
  int before = errno;
  int64_t began = monotonic();
  __atomic_fetch_add(&at->flushes, 1, __ATOMIC_RELAXED);
  for (;;) {
    int64_t left = __atomic_load_n(&at->flush_delay, __ATOMIC_RELAXED) - (monotonic() - began);
    if (left <= 0) break;
    struct timespec slice = {0, left < SLICE ? left : SLICE};
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &slice, NULL);
  }
  errno = before;
}

int fsync(int file) {
  hold_up();
  return (int)syscall(SYS_fsync, file);
}

int fdatasync(int file) {
  hold_up();
  return (int)syscall(SYS_fdatasync, file);
}
