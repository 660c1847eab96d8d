import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { DashboardRole } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import { readObject, writePrivate } from './private-file.ts'
import { isRole } from './roles.ts'
import { digestOf, isId, matches, newId, newSecret, parsePair } from './secrets.ts'

/** Session of the console. Times are Unix milliseconds. */
export interface Session {
  readonly id: string
  readonly role: DashboardRole
  readonly created: number
  readonly lastUsed: number
  readonly expires: number
}

/** Secrets of a new session. Both halves are needed: other ports of the host receive the cookie, too. */
export interface NewSession {
  readonly session: Session
  /** Value of the cookie. */
  readonly cookie: string
  readonly token: string
}

interface StoredSession {
  readonly id: string
  readonly role: DashboardRole
  /** SHA-256 of each half, in hex. */
  readonly cookie: string
  readonly token: string
  readonly created: number
  lastUsed: number
}

/** State that outlives a reload of the plugin. */
export interface SessionState {
  install: string
  readonly sessions: Map<string, StoredSession>
  /** Time of `lastUsed` in the file, by session. */
  readonly written: Map<string, number>
}

export interface SessionLimits {
  readonly idleMs: number
  readonly maxMs: number
}

/** Further sessions end the one that was not used for the longest time. */
const MAX_SESSIONS = 100
/** The time of the last use is written at most this often. */
const WRITE_INTERVAL_MS = 300_000

export function newSessionState(): SessionState {
  return { install: newId(), sessions: new Map(), written: new Map() }
}

/**
 * Sessions of the console, kept as hashes in `sessions.json`. A revoked session has a file in `revoked/`, so that any
 * process can revoke it, and a server that writes its sessions cannot bring it back.
 */
export class Sessions {
  readonly #file: string
  readonly #revoked: string
  readonly #state: SessionState
  readonly #limits: SessionLimits
  readonly #log: Pick<Logger, 'warn'>
  readonly #now: () => number

  /** `folder`: data folder of the plugin. `now`: Unix milliseconds. */
  constructor(
    folder: string,
    state: SessionState,
    limits: SessionLimits,
    log: Pick<Logger, 'warn'>,
    now: () => number = Date.now
  ) {
    this.#file = join(folder, 'sessions.json')
    this.#revoked = join(folder, 'revoked')
    this.#state = state
    this.#limits = limits
    this.#log = log
    this.#now = now
    this.#merge()
    this.#removeEnded()
  }

  /** Id of this installation, so that two servers on one host have different cookies. */
  get install(): string {
    return this.#state.install
  }

