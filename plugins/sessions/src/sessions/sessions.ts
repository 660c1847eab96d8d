import { readdir, readFile, stat } from 'node:fs/promises'
import { sessionErrors } from '../errors.ts'
import { isStorable } from '../json-bounds.ts'
import type { Settings } from '../settings.ts'
import { sessionFileName, sessionIds } from './session-id.ts'
import { type NewEvent, SessionLog, type SessionLogOptions } from './session-log.ts'
import { SessionRows } from './session-rows.ts'
import type { SessionTurn, SessionView } from './session-state.ts'

/** Maximum session logs in memory; others are read again from files and rows. */
const MAX_LOGS = 64

const MAX_NAME_LENGTH = 2048

export interface SessionsOptions extends Omit<SessionLogOptions, 'fsync'> {
  readonly settings: () => Settings
  /** Called after an event of a session is stored. */
  readonly changed?: () => void
}

/** All sessions of the repository. */
export class Sessions {
  readonly #options: SessionsOptions
  readonly #log: SessionLogOptions
  readonly #newId: () => string
  /** Least recently used first. */
  readonly #logs = new Map<string, SessionLog>()
  /** Cached views of session files, valid while the file's stamp is unchanged. */
  readonly #views = new Map<string, { readonly stamp: string; readonly view: SessionView }>()
  /** Session names by hashed file name. */
  readonly #hashed = new Map<string, string>()

  constructor(options: SessionsOptions) {
    this.#options = options
    this.#log = { ...options, fsync: () => options.settings().fsync }
    this.#newId = sessionIds(options.now)
  }

