import { randomBytes, randomUUID } from 'node:crypto'
import type { Admission, OrchestratorPolicy, SubmitRequest } from '@svc/contracts'
import { errorMessage, isSvcError } from '@svc/plugin-sdk'
import { builtInGates } from '../gates/built-in.ts'
import { CompletionGates } from '../gates/completion-gates.ts'
import { type AdmissionDependencies, admit } from '../policy/admission.ts'
import { AttentionLedger } from '../policy/attention.ts'
import { BudgetLedger } from '../policy/budgets.ts'
import { ExecutionTimeLedger } from '../policy/execution-times.ts'
import { Judge, qgatePolicy } from '../policy/judge.ts'
import { TrustLedger } from '../policy/trust.ts'
import { mergeCapabilities } from '../routing/capabilities.ts'
import { ContributedTerms, NO_TERMS } from '../routing/contributed-terms.ts'
import { detectGroups } from '../routing/group-detection.ts'
import { AffinityGroups } from '../routing/groups.ts'
import { hostPressure } from '../routing/host-pressure.ts'
import { hostFacts, probeHost } from '../routing/host-probe.ts'
import { advertisedOf } from '../routing/host-settings.ts'
import { rebalancer } from '../routing/rebalance.ts'
import { RemoteNodes } from '../routing/remote-nodes.ts'
import { Router } from '../routing/router.ts'
import { Scaler } from '../routing/scaling.ts'
import { gatedRoles } from '../settings/mesh.ts'
import type { Settings } from '../settings.ts'
import type { StateChanges } from '../state/changes.ts'
import type { Random, Transferable } from '../state/ports.ts'
import { Records } from '../state/records.ts'
import { importVolatileState } from '../state/volatile-state.ts'
import { World } from '../state/world.ts'
import type { StartStep } from '../steps.ts'
import { CommandRunner } from './command-runner.ts'
import { confineTo } from './confine.ts'
import type { HubContext } from './hub.ts'
import { attentionService, budgetService, PendingEvents, trustService } from './ledgers.ts'
import { isLogged } from './levelled-log.ts'
import { OrchestratorService } from './orchestrator-service.ts'
import { Placing } from './placing.ts'
import { policyView } from './policy-view.ts'
import { LOG_TARGETS, RemoteWorkService } from './remote-work.ts'
import { type StateSnapshot, snapshotState } from './state-snapshot.ts'

export interface CoreOptions {
  /** Settings; live changes update this object in place. */
  readonly settings: Settings
  /** Folder of the repository. */
  readonly root: string
  /** Model and memory (MiB) of the host's GPU, if configured. */
  readonly gpu?: { readonly gpu_model: string; readonly gpu_vram_mb: number } | undefined
  readonly random?: Random | undefined
  /** Maximum duration of a placement on another machine in milliseconds; default 60,000. */
  readonly placeTimeoutMs?: number | undefined
}

/** The state, and the objects that one version of the code creates for it. */
export interface Core {
  readonly service: OrchestratorService
  readonly world: World
  readonly records: Records
  readonly runner: CommandRunner
  /** Called after the settings were replaced. */
  reconfigured(): void
  exportState(): StateSnapshot
  /** Imports another core's state. Returns the changes to persist. Throws on state it cannot import. */
  importState(snapshot: StateSnapshot): StateChanges
}

/** Creates a core without tasks. */
export async function makeCore(hub: HubContext, options: CoreOptions): Promise<Core> {
  const settings = () => options.settings
  const report = (operation: string, error: unknown) =>
    hub.log.error(`${operation}: ${errorMessage(error)}`, { ...(isSvcError(error) ? { code: error.code } : null) })
  const ledgers = makeLedgers(hub, settings)
  const gates = makeGates(hub, settings, options.root, ledgers.trust)
  const state = await makeState(hub, options, { ledgers, gates, report })
  const { world } = state
  const records = new Records(world)
  const runner = new CommandRunner({
    world,
    committer: () => hub.persistence.committer,
    ids: hub.persistence.ids,
    onEnded: end => hub.services.ended(end),
    onWithdrawn: withdrawal => hub.withdrawals.publish(withdrawal),
    step: stepOf(hub),
    report
  })
  let policy = policyView(settings(), hub.persistence.durability.kind)
  warnOfRoles(hub, settings())
  const { nodes } = state
  const service = makeService(hub, options, { ledgers, gates, report, world, runner, nodes, policy: () => policy })
  const { budgets, attention, executionTimes } = ledgers
  return {
    service,
    world,
    records,
    runner,
    reconfigured() {
      policy = policyView(settings(), hub.persistence.durability.kind)
      warnOfRoles(hub, settings())
      hub.bus.emit({ type: 'attention_config_reloaded' })
    },
    ...transfer(world, records, {
      budgets,
      attention,
      executionTimes,
      scaler: state.scaler,
      router: state.router,
      nodes
    })
  }
}

