/**
 * Which hundredth a goal falls into, 0 to 99: XXH3 (64 bits, seed 0, https://xxhash.com) of its UTF-8 modulo 100. A goal always
 * falls into the same one, so that raising the percentage only adds goals.
 */
export async function rolloutBucket(goal: string): Promise<number> {
  const { xxhash3 } = await import('hash-wasm')
  return Number(BigInt(`0x${await xxhash3(goal)}`) % 100n)
}

/** Whether a goal is among the first `percent` hundredths. */
export async function takesPart(goal: string, percent: number): Promise<boolean> {
  return (await rolloutBucket(goal)) < percent
}
