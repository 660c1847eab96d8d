/** `value` clamped to [low, high]; `low` for NaN. */
export function clamp(value: number, low: number, high: number): number {
  return value > low ? (value < high ? value : high) : low
}

/** Entropy of an outcome that happens with probability `p`, in bits; `p` is kept within [0.001, 0.999]. */
export function binaryEntropy(p: number): number {
  const q = clamp(p, 0.001, 0.999)
  return -(q * Math.log2(q) + (1 - q) * Math.log2(1 - q))
}
