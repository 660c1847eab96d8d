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
import { errorMessage, type Logger } from '@svc/plugin-sdk'
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
 * Version of everything that crosses a reload: {@link Hub}, {@link Core} and `StateSnapshot`. Each change to them increments it.
 * Code of another version does not take the hub over. It reads the state from the database, as after a restart.
 */
export const HUB_VERSION = 4

/** Milliseconds between searches for the state of ended processes. */
const LOOK_MS = 2_000

/** Services that the serving unit passes to the orchestrator. */
export interface UnitServices {
  /** Live changes replace them in place. */
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
  /** Sets the mode of work in a session's envelope; null removes it. No effect without an envelope. */
  readonly setMode?: ((session: string, mode: object | null) => Promise<void>) | undefined
}

export interface HubOptions {
  readonly repositoryId: string
  readonly bus: EventBus
  readonly services: UnitServices
  /** Why there is no database; default: none is attached. */
  readonly because?: string | undefined
  /** Unix milliseconds; default: the system's. */
  readonly now?: Clock | undefined
  /** Called when another process has claimed the seat; nothing is written from then on. */
  readonly onLost?: (() => void) | undefined
}

/** Dependencies of a core, from a {@link Hub}. */
export interface HubContext {
  readonly repositoryId: string
  readonly now: Clock
  readonly bus: EventBus
  readonly readySignals: ReadySignals
  readonly signals: TaskSignals
  /** Of the unit that serves. */
  services: UnitServices
  /** The database of the unit that serves. */
  readonly store: StateStore | null
  /** The log of the unit that serves. */
  readonly log: Logger
  readonly persistence: Persistence
}

/**
 * State that outlives a reload of the plugin and of the database: the seat with its ids, changes that wait, waiting workers, signals
 * of tasks in progress, and the core that serves.
 *
 * 1. The first unit opens the hub. Its core restores the stored state.
 * 2. A further unit makes a separate core. It costs nothing if the change is abandoned.
 * 3. At the flip {@link takeOver} gives that core all state, between two commands. Changes that wait stay, so a database that does
 *    not answer makes no difference.
 * 4. The last unit closes the hub.
 */
export interface Hub extends HubContext {
  core: Core
}

/** Throws if the database cannot be used. */
export async function openHub(options: HubOptions, makeCore: (context: HubContext) => Promise<Core>): Promise<Hub> {
  const context = await openContext(options)
  const { persistence } = context
  try {
    const hub: Hub = Object.assign(context, { core: await makeCore(context) })
    await persistence.start(restorableState(hub))
    return hub
  } catch (error) {
    await persistence.close()
    throw error
  }
}

/**
 * Serves with another core, which takes all state of the one before. If it cannot, the core before goes on, with the services of
 * the new unit. Synchronous; does not throw.
 */
export function takeOver(hub: Hub, services: UnitServices, next: Core): void {
  if (hub.services === services) return
  hub.services = services
  const before = hub.core
  try {
    const changes = next.importState(before.exportState())
    next.runner.notifyAfter(before.runner.notified)
    hub.core = next
    before.runner.handTo(next.runner)
    next.runner.apply(changes, 'the state that was taken over')
  } catch (error) {
    hub.log.error('the state cannot be taken over by the new code; the code before goes on until a restart', {
      reason: errorMessage(error)
    })
  }
}

/** Runs the duties of a second, and looks for the state of ended processes. */
export async function tickHub(hub: Hub): Promise<void> {
  await hub.core.service.tick()
  await hub.persistence.tick()
}

export async function closeHub({ core, signals, readySignals, persistence }: Hub): Promise<void> {
  const notified = core.runner.close()
  signals.close('the orchestrator is closed')
  readySignals.close()
  await persistence.close()
  await notified
}

/** The state of the core that serves when it is read. */
function restorableState(hub: Hub): Restorable {
  return {
    serialise: (kind, key) => hub.core.records.serialise(kind, key),
    restore: (kind, key, json) => hub.core.records.restore(kind, key, json),
    recovered: () => hub.core.records.recovered()
  }
}

async function openContext(options: HubOptions): Promise<HubContext> {
  const { repositoryId, bus, services, now } = options
  const held = {
    repositoryId,
    now: forwardClock(now),
    bus,
    readySignals: new ReadySignals(),
    signals: new TaskSignals(),
    services,
    store: services.store === null ? null : new CurrentStore(() => held.services.store as StateStore),
    log: currentLog(() => held.services.log)
  } as Omit<HubContext, 'persistence'>
  return Object.assign(held, { persistence: await openPersistence(held, options) })
}

async function openPersistence(
  held: Omit<HubContext, 'persistence'>,
  { because, onLost }: HubOptions
): Promise<Persistence> {
  const { repositoryId, bus, log, now, store } = held
  if (store === null) return openMemoryPersistence(bus, because ?? 'no database is attached')
  return openDatabasePersistence({
    store,
    repositoryId,
    bus,
    log,
    now,
    settings: () => held.services.settings,
    lookMs: LOOK_MS,
    onLost: error => {
      log.error(`the seat of this process: ${error.message}`, { code: error.code })
      onLost?.()
    }
  })
}
