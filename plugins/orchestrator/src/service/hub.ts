import type {
  CompletionGate,
  ContextEnvelope,
  DatabaseStore,
  GoalOutcome,
  GoalRequest,
  RoutingTerm,
  TaskEnd,
  TaskSubmission
} from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import { openDatabasePersistence } from '../durable/database-persistence.ts'
import { openMemoryPersistence, type Persistence } from '../durable/persistence.ts'
import { CurrentStore, type StateStore } from '../durable/state-store.ts'
import type { EventBus } from '../events/bus.ts'
import type { Settings } from '../settings.ts'
import type { Clock, Restorable } from '../state/ports.ts'
import { forwardClock } from './clock.ts'
import type { Core } from './core.ts'
import { currentLog } from './levelled-log.ts'
import { ReadySignals } from './ready-signals.ts'
import { TaskSignals } from './task-signals.ts'

/**
 * Version of everything that crosses a reload: this class, its members, {@link Core} and `StateSnapshot`. Each change to them
 * increments it. Code of another version does not take the hub over; it reads the state from the database, as after a restart.
 */
export const HUB_VERSION = 3

/** Between two looks for what other processes left. */
const LOOK_MS = 2_000

/** Services that the serving unit passes to the orchestrator. */
export interface HostServices {
  /** Replaced in place where they change while running. */
  readonly settings: Settings
  /** Null: the state ends with the process. */
  readonly store: DatabaseStore | null
  readonly log: Logger
  /** Triggers the hook `taskEnded`; called for one task after the other. */
  readonly ended: (end: TaskEnd) => Promise<void>
  /** Contributed and built-in gates; default: the built-in ones. */
  readonly gates?: (() => readonly CompletionGate[]) | undefined
  /** Contributed terms of the routing score; default: none. */
  readonly routingTerms?: (() => readonly RoutingTerm[]) | undefined
  /** Triggers the hook `taskSubmitting`. Default: no tap. */
  readonly submitting?: ((submission: TaskSubmission) => Promise<void>) | undefined
  /** Triggers the hook `goalSubmitting`. Default: no tap. */
  readonly goal?: ((request: GoalRequest) => Promise<GoalOutcome | undefined>) | undefined
  /** The merged envelope of a session; null without a session store. */
  readonly envelope: (session: string) => Promise<ContextEnvelope | null>
  /** Sets what a session's envelope says of the mode of work; null takes it away. Nothing where it has none. */
  readonly setMode?: ((session: string, mode: object | null) => Promise<void>) | undefined
}

export interface HubOptions {
  readonly repositoryId: string
  readonly bus: EventBus
  readonly services: HostServices
  /** Why there is no database; default: none is attached. */
  readonly because?: string | undefined
  /** Unix milliseconds; default: the system's. */
  readonly now?: Clock | undefined
  /** Called when another process has claimed the seat; nothing is written from then on. */
  readonly onLost?: (() => void) | undefined
}

/**
 * State that outlives a reload of the plugin, and of the database's: the seat with its ids and the waiting changes, waiting workers,
 * signals of tasks in progress, and the core that serves.
 *
 * 1. It is opened with the first unit, whose core takes up what was kept.
 * 2. A further unit makes a separate, hidden core, which costs nothing when the change is abandoned.
 * 3. At the flip that core takes over, between two commands: it is given all records, and what no record keeps; from then on
 *    whatever becomes durable is read from it. Changes that wait are not touched, so that it does not matter whether the database
 *    answers.
 * 4. With the last unit it is closed.
 */
export class Hub {
  readonly repositoryId: string
  readonly now: Clock
  readonly bus: EventBus
  readonly readySignals = new ReadySignals()
  readonly signals = new TaskSignals()
  /** The database of the unit that serves. */
  readonly store: StateStore | null
  readonly log: Logger
  #services: HostServices
  #persistence: Persistence | null = null
  #core: Core | null = null

  private constructor({ repositoryId, bus, services, now }: HubOptions) {
    this.repositoryId = repositoryId
    this.bus = bus
    this.now = forwardClock(now)
    this.#services = services
    this.store = services.store === null ? null : new CurrentStore(() => this.#services.store as StateStore)
    this.log = currentLog(() => this.#services.log)
  }

  /** Throws where the database cannot be used. */
  static async open(options: HubOptions, makeCore: (hub: Hub) => Promise<Core>): Promise<Hub> {
    const hub = new Hub(options)
    const persistence = await hub.#openPersistence(options)
    hub.#persistence = persistence
    try {
      hub.#core = await makeCore(hub)
      await persistence.start(hub.#records())
    } catch (error) {
      await persistence.close()
      throw error
    }
    return hub
  }

  /** Services of the unit that serves. */
  get services(): HostServices {
    return this.#services
  }

  get core(): Core {
    return this.#core as Core
  }

  get persistence(): Persistence {
    return this.#persistence as Persistence
  }

  /**
   * From now on this core serves, with everything that the one before it had. Where it cannot take that up the one before stays,
   * and the new unit provides its dependencies. Synchronous; throws nothing.
   */
  takeOver(services: HostServices, next: Core): void {
    if (this.#services === services) return
    this.#services = services
    const before = this.core
    try {
      const changes = next.importState(before.exportState())
      next.runner.notifyAfter(before.runner.notified)
      this.#core = next
      before.runner.handTo(next.runner)
      next.runner.apply(changes, 'what was taken over')
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      this.log.error('the state cannot be taken over by the new code; the code before goes on until a restart', {
        reason
      })
    }
  }

  /** The duties of a second, and a look for what other processes left. */
  async tick(): Promise<void> {
    await this.core.service.tick()
    await this.persistence.tick()
  }

  async close(): Promise<void> {
    const notified = this.core.runner.close()
    this.signals.close('the orchestrator is closed')
    this.readySignals.close()
    await this.persistence.close()
    await notified
  }

  /** The current state. */
  #records(): Restorable {
    return {
      serialise: (kind, key) => this.core.records.serialise(kind, key),
      restore: (kind, key, json) => this.core.records.restore(kind, key, json),
      recovered: () => this.core.records.recovered()
    }
  }

  async #openPersistence({ because, onLost }: HubOptions): Promise<Persistence> {
    const { repositoryId, bus, log, now, store } = this
    if (store === null) return openMemoryPersistence(bus, because ?? 'no database is attached')
    const hub = this
    return openDatabasePersistence({
      store,
      repositoryId,
      bus,
      log,
      now,
      lineage: () => {
        const { lineage_off, campaign_id } = hub.#services.settings
        return { enabled: !lineage_off, campaignId: campaign_id ?? null }
      },
      lookMs: LOOK_MS,
      get waitMs() {
        return hub.#services.settings.commit_timeout_ms
      },
      get maxPending() {
        return hub.#services.settings.commit_queue_limit
      },
      onLost: error => {
        log.error(`the seat of this process: ${error.message}`, { code: error.code })
        onLost?.()
      }
    })
  }
}
