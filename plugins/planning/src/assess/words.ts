/** The words of a text: runs of anything but white space. */
export function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter(word => word !== '')
}

/** Longer words are skipped; trimming their punctuation would be slow. */
const MAX_WORD_LENGTH = 1_024

/** A word without the punctuation around it, in lower case. */
export function bareWord(word: string): string {
  if (word.length > MAX_WORD_LENGTH) return ''
  return word.replace(/^[^\p{L}\p{N}_]+|[^\p{L}\p{N}_]+$/gu, '').toLowerCase()
}

const SOURCE_FILE =
  /\.(?:c|cc|cpp|cs|css|go|h|hpp|html|java|js|json|jsx|kt|md|mjs|php|py|rb|rs|scss|sh|sql|svelte|swift|toml|ts|tsx|vox|vue|ya?ml)$/

/** Words of a text that name a source file below a folder, or something in `crates/`, `src/` or `docs/`; unchanged. */
export function pathsIn(text: string): string[] {
  return wordsOf(text)
    .filter(word => word.length <= MAX_WORD_LENGTH && word.includes('/'))
    .map(word => word.replace(/^[('"`<[{]+|[)'"`>\]},;:!?.]+$/g, ''))
    .filter(word => word.includes('/') && (SOURCE_FILE.test(word) || /^(?:\.\/)?(?:crates|src|docs)\//.test(word)))
}

/** A path inside the project in its plain form; null for one that leaves it. */
export function projectPath(path: string): string | null {
  const plain = path.replaceAll('\\', '/').replace(/^(?:\.\/)+/, '')
  if (plain === '' || plain.startsWith('/') || /^[A-Za-z]:/.test(plain) || plain.split('/').includes('..')) return null
  return plain
}
