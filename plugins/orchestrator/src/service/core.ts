import { randomBytes, randomUUID } from 'node:crypto'
import type { OrchestratorPolicy } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import { builtInGates } from '../gates/built-in.ts'
import { CompletionGates } from '../gates/completion-gates.ts'
import { admit } from '../policy/admission.ts'
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
import { Router } from '../routing/router.ts'
import { Scaler } from '../routing/scaling.ts'
import type { Settings } from '../settings.ts'
import type { Changes } from '../state/changes.ts'
import type { Random, Transferable } from '../state/ports.ts'
import { Records } from '../state/records.ts'
import { importVolatileState } from '../state/volatile-state.ts'
import { World } from '../state/world.ts'
import { CommandRunner } from './command-runner.ts'
import { confineTo } from './confine.ts'
import type { Hub } from './hub.ts'
import { attentionService, budgetService, PendingEvents, trustService } from './ledgers.ts'
import { isLogged } from './levelled-log.ts'
import { OrchestratorService } from './orchestrator-service.ts'
import { policyView } from './policy-view.ts'
import { type StateSnapshot, snapshotState } from './state-snapshot.ts'

export interface CoreOptions {
  /** Replaced in place where they change while running. */
  readonly settings: Settings
  /** Folder of the repository. */
  readonly root: string
  /** Name and mebibytes of the host's GPU, where the settings have them. */
  readonly gpu?: { readonly gpu_model: string; readonly gpu_vram_mb: number } | undefined
  readonly random?: Random | undefined
}

/** The state, and everything that is made of settings and code. */
export interface Core {
  readonly service: OrchestratorService
  readonly world: World
  readonly records: Records
  readonly runner: CommandRunner
  /** After the settings were replaced. */
  reconfigured(): void
  exportState(): StateSnapshot
  /** Imports another core's state. Returns the changes to persist. Throws on state it cannot import. */
  importState(snapshot: StateSnapshot): Changes
}

/** A core without a task, for a hub. */
export async function makeCore(hub: Hub, options: CoreOptions): Promise<Core> {
  const { settings, root, random = Math.random } = options
  const { now, bus, readySignals, signals, log, repositoryId } = hub
  const { durability, ids } = hub.persistence
  const report = (what: string, error: unknown) =>
    log.error(`${what}: ${error instanceof Error ? error.message : String(error)}`, {
      ...(isSvcError(error) ? { code: error.code } : null)
    })
  const current = () => settings
  const pendingEvents = new PendingEvents()
  const trust = new TrustLedger(current)
  const budgets = new BudgetLedger(current, now)
  const attention = new AttentionLedger(current, now, pendingEvents.add)
  const executionTimes = new ExecutionTimeLedger({ settings: current, now, repositoryId, database: () => hub.store })
  const builtIn = builtInGates({
    settings: current,
    root,
    envelope: async session => hub.services.envelope(session),
    warn: message => log.warn(message)
  })
  const gates = new CompletionGates({
    settings: current,
    gates: () => hub.services.gates?.() ?? builtIn,
    rollup: agent => trust.rollup(agent)
  })
  const groups = await groupsOf(settings, root)
  const probe = probeHost({ ...advertisedOf(settings), ...options.gpu }, hostFacts())
  const configured = settings.default_agent_capabilities ?? {}
  const scaler = new Scaler({ settings, pressure: hostPressure, suffix: () => randomBytes(4).toString('hex') })
  let router: Router | undefined
  const world: World = new World({
    settings: current,
    now,
    ids,
    traceId: () => randomUUID({ disableEntropyCache: false }),
    router: routing => {
      router = new Router({
        world: routing,
        groups,
        settings,
        random,
        newAgent: mergeCapabilities(configured, probe),
        terms: new ContributedTerms(() => hub.services.routingTerms?.() ?? NO_TERMS, now, report)
      })
      return router
    },
    scaler,
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
      runnable: agent => readySignals.runnable(agent),
      stopped: (task, because) => signals.stopped(task, because)
    }
  })
  const records = new Records(world)
  const runner = new CommandRunner({
    world,
    committer: () => hub.persistence.committer,
    ids,
    onEnded: end => hub.services.ended(end),
    report
  })
  let policy: OrchestratorPolicy = policyView(settings, durability.kind)
  const assertAgent = (agent: number) => void world.agent(agent)
  const service = new OrchestratorService({
    repositoryId,
    durability,
    world,
    runner,
    gates,
    bus,
    readySignals,
    signals,
    attention: attentionService(attention, pendingEvents, runner),
    budgets: budgetService({
      ledger: budgets,
      runner,
      assertAgent,
      database: () => hub.store,
      now,
      reportsCosts: () => policy.llm_cost_events
    }),
    trust: trustService(trust, assertAgent, runner),
    executionTimes,
    policy: () => policy,
    confine: confineTo(root),
    submitting: async submission => hub.services.submitting?.(submission),
    goal: async request => hub.services.goal?.(request),
    admit: (request, surface) => {
      try {
        return admit(
          {
            attention,
            judge: world.deps.judge,
            qgatePolicy: () => qgatePolicy(settings.socrates_policy),
            notify: pendingEvents.add
          },
          request,
          surface
        )
      } finally {
        runner.note('an admission', (_world, changes) => {
          changes.events.push(...pendingEvents.drain())
          if (settings.attention_enabled) changes.touch('attention', 'global')
        })
      }
    },
    setMode: async (session, mode) => hub.services.setMode?.(session, mode),
    interrupted: (weight, changes) => {
      if (!settings.attention_enabled) return
      attention.debit(weight * settings.attention_interrupt_cost_ms, 'Interrupted')
      changes.events.push(...pendingEvents.drain())
      changes.touch('attention', 'global')
    },
    placed: ({ id, agent, placement, rule }) => {
      if (!isLogged('debug', settings.log_level)) return
      log.debug('a task has its place', { task_id: id, agent_id: agent, placement_reason: placement, rule })
    },
    outbox: () => hub.persistence.committer.status(),
    scalingProfile: () => settings.scaling_profile,
    report
  })
  const transferables: Readonly<Record<string, Transferable>> = {
    budgets,
    attention,
    executionTimes,
    scaler,
    ...(router === undefined ? null : { router: router as Router })
  }
  return {
    service,
    world,
    records,
    runner,
    reconfigured() {
      policy = policyView(settings, durability.kind)
      bus.emit({ type: 'attention_config_reloaded' })
    },
    exportState: () =>
      snapshotState(
        world,
        records,
        Object.fromEntries(Object.entries(transferables).map(([name, each]) => [name, each.exportState()]))
      ),
    importState(snapshot) {
      for (const [kind, key, json] of snapshot.records) records.restore(kind, key, json)
      const changes = records.takenOver()
      importVolatileState(world, snapshot.volatile)
      for (const [name, each] of Object.entries(transferables))
        if (name in snapshot.components) each.importState(snapshot.components[name])
      return changes
    }
  }
}

async function groupsOf(settings: Settings, root: string): Promise<AffinityGroups> {
  return new AffinityGroups(settings.affinity_groups.length > 0 ? settings.affinity_groups : await detectGroups(root))
}
