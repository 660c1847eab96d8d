/**
 * Bucket of a goal, 0 to 99: XXH3 (64 bits, seed 0, https://xxhash.com) of its UTF-8 modulo 100. A goal is always in
 * the same bucket, so a higher percentage only adds goals.
 */
export async function rolloutBucket(goal: string): Promise<number> {
  const { xxhash3 } = await import('hash-wasm')
  return Number(BigInt(`0x${await xxhash3(goal)}`) % 100n)
}

/** Whether the bucket of a goal is below `percent`. */
export async function takesPart(goal: string, percent: number): Promise<boolean> {
  return (await rolloutBucket(goal)) < percent
}
