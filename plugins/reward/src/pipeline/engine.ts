import type { DatabaseTransaction } from '@svc/contracts'
import { errorMessage, type Logger } from '@svc/plugin-sdk'
import { channelOf, decideGate, experimentFactor, NO_STORED_CONFIG, type StoredConfig, userIdOf } from '../gate.ts'
import { bucket } from '../rules/fnv1a.ts'
import { dayOf } from '../rules/streak.ts'
import type { Settings } from '../settings.ts'
import { loadState } from '../store/load-state.ts'
import type { RewardStore } from '../store/reward-store.ts'
import { saveState } from '../store/save-state.ts'
import { newRows, type UserState } from '../store/user-state.ts'
import { assertSettingsOn, switchedOff } from '../switches.ts'
import { concealed, type ValidEvent, validateEvent, withContent } from './event.ts'
import { EventQueue, type QueuedEvent } from './event-queue.ts'
import type { EventSpool } from './event-spool.ts'
import { Occurrences, type SessionCounts } from './occurrences.ts'
import { type Grant, grantFixed, type Policy, processEvent } from './process.ts'
import { maskArguments } from './tool-arguments.ts'

/** Milliseconds that events wait for others, unless there are enough for a transaction. */
const GATHER_MS = 250
const GATHERED_EVENTS = 256
/** Milliseconds between two looks for events that other processes left. */
const SPOOL_INTERVAL_MS = 1_000
/** Files from which a process that ends commits them all, instead of leaving one more. */
const MANY_FILES = 100
/** Attempts of one batch, and the pause before the second; later pauses are longer. */
const MAX_ATTEMPTS = 4
const RETRY_MS = 50

export interface EngineOptions {
  readonly store: RewardStore
  readonly settings: () => Settings
  readonly counts: SessionCounts
  readonly log: Pick<Logger, 'info' | 'warn' | 'debug'>
  /** Called after the state changed. */
  readonly changed: () => void
  /** Called if the stored configuration was read, with whether it leaves rewards on. */
  readonly switched: (on: boolean) => void
  /** Called with the hints that were shown, after they are stored. Must not throw. */
  readonly hinted?: (hints: readonly ShownHint[]) => void
  /** Events of processes that did not open the database. Default: none are left, and none are read. */
  readonly spool?: EventSpool
  /** Conceals known secrets in a text. Default: none are known. */
  readonly mask?: (text: string) => string
  /** Returns Unix milliseconds. Default: the clock. */
  readonly now?: () => number
}

/** A hint with its fixed text. */
export interface ShownHint {
  readonly user: string
  readonly kind: string
  readonly text: string
  /** Unix milliseconds of the mistake. */
  readonly at: number
}

export interface EngineFigures {
  readonly queued: number
  /** Events since the process started: processed, duplicates, invalid, and lost to a full queue or a failed database. */
  readonly processed: number
  readonly duplicates: number
  readonly invalid: number
  readonly lost: number
}

/** Access to the state of the user within one transaction. */
export interface StateChange {
  readonly tx: DatabaseTransaction
  readonly state: UserState
  readonly now: number
  /** Processes a further event. */
  process(event: Readonly<Record<string, unknown>>): void
  /** Grants a fixed reward. */
  grant(reward: Omit<Grant, 'at'>): void
}

/** Takes events, and processes them in batches, each in one transaction. */
export class Engine {
  readonly #options: EngineOptions
  readonly #queue = new EventQueue()
  readonly #now: () => number
  #draining: Promise<void> | null = null
  #timer: NodeJS.Timeout | null = null
  #isUrgent = false
  /** Time of the next look for events of other processes, as of `performance.now`. */
  #nextLook = 0
  #warned = false
  #notedOff: boolean | null = null
  #processed = 0
  #duplicates = 0
  #invalid = 0
  #lost = 0

  constructor(options: EngineOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
  }

  get figures(): EngineFigures {
    return {
      queued: this.#queue.length,
      processed: this.#processed,
      duplicates: this.#duplicates,
      invalid: this.#invalid + this.#queue.oversized,
      lost: this.#lost + this.#queue.dropped
    }
  }

