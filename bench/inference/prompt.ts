/** Returns pseudo-random token ids, at least 10. Prompts of different seeds differ from the first token. */
export function promptTokens(length: number, seed: number, vocabulary: number): number[] {
  return Array.from({ length }, (_, i) => 10 + ((i * 7919 + seed * 104_729) % (vocabulary - 10)))
}
