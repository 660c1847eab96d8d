// Measures how fast threads read memory: the ceiling of decoding, which reads every weight once for each token.
//
//   cc -O3 -march=native -pthread bench/inference/read-bandwidth.c -o read-bandwidth && ./read-bandwidth THREADS MEBIBYTES
//
// Each thread reads its part of the memory several times. Prints the median speed of blocks of 8 MiB, added over the
// threads: other work on the machine interrupts only a few blocks.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLOCK ((size_t)8 << 20)
#define ROUNDS 6

struct part {
  pthread_t thread;
  const uint64_t *memory;
  size_t blocks;
  uint64_t sum;
  double gigabytes_per_second;
};

static double seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int by_size(const void *a, const void *b) {
  const double first = *(const double *)a, second = *(const double *)b;
  return (first > second) - (first < second);
}

static void *read_part(void *argument) {
  struct part *part = argument;
  const size_t count = part->blocks * ROUNDS;
  double *times = malloc(count * sizeof(double));
  for (size_t i = 0; i < count; i++) {
    const uint64_t *block = part->memory + i % part->blocks * (BLOCK / 8);
    uint64_t sums[32] = {0};
    const double start = seconds();
    for (size_t at = 0; at < BLOCK / 8; at += 32)
      for (size_t lane = 0; lane < 32; lane++) sums[lane] += block[at + lane];
    times[i] = seconds() - start;
    for (size_t lane = 0; lane < 32; lane++) part->sum += sums[lane];
  }
  qsort(times, count, sizeof(double), by_size);
  part->gigabytes_per_second = (double)BLOCK / times[count / 2] / 1e9;
  free(times);
  return NULL;
}

int main(int count, char **values) {
  const size_t threads = count > 1 ? strtoul(values[1], NULL, 10) : 0;
  const size_t mebibytes = count > 2 ? strtoul(values[2], NULL, 10) : 0;
  if (threads == 0 || threads > 64 || mebibytes / 8 < threads) {
    fputs("usage: read-bandwidth THREADS MEBIBYTES; at least 8 MiB for each of 1 to 64 threads\n", stderr);
    return 2;
  }
  const size_t blocks = mebibytes / 8 / threads;
  uint64_t *memory = aligned_alloc(1 << 21, threads * blocks * BLOCK);
  if (memory == NULL) return fputs("not enough memory\n", stderr), 1;
  memset(memory, 1, threads * blocks * BLOCK);
  struct part parts[64];
  double total = 0;
  uint64_t sum = 0;
  for (size_t i = 0; i < threads; i++) {
    parts[i] = (struct part){.memory = memory + i * blocks * (BLOCK / 8), .blocks = blocks};
    pthread_create(&parts[i].thread, NULL, read_part, &parts[i]);
  }
  for (size_t i = 0; i < threads; i++) {
    pthread_join(parts[i].thread, NULL);
    total += parts[i].gigabytes_per_second;
    sum += parts[i].sum;
  }
  printf("%zu threads, %zu MiB: %.1f GB/s (checksum %llx)\n", threads, mebibytes, total, (unsigned long long)sum);
  free(memory);
  return 0;
}
