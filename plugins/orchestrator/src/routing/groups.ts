import picomatch from 'picomatch'

/** Files that belong together. */
export interface AffinityGroup {
  /** Also the name of the agent that is made for it. */
  readonly name: string
  /** Globs, relative to the repository, with forward slashes; they match names that begin with a dot too. */
  readonly patterns: readonly string[]
}

/** Maximum folders in the cache. */
const REMEMBERED_FOLDERS = 4_096

interface Pattern {
  readonly group: string
  readonly matches: (path: string) => boolean
  /** Folder above everything that can match; empty for the root. Null if the pattern does not say. */
  readonly base: string | null
  /** Whether every file below the base matches. */
  readonly isWholeFolder: boolean
}

/** Facts about the files directly in a folder. */
interface Verdict {
  /** Patterns that some of them may match, in order. */
  readonly perhaps: readonly Pattern[]
  /** Group of files that match none of them. */
  readonly otherwise: string | null
}

/**
 * Finds the group of a file: the first that has a pattern which matches. Globs are evaluated once per folder, so most
 * files cost one table lookup.
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

  /** Name of the group of a path relative to the repository. */
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
    if (this.#verdicts.size >= REMEMBERED_FOLDERS) this.#verdicts.clear()
    this.#verdicts.set(folder, verdict)
    return verdict
  }
}

function compile(group: string, pattern: string): Pattern {
  const matches = picomatch(pattern, { dot: true })
  const { base, glob, isGlob, negated } = picomatch.scan(pattern)
  // A negated pattern matches outside of its base, and an escaped one has a base that is not a path.
  if (negated || pattern.includes('\\') || pattern.startsWith('./')) {
    return { group, matches, base: null, isWholeFolder: false }
  }
  if (!isGlob) return { group, matches, base: parentOf(pattern), isWholeFolder: false }
  return { group, matches, base: base === '.' ? '' : base, isWholeFolder: glob === '**' || glob === '**/*' }
}

/** How many of the files directly in `folder` match. */
function reachOf({ base, isWholeFolder }: Pattern, folder: string): 'all' | 'some' | 'none' {
  if (base === null) return 'some'
  if (base === '' || folder === base || folder.startsWith(`${base}/`)) return isWholeFolder ? 'all' : 'some'
  // `docs/**` matches a file that is called `docs`, too.
  return parentOf(base) === folder ? 'some' : 'none'
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf('/'), 0))
}