interface Ledgers {
  readonly trust: TrustLedger
  readonly budgets: BudgetLedger
  readonly attention: AttentionLedger
  readonly executionTimes: ExecutionTimeLedger
  /** Events of the ledgers that no command has published yet. */
  readonly pendingEvents: PendingEvents
}

type ReportError = (operation: string, error: unknown) => void

function makeLedgers({ now, repositoryId, store }: HubContext, settings: () => Settings): Ledgers {
  const pendingEvents = new PendingEvents()
  return {
    trust: new TrustLedger(settings),
    budgets: new BudgetLedger(settings, now),
    attention: new AttentionLedger(settings, now, pendingEvents.add),
    executionTimes: new ExecutionTimeLedger({ settings, now, repositoryId, database: () => store }),
    pendingEvents
  }
}

/** Returns the steps of the serving unit, which may change. */
function stepOf(hub: HubContext): StartStep {
  return (name, attributes) => hub.services.step?.(name, attributes) ?? null
}

function makeGates(hub: HubContext, settings: () => Settings, root: string, trust: TrustLedger): CompletionGates {
  const builtIn = builtInGates({
    settings,
    root,
    envelope: async session => hub.services.envelope(session),
    scanner: () => hub.services.stubScanner?.(),
    warn: message => hub.log.warn(message)
  })
  return new CompletionGates({
    settings,
    gates: () => hub.services.gates?.() ?? builtIn,
    rollup: agent => trust.rollup(agent),
    step: stepOf(hub)
  })
}

interface State {
  readonly world: World
  readonly router: Router
  readonly scaler: Scaler
  readonly nodes: RemoteNodes
}

async function makeState(
  hub: HubContext,
  { settings: current, root, gpu, random = Math.random }: CoreOptions,
  {
    ledgers,
    gates,
    report
  }: { readonly ledgers: Ledgers; readonly gates: CompletionGates; readonly report: ReportError }
): Promise<State> {
  const { now, readySignals, signals } = hub
  const { trust, budgets, attention } = ledgers
  const settings = () => current
  const groups = await groupsOf(current, root)
  const probe = probeHost({ ...advertisedOf(current), ...gpu }, hostFacts())
  const configured = current.default_agent_capabilities ?? {}
  const nodes = new RemoteNodes()
  const scaler = new Scaler({
    settings,
    pressure: hostPressure,
    suffix: () => randomBytes(4).toString('hex'),
    remoteGpuNodes: () => nodes.withGpu
  })
  const terms = new ContributedTerms(() => hub.services.routingTerms?.() ?? NO_TERMS, now, report)
  const newAgent = mergeCapabilities(configured, probe)
  let router: Router | undefined
  const world: World = new World({
    settings,
    now,
    ids: hub.persistence.ids,
    traceId: () => hub.services.newTraceId?.() ?? randomUUID({ disableEntropyCache: false }),
    step: stepOf(hub),
    router: routing =>
      (router = new Router({
        world: routing,
        groups,
        settings,
        random,
        newAgent,
        terms,
        remoteNodes: () => nodes.schedulable
      })),
    scaler,
    planRebalance: rebalancer(settings),
    trust,
    budgets,
    attention,
    judge: new Judge({
      settings,
      trust,
      demand: () => ({ rejections: attention.state().rejected, concurrent: world.counts.BlockedOnApproval })
    }),
    gates,
    capabilities: own => mergeCapabilities(own === undefined ? configured : { ...configured, ...own }, probe),
    observer: {
      runnable: agent => readySignals.runnable(agent),
      stopped: (task, because) => signals.stopped(task, because)
    }
  })
  return { world, router: router as unknown as Router, scaler, nodes }
}

interface ServiceParts {
  readonly ledgers: Ledgers
  readonly gates: CompletionGates
  readonly report: ReportError
  readonly world: World
  readonly runner: CommandRunner
  readonly nodes: RemoteNodes
  readonly policy: () => OrchestratorPolicy
}