  async create(agent: number | null, meta: Readonly<Record<string, string>> = {}): Promise<SessionView> {
    const events: NewEvent[] = Object.keys(meta).length > 0 ? [{ event: 'meta_updated', meta }] : []
    return this.record(this.#newId(), () => events, agent)
  }

  /** Appends to a session, and creates it if it does not exist. Archives other sessions beyond the limit of live ones. */
  async record(
    session: string,
    decide: (view: SessionView | null) => readonly NewEvent[],
    agent: number | null = null
  ): Promise<SessionView> {
    checkName(session)
    let isRevived = false
    const view = await this.#logOf(session).record(existing => {
      const events = decide(existing)
      isRevived = existing === null || !isLive(existing)
      if (existing !== null) return events
      const { repositoryId: repository_id } = this.#options
      return [{ event: 'created', session_id: session, agent_id: agent, repository_id }, ...events]
    })
    if (isRevived && isLive(view)) await this.#makeRoom(session)
    this.#options.changed?.()
    return view
  }

  /** Returns a session; null if it does not exist. The state includes the effect of elapsed time. */
  async view(session: string): Promise<SessionView | null> {
    if (!isName(session)) return null
    const view = await this.#logOf(session).view()
    return view === null ? null : this.#aged(view)
  }

  /** Returns a session. Throws `SES_SESSION_UNKNOWN`. */
  async require(session: string): Promise<SessionView> {
    const view = await this.view(session)
    if (view !== null) return view
    throw sessionErrors.create(
      'SES_SESSION_UNKNOWN',
      `the session ${JSON.stringify(session.slice(0, 200))} does not exist`,
      {
        hint: 'svc sessions list shows the existing sessions'
      }
    )
  }

  async turns(session: string): Promise<readonly (SessionTurn & { readonly content: string })[]> {
    return isName(session) ? this.#logOf(session).turns() : []
  }

  /** Returns all sessions, most recently used first. */
  async list(): Promise<readonly SessionView[]> {
    const store = await this.#options.store()
    const rows = store === null ? [] : await new SessionRows(store, this.#options.repositoryId).views()
    const views = new Map(rows.map(view => [view.session_id, view]))
    const inRows = new Set(rows.map(({ session_id }) => sessionFileName(session_id)))
    for (const session of await this.#sessionsInFiles(inRows)) {
      const view = await this.#viewOfFile(session)
      if (view !== null) views.set(session, view)
    }
    for (const [session, log] of this.#logs) {
      if (views.has(session)) continue
      const view = await log.view()
      if (view !== null) views.set(session, view)
    }
    return [...views.values()]
      .map(view => this.#aged(view))
      .sort((a, b) => b.updated_at_ms - a.updated_at_ms || (a.session_id < b.session_id ? -1 : 1))
  }

  /** Returns the agent's most recently used session. */
  async latestOfAgent(agent: number): Promise<SessionView | null> {
    return (await this.list()).find(({ agent_id }) => agent_id === agent) ?? null
  }

  /** Stores states caused by elapsed time, and compacts archived sessions. */
  async sweep(): Promise<void> {
    for (const { session_id, state } of await this.list()) {
      if (state !== 'idle' && state !== 'archived') continue
      const log = this.#logOf(session_id)
      await log.record(view =>
        view !== null && isLive(view) && view.state !== state ? [{ event: 'state_changed', state, reason: 'time' }] : []
      )
      if (state === 'archived') await log.compact()
    }
  }

  async #makeRoom(kept: string): Promise<void> {
    const live = (await this.list()).filter(view => isLive(view))
    const surplus = live.length - this.#options.settings().max_live
    const candidates = live.filter(({ session_id }) => session_id !== kept).reverse()
    const idle = candidates.filter(({ state }) => state === 'idle')
    const active = candidates.filter(({ state }) => state === 'active')
    for (const { session_id } of [...idle, ...active].slice(0, Math.max(0, surplus))) {
      await this.#logOf(session_id).record(view =>
        view !== null && isLive(view) ? [{ event: 'state_changed', state: 'archived', reason: 'room' }] : []
      )
    }
  }

  #aged(view: SessionView): SessionView {
    if (!isLive(view)) return view
    const { idle_seconds, archive_seconds } = this.#options.settings()
    const seconds = (this.#options.now() - view.updated_at_ms) / 1000
    if (seconds >= archive_seconds) return { ...view, state: 'archived' }
    return seconds >= idle_seconds ? { ...view, state: 'idle' } : view
  }

  #logOf(session: string): SessionLog {
    const log = this.#logs.get(session) ?? new SessionLog(session, this.#log)
    this.#logs.delete(session)
    this.#logs.set(session, log)
    for (const [name, held] of this.#logs) {
      if (this.#logs.size <= MAX_LOGS) break
      if (!held.isBusy && !held.isUnsaved) this.#logs.delete(name)
    }
    return log
  }

  /** Returns the view of a session file. An unchanged file is parsed only once: there may be thousands, few in use. */
  async #viewOfFile(session: string): Promise<SessionView | null> {
    const name = sessionFileName(session)
    const stamps = await Promise.all(this.#folders.map(folder => stampOf(`${folder}/${name}`)))
    const stamp = stamps.join(' ')
    const require = this.#views.get(session)
    if (require?.stamp === stamp && !this.#logs.has(session)) return require.view
    const view = await this.#logOf(session).view()
    if (view !== null) this.#views.set(session, { stamp, view })
    return view
  }

  get #folders(): readonly string[] {
    return [this.#options.folder, ...this.#options.otherFolders]
  }

  async #sessionsInFiles(require: ReadonlySet<string>): Promise<string[]> {
    const sessions = new Set<string>()
    for (const folder of this.#folders) {
      for (const name of await readdir(folder).catch(() => [])) {
        if (!name.endsWith('.jsonl') || require.has(name)) continue
        const session =
          this.#hashed.get(name) ??
          (name.startsWith('h_') ? await readSessionName(`${folder}/${name}`) : name.slice(0, -'.jsonl'.length))
        if (session === null || sessionFileName(session) !== name) continue
        sessions.add(session)
        if (name.startsWith('h_')) this.#hashed.set(name, session)
      }
    }
    return [...sessions]
  }
}

function isLive({ state }: SessionView): boolean {
  return state === 'active' || state === 'idle'
}

function isName(session: string): boolean {
  return session !== '' && session.length <= MAX_NAME_LENGTH && isStorable(session)
}

function checkName(session: string): void {
  if (isName(session)) return
  throw sessionErrors.create(
    'SES_SESSION_INVALID',
    `the name of a session must have 1 to ${MAX_NAME_LENGTH} characters, without U+0000 and lone surrogates; this name has ${session.length} characters`
  )
}

async function stampOf(path: string): Promise<string> {
  const found = await stat(path).catch(() => null)
  return found === null ? '-' : `${found.ino}:${found.size}:${found.mtimeMs}`
}

/** Returns the first `session_id` in a file; null if there is none. */
async function readSessionName(path: string): Promise<string | null> {
  const text = await readFile(path, 'utf8').catch(() => '')
  const session = /"session_id":("(?:[^"\\]|\\.)*")/.exec(text)?.[1]
  return session === undefined ? null : (JSON.parse(session) as string)
}
