/**
 * Returns the bucket of a goal, 0 to 99: its 64-bit XXH3 hash (seed 0, https://xxhash.com, of UTF-8) modulo 100. The
 * bucket of a goal never changes, so a higher percentage only adds goals.
 */
export async function rolloutBucket(goal: string): Promise<number> {
  const { xxhash3 } = await import('hash-wasm')
  return Number(BigInt(`0x${await xxhash3(goal)}`) % 100n)
}

/** True if the bucket of the goal is below `percent`. */
export async function isInRollout(goal: string, percent: number): Promise<boolean> {
  return (await rolloutBucket(goal)) < percent
}
