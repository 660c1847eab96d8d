/** Splits text at white space. */
export function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter(word => word !== '')
}

/** Maximum characters of a word; longer ones are ignored, because trimming their punctuation would be slow. */
const MAX_WORD_LENGTH = 1_024

/** Returns a word in lower case without leading and trailing punctuation. */
export function bareWord(word: string): string {
  if (word.length > MAX_WORD_LENGTH) return ''
  return word.replace(/^[^\p{L}\p{N}_]+|[^\p{L}\p{N}_]+$/gu, '').toLowerCase()
}

const SOURCE_FILE =
  /\.(?:c|cc|cpp|cs|css|go|h|hpp|html|java|js|json|jsx|kt|md|mjs|php|py|rb|rs|scss|sh|sql|svelte|swift|toml|ts|tsx|vox|vue|ya?ml)$/

/** Returns the words that are the path of a source file in a folder, or any path in `crates/`, `src/` or `docs/`. */
export function pathsIn(text: string): string[] {
  return wordsOf(text)
    .filter(word => word.length <= MAX_WORD_LENGTH && word.includes('/'))
    .map(word => word.replace(/^[('"`<[{]+|[)'"`>\]},;:!?.]+$/g, ''))
    .filter(word => word.includes('/') && (SOURCE_FILE.test(word) || /^(?:\.\/)?(?:crates|src|docs)\//.test(word)))
}

/** Returns the path with `/` separators and no leading `./`; null if it is empty, absolute or contains `..`. */
export function projectPath(path: string): string | null {
  const plain = path.replaceAll('\\', '/').replace(/^(?:\.\/)+/, '')
  if (plain === '' || plain.startsWith('/') || /^[A-Za-z]:/.test(plain) || plain.split('/').includes('..')) return null
  return plain
}
