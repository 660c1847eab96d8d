/** Number of a message's privacy class in the store. */
const NUMBERS: Readonly<Record<string, number>> = { private: 1, trusted: 2, trusted_only: 3 }
const OPEN = 0

export interface NodePrivacy {
  readonly visibility: unknown
  readonly trustTier: unknown
}

/** Returns the number of a privacy class. Every node may take messages of other classes, and of none. */
export function privacyNumber(privacyClass: string | undefined): number {
  return NUMBERS[privacyClass?.trim().toLowerCase() ?? ''] ?? OPEN
}

/**
 * Returns the numbers of the classes that a node may take; undefined: all. A public node may not take private, trusted
 * and trusted_only messages; a node of the trust tier new may not take trusted_only messages.
 */
export function allowedPrivacy({ visibility, trustTier }: NodePrivacy): readonly number[] | undefined {
  if (isWord(visibility, 'public')) return [OPEN]
  return isWord(trustTier, 'new') ? [OPEN, 1, 2] : undefined
}

function isWord(value: unknown, word: string): boolean {
  return typeof value === 'string' && value.trim().toLowerCase() === word
}
