import { join } from 'node:path'
import {
  backupParts,
  browserAutomation,
  databaseStore,
  httpServer,
  kernelAdmin,
  kernelPort,
  languageCompiler,
  meshActivities,
  meshStatus,
  observabilitySpans,
  pageBundler,
  programPages,
  rewardEvents,
  sendReward,
  skillsGateway,
  speechRecogniser,
  workflowStep,
  workflowStores
} from '@svc/contracts'
import { definePlugin, ref } from '@svc/plugin-sdk'
import { appOperations, implementApps } from './apps/contribute.ts'
import { EndedIdentities } from './auth/ended-identities.ts'
import {
  createHandler as createTokenHandler,
  listHandler as listTokensHandler,
  revokeHandler as revokeTokenHandler,
  tokenCreate,
  tokenList,
  tokenOperations,
  tokenRevoke
} from './auth/token-operations.ts'
import { grantedCapabilities } from './capabilities.ts'
import { clientCommand, writeClient } from './client-command.ts'
import { openJobDatabase } from './database/job-database.ts'
import { devCommand, serveInDevelopment } from './dev-command.ts'
import { evaluateHandler, evaluateOperation } from './operations.ts'
import { playgroundRun } from './playground/operations.ts'
import { contributePlayground } from './playground/page.ts'
import { playgroundHandler } from './playground/run-playground.ts'
import { type Runner, runCommand, runProgram } from './run-command.ts'
import {
  applySchema,
  diffCommand,
  diffSchema,
  migrateCommand,
  type SchemaCommandOptions
} from './schema/db-commands.ts'
import { serveProgram, storeOf } from './serving/served-program.ts'
import { filesSettings, limitsOf, type Settings, settings } from './settings.ts'
import { openJobFiles } from './storage/job-files.ts'
import { runTestFiles, testCommand } from './test-command.ts'
import { testRewards } from './testing/test-rewards.ts'
import { mutationKindOf } from './threads/mutation-kind.ts'
import { openServices, type ProgramServices } from './threads/program-services.ts'
import { provided } from './threads/provided.ts'
import { failureOf } from './worker/run-failure.ts'
import { runInThread } from './worker/run-in-thread.ts'
import { announceSteps } from './workflows/announce-steps.ts'
import { durableOptions, programKey, retentionOf } from './workflows/look-after-due.ts'
import {
  cancelHandler,
  inspectHandler,
  listHandler,
  pruneHandler,
  signalHandler,
  workflowCancel,
  workflowInspect,
  workflowList,
  workflowPrune,
  workflowSignal
} from './workflows/operations.ts'
import { contributeWorkflowPages } from './workflows/pages.ts'
import type { Retention } from './workflows/prune.ts'
import { recordedIn, replayHandler, workflowReplay } from './workflows/replay.ts'
import { resetHandler, workflowReset } from './workflows/reset.ts'
import { type OpenRuns, openRuns } from './workflows/runs.ts'
import { recordedShared, sharedHandlers } from './workflows/shared-operations.ts'
import { openSharedRuns } from './workflows/shared-runs.ts'
import { sharedRunsAnswers } from './workflows/shared-runs-answers.ts'
import { timelineHandler, workflowTimeline } from './workflows/timeline-operation.ts'
import { WORKFLOWS_TOPIC } from './workflows/topic.ts'
import { inboxHandler, searchHandler, workflowInbox, workflowSearch } from './workflows/waiting.ts'
import {
  checkWorkflows,
  orderedWorkflow,
  runWorkflow,
  workflowCheckCommand,
  workflowRunCommand
} from './workflows/workflow-commands.ts'

