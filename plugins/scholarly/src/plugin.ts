import {
  databaseStore,
  declaredSecretResolver,
  declaredSecrets,
  kernelPort,
  publications as publicationRecords,
  scholarlyAdapters
} from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { secretFinder } from './adapter-secrets.ts'
import { ADAPTER_SECRETS, builtInAdapters } from './adapters/built-in.ts'
import { AdapterChoice } from './choice.ts'
import { scholarlyErrors } from './errors.ts'
import * as jobHandlers from './handlers/jobs.ts'
import type { HandlerParts, Queue } from './handlers/parts.ts'
import { stageHandler } from './handlers/stage.ts'
import { statusHandler, submissionsHandler } from './handlers/status.ts'
import { submitHandler } from './handlers/submit.ts'
import { JobStore } from './jobs/job-store.ts'
import { JobRunner } from './jobs/runner.ts'
import { Tables } from './jobs/tables.ts'
import { repeat, runDueJobs } from './jobs/worker.ts'
import * as operations from './operations.ts'
import { type Settings, settings } from './settings.ts'
import { SubmissionStore } from './status/submission-store.ts'

export default definePlugin({
  name: 'scholarly',
  summary: 'Submits publications to archives, exactly once',
  config: settings,
  requires: { kernel: kernelPort, publications: publicationRecords },
  optional: { database: databaseStore, secrets: declaredSecretResolver },
  points: [scholarlyAdapters],
  operations: [
    operations.scholarlyAdaptersList,
    operations.scholarlySubmit,
    operations.scholarlyStatus,
    operations.scholarlySubmissions,
    operations.scholarlyJobs,
    operations.scholarlyJob,
    operations.scholarlyReplay,
    operations.scholarlyCancel,
    operations.scholarlyRun,
    operations.scholarlyDismiss,
    operations.scholarlyInbox,
    operations.scholarlyStage
  ],
  activate(ctx, { kernel, publications, database, secrets }) {
    const current = (): Settings => ctx.config as Settings
    const mask = (text: string): string => kernel.mask(text)
    const changed = (): void => ctx.changed(operations.SCHOLARLY_TOPIC)
    const choice = new AdapterChoice(() => kernel.current.items(scholarlyAdapters).map(({ item }) => item), current)
    const queue = openQueue()
    const parts: HandlerParts = {
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
      changed
    }
    for (const adapter of builtInAdapters({
      settings: current,
      secret: secretFinder(() => secrets),
      dataDirectory: () => ctx.dataDirectory(),
      projectRoot: ctx.projectRoot,
      log: ctx.log
    }))
      ctx.contribute(scholarlyAdapters, adapter, adapter.name)
    for (const secret of ADAPTER_SECRETS) ctx.contribute(declaredSecrets, secret)
    ctx.implement(operations.scholarlyAdaptersList, jobHandlers.adaptersHandler(parts))
    ctx.implement(operations.scholarlySubmit, submitHandler(parts))
    ctx.implement(operations.scholarlyStatus, statusHandler(parts))
    ctx.implement(operations.scholarlySubmissions, submissionsHandler(parts))
    ctx.implement(operations.scholarlyJobs, jobHandlers.jobsHandler(parts))
    ctx.implement(operations.scholarlyJob, jobHandlers.jobHandler(parts))
    ctx.implement(operations.scholarlyReplay, jobHandlers.replayHandler(parts))
    ctx.implement(operations.scholarlyCancel, jobHandlers.cancelHandler(parts))
    ctx.implement(operations.scholarlyRun, jobHandlers.runHandler(parts))
    ctx.implement(operations.scholarlyDismiss, jobHandlers.dismissHandler(parts))
    ctx.implement(operations.scholarlyInbox, jobHandlers.inboxHandler(parts))
    ctx.implement(
      operations.scholarlyStage,
      stageHandler({
        publications,
        settings: current,
        projectRoot: ctx.projectRoot,
        dataDirectory: () => ctx.dataDirectory()
      })
    )
    if (queue === null) return
    ctx.effect('running submissions', () => queue.runner.settle())
    const { worker_interval_seconds } = current()
    ctx.onServe('submissions that are due', () => {
      if (worker_interval_seconds > 0)
        ctx.background('submissions that are due', signal =>
          repeat('running submission jobs', worker_interval_seconds * 1_000, ctx.log, signal, stop =>
            runDueJobs({ ...queue, choice }, stop)
          )
        )
    })

    function openQueue(): Queue | null {
      if (database === null || database === undefined) return null
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
      return { store, submissions, runner }
    }
  }
})
