import type {
  CompletionGate,
  ContextEnvelope,
  DatabaseStore,
  GoalOutcome,
  GoalRequest,
  RemotePlacer,
  RoutingTerm,
  StubScanner,
  TaskEnd,
  TaskSubmission
} from '@svc/contracts'
import { errorMessage, type Logger } from '@svc/plugin-sdk'
import { openDatabasePersistence } from '../durable/database-persistence.ts'
import {
  openMemoryPersistence,
  openRefusingPersistence,
  type Persistence,
  type UnusableDatabase
} from '../durable/persistence.ts'
import { CurrentStore, type StateStore } from '../durable/state-store.ts'
import type { EventBus } from '../events/bus.ts'
import type { Settings } from '../settings.ts'
import type { Clock, Restorable } from '../state/ports.ts'
import type { StartStep } from '../steps.ts'
import { forwardClock } from './clock.ts'
import type { Core } from './core.ts'
import { currentLog } from './levelled-log.ts'
import { ReadySignals } from './ready-signals.ts'
import { TaskSignals } from './task-signals.ts'
import { WithdrawalFeed } from './withdrawals.ts'

/**
 * Version of everything that crosses a reload: {@link Hub}, {@link Core} and `StateSnapshot`. Increment it with every
 * change to them. Code of another version opens its own hub and reads the state from the database, as after a restart.
 */
export const HUB_VERSION = 7

/** Milliseconds between searches for the state of ended processes. */
const LOOK_MS = 2_000

/** Services that a plugin unit provides to the orchestrator. */
export interface UnitServices {
  /** Settings; live changes update this object in place. */
  readonly settings: Settings
  /** Database; if null, the state is lost when the process ends. */
  readonly store: DatabaseStore | null
  readonly log: Logger
  /** Triggers the hook `taskEnded`; called for one task at a time. */
  readonly ended: (end: TaskEnd) => Promise<void>
  /** Contributed and built-in gates; default: the built-in ones. */
  readonly gates?: (() => readonly CompletionGate[]) | undefined
  /** Contributed terms of the routing score; default: none. */
  readonly routingTerms?: (() => readonly RoutingTerm[]) | undefined
  /** Plugins that place tasks on other machines, in the order in which they are asked; default: none. */
  readonly remotePlacers?: (() => readonly RemotePlacer[]) | undefined
  /** Returns the trace id of a new task; default: a new one. */
  readonly newTraceId?: (() => string) | undefined
  /** Starts a step of the recorded call that runs now; default: nothing is recorded. */
  readonly step?: StartStep | undefined
  /** Triggers the hook `taskSubmitting`; by default, nothing happens. */
  readonly submitting?: ((submission: TaskSubmission) => Promise<void>) | undefined
  /** Triggers the hook `goalSubmitting`; by default, goals are not planned. */
  readonly goal?: ((request: GoalRequest) => Promise<GoalOutcome | undefined>) | undefined
  /** Reads the merged envelope of a session; null if it has none, or without a session store. */
  readonly envelope: (session: string) => Promise<ContextEnvelope | null>
  /** Returns the scanner for placeholders; undefined while no plugin provides one. Default: none. */
  readonly stubScanner?: (() => StubScanner | undefined) | undefined
  /** Sets the operating mode in a session's envelope; null removes it. Has no effect without an envelope. */
  readonly setMode?: ((session: string, mode: object | null) => Promise<void>) | undefined
}

export interface HubOptions {
  readonly repositoryId: string
  readonly bus: EventBus
  readonly services: UnitServices
  /** The attached database, if it cannot be opened; all commands are rejected then. */
  readonly unusable?: UnusableDatabase | undefined
  /** Clock in Unix milliseconds; default: the system's. */
  readonly now?: Clock | undefined
  /** Called when another process has claimed the seat; this process writes nothing afterwards. */
  readonly onLost?: (() => void) | undefined
}

/** Dependencies of a core, from a {@link Hub}. */
export interface HubContext {
  readonly repositoryId: string
  readonly now: Clock
  readonly bus: EventBus
  readonly readySignals: ReadySignals
  readonly signals: TaskSignals
  readonly withdrawals: WithdrawalFeed
  /** Services of the serving unit. */
  services: UnitServices
  /** Database of the serving unit. */
  readonly store: StateStore | null
  /** Log of the serving unit. */
  readonly log: Logger
  readonly persistence: Persistence
}

/**
 * State that outlives reloads of this plugin and of the database plugin: the seat with its ids, waiting changes, waiting
 * workers, abort signals of running tasks, listeners of withdrawn tasks, and the serving core.
 *
 * 1. The first unit opens the hub. Its core restores the stored state.
 * 2. A later unit creates a separate core, which is simply dropped if the reload is cancelled.
 * 3. When that unit starts to serve, {@link takeOver} moves all state to its core, between two commands. Waiting changes
 *    stay in the hub, so this works even if the database is unavailable.
 * 4. The last unit closes the hub.
 */
export interface Hub extends HubContext {
  core: Core
}

/** Opens a hub, and restores the stored state. Throws if the database cannot be used. */
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
 * Moves all state to another core, which then serves. If that core cannot import the state, the previous one continues,
 * with the services of the new unit. Synchronous; does not throw.
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
    next.runner.apply(changes, 'persisting the imported state')
  } catch (error) {
    hub.log.error('the new code cannot import the state; the previous code continues until a restart', {
      reason: errorMessage(error)
    })
  }
}

/** Runs the periodic work, and looks for the state of ended processes. */
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

/** Returns the state of whichever core serves at the time of a call. */
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
    withdrawals: new WithdrawalFeed(error =>
      held.services.log.error(`a listener of withdrawn tasks failed: ${errorMessage(error)}`)
    ),
    services,
    store: services.store === null ? null : new CurrentStore(() => held.services.store as StateStore),
    log: currentLog(() => held.services.log)
  } as Omit<HubContext, 'persistence'>
  return Object.assign(held, { persistence: await openPersistence(held, options) })
}

async function openPersistence(
  held: Omit<HubContext, 'persistence'>,
  { unusable, onLost }: HubOptions
): Promise<Persistence> {
  const { repositoryId, bus, log, now, store } = held
  if (unusable !== undefined) return openRefusingPersistence(bus, unusable)
  if (store === null) return openMemoryPersistence(bus, 'no database is attached')
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
