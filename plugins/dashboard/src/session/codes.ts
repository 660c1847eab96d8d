import { readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { DashboardRole } from '@svc/contracts'
import { dashboardErrors } from '../errors.ts'
import { readObject, writePrivate } from './private-file.ts'
import { isRole } from './roles.ts'
import { digestOf, matches, newId, newSecret, parsePair } from './secrets.ts'

/** How long a sign-in code can be used. */
const CODE_TTL_MS = 60_000
/** Age after which any file in the folder is removed, such as one that a crash left. */
const STALE_MS = 10 * CODE_TTL_MS

/**
 * Sign-in codes, one file each, in a folder that only the user can write. A process that can create a file there acts
 * for the user, so no password is needed. The file holds the hash of the code.
 */
export class SignInCodes {
  readonly #folder: string
  readonly #now: () => number

  /** `folder`: data folder of the plugin. `now`: Unix milliseconds. */
  constructor(folder: string, now: () => number = Date.now) {
    this.#folder = join(folder, 'codes')
    this.#now = now
  }

  /** Creates a code `<id>.<secret>`. `expires`: Unix milliseconds. */
  create(role: DashboardRole): { readonly code: string; readonly expires: number } {
    this.removeExpired()
    const id = newId()
    const secret = newSecret()
    const expires = this.#now() + CODE_TTL_MS
    writePrivate(join(this.#folder, `${id}.json`), JSON.stringify({ hash: digestOf(secret), role, expires }))
    return { code: `${id}.${secret}`, expires }
  }

  /**
   * Uses up a code and returns its role. The file is renamed first, so that only one of two simultaneous requests
   * succeeds. Throws `DSH_CODE_INVALID`.
   */
  redeem(code: string): DashboardRole {
    const pair = parsePair(code)
    if (pair === null) throw invalid()
    const path = join(this.#folder, `${pair.id}.json`)
    const taken = join(this.#folder, `${pair.id}.${newId()}.used`)
    try {
      renameSync(path, taken)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw invalid()
      throw error
    }
    const stored = readObject(taken)
    rmSync(taken, { force: true })
    if (stored === null) throw invalid()
    const { hash, role, expires } = stored
    if (typeof hash !== 'string' || !isRole(role) || typeof expires !== 'number') throw invalid()
    // Compared before the time, so that both answers take equally long.
    if (!matches(pair.secret, hash) || expires < this.#now()) throw invalid()
    return role
  }

  /** Removes codes that can no longer be used. */
  removeExpired(): void {
    for (const name of namesIn(this.#folder)) {
      const path = join(this.#folder, name)
      const modified = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? this.#now()
      const { expires } = name.endsWith('.json') ? (readObject(path) ?? {}) : {}
      const isOver = typeof expires === 'number' ? expires < this.#now() : modified + STALE_MS < this.#now()
      if (isOver) rmSync(path, { force: true })
    }
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

function invalid(): Error {
  return dashboardErrors.create(
    'DSH_CODE_INVALID',
    'the sign-in code is wrong, was used before, or is older than 60 seconds',
    { hint: 'run svc dashboard again' }
  )
}
