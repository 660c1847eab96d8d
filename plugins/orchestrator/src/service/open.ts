import { randomBytes, randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import type {
  AgentEvent,
  ContextEnvelope,
  DatabaseStore,
  Durability,
  OrchestratorPolicy,
  TaskEnd
} from '@svc/contracts'
import { isSvcError, type Logger } from '@svc/plugin-sdk'
import { openDatabasePersistence } from '../durable/database-persistence.ts'
import { openMemoryPersistence, type Persistence } from '../durable/persistence.ts'
import { EventBus } from '../events/bus.ts'
import { EventLog } from '../events/log.ts'
import { CompletionGates } from '../gates/completion-gates.ts'
import { admit } from '../policy/admission.ts'
import { AttentionLedger } from '../policy/attention.ts'
import { BudgetLedger } from '../policy/budgets.ts'
import { ExecutionTimeLedger } from '../policy/execution-times.ts'
import { Judge, qgatePolicy } from '../policy/judge.ts'
import { TrustLedger } from '../policy/trust.ts'
import { mergeCapabilities } from '../routing/capabilities.ts'
import { detectGroups } from '../routing/group-detection.ts'
import { AffinityGroups } from '../routing/groups.ts'
import { hostPressure } from '../routing/host-pressure.ts'
import { hostFacts, probeHost } from '../routing/host-probe.ts'
import { advertisedOf } from '../routing/host-settings.ts'
import { rebalancer } from '../routing/rebalance.ts'
import { Router } from '../routing/router.ts'
import { Scaler } from '../routing/scaling.ts'
import type { Settings } from '../settings.ts'
import type { Clock, Random } from '../state/ports.ts'
import { Records } from '../state/records.ts'
import { World } from '../state/world.ts'
import { forwardClock } from './clock.ts'
import { CommandRunner } from './command-runner.ts'
import { Asides, attentionService, budgetService, trustService } from './ledgers.ts'
import type { MemoryHandover } from './memory-handover.ts'
import { OrchestratorService } from './orchestrator-service.ts'
import { policyView } from './policy-view.ts'
import { TaskSignals } from './task-signals.ts'
import { Wakes } from './wakes.ts'

/** Between two looks for what other processes left; after a reload that is everything. */
const LOOK_MS = 2_000

export interface OpenOptions {
  /** Replaced in place where they change while running. */
  readonly settings: Settings
  readonly repositoryId: string
  /** Folder of the repository. */
  readonly root: string
  /** Null: the state ends with the process. */
  readonly store: DatabaseStore | null
  /** Why there is no database; default: none is attached. */
  readonly because?: string
  /** Where there is no database: what a reload of the plugin leaves to the next. */
  readonly handover?: MemoryHandover
  readonly log: Logger
  /** Told of tasks that ended, one after the other. */
  readonly ended: (end: TaskEnd) => Promise<void>
  /** The merged envelope of a session; null where nobody keeps them. */
  readonly envelope: (session: string) => Promise<ContextEnvelope | null>
  /** Sets what a session's envelope says of the mode of work; null takes it away. Nothing where it has none. */
  readonly setMode?: (session: string, mode: object | null) => Promise<void>
  /** Name and mebibytes of the host's GPU, where the settings have them. */
  readonly gpu?: { readonly gpu_model: string; readonly gpu_vram_mb: number } | undefined
  /** Unix milliseconds; default: the system's. */
  readonly now?: Clock
  readonly random?: Random
}

export interface OpenOrchestrator {
  readonly service: OrchestratorService
  readonly world: World
  readonly bus: EventBus
  /** The duties of a second, and a look for what other processes left. */
  tick(): Promise<void>
  /** After the settings were replaced. */
  reconfigured(): void
  close(): Promise<void>
}

/** Puts the parts of the orchestrator together, and takes up what was kept. Throws where the database cannot be used. */
export async function openOrchestrator(options: OpenOptions): Promise<OpenOrchestrator> {
  const { settings, log, root, repositoryId, store, random = Math.random } = options
  const now = forwardClock(options.now)
  const report = (what: string, error: unknown) =>
    log.error(`${what}: ${error instanceof Error ? error.message : String(error)}`, {
      ...(isSvcError(error) ? { code: error.code } : null)
    })
  const bus = new EventBus({ now, report: error => report('a listener of events', error) })
  const eventLog = openEventLog(settings, root, bus, log)
  const current = () => settings
  const lineage = () => ({ enabled: !settings.lineage_off, campaignId: settings.campaign_id ?? null })
  const persistence: Persistence =
    store === null
      ? {
          ...openMemoryPersistence(bus, options.because ?? 'no database is attached'),
          ...(options.handover === undefined ? null : { ids: options.handover.ids })
        }
      : await openDatabasePersistence({
          store,
          repositoryId,
          bus,
          log,
          now,
          lineage,
          lookMs: LOOK_MS,
          waitMs: settings.commit_timeout_ms,
          maxPending: settings.commit_queue_limit,
          onLost: error => report('the seat of this process', error)
        })

  const asides = new Asides()
  const trust = new TrustLedger(current)
  const budgets = new BudgetLedger(current, now)
  const attention = new AttentionLedger(current, now, asides.tell)
  const gates = new CompletionGates({
    settings: current,
    root,
    rollup: agent => trust.rollup(agent),
    envelope: options.envelope,
    warn: message => log.warn(message)
  })
  const wakes = new Wakes()
  const signals = new TaskSignals()
  const groups = await groupsOf(settings, root)
  const probe = probeHost({ ...advertisedOf(settings), ...options.gpu }, hostFacts())
  const configured = settings.default_agent_capabilities ?? {}
  const world: World = new World({
    settings: current,
    now,
    ids: persistence.ids,
    traceId: () => randomUUID({ disableEntropyCache: false }),
    router: routing =>
      new Router({ world: routing, groups, settings, random, newAgent: mergeCapabilities(configured, probe) }),
    scaler: new Scaler({ settings, pressure: hostPressure, suffix: () => randomBytes(4).toString('hex') }),
    planRebalance: rebalancer(settings.cost_preference),
    trust,
    budgets,
    attention,
    judge: new Judge({
      settings: current,
      trust,
      demand: () => ({ rejections: attention.state().rejected, concurrent: world.counts.BlockedOnApproval })
    }),
    gates,
    capabilities: own => mergeCapabilities(own === undefined ? configured : { ...configured, ...own }, probe),
    observer: {
      runnable: agent => wakes.runnable(agent),
      stopped: (task, because) => signals.stopped(task, because)
    }
  })
  const records = new Records(world)
  const handover = store === null ? options.handover : undefined
  try {
    await persistence.start(records)
  } catch (error) {
    await persistence.close()
    throw error
  }

  const runner = new CommandRunner({
    committer: persistence.committer,
    ids: persistence.ids,
    ended: options.ended,
    report
  })
  handover?.join(records, changes => runner.apply(changes, 'what was taken over'))
  let policy: OrchestratorPolicy = policyView(settings, persistence.durability.kind)
  const assertAgent = (agent: number) => void world.agent(agent)
  const service = new OrchestratorService({
    repositoryId,
    durability: persistence.durability as Durability,
    world,
    runner,
    gates,
    bus,
    wakes,
    signals,
    attention: attentionService(attention, asides, runner),
    budgets: budgetService({
      ledger: budgets,
      runner,
      assertAgent,
      database: () => store,
      now,
      tellCosts: () => policy.llm_cost_events
    }),
    trust: trustService(trust, assertAgent, runner),
    executionTimes: new ExecutionTimeLedger({ settings: current, now, repositoryId, database: () => store }),
    policy: () => policy,
    admit: (request, surface) => {
      try {
        return admit(request, surface, {
          attention,
          judge: world.parts.judge,
          qgatePolicy: () => qgatePolicy(settings.socrates_policy),
          tell: asides.tell
        })
      } finally {
        runner.note('an admission', changes => {
          changes.events.push(...asides.take())
          if (settings.attention_enabled) changes.touch('attention', 'global')
        })
      }
    },
    setMode: options.setMode ?? (async () => {}),
    interrupted: (weight, changes) => {
      if (!settings.attention_enabled) return
      attention.debit(weight * settings.attention_interrupt_cost_ms, 'Interrupted')
      changes.events.push(...asides.take())
      changes.touch('attention', 'global')
    },
    outbox: () => persistence.committer.status(),
    scalingProfile: () => settings.scaling_profile,
    report
  })
  return {
    service,
    world,
    bus,
    async tick() {
      await service.tick()
      await persistence.tick()
    },
    reconfigured() {
      policy = policyView(settings, persistence.durability.kind)
      bus.emit({ type: 'attention_config_reloaded' })
    },
    async close() {
      const told = runner.close()
      signals.close('the orchestrator is closed')
      wakes.close()
      handover?.leave(world, records)
      await persistence.close()
      await told
      await eventLog?.close()
    }
  }
}

function openEventLog(settings: Settings, root: string, bus: EventBus, log: Logger): EventLog | null {
  if (settings.event_log === undefined) return null
  const eventLog = new EventLog({ file: resolve(root, settings.event_log), log })
  bus.subscribe((event: AgentEvent) => eventLog.write(event))
  return eventLog
}

async function groupsOf(settings: Settings, root: string): Promise<AffinityGroups> {
  return new AffinityGroups(settings.affinity_groups.length > 0 ? settings.affinity_groups : await detectGroups(root))
}
