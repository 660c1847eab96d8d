import picomatch from 'picomatch'

/** Files that belong together. */
export interface AffinityGroup {
  /** Name of the group, and of an agent that is created for it. */
  readonly name: string
  /** Globs, relative to the repository, with forward slashes; they also match names that begin with a dot. */
  readonly patterns: readonly string[]
}

/** Maximum folders in the cache. */
const MAX_CACHED_FOLDERS = 4_096

interface Pattern {
  readonly group: string
  readonly matches: (path: string) => boolean
  /** Folder that contains all possible matches; empty for the root, null if unknown. */
  readonly base: string | null
  /** True if every file below the base matches. */
  readonly isWholeFolder: boolean
}

/** Cached result for the files directly in a folder. */
interface Verdict {
  /** Patterns that match only some of the files, in order. */
  readonly perhaps: readonly Pattern[]
  /** Group of files that match none of these patterns; null if they have none. */
  readonly otherwise: string | null
}

/**
 * Finds the group of a file: the first with a matching pattern. Patterns are checked once per folder, so for most files
 * a lookup in a map is enough.
 */
export class AffinityGroups {
  readonly groups: readonly AffinityGroup[]
  readonly #patterns: readonly Pattern[]
  readonly #verdicts = new Map<string, Verdict>()

  /** @throws {TypeError} if a pattern is empty. */
  constructor(groups: readonly AffinityGroup[]) {
    this.groups = groups
    this.#patterns = groups.flatMap(({ name, patterns }) => patterns.map(pattern => compile(name, pattern)))
  }

  /** Returns the group of a path relative to the repository; null if it has none. */
  of(path: string): string | null {
    const folder = path.slice(0, Math.max(path.lastIndexOf('/'), 0))
    const { perhaps, otherwise } = this.#verdicts.get(folder) ?? this.#judge(folder)
    for (const pattern of perhaps) if (pattern.matches(path)) return pattern.group
    return otherwise
  }

  #judge(folder: string): Verdict {
    const perhaps: Pattern[] = []
    let otherwise: string | null = null
    for (const pattern of this.#patterns) {
      const reach = reachOf(pattern, folder)
      if (reach === 'some') perhaps.push(pattern)
      if (reach === 'all') {
        otherwise = pattern.group
        break
      }
    }
    const verdict = { perhaps, otherwise }
    if (this.#verdicts.size >= MAX_CACHED_FOLDERS) this.#verdicts.clear()
    this.#verdicts.set(folder, verdict)
    return verdict
  }
}

function compile(group: string, pattern: string): Pattern {
  const matches = picomatch(pattern, { dot: true })
  const { base, glob, isGlob, negated } = picomatch.scan(pattern)
  // A negated pattern matches outside its base, and the base of an escaped one is not a path.
  if (negated || pattern.includes('\\') || pattern.startsWith('./')) {
    return { group, matches, base: null, isWholeFolder: false }
  }
  if (!isGlob) return { group, matches, base: parentOf(pattern), isWholeFolder: false }
  return { group, matches, base: base === '.' ? '' : base, isWholeFolder: glob === '**' || glob === '**/*' }
}

/** Returns whether all, some or none of the files directly in `folder` can match. */
function reachOf({ base, isWholeFolder }: Pattern, folder: string): 'all' | 'some' | 'none' {
  if (base === null) return 'some'
  if (base === '' || folder === base || folder.startsWith(`${base}/`)) return isWholeFolder ? 'all' : 'some'
  // `docs/**` also matches a file named `docs`.
  return parentOf(base) === folder ? 'some' : 'none'
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf('/'), 0))
}
