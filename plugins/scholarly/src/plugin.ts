import {
  databaseStore,
  declaredSecretResolver,
  declaredSecrets,
  kernelAdmin,
  kernelPort,
  publications as publicationRecords,
  scholarlyAdapters
} from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { secretFinder } from './adapter-secrets.ts'
import { ADAPTER_SECRETS, builtInAdapters } from './adapters/built-in.ts'
import { approve, approveCommand } from './approve-command.ts'
import { AdapterChoice } from './choice.ts'
import { contributeConsole } from './console.ts'
import { scholarlyErrors } from './errors.ts'
import type { Queue } from './handlers/parts.ts'
import { implementOperations, OPERATIONS } from './implement.ts'
import { JobDecisions } from './jobs/decisions.ts'
import { JobStore } from './jobs/job-store.ts'
import { JobRunner } from './jobs/runner.ts'
import { Tables } from './jobs/tables.ts'
import { repeat, runDueJobs, WakeSignal } from './jobs/worker.ts'
import { SCHOLARLY_TOPIC } from './operations/shared.ts'
import { type Settings, settings } from './settings.ts'
import { checkUndecided } from './status/check-status.ts'
import { SubmissionStore } from './status/submission-store.ts'

/** Interval in which jobs of other processes are looked for while a page is open. */
const LOOK_MS = 5_000

export default definePlugin({
  name: 'scholarly',
  summary: 'Submits publications to archives, exactly once',
  config: settings,
  requires: { kernel: kernelPort, publications: publicationRecords },
  optional: { database: databaseStore, secrets: declaredSecretResolver, admin: kernelAdmin },
  points: [scholarlyAdapters],
  operations: OPERATIONS,
  commands: [approveCommand],
  permissions: { fsRead: ['*'], fsWrite: ['*'] },
  activate(ctx, { kernel, publications, database, secrets, admin }) {
    const current = (): Settings => ctx.config as Settings
    const mask = (text: string): string => kernel.mask(text)
    const changed = (): void => ctx.changed(SCHOLARLY_TOPIC)
    const choice = new AdapterChoice(() => kernel.current.items(scholarlyAdapters).map(({ item }) => item), current)
    const wakeSignal = new WakeSignal()
    const queue = openQueue()
    for (const adapter of builtInAdapters({
      settings: current,
      secret: secretFinder(
        () => secrets,
        () => admin
      ),
      dataDirectory: () => ctx.dataDirectory(),
      projectRoot: ctx.projectRoot,
      log: ctx.log
    }))
      ctx.contribute(scholarlyAdapters, adapter, adapter.name)
    for (const secret of ADAPTER_SECRETS) ctx.contribute(declaredSecrets, secret)
    implementOperations(ctx, {
      queue() {
        if (queue !== null) return queue
        throw scholarlyErrors.create(
          'SCH_DATABASE_MISSING',
          'submissions need the primary database; enable the plugin database'
        )
      },
      publications,
      choice,
      mask,
      changed,
      queued: () => wakeSignal.wake(),
      settings: current,
      projectRoot: ctx.projectRoot,
      dataDirectory: () => ctx.dataDirectory()
    })
    ctx.command(
      approveCommand.command,
      approve((id, input, signal) => ctx.callById(id, input, { signal }))
    )
    contributeConsole(ctx)
    if (queue === null) return
    ctx.effect('running submissions', () => queue.runner.settle())
    const { worker_interval_seconds, status_interval_seconds } = current()
    ctx.onServe('submissions in the background', () => {
      // A command must not send what other commands queued.
      if (admin !== undefined && !admin.isServer) return
      if (worker_interval_seconds > 0)
        ctx.background('submissions that are due', signal =>
          repeat(
            { name: 'running submission jobs', intervalMs: worker_interval_seconds * 1_000, log: ctx.log, wakeSignal },
            signal,
            stop => runDueJobs({ ...queue, choice }, stop)
          )
        )
      if (status_interval_seconds > 0)
        ctx.background('status of submissions', signal =>
          repeat(
            { name: 'checking submissions', intervalMs: status_interval_seconds * 1_000, log: ctx.log },
            signal,
            stop => checkUndecided({ ...queue, publications, choice, mask, changed }, ctx.log, stop)
          )
        )
    })
    // Jobs of other processes change without an announcement in this one.
    const timer = setInterval(() => {
      if (kernel.topics.watched(SCHOLARLY_TOPIC)) changed()
    }, LOOK_MS).unref()
    ctx.effect('refresh of open pages', () => clearInterval(timer))

    function openQueue(): Queue | null {
      if (database === undefined) return null
      const tables = new Tables(database)
      const store = new JobStore(tables)
      const submissions = new SubmissionStore(tables)
      const runner = new JobRunner({
        store,
        submissions,
        publications,
        choice,
        settings: current,
        log: ctx.log,
        mask,
        owner: () => current().job_lock_owner ?? `svc:${process.pid}`,
        changed
      })
      return { store, decisions: new JobDecisions(tables), submissions, runner }
    }
  }
})
