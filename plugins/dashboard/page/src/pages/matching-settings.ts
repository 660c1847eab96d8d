/** The texts of a setting that a filter searches. */
interface Searched {
  readonly key: string
  readonly description: string
}

/**
 * Returns the settings that match every word of a filter: first those whose keys have all the words, then the others.
 * A word matches where a word of the text begins. Only if that finds no setting, it also matches inside of words.
 */
export function matchingSettings<A extends Searched>(settings: readonly A[], filter: string): readonly A[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return settings
  const byBeginning = ranked(settings, words, begins)
  return byBeginning.length > 0 ? byBeginning : ranked(settings, words, (text, word) => text.includes(word))
}

type Matches = (text: string, word: string) => boolean

function ranked<A extends Searched>(settings: readonly A[], words: readonly string[], matches: Matches): readonly A[] {
  const byKey: A[] = []
  const byDescription: A[] = []
  for (const setting of settings) {
    const [key, description] = [setting.key.toLowerCase(), setting.description.toLowerCase()]
    if (words.every(word => matches(key, word))) byKey.push(setting)
    else if (words.every(word => matches(key, word) || matches(description, word))) byDescription.push(setting)
  }
  return [...byKey, ...byDescription]
}

const LETTER = /[\p{L}\p{N}]/u

/** Returns whether a word of the text begins with another one. */
function begins(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
    if (at === 0 || !LETTER.test(text[at - 1] as string)) return true
  }
  return false
}
