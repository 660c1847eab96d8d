import { orchestrationErrors } from '@svc/contracts'
import { defineOperation, t } from '@svc/plugin-sdk'
import { planningErrors } from '../errors.ts'
import { qgateMeta } from './plan.ts'

const { ORC_NO_DATABASE } = orchestrationErrors.specs
const { PLN_ADEQUACY, PLN_FILE_REFUSED, PLN_QUALITY_GATE, PLN_SESSION_UNKNOWN } = planningErrors.specs
const DRAFT_TIMEOUT_MS = 900_000

const sessionId = t.string({ minLength: 1, maxLength: 2048, description: 'Id of the plan: plan-… or wf-….' })
const mode = t.optional(t.string({ maxLength: 64, description: 'Refinement mode: off, auto or force.' }))

const versions = t.array(
  t.object({
    version: t.integer(),
    steps: t.array(
      t.object({ id: t.string(), description: t.string(), status: t.string(), test_decision: t.optional(t.string()) })
    )
  }),
  { description: 'Oldest first.' }
)

const sessionStatus = t.enum(['pending', 'running', 'completed', 'failed', 'cancelled'], {
  description: 'State of a plan.'
})

export const planNew = defineOperation({
  id: 'ai.plan.new',
  summary: 'Create a plan for a goal',
  input: t.object({
    goal: t.string({ minLength: 1, maxLength: 65_536, description: 'What shall be reached.' }),
    session_id: t.optional(t.string({ minLength: 1, maxLength: 2048, description: 'Session that the plan is for.' })),
    scope_files: t.array(t.string({ minLength: 1, maxLength: 4096 }), {
      default: [],
      maxItems: 2000,
      description: 'Files that the plan concerns.'
    }),
    mode,
    max_tasks: t.integer({ default: 30, minimum: 1, maximum: 2000, description: 'Maximum number of tasks.' }),
    write_to_disk: t.boolean({ default: false, description: 'Whether PLAN.md is written into the project.' })
  }),
  output: t.object({
    session_id: t.string(),
    goal: t.string(),
    summary: t.string(),
    versions,
    plan_md: t.string(),
    written_to_disk: t.boolean(),
    text: t.string({ description: 'The plan and the command that executes it, as Markdown.' })
  }),
  errors: { ORC_NO_DATABASE, PLN_ADEQUACY, PLN_FILE_REFUSED },
  effect: 'write',
  timeoutMs: DRAFT_TIMEOUT_MS,
  expose: { rpc: true, cli: { command: 'plan new', args: ['goal'], view: { markdown: 'text' } } }
})

export const planReplan = defineOperation({
  id: 'ai.plan.replan',
  summary: 'Replan with a hint; unfinished steps are superseded',
  input: t.object({
    session_id: sessionId,
    delta_hint: t.string({
      minLength: 1,
      maxLength: 65_536,
      description: 'Request for the next version, appended to the goal.'
    }),
    write_to_disk: t.boolean({ default: false, description: 'Whether PLAN.md is written into the project.' }),
    mode
  }),
  output: t.object({
    session_id: t.string(),
    goal: t.string(),
    summary: t.string(),
    versions,
    replan_version: t.integer(),
    plan_md: t.string(),
    written_to_disk: t.boolean(),
    qgate: qgateMeta
  }),
  errors: { ORC_NO_DATABASE, PLN_ADEQUACY, PLN_FILE_REFUSED, PLN_SESSION_UNKNOWN },
  effect: 'write',
  timeoutMs: DRAFT_TIMEOUT_MS,
  expose: {
    mcp: {
      name: 'svc_replan',
      title: 'Replan',
      result: 'tool-result',
      meta: 'qgate',
      lane: 'ai',
      toolsets: ['planning'],
      use: 'Say what changed; finished steps stay. To run failed steps again: svc_plan_resume.'
    },
    rpc: true,
    cli: { command: 'plan replan', args: ['session_id', 'delta_hint'], view: { markdown: 'plan_md' } }
  }
})

