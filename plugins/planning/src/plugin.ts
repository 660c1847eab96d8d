import { databaseStore, goalSubmitting, inferenceClient, orchestrator, questioning, taskEnded } from '@svc/contracts'
import { definePlugin, isSvcError, type Ref, ref } from '@svc/plugin-sdk'
import { Announcements } from './announcements.ts'
import { contributeConsole } from './console.ts'
import { Drafting } from './drafting.ts'
import { PlanExecution } from './execution/plan-execution.ts'
import { repeatedly } from './execution/repeatedly.ts'
import { Goals } from './goals.ts'
import {
  PLANS_TOPIC,
  planCompare,
  planCompareHandler,
  planRecord,
  planRecordHandler,
  planSearch,
  planSearchHandler,
  planTable,
  planTableHandler
} from './operations/console.ts'
import { plan } from './operations/plan.ts'
import { planHandler } from './operations/plan-handler.ts'
import { planExecute, planList, planNew, planReplan, planResume, planStatus } from './operations/plan-sessions.ts'
import {
  attachedOr,
  executeHandler,
  listHandler,
  newHandler,
  replanHandler,
  resumeHandler,
  statusHandler
} from './operations/session-handlers.ts'
import { Planner } from './planner.ts'
import { type Settings, settings } from './settings.ts'
import { PlanStore } from './store/plan-store.ts'

/** Long enough for a single CLI command to end first, so that it resumes no plans. */
const FIRST_RECONCILE_MS = 2_000
const RECONCILE_MS = 60_000

export default definePlugin({
  name: 'planning',
  summary: 'Turns goals into plans of tasks, and replans after failures',
  config: settings,
  requires: { tasks: orchestrator },
  optional: { database: databaseStore, client: ref(inferenceClient), questions: ref(questioning) },
  operations: [
    plan,
    planNew,
    planReplan,
    planStatus,
    planExecute,
    planResume,
    planList,
    planTable,
    planRecord,
    planCompare,
    planSearch
  ],
  permissions: { fsRead: ['.'], fsWrite: ['.'] },
  activate(ctx, { tasks, database, client, questions }) {
    const config: Settings = ctx.config
    if (config.stub_body !== undefined && config.stub_ack)
      ctx.log.warn('SVC_MCP_TEST_INFER_STUB_BODY replaces the model: every draft is made from its value')
    const announcements = new Announcements(tasks)
    const drafting = new Drafting({
      orchestrator: tasks,
      settings: config,
      client: () => provided(client),
      questioning: () => provided(questions)
    })
    const store = database === undefined ? null : new PlanStore(database, () => ctx.changed(PLANS_TOPIC))
    const planner = store === null ? null : new Planner({ store, orchestrator: tasks, drafting, announcements })
    const execution =
      store === null || planner === null
        ? null
        : new PlanExecution({
            store,
            orchestrator: tasks,
            announcements,
            log: ctx.log,
            replan: (session, failure) => planner.replanAfter(session, failure, ctx.signal)
          })
    const stored = planner === null || execution === null ? null : { planner, execution }
    const goals = new Goals({ orchestrator: tasks, drafting, announcements, stored, log: ctx.log, signal: ctx.signal })
    ctx.on(goalSubmitting, async goal => (await goals.handle(goal)) ?? undefined, { label: 'plan a goal' })
    if (execution !== null) {
      ctx.on(taskEnded, end => execution.ended(end), { label: 'continue a plan' })
      ctx.effect('running plans', () => execution.close())
      ctx.effect(
        'step start events',
        tasks.subscribe(({ kind }) => {
          if (kind.type === 'task_started') execution.started(kind.task_id)
        })
      )
      ctx.background('resume plans', signal =>
        repeatedly(FIRST_RECONCILE_MS, RECONCILE_MS, signal, async () => {
          await execution.reconcile().catch((error: unknown) => {
            ctx.log.debug('running plans could not be listed; retried in a minute', { reason: String(error) })
          })
        })
      )
    }
    const attached = attachedOr(
      store === null || stored === null
        ? null
        : { store, ...stored, drafting, orchestrator: tasks, projectRoot: ctx.projectRoot }
    )
    ctx.implement(
      plan,
      planHandler({
        orchestrator: tasks,
        drafting,
        planner,
        questioning: () => provided(questions),
        projectRoot: ctx.projectRoot
      })
    )
    ctx.implement(planNew, newHandler(attached))
    ctx.implement(planReplan, replanHandler(attached))
    ctx.implement(planStatus, statusHandler(attached))
    ctx.implement(planExecute, executeHandler(attached))
    ctx.implement(planResume, resumeHandler(attached))
    ctx.implement(planList, listHandler(attached))
    ctx.implement(planTable, planTableHandler(store))
    ctx.implement(planRecord, planRecordHandler(attached))
    ctx.implement(planCompare, planCompareHandler(attached))
    ctx.implement(planSearch, planSearchHandler(store))
    contributeConsole(ctx)
  }
})

/** Returns the current provider of a service; undefined if there is none. */
function provided<A>(service: Ref<A> | undefined): A | undefined {
  try {
    return service?.current
  } catch (error) {
    if (isSvcError(error, 'KRN_SERVICE_GONE')) return undefined
    throw error
  }
}
