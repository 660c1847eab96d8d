import { dashboardSearchInput, dashboardSearchOutput, orchestrationErrors } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { planningErrors } from '../errors.ts'
import type { NodeAttempt, PlanNode } from '../store/plan-rows.ts'
import type { PlanStore } from '../store/plan-store.ts'
import type { SessionParts } from './session-handlers.ts'

/** Topic: a plan, a step or an attempt was stored. */
export const PLANS_TOPIC = 'planning.plans'

const { ORC_NO_DATABASE } = orchestrationErrors.specs
const { PLN_SESSION_UNKNOWN } = planningErrors.specs
const watch = { on: [PLANS_TOPIC], minMs: 1_000 }
const sessionId = t.string({ minLength: 1, maxLength: 2048, description: 'Id of the plan: plan-… or wf-….' })

/** Limits of texts and rows, so that an answer fits into one frame of the console's stream. */
const MAX_PLANS = 200
const MAX_STEPS = 300
const MAX_ATTEMPTS = 200
const MAX_TEXT = 200

const planFields = {
  id: t.string(),
  status: t.enum(['pending', 'running', 'completed', 'failed', 'cancelled']),
  goal: t.string({ description: 'The first 200 characters of the goal.' }),
  strategy: t.string(),
  version: t.integer(),
  steps: t.integer(),
  completed: t.integer({ description: 'Completed steps of the current version.' }),
  session_id: t.optional(t.string({ description: 'Session that the plan is for.' })),
  created_at_ms: t.integer(),
  updated_at_ms: t.integer()
}

export const planTable = defineOperation({
  id: 'planning.plans',
  summary: 'List the newest plans with their progress',
  input: t.object({ limit: t.integer({ default: MAX_PLANS, minimum: 1, maximum: MAX_PLANS }) }),
  output: t.object({ plans: t.array(t.object(planFields)) }),
  effect: 'read',
  watch,
  expose: { rpc: true }
})

/** Returns the handler. Without a database there are no plans. */
export function planTableHandler(store: PlanStore | null): Handler<typeof planTable> {
  return async ({ limit }) => ({ plans: ((await store?.overview({ limit })) ?? []).map(planRow) })
}

function planRow({ session, steps, completed }: Awaited<ReturnType<PlanStore['overview']>>[number]) {
  return {
    id: session.id,
    status: session.status,
    goal: short(session.goal),
    strategy: session.strategy,
    version: session.version,
    steps,
    completed,
    ...(session.originSession === null ? {} : { session_id: session.originSession }),
    created_at_ms: milliseconds(session.createdAt),
    updated_at_ms: milliseconds(session.updatedAt)
  }
}

const attemptRow = t.object({
  key: t.string({ description: 'Unique among the attempts of the plan.' }),
  version: t.integer(),
  step: t.string(),
  attempt: t.integer(),
  task_id: t.optional(t.integer()),
  outcome: t.string({ description: 'running, or how the task ended.' }),
  error: t.optional(t.string()),
  latency_ms: t.optional(t.integer()),
  created_at_ms: t.integer()
})

export const planRecord = defineOperation({
  id: 'planning.record',
  summary: 'Show a plan as a graph of steps, with its versions and attempts',
  input: t.object({ session_id: sessionId }),
  output: t.object({
    ...planFields,
    goal: t.string({ description: 'The first 16,000 characters of the goal.' }),
    execution_mode: t.enum(['auto', 'approval'], {
      description: 'Whether new tasks of the plan run immediately or require approval.'
    }),
    nodes: t.array(
      t.object({
        id: t.string(),
        label: t.string(),
        state: t.string(),
        description: t.string(),
        depends_on: t.string({ description: 'Ids of steps, separated by commas.' }),
        workflow: t.optional(t.string()),
        task_id: t.optional(t.integer({ description: 'Task of the last attempt.' })),
        attempts: t.integer(),
        error: t.optional(t.string())
      }),
      { description: 'Steps of the current version; the first 300.' }
    ),
    edges: t.array(t.object({ from: t.string(), to: t.string() })),
    versions: t.array(
      t.object({
        version: t.integer(),
        trigger: t.string({ description: 'What caused the version.' }),
        verdict: t.string({ description: 'Whether the plan is adequate for its goal.' }),
        quality: t.number({ description: 'Adequacy, [0, 1].' }),
        created_at_ms: t.integer()
      })
    ),
    attempts: t.array(attemptRow, { description: 'The last 200, newest first.' })
  }),
  errors: { ORC_NO_DATABASE, PLN_SESSION_UNKNOWN },
  effect: 'read',
  watch,
  expose: { rpc: true }
})

const MAX_GOAL = 16_000

