/** Returns pseudo-random token ids from 10 on, which differ from the first token on for every `seed`. */
export function promptTokens(length: number, seed: number, vocabulary: number): number[] {
  return Array.from({ length }, (_, i) => 10 + ((i * 7919 + seed * 104_729) % (vocabulary - 10)))
}