function makeService(
  hub: HubContext,
  { settings, root, placeTimeoutMs }: CoreOptions,
  parts: ServiceParts
): OrchestratorService {
  const { ledgers, gates, report, world, runner, nodes, policy } = parts
  const { repositoryId, bus, readySignals, signals, withdrawals, now } = hub
  const { trust, budgets, attention, executionTimes, pendingEvents } = ledgers
  const assertAgent = (agent: number) => void world.agent(agent)
  const reportsCosts = () => policy().llm_cost_events
  return new OrchestratorService({
    repositoryId,
    durability: hub.persistence.durability,
    world,
    runner,
    gates,
    bus,
    readySignals,
    signals,
    attention: attentionService(attention, pendingEvents, runner),
    budgets: budgetService({ ledger: budgets, runner, assertAgent, database: () => hub.store, now, reportsCosts }),
    trust: trustService(trust, assertAgent, runner),
    executionTimes,
    placing: new Placing({
      placers: () => hub.services.remotePlacers?.() ?? [],
      maxVramMb: () => nodes.maxVramMb,
      runner,
      signals,
      timeoutMs: placeTimeoutMs,
      report
    }),
    remote: service =>
      new RemoteWorkService({
        world,
        runner,
        gates,
        nodes,
        withdrawals,
        policy: () => policy().mesh,
        log: hub.log,
        report,
        withRealPaths: attestation => service.withRealPaths(attestation),
        rebalance: () => service.rebalance(),
        replayQueuedRoutes: () => service.replayQueuedRoutes()
      }),
    policy,
    confine: confineTo(root),
    submitting: async submission => hub.services.submitting?.(submission),
    goal: async request => hub.services.goal?.(request),
    admit: (request, surface) => admitted(parts, settings, request, surface),
    setMode: async (session, mode) => hub.services.setMode?.(session, mode),
    interrupted: (weight, changes) => {
      if (!settings.attention_enabled) return
      attention.debit(weight * settings.attention_interrupt_cost_ms, 'Interrupted')
      changes.events.push(...pendingEvents.drain())
      changes.touch('attention', 'global')
    },
    placed: ({ id, agent, placement, rule }) => {
      if (!isLogged('debug', settings.log_level)) return
      const target = LOG_TARGETS.placement
      hub.log.debug('a task was routed', { target, task_id: id, agent_id: agent, placement_reason: placement, rule })
    },
    rerouted: moves => {
      for (const { task: task_id, from, to } of moves) {
        const decision = 'queued_route_replay_move'
        hub.log.debug('a queued task was moved', { target: LOG_TARGETS.placement, decision, task_id, from, to })
      }
    },
    outbox: () => hub.persistence.committer.status(),
    scalingProfile: () => settings.scaling_profile,
    report
  })
}

/** Logs the gated roles that do not exist; they have no effect. */
function warnOfRoles(hub: HubContext, settings: Settings): void {
  const { unknown } = gatedRoles(settings)
  if (unknown.length === 0) return
  hub.log.warn(
    `[orchestrator] mesh_remote_lease_gated_roles: ${unknown.join(', ')} ${unknown.length === 1 ? 'is not a role' : 'are not roles'}; it is ignored`,
    { hint: 'use planner, builder, verifier, reproducer and researcher' }
  )
}

/** Checks an external request, and publishes the events of the checks. */
function admitted(
  { ledgers: { attention, pendingEvents }, world, runner }: ServiceParts,
  settings: Settings,
  request: SubmitRequest,
  surface: string
): Admission {
  const dependencies: AdmissionDependencies = {
    attention,
    judge: world.deps.judge,
    qgatePolicy: () => qgatePolicy(settings.socrates_policy),
    notify: pendingEvents.add
  }
  try {
    return admit(dependencies, request, surface)
  } finally {
    runner.note('an admission', (_world, changes) => {
      changes.events.push(...pendingEvents.drain())
      if (settings.attention_enabled) changes.touch('attention', 'global')
    })
  }
}

/** Returns functions that export all state, and import that of another core. */
function transfer(
  world: World,
  records: Records,
  components: Readonly<Record<string, Transferable>>
): Pick<Core, 'exportState' | 'importState'> {
  const named = Object.entries(components)
  return {
    exportState: () =>
      snapshotState(world, records, Object.fromEntries(named.map(([name, each]) => [name, each.exportState()]))),
    importState(snapshot) {
      for (const [kind, key, json] of snapshot.records) records.restore(kind, key, json)
      const changes = records.takenOver()
      importVolatileState(world, snapshot.volatile)
      for (const [name, each] of named) if (name in snapshot.components) each.importState(snapshot.components[name])
      return changes
    }
  }
}

async function groupsOf(settings: Settings, root: string): Promise<AffinityGroups> {
  return new AffinityGroups(settings.affinity_groups.length > 0 ? settings.affinity_groups : await detectGroups(root))
}