export function planRecordHandler(attached: () => SessionParts): Handler<typeof planRecord> {
  return async ({ session_id }) => {
    const { store, orchestrator } = attached()
    const session = await store.session(session_id)
    const nodes = await store.nodes(session.id, session.version)
    const attempts = await store.attempts(session.id)
    const shown = nodes.slice(0, MAX_STEPS)
    const completed = nodes.filter(({ status }) => status === 'completed').length
    return {
      ...planRow({ session, steps: nodes.length, completed }),
      goal: session.goal.slice(0, MAX_GOAL),
      execution_mode: orchestrator.policy.planning.auto_mode_enabled ? ('auto' as const) : ('approval' as const),
      nodes: shown.map(node => nodeRow(node, attempts)),
      edges: shown.flatMap(({ id, dependsOn }) => dependsOn.map(from => ({ from, to: id }))),
      versions: (await store.versions(session.id)).map(({ version, triggerEvent, verdict, quality, createdAt }) => ({
        version,
        trigger: triggerEvent ?? 'unknown',
        verdict,
        quality,
        created_at_ms: milliseconds(createdAt)
      })),
      attempts: attempts.slice(-MAX_ATTEMPTS).reverse().map(attemptOf)
    }
  }
}

function nodeRow({ id, version, status, description, dependsOn, workflow }: PlanNode, all: readonly NodeAttempt[]) {
  const attempts = all.filter(attempt => attempt.version === version && attempt.node === id)
  const task = attempts.at(-1)?.task ?? null
  const error = attempts.findLast(attempt => attempt.error !== null)?.error ?? null
  return {
    id,
    label: `${id} ${description}`.slice(0, MAX_TEXT),
    state: status,
    description: short(description),
    depends_on: dependsOn.join(', '),
    ...(workflow === null ? {} : { workflow }),
    ...(task === null ? {} : { task_id: task }),
    attempts: attempts.length,
    ...(error === null ? {} : { error: short(error) })
  }
}

function attemptOf({ version, node, number, task, outcome, error, latencyMs, createdAt }: NodeAttempt) {
  return {
    key: `${version}-${node}-${number}`,
    version,
    step: node,
    attempt: number,
    ...(task === null ? {} : { task_id: task }),
    outcome: outcome ?? 'running',
    ...(error === null ? {} : { error: short(error) }),
    ...(latencyMs === null ? {} : { latency_ms: latencyMs }),
    created_at_ms: milliseconds(createdAt)
  }
}

const versionNumber = t.optional(
  t.union([t.integer({ minimum: 1 }), t.string({ pattern: '^[0-9]{1,9}$' })], { description: 'Number of a version.' })
)

export const planCompare = defineOperation({
  id: 'planning.compare',
  summary: 'Compare the steps of two versions of a plan',
  input: t.object({ session_id: sessionId, left: versionNumber, right: versionNumber }),
  output: t.object({
    left: t.integer({ description: 'Default: the version before the other one.' }),
    right: t.integer({ description: 'Default: the current version.' }),
    steps: t.array(
      t.object({
        id: t.string(),
        change: t.enum(['added', 'removed', 'changed', 'same']),
        left_text: t.string(),
        left_state: t.string(),
        right_text: t.string(),
        right_state: t.string()
      }),
      { description: 'The first 300.' }
    )
  }),
  errors: { ORC_NO_DATABASE, PLN_SESSION_UNKNOWN },
  effect: 'read',
  watch,
  expose: { rpc: true }
})

export function planCompareHandler(attached: () => SessionParts): Handler<typeof planCompare> {
  return async input => {
    const { store } = attached()
    const session = await store.session(input.session_id)
    const right = input.right === undefined ? session.version : Number(input.right)
    const left = input.left === undefined ? Math.max(1, right - 1) : Number(input.left)
    const [before, after] = await Promise.all([store.nodes(session.id, left), store.nodes(session.id, right)])
    const old = new Map(before.map(node => [node.id, node]))
    const current = new Map(after.map(node => [node.id, node]))
    const ids = [...new Set([...old.keys(), ...current.keys()])].slice(0, MAX_STEPS)
    return { left, right, steps: ids.map(id => comparison(id, old.get(id), current.get(id))) }
  }
}

function comparison(id: string, left: PlanNode | undefined, right: PlanNode | undefined) {
  const change =
    left === undefined
      ? ('added' as const)
      : right === undefined
        ? ('removed' as const)
        : left.description === right.description && left.dependsOn.join() === right.dependsOn.join()
          ? ('same' as const)
          : ('changed' as const)
  return {
    id,
    change,
    left_text: short(left?.description ?? ''),
    left_state: left?.status ?? '',
    right_text: short(right?.description ?? ''),
    right_state: right?.status ?? ''
  }
}

export const planSearch = defineOperation({
  id: 'planning.search',
  summary: 'Search plans by goal or id',
  input: dashboardSearchInput,
  output: dashboardSearchOutput,
  effect: 'read',
  expose: { rpc: true }
})

export function planSearchHandler(store: PlanStore | null): Handler<typeof planSearch> {
  return async ({ text, limit }) => ({
    results: ((await store?.overview({ text, limit })) ?? []).map(({ session: { id, goal } }) => ({
      title: short(goal.split('\n', 1)[0] ?? goal),
      kind: 'plan',
      link: `/ui/p/planning/plans/${encodeURIComponent(id)}`
    }))
  })
}

function short(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT - 1)}…` : text
}

/** Converts a time of the database, in UTC, to Unix milliseconds. */
function milliseconds(time: string): number {
  return Date.parse(`${time.replace(' ', 'T')}Z`)
}