  create(role: DashboardRole): NewSession {
    const id = newId()
    const [cookie, token] = [newSecret(), newSecret()]
    const now = this.#now()
    const stored = { id, role, cookie: digestOf(cookie), token: digestOf(token), created: now, lastUsed: now }
    this.#state.sessions.set(id, stored)
    this.#write()
    return { session: this.#shown(stored), cookie: `${id}.${cookie}`, token }
  }

  /** Returns the session of a cookie; null if there is none. The cookie does not prove that the page may use it. */
  ofCookie(cookie: string | undefined): Session | null {
    const pair = cookie === undefined ? null : parsePair(cookie)
    const stored = pair === null ? undefined : this.#live(pair.id)
    if (pair === null || stored === undefined || !matches(pair.secret, stored.cookie)) return null
    return this.#shown(stored)
  }

  /** Returns the session of a cookie and a token, and records its use; null unless both belong to it. */
  ofBoth(cookie: string | undefined, token: string | undefined): Session | null {
    const session = this.ofCookie(cookie)
    if (session === null || token === undefined) return null
    const stored = this.#state.sessions.get(session.id)
    if (stored === undefined || !matches(token, stored.token)) return null
    this.#use(stored)
    return this.#shown(stored)
  }

  /** Returns whether a session has not ended. */
  isLive(id: string): boolean {
    return this.#live(id) !== undefined
  }

  list(): readonly Session[] {
    return [...this.#state.sessions.keys()]
      .flatMap(id => this.#live(id) ?? [])
      .map(stored => this.#shown(stored))
      .sort((a, b) => b.lastUsed - a.lastUsed)
  }

  /** Ends a session. Returns false if there is none with this id. */
  revoke(id: string): boolean {
    if (!isId(id) || this.#live(id) === undefined) return false
    writePrivate(join(this.#revoked, id), '')
    try {
      this.#write()
    } catch (error) {
      // The mark is enough to end the session, and takes no space on a full disk.
      this.#log.warn(`cannot write ${this.#file}; the revoked session ${id} stays in it until it can be`, { error })
    }
    return true
  }

  /** Writes the times of use that are not yet in the file. */
  flush(): void {
    const { sessions, written } = this.#state
    if ([...sessions.values()].some(({ id, lastUsed }) => written.get(id) !== lastUsed)) this.#write()
  }

  #use(stored: StoredSession): void {
    stored.lastUsed = this.#now()
    if (stored.lastUsed - (this.#state.written.get(stored.id) ?? 0) < WRITE_INTERVAL_MS) return
    try {
      this.#write()
    } catch (error) {
      // The session serves on from memory.
      this.#state.written.set(stored.id, stored.lastUsed)
      this.#log.warn(`cannot write ${this.#file}; sessions will not survive a restart`, { error })
    }
  }

  #live(id: string): StoredSession | undefined {
    const stored = this.#state.sessions.get(id)
    if (stored === undefined) return undefined
    if (this.#expires(stored) > this.#now() && !existsSync(join(this.#revoked, id))) return stored
    this.#state.sessions.delete(id)
    this.#state.written.delete(id)
    return undefined
  }

  #expires({ created, lastUsed }: StoredSession): number {
    return Math.min(created + this.#limits.maxMs, lastUsed + this.#limits.idleMs)
  }

  #shown(stored: StoredSession): Session {
    const { id, role, created, lastUsed } = stored
    return { id, role, created, lastUsed, expires: this.#expires(stored) }
  }

  /** Writes all sessions. Those of another server of the project are kept. */
  #write(): void {
    this.#merge()
    const { install, sessions, written } = this.#state
    const live = [...sessions.keys()].flatMap(id => this.#live(id) ?? [])
    const kept = live.toSorted((a, b) => b.lastUsed - a.lastUsed).slice(0, MAX_SESSIONS)
    for (const stored of live) if (!kept.includes(stored)) sessions.delete(stored.id)
    writePrivate(this.#file, `${JSON.stringify({ install, sessions: kept }, null, 2)}\n`)
    for (const { id, lastUsed } of kept) written.set(id, lastUsed)
  }

  /** Adds the sessions of the file. */
  #merge(): void {
    const stored = readObject(this.#file)
    if (stored === null) {
      this.#keepUnreadable()
      return
    }
    const { install, sessions } = stored
    if (typeof install === 'string' && isId(install)) this.#state.install = install
    for (const each of Array.isArray(sessions) ? sessions : []) {
      if (!isStored(each)) continue
      const known = this.#state.sessions.get(each.id)
      if (known === undefined) this.#state.sessions.set(each.id, { ...each })
      else known.lastUsed = Math.max(known.lastUsed, each.lastUsed)
      this.#state.written.set(each.id, each.lastUsed)
    }
  }

  #keepUnreadable(): void {
    if (!existsSync(this.#file)) return
    const kept = `${this.#file}.unreadable`
    renameSync(this.#file, kept)
    this.#log.warn(`${this.#file} is not valid JSON and was renamed to ${kept}; sign in again with svc dashboard`)
  }

  /** Removes expired sessions from memory, and marks of revoked sessions that have expired since. */
  #removeEnded(): void {
    for (const id of [...this.#state.sessions.keys()]) this.#live(id)
    let marks: string[] = []
    try {
      marks = readdirSync(this.#revoked)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
    for (const id of marks) {
      const path = join(this.#revoked, id)
      const since = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
      if (since + this.#limits.maxMs < this.#now()) rmSync(path, { force: true })
    }
  }
}

function isStored(value: unknown): value is StoredSession {
  const { id, role, cookie, token, created, lastUsed } = (value ?? {}) as Record<string, unknown>
  return (
    typeof id === 'string' &&
    isId(id) &&
    isRole(role) &&
    typeof cookie === 'string' &&
    typeof token === 'string' &&
    typeof created === 'number' &&
    typeof lastUsed === 'number'
  )
}