export default definePlugin({
  name: 'app-runtime',
  summary: 'Runs programs of the source language and their tests',
  config: settings,
  requires: { compiler: languageCompiler, store: databaseStore },
  optional: {
    admin: kernelAdmin,
    port: kernelPort,
    browser: ref(browserAutomation),
    spans: ref(observabilitySpans),
    skills: ref(skillsGateway),
    speech: ref(speechRecogniser),
    generator: programPages,
    bundler: pageBundler,
    http: ref(httpServer),
    meshActivities: ref(meshActivities),
    meshStatus: ref(meshStatus),
    runStores: workflowStores
  },
  contributes: [backupParts],
  hooks: [workflowStep, rewardEvents],
  operations: [
    evaluateOperation,
    playgroundRun,
    workflowList,
    workflowInspect,
    workflowTimeline,
    workflowReplay,
    workflowSignal,
    workflowCancel,
    workflowReset,
    workflowPrune,
    workflowInbox,
    workflowSearch,
    ...tokenOperations,
    ...appOperations
  ],
  commands: [
    runCommand,
    devCommand,
    clientCommand,
    testCommand,
    diffCommand,
    migrateCommand,
    workflowRunCommand,
    workflowCheckCommand
  ],
  async activate(ctx, deps) {
    const { compiler, store, admin, port, browser, skills, speech, generator, bundler, http, spans } = deps
    const services: ProgramServices = {
      browser: provided('Browser', browserAutomation, browser, admin),
      skills: provided('OpenClaw', skillsGateway, skills, admin),
      speech: provided('Speech', speechRecogniser, speech, admin),
      mutationKind: tool => mutationKindOf(tool, { port, admin })
    }
    const isShared = ctx.config.durable_store === 'coordination'
    const openShared = () => openSharedRuns(deps.runStores, admin)
    const runner: Runner = {
      compiler,
      run: async (program, job, listener, signal, location) => {
        const { config } = ctx
        try {
          const capabilities = grantedCapabilities(program, config.capabilities)
          const limits = limitsOf(config, job.work.kind === 'test' ? config.test_steps : config.steps)
          const {
            access,
            store: answering,
            close
          } = await openJobDatabase(program, job.work.kind, store, ctx.projectRoot, location)
          const durable = job.work.kind === 'test' ? null : durableOptions(program, ctx, admin)
          const whole = { program, ...job, limits, capabilities, database: access, durable }
          const files = await openJobFiles(ctx, {
            program,
            key: programKey(program.path, ctx.projectRoot),
            isTemporary: job.work.kind === 'test' || location === 'memory',
            store: answering
          })
          const opened = openServices(services)
          const runAnswers = durable?.isShared ? sharedRunsAnswers(await openShared()) : {}
          const steps = await announceSteps(ctx, program, job.work.kind, admin)
          const stepListener = { ...listener, stepped: steps.stepped }
          return await runInThread(whole, stepListener, signal, answering, {
            ...opened.answers,
            ...files.answers,
            ...runAnswers
          }).finally(async () => {
            await steps.done()
            await opened.close()
            await files.close()
            await close()
          })
        } catch (error) {
          return { ok: false, failure: failureOf(error) }
        }
      }
    }
    ctx.implement(
      evaluateOperation,
      evaluateHandler(compiler, () => limitsOf(ctx.config, ctx.config.steps))
    )
    ctx.implement(
      playgroundRun,
      playgroundHandler(compiler, store, () => limitsOf(ctx.config, ctx.config.steps))
    )
    contributePlayground(ctx)
    ctx.contribute(backupParts, {
      name: 'app-runtime',
      summary: 'database and files of programs',
      kind: 'data',
      paths: () => programPaths(ctx.config),
      elsewhere: () => (ctx.config.files?.s3 === undefined ? null : 'back up the files of programs in their S3 bucket')
    })
    ctx.contribute(backupParts, {
      name: 'app-runtime-secret',
      summary: 'secret that signs tokens of programs',
      kind: 'keys',
      paths: () => ['.vox/auth-secret']
    })
    const runs = openRuns(() => storeOf({ ctx, store }))
    const openStore = () => storeOf({ ctx, store })
    ctx.implement(tokenCreate, createTokenHandler(openStore))
    ctx.implement(tokenList, listTokensHandler(openStore))
    const ended = new EndedIdentities()
    ctx.implement(tokenRevoke, revokeTokenHandler(openStore, ended))
    const changed = (): void => ctx.changed(WORKFLOWS_TOPIC)
    const keeping = () => retentionOf(ctx.config)
    const handlers = isShared ? sharedHandlers(openShared, keeping, changed) : databaseHandlers(runs, keeping, changed)
    ctx.implement(workflowList, handlers.list)
    ctx.implement(workflowInspect, handlers.inspect)
    ctx.implement(workflowTimeline, handlers.timeline)
    const limits = () => limitsOf(ctx.config, ctx.config.steps)
    const recorded = isShared ? recordedShared(openShared) : recordedIn(runs)
    ctx.implement(workflowReplay, replayHandler({ open: recorded, compiler, projectRoot: ctx.projectRoot, limits }))
    ctx.implement(workflowSignal, handlers.signal)
    ctx.implement(workflowCancel, handlers.cancel)
    ctx.implement(workflowReset, handlers.reset)
    ctx.implement(workflowPrune, handlers.prune)
    ctx.implement(workflowInbox, handlers.inbox)
    ctx.implement(workflowSearch, handlers.search)
    contributeWorkflowPages(ctx)
    const apps = await implementApps(ctx, { admin, http })
    ctx.command(workflowRunCommand.command, runWorkflow(runner))
    ctx.command(workflowCheckCommand.command, checkWorkflows(runner))
    ctx.command(
      runCommand.command,
      orderedWorkflow(runner, () => ctx.config, runProgram(runner, admin))
    )
    ctx.command(clientCommand.command, writeClient(compiler))
    ctx.command(devCommand.command, serveInDevelopment(runner, admin))
    const schema: SchemaCommandOptions = {
      compiler,
      store,
      projectRoot: ctx.projectRoot,
      database: () => ctx.config.database,
      copies: async () => join(await ctx.dataDirectory(), 'copies')
    }
    ctx.command(diffCommand.command, diffSchema(schema))
    ctx.command(migrateCommand.command, applySchema(schema))
    ctx.command(
      testCommand.command,
      runTestFiles(
        runner,
        () => ctx.config.forall_iterations,
        counts => {
          if (!ctx.isTapped(rewardEvents)) return
          for (const event of testRewards(counts, port?.repositoryId ?? ctx.projectRoot, new Date()))
            sendReward(ctx, () => event)
        }
      )
    )
    const mask = (text: string): string => port?.mask(text) ?? text
    const { program } = ctx.config
    // In the process of a single command, the command handles the program and its tables.
    if (program !== undefined && admin?.serves !== false)
      await serveProgram(
        {
          ctx,
          compiler,
          store,
          admin,
          services,
          generator,
          bundler,
          http,
          spans,
          apps,
          ended,
          mask,
          meshActivities: deps.meshActivities,
          meshStatus: deps.meshStatus,
          shared: isShared ? await openShared() : null
        },
        program
      )
  }
})

/** Handlers of the operations on runs in the database of the program. */
function databaseHandlers(runs: OpenRuns, keeping: () => Retention, changed: () => void) {
  return {
    list: listHandler(runs),
    inspect: inspectHandler(runs),
    timeline: timelineHandler(runs),
    signal: signalHandler(runs, changed),
    cancel: cancelHandler(runs, changed),
    reset: resetHandler(runs, changed),
    prune: pruneHandler(runs, keeping, changed),
    inbox: inboxHandler(runs),
    search: searchHandler(runs)
  }
}

/** Returns the files of programs that a backup holds. */
function programPaths(config: Settings): string[] {
  const { database } = config
  return [
    filesSettings(config).folder,
    ...(database === undefined || database === 'memory' ? [] : [database.replace(/^file:/, '')])
  ]
}
