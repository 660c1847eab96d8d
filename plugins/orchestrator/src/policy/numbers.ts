/** Clamps `value` to [low, high]; returns `low` for NaN. */
export function clamp(value: number, low: number, high: number): number {
  return value > low ? (value < high ? value : high) : low
}

/** Returns the entropy of a binary outcome with probability `p`, in bits; `p` is clamped to [0.001, 0.999]. */
export function binaryEntropy(p: number): number {
  const q = clamp(p, 0.001, 0.999)
  return -(q * Math.log2(q) + (1 - q) * Math.log2(1 - q))
}
