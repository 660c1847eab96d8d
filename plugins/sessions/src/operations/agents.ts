import { randomUUID } from 'node:crypto'
import {
  type AgentView,
  agentLabel,
  type ContextEnvelope,
  type Orchestrator,
  orchestrationErrors,
  type SessionContext
} from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { oboToken } from '../context/obo-token.ts'
import { sessionErrors } from '../errors.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { agentId } from './parts.ts'

const { SES_NO_ORCHESTRATOR } = sessionErrors.specs
const { ORC_AGENT_NOT_FOUND } = orchestrationErrors.specs

export const contextBudget = defineOperation({
  id: 'sessions.contextBudget',
  summary: 'Show the remaining token budget of an agent and its session',
  input: t.object({ agent_id: agentId }),
  output: t.object({
    agent_id: t.integer(),
    max_tokens: t.integer(),
    tokens_used: t.integer(),
    tokens_left: t.integer(),
    used_ratio: t.number({ description: 'Used fraction of the maximum; above 1 if it was exceeded.' }),
    signal: t.string({ description: 'Budget signal of the agent.' }),
    session: t.nullable(t.object({ session_id: t.string(), turns: t.integer(), tokens: t.integer() }))
  }),
  errors: { SES_NO_ORCHESTRATOR, ORC_AGENT_NOT_FOUND },
  effect: 'read',
  expose: {
    mcp: {
      name: 'svc_context_budget',
      result: 'tool-result',
      lane: 'ai',
      toolsets: ['sessions'],
      use: 'How many tokens an agent may still use before its context is full. Costs: svc_budget_status.'
    },
    rpc: true
  }
})

export const handoffContext = defineOperation({
  id: 'sessions.handoffContext',
  summary: 'Show the context that an agent needs for a handoff',
  description:
    'Pass the returned context_envelope_json to svc_agent_handoff unchanged. This call itself makes no handoff.',
  input: t.object({
    from_agent: agentId,
    to_agent: agentId,
    max_tokens: t.integer({
      default: 2000,
      minimum: 64,
      maximum: 32_000,
      description: 'Maximum tokens of the text.'
    })
  }),
  output: t.object({
    from_agent: t.integer(),
    to_agent: t.integer(),
    session_id: t.nullable(t.string()),
    text: t.string({ description: 'Context of the session for a prompt; empty if there is none.' }),
    context_envelope_json: t.nullable(t.string()),
    pending_tasks: t.array(t.object({ task_id: t.integer(), status: t.string(), description: t.string() })),
    owned_files: t.array(t.string())
  }),
  errors: { SES_NO_ORCHESTRATOR, ORC_AGENT_NOT_FOUND },
  effect: 'read',
  expose: {
    mcp: {
      name: 'svc_handoff_context',
      result: 'tool-result',
      lane: 'ai',
      toolsets: ['agents'],
      use: 'Read it before svc_agent_handoff. Earlier handoffs: svc_handoff_lineage.'
    },
    rpc: true
  }
})

export interface AgentContext {
  readonly orchestrator: () => Orchestrator | undefined
  readonly sessions: Sessions
  readonly context: SessionContext
  readonly now: () => number
}

export function budgetHandler({ orchestrator, sessions }: AgentContext): Handler<typeof contextBudget> {
  return async ({ agent_id }) => {
    const running = requireOrchestrator(orchestrator())
    const agent = requireAgent(running, agent_id)
    const { max_tokens, tokens_used, signal } = running.budgets.of(agent_id)
    const session = await sessionOf(agent, sessions)
    return {
      agent_id,
      max_tokens,
      tokens_used,
      tokens_left: Math.max(0, max_tokens - tokens_used),
      used_ratio: max_tokens > 0 ? tokens_used / max_tokens : 0,
      signal,
      session:
        session === null ? null : { session_id: session.session_id, turns: session.turns, tokens: session.tokens }
    }
  }
}

/** Maximum characters of a task description in a result. */
const PREVIEW = 400

/** Statuses of tasks that can be handed over. */
const PENDING = new Set(['Queued', 'InProgress', 'Blocked', 'BlockedOnApproval', 'Doubted'])

export function handoffHandler({ orchestrator, sessions, context, now }: AgentContext): Handler<typeof handoffContext> {
  return async ({ from_agent, to_agent, max_tokens }) => {
    const running = requireOrchestrator(orchestrator())
    const from = requireAgent(running, from_agent)
    requireAgent(running, to_agent)
    const session_id = from.session_id ?? (await sessionOf(from, sessions))?.session_id ?? null
    const envelope = session_id === null ? null : await context.envelope(session_id)
    return {
      from_agent,
      to_agent,
      session_id,
      text: session_id === null ? '' : await context.inject(session_id, max_tokens),
      context_envelope_json:
        envelope === null || session_id === null
          ? null
          : JSON.stringify(toHandoff(envelope, session_id, to_agent, now())),
      pending_tasks: running
        .tasks({ agent: from_agent })
        .filter(({ status }) => PENDING.has(status.kind))
        .map(({ id, status, description }) => ({
          task_id: id,
          status: status.kind,
          description: description.slice(0, PREVIEW)
        })),
      owned_files: [...running.filesOf(from_agent)]
    }
  }
}

function toHandoff(envelope: ContextEnvelope, session_id: string, agent: number, now: number): ContextEnvelope {
  const subject = { ...envelope.subject, session_id, agent_id: agent, surface: 'handoff' }
  const { stale_after_ms: _, ...lasting } = envelope
  return {
    ...lasting,
    envelope_type: 'handoff_context',
    envelope_id: `ctx-handoff-${randomUUID()}`,
    created_at_unix_ms: now,
    provenance: { ...envelope.provenance, capture_mode: 'handed_off' },
    subject,
    obo_token: oboToken({ created_at_unix_ms: now, subject })
  }
}

async function sessionOf({ id, session_id }: AgentView, sessions: Sessions) {
  return session_id === undefined ? sessions.latestOfAgent(id) : sessions.view(session_id)
}

function requireOrchestrator(running: Orchestrator | undefined): Orchestrator {
  if (running !== undefined) return running
  throw sessionErrors.create('SES_NO_ORCHESTRATOR', 'agents are known only to the orchestrator, which is not running', {
    hint: 'svc plugins why orchestrator shows the reason'
  })
}

/** Returns an agent. Throws `ORC_AGENT_NOT_FOUND`. */
export function requireAgent(running: Orchestrator, agent: number): AgentView {
  const view = running.agent(agent)
  if (view !== null) return view
  throw orchestrationErrors.create('ORC_AGENT_NOT_FOUND', `Agent ${agentLabel(agent)} not found`, {
    hint: 'list the agents to see their ids'
  })
}
