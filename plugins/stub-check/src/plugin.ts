import { userInfo } from 'node:os'
import {
  currentQgatePolicy,
  databaseStore,
  kernelAdmin,
  kernelPort,
  orchestrator,
  rewardEvents,
  stubScanner
} from '@svc/contracts'
import { definePlugin, errorMessage, ref } from '@svc/plugin-sdk'
import { Checker } from './checker.ts'
import {
  buildTimings,
  buildTimingsCommand,
  scalingAudit,
  scalingAuditCommand,
  secretGuard,
  secretGuardCommand
} from './ci/commands.ts'
import { stubCheckCommand } from './command.ts'
import {
  feedHandler,
  findingHandler,
  findingOperation,
  findingsFeed,
  findingsHandler,
  findingsInbox,
  findingsOperation,
  findingsSummary,
  inboxHandler,
  summaryHandler
} from './console-operations.ts'
import { LastScan } from './last-scan.ts'
import { rulesHandler, rulesOperation, STUB_CHECK_TOPIC, scanHandler, scanOperation } from './operations.ts'
import { contributePages } from './pages.ts'
import { unresolvedNames } from './programs.ts'
import { rewardFor } from './reward.ts'
import { runStubCheck } from './run-command.ts'
import type { ProjectScan } from './scan/project-scan.ts'
import { type Settings, settings } from './settings.ts'
import { BaselineRuns, type BaselineUse } from './store/baseline-runs.ts'
import { Baselines } from './store/baselines.ts'
import { StoredState } from './store/stored-state.ts'
import { Tables } from './store/tables.ts'

/** Interval in which scans of other processes are looked for. */
const LOOK_MS = 5_000

export default definePlugin({
  name: 'stub-check',
  summary: 'Finds placeholders, hazards and copied code in source files',
  config: settings,
  requires: { kernel: kernelPort },
  optional: { store: databaseStore, admin: kernelAdmin, tasks: ref(orchestrator) },
  provides: [stubScanner],
  hooks: [rewardEvents],
  operations: [
    ...[scanOperation, rulesOperation, findingsOperation, findingsSummary, findingsFeed, findingOperation],
    findingsInbox
  ],
  commands: [stubCheckCommand, scalingAuditCommand, secretGuardCommand, buildTimingsCommand],
  permissions: { fsRead: ['*'], fsWrite: ['*'], childProcess: true, worker: true },
  activate(ctx, { kernel, store, admin, tasks }) {
    const { projectRoot } = ctx
    const state = store === undefined ? null : new StoredState(new Tables(store), kernel.repositoryId)
    const checker = new Checker({
      settings: () => ctx.config as Settings,
      projectRoot,
      log: ctx.log,
      check: unresolvedNames((id, input, signal) => ctx.callById(id, input, { signal })),
      stored: () => state
    })
    ctx.effect('threads of scans', () => checker.close())
    ctx.provide(stubScanner, checker)
    const user = userName()
    const runs = new BaselineRuns(new Baselines(projectRoot, () => state), state)
    const last = new LastScan(state, runs, ctx.version)
    const scanned = async (path: string, scan: ProjectScan, use: BaselineUse | null = null): Promise<void> => {
      try {
        await last.keep(path, scan, use)
      } catch (error) {
        ctx.log.warn('the report of the scan could not be kept', { reason: errorMessage(error) })
      }
      ctx.changed(STUB_CHECK_TOPIC)
      if (!ctx.isTapped(rewardEvents)) return
      try {
        const event = await rewardFor(path, scan.findings, user, state)
        if (event !== null) await ctx.trigger(rewardEvents, event)
      } catch (error) {
        ctx.log.warn('a reward event could not be sent', { reason: errorMessage(error) })
      }
    }
    ctx.implement(scanOperation, scanHandler(checker, ctx.version, scanned))
    ctx.implement(rulesOperation, rulesHandler)
    ctx.implement(findingsOperation, findingsHandler(last))
    ctx.implement(findingOperation, findingHandler(last))
    ctx.implement(findingsSummary, summaryHandler(last))
    ctx.implement(findingsFeed, feedHandler(last))
    ctx.implement(findingsInbox, inboxHandler(runs))
    // Scans of other processes, such as svc stub-check, are noticed while a page is open.
    const timer = setInterval(() => {
      if (!kernel.topics.watched(STUB_CHECK_TOPIC)) return
      void last.hasChanged().then(
        changed => changed && ctx.changed(STUB_CHECK_TOPIC),
        error => ctx.log.debug('the last scan could not be read', { reason: errorMessage(error) })
      )
    }, LOOK_MS).unref()
    ctx.effect('scans of other processes', () => clearInterval(timer))
    contributePages(ctx)
    ctx.command(
      stubCheckCommand.command,
      runStubCheck({
        checker,
        projectRoot,
        version: ctx.version,
        user,
        minReviewConfidence: () => currentQgatePolicy(tasks).min_review_finding_confidence,
        safeMode: () => (ctx.config as Settings).safe_mode,
        stored: () => state,
        scanned
      })
    )
    const ci = {
      checker,
      settings: () => ctx.config as Settings,
      projectRoot,
      version: ctx.version,
      managedSecrets: () => admin?.settings().flatMap(({ secret, env }) => (secret ? env : [])) ?? []
    }
    ctx.command(scalingAuditCommand.command, scalingAudit(ci))
    ctx.command(secretGuardCommand.command, secretGuard(ci))
    ctx.command(buildTimingsCommand.command, buildTimings(ci))
  }
})

function userName(): string {
  try {
    return userInfo().username
  } catch {
    return 'local-user'
  }
}
