import { lstatSync, readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import ignore, { type Ignore } from 'ignore'

/** Larger files of rules are not read. */
const MAX_RULES_BYTES = 1_048_576

/** The rules of `.gitignore` files and of `.git/info/exclude`. Each file is read once. */
export class IgnoreRules {
  readonly #root: string
  readonly #folders = new Map<string, Ignore | null>()
  /** Rules of the folders above the project, up to the root of the repository, with the path of the project in it. */
  readonly #above: readonly { readonly rules: Ignore; readonly prefix: string }[]

  constructor(root: string) {
    this.#root = root
    this.#above = rulesAbove(root)
  }

  /** Whether git ignores a path. The folders above it must not be ignored: git does not look into those. */
  ignores(path: string, isFolder: boolean): boolean {
    const parts = path.split('/')
    // The rules of the nearest folder decide.
    for (let depth = parts.length - 1; depth >= 0; depth--) {
      const decided = decision(this.#rules(parts.slice(0, depth).join('/')), parts.slice(depth).join('/'), isFolder)
      if (decided !== null) return decided
    }
    for (const { rules, prefix } of this.#above) {
      const decided = decision(rules, `${prefix}${path}`, isFolder)
      if (decided !== null) return decided
    }
    return false
  }

  #rules(folder: string): Ignore | null {
    let rules = this.#folders.get(folder)
    if (rules === undefined) {
      rules = read(join(this.#root, folder, '.gitignore'))
      this.#folders.set(folder, rules)
    }
    return rules
  }
}

function decision(rules: Ignore | null, path: string, isFolder: boolean): boolean | null {
  if (rules === null) return null
  const { ignored, unignored } = rules.test(isFolder ? `${path}/` : path)
  return ignored ? true : unignored ? false : null
}

function rulesAbove(root: string): { rules: Ignore; prefix: string }[] {
  const found: { rules: Ignore; prefix: string }[] = []
  const repository = repositoryOf(root)
  if (repository === null) return found
  const add = (folder: string, file: string): void => {
    const rules = read(file)
    const path = relative(folder, root).split(sep).join('/')
    if (rules !== null) found.push({ rules, prefix: path === '' ? '' : `${path}/` })
  }
  for (let folder = root; folder !== repository; ) {
    folder = dirname(folder)
    add(folder, join(folder, '.gitignore'))
  }
  add(repository, join(repository, '.git', 'info', 'exclude'))
  return found
}

function repositoryOf(root: string): string | null {
  for (let folder = root; ; folder = dirname(folder)) {
    try {
      lstatSync(join(folder, '.git'))
      return folder
    } catch {
      if (dirname(folder) === folder) return null
    }
  }
}

function read(file: string): Ignore | null {
  try {
    const found = lstatSync(file)
    if (!found.isFile() || found.size > MAX_RULES_BYTES) return null
    return ignore({ allowRelativePaths: true }).add(readFileSync(file, 'utf8'))
  } catch {
    return null
  }
}