  /** Queues an event, and returns at once. Never throws. */
  accept(event: unknown): void {
    if (!this.#queue.add(event, this.#now()))
      this.#warnOnce('a reward event was dropped: it is too large, or too many wait')
    if (this.#queue.length >= GATHERED_EVENTS) this.#schedule(0)
    else this.#schedule(GATHER_MS)
  }

  /** Starts to process the queue later. A process that ends before calls {@link close}. */
  #schedule(milliseconds: number): void {
    if (this.#timer !== null && milliseconds > 0) return
    if (this.#timer !== null) {
      if (this.#isUrgent) return
      clearTimeout(this.#timer)
    }
    this.#isUrgent = milliseconds === 0
    this.#timer = setTimeout(() => void this.flush(), milliseconds).unref()
  }

  /**
   * Processes the queued events, or leaves them to a later process if this one has not opened the database yet: opening
   * it takes longer than most commands.
   */
  async close(): Promise<void> {
    const { spool, store } = this.#options
    if (spool === undefined || store.isOpen || this.#draining !== null) return await this.flush()
    if (this.#queue.length === 0) return
    if (await this.#isNotedOff(spool)) {
      while (this.#queue.length > 0) this.#queue.take()
      return
    }
    if (await this.#hasManySpooled(spool)) return await this.flush()
    clearTimeout(this.#timer ?? undefined)
    this.#timer = null
    for (let batch = this.#queue.take(); batch.length > 0; batch = this.#queue.take()) {
      const events = await this.#validAmong(batch)
      if (events.length > 0 && !(await this.#leave(events))) await this.#commitAll(events)
    }
  }

  /** Processes all queued events. Resolves when they are committed, or given up. */
  async flush(): Promise<void> {
    this.#draining ??= this.#drain().finally(() => {
      this.#draining = null
    })
    await this.#draining
    if (this.#queue.length > 0) await this.flush()
  }

  async #drain(): Promise<void> {
    clearTimeout(this.#timer ?? undefined)
    this.#timer = null
    await this.#takeSpooled()
    for (let batch = this.#queue.take(); batch.length > 0; batch = this.#queue.take()) await this.#process(batch)
  }

  async #process(batch: readonly QueuedEvent[]): Promise<void> {
    const events = await this.#validAmong(batch)
    if (events.length > 0) await this.#commitAll(events)
  }

  async #validAmong(batch: readonly QueuedEvent[]): Promise<readonly ValidEvent[]> {
    const events: ValidEvent[] = []
    for (const { event, at } of batch) {
      const valid = await this.#validate(event, at)
      if (valid !== null) events.push(valid)
    }
    return events
  }

  /** Commits events. If the database fails, they are left to a later process. */
  async #commitAll(events: readonly ValidEvent[]): Promise<void> {
    const reason = await this.#tryCommit(events)
    if (reason === null) return
    const fields = { events: events.length, reason }
    if (await this.#leave(events)) {
      this.#options.log.warn('reward events are kept for later: the database failed', fields)
      return
    }
    this.#lost += events.length
    this.#options.log.warn('reward events were lost: the database failed', fields)
  }

  /** Commits events, if need be in several attempts. Returns why it failed; null on success. */
  async #tryCommit(events: readonly ValidEvent[]): Promise<string | null> {
    for (let attempt = 1; ; attempt++)
      try {
        await this.#commit(events)
        return null
      } catch (error) {
        if (attempt === MAX_ATTEMPTS) return errorMessage(error)
        await new Promise(resolve => setTimeout(resolve, RETRY_MS * 4 ** (attempt - 1)))
      }
  }

  /** Writes events to a file for a later process. Returns false if that is not possible. */
  async #leave(events: readonly ValidEvent[]): Promise<boolean> {
    const { spool, log } = this.#options
    if (spool === undefined) return false
    try {
      return await spool.write(events)
    } catch (error) {
      log.debug('reward events could not be written to a file', { reason: errorMessage(error) })
      return false
    }
  }

  /** Notes the stored switch for processes that do not open the database. `enabled`: null if it is not stored. */
  async noteSwitch(enabled: boolean | null): Promise<void> {
    const isOff = enabled === false
    if (this.#notedOff === isOff) return
    const { spool, log } = this.#options
    try {
      await spool?.noteSwitch(isOff)
      this.#notedOff = isOff
    } catch (error) {
      log.debug('the switch of rewards could not be noted in a file', { reason: errorMessage(error) })
    }
  }

  /** Whether the stored configuration switched rewards off, and no setting of this process overrides it. */
  async #isNotedOff(spool: EventSpool): Promise<boolean> {
    if (!decideGate(this.#options.settings(), { ...NO_STORED_CONFIG, enabled: false }).on)
      return await spool.isOff().catch(() => false)
    return false
  }

  async #hasManySpooled(spool: EventSpool): Promise<boolean> {
    try {
      return (await spool.list()).length >= MANY_FILES
    } catch {
      return true
    }
  }

  /** Commits events that other processes left. A file is removed after its events are committed. */
  async #takeSpooled(): Promise<void> {
    const { spool, log } = this.#options
    const now = performance.now()
    if (spool === undefined || now < this.#nextLook) return
    this.#nextLook = now + SPOOL_INTERVAL_MS
    try {
      for (const file of await spool.list()) {
        const spooled = await spool.read(file)
        if (spooled === null) continue
        const { events, invalid } = spooled
        for (let at = 0; at < events.length; at += GATHERED_EVENTS) {
          const reason = await this.#tryCommit(events.slice(at, at + GATHERED_EVENTS))
          if (reason !== null) throw new Error(reason)
        }
        this.#invalid += invalid
        await spool.remove(file)
      }
    } catch (error) {
      log.warn('reward events of other processes could not be committed, and are kept', { reason: errorMessage(error) })
    }
  }

  async #validate(event: unknown, at: number): Promise<ValidEvent | null> {
    const settings = this.#options.settings()
    try {
      const valid = validateEvent(event, at)
      const { route_log_sample } = settings
      const user = userIdOf(settings)
      if (route_log_sample !== undefined && bucket(route_log_sample, user, valid.type) === 0)
        this.#options.log.info('reward event', { user, type: valid.type })
      const content = await maskArguments(valid.type, valid.event, settings.mcp_tool_args)
      const masked = content === valid.event ? valid : withContent(valid, content)
      return concealed(masked, this.#options.mask)
    } catch (error) {
      this.#invalid += 1
      this.#warnOnce(errorMessage(error))
      return null
    }
  }

  async #commit(events: readonly ValidEvent[]): Promise<void> {
    const { store, counts } = this.#options
    const settings = this.#options.settings()
    const user = userIdOf(settings)
    const occurrences = new Occurrences(counts)
    const now = this.#now()
    let enabled: boolean | null = null
    const outcome = await store.transaction(async tx => {
      const state = await loadState(tx, {
        user,
        days: events.map(({ at }) => dayOf(at)),
        keys: events.flatMap(({ key }) => key ?? []),
        now: Math.min(now, ...events.map(({ at }) => at))
      })
      enabled = state.config.enabled
      const policy = policyOf(settings, state.config)
      if (policy === null) return null
      const rows = newRows()
      let processed = 0
      for (const event of events) if (processEvent(state, rows, occurrences, policy, event)) processed += 1
      if (processed > 0) await saveState(tx, state, rows)
      const hints = rows.hints.flatMap(({ kind, text, at }) => (text === null ? [] : [{ user, kind, text, at }]))
      return { processed, duplicates: events.length - processed, hints }
    })
    this.#options.switched(outcome !== null)
    await this.noteSwitch(enabled)
    if (outcome === null) return
    occurrences.commit()
    this.#processed += outcome.processed
    this.#duplicates += outcome.duplicates
    if (outcome.processed === 0) return
    this.#options.changed()
    if (outcome.hints.length > 0) this.#options.hinted?.(outcome.hints)
    await store.prune(now).catch((error: unknown) => {
      this.#options.log.warn('old reward rows could not be removed', { reason: errorMessage(error) })
    })
  }

  /**
   * Changes the state of the user by an operation, in one transaction, after all queued events. Throws `RWD_OFF`, and
   * what `run` throws; then nothing changes.
   */
  async change<A>(run: (change: StateChange) => Promise<A>): Promise<A> {
    assertSettingsOn(this.#options)
    await this.flush()
    const { store, counts } = this.#options
    const settings = this.#options.settings()
    const occurrences = new Occurrences(counts)
    const now = this.#now()
    const result = await store.transaction(async tx => {
      const state = await loadState(tx, { user: userIdOf(settings), days: [dayOf(now)], keys: [], now })
      const policy = policyOf(settings, state.config)
      if (policy === null) throw switchedOff(decideGate(settings, state.config).reason)
      const rows = newRows()
      const process = (event: Readonly<Record<string, unknown>>): void =>
        void processEvent(state, rows, occurrences, policy, validateEvent(event, now))
      const grant = (reward: Omit<Grant, 'at'>): void => grantFixed(state, rows, policy, { ...reward, at: now })
      const done = await run({ tx, state, now, process, grant })
      await saveState(tx, state, rows)
      return done
    })
    occurrences.commit()
    this.#options.changed()
    return result
  }

  #warnOnce(reason: string): void {
    if (this.#warned) return
    this.#warned = true
    this.#options.log.warn('a reward event was not counted; GET /api/reward/progress has the number of further ones', {
      reason
    })
  }
}

/** Returns the policy of the settings and the stored configuration; null if the component is off. */
export function policyOf(settings: Settings, stored: StoredConfig): Policy | null {
  const { on, mode } = decideGate(settings, stored)
  if (!on) return null
  return {
    mode,
    channel: channelOf(settings, mode),
    verbosity: settings.verbosity,
    maxMessagesPerHour: settings.max_messages_per_hour,
    experiment: (settings.experiment ?? '').trim(),
    experimentFactor: experimentFactor(settings),
    tier: stored.trustTier ?? 'linked'
  }
}