export const planStatus = defineOperation({
  id: 'ai.plan.status',
  summary: 'Show a plan: steps, attempts, last events',
  input: t.object({ session_id: sessionId }),
  output: t.object({
    session_id: t.string(),
    goal: t.string(),
    summary: t.string(),
    status: sessionStatus,
    source: t.string({ description: 'Storage from which the status was read.' }),
    strategy: t.string(),
    execution_mode: t.enum(['auto', 'approval'], {
      description: 'Whether new tasks of the plan run immediately or require approval.'
    }),
    plan_version: t.integer(),
    latest_version: t.integer(),
    nodes: t.array(
      t.object({
        node_id: t.string(),
        status: t.string(),
        description: t.string(),
        depends_on: t.array(t.string()),
        workflow: t.optional(t.string()),
        task_id: t.optional(t.integer()),
        attempts_count: t.integer(),
        last_outcome: t.optional(t.string()),
        last_error: t.optional(t.string())
      })
    ),
    progress: t.object({ total: t.integer(), completed: t.integer(), failed: t.integer() }),
    step_counts: t.object({
      pending: t.integer(),
      completed: t.integer(),
      failed: t.integer(),
      in_progress: t.integer(),
      skipped: t.integer()
    }),
    recent_events: t.array(t.record(t.unknown()), { description: 'The last 20, oldest first.' }),
    qgate: qgateMeta
  }),
  errors: { ORC_NO_DATABASE, PLN_SESSION_UNKNOWN },
  effect: 'read',
  expose: {
    mcp: {
      name: 'svc_plan_status',
      title: 'Plan status',
      result: 'tool-result',
      meta: 'qgate',
      lane: 'ai',
      readRole: true,
      toolsets: ['default', 'planning'],
      use: 'Progress of a plan that svc_plan made. Change it with svc_replan.'
    },
    rpc: true,
    http: { method: 'GET', path: '/api/plans/:session_id' },
    cli: {
      command: 'plan show',
      args: ['session_id'],
      view: {
        rows: 'nodes',
        columns: ['node_id', 'status', 'attempts_count', 'task_id', 'description', 'last_error'],
        note: 'summary'
      }
    }
  }
})

export const planExecute = defineOperation({
  id: 'ai.plan.execute',
  summary: 'Execute a plan: enqueue its ready steps',
  input: t.object({
    session_id: sessionId,
    force_risky_reason: t.optional(
      t.string({
        minLength: 1,
        maxLength: 1024,
        description: 'Reason to execute steps that fail the quality gate; stored with each step.'
      })
    )
  }),
  output: t.object({ task_ids: t.array(t.integer()), ok: t.boolean(), summary: t.string() }),
  errors: { ORC_NO_DATABASE, PLN_QUALITY_GATE, PLN_SESSION_UNKNOWN },
  effect: 'write',
  expose: { rpc: true, cli: { command: 'plan execute', args: ['session_id'], view: { text: 'summary' } } }
})

export const planResume = defineOperation({
  id: 'planning.resume',
  summary: 'Resume a plan: failed and cancelled steps are enqueued again',
  input: t.object({ session_id: sessionId }),
  output: t.object({ task_ids: t.array(t.integer()), ok: t.boolean(), summary: t.string() }),
  errors: { ORC_NO_DATABASE, PLN_QUALITY_GATE, PLN_SESSION_UNKNOWN },
  effect: 'write',
  expose: {
    mcp: {
      name: 'svc_plan_resume',
      title: 'Resume a plan',
      result: 'tool-result',
      lane: 'ai',
      toolsets: ['planning'],
      use: 'For a plan that stopped. To change its steps use svc_replan.'
    },
    cli: { command: 'plan resume', args: ['session_id'], view: { text: 'summary' } }
  }
})

export const planList = defineOperation({
  id: 'planning.list',
  summary: 'List plans, newest first',
  input: t.object({
    status: t.optional(sessionStatus),
    limit: t.integer({ default: 50, minimum: 1, maximum: 500, description: 'Maximum number of plans.' }),
    offset: t.integer({ default: 0, minimum: 0, description: 'Number of plans to skip.' })
  }),
  output: t.object({
    sessions: t.array(
      t.object({
        session_id: t.string(),
        status: t.string(),
        strategy: t.string(),
        version: t.integer(),
        goal: t.string({ description: 'The first 200 characters of the goal.' }),
        origin_session_id: t.nullable(t.string()),
        created_at: t.string(),
        updated_at: t.string()
      })
    )
  }),
  errors: { ORC_NO_DATABASE },
  effect: 'read',
  expose: {
    mcp: {
      name: 'svc_plan_list_sessions',
      title: 'List plans',
      result: 'tool-result',
      lane: 'ai',
      toolsets: ['planning'],
      use: 'Find a plan, then read it with svc_plan_status.'
    },
    http: { method: 'GET', path: '/api/plans' },
    cli: {
      command: 'plan list',
      view: { rows: 'sessions', columns: ['session_id', 'status', 'version', 'goal', 'updated_at'] }
    }
  }
})
