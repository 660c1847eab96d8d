import { randomUUID } from 'node:crypto'
import { type A2aBus, type A2aMessage, type AgentView, agentLabel, orchestrationErrors } from '@svc/contracts'
import { defineOperation, type Handler, type OutputOf, t } from '@svc/plugin-sdk'
import { agentOf } from '../agents/lifecycle.ts'
import { bound, type Dependencies } from '../dependencies.ts'
import { toolErrors } from '../errors.ts'
import { agentId } from '../fields.ts'
import { tool } from '../tool.ts'

const { ORC_AGENT_NOT_FOUND, ORC_NO_DATABASE, ORC_SESSION_MISMATCH } = orchestrationErrors.specs
const errors = { ORC_AGENT_NOT_FOUND, ORC_NO_DATABASE, ORC_SESSION_MISMATCH, ...toolErrors.specs }
const session = t.optional(
  t.string({
    minLength: 1,
    maxLength: 2_048,
    description: 'Session of the caller; required if the agent is bound to one.'
  })
)
export const QUESTION = 'clarification_request'
const ANSWER = 'clarification_response'
/** Maximum messages that are searched for pending ones. */
const MAX_SEARCHED = 1_000

const askAgent = defineOperation({
  id: 'orchestrator.askAgent',
  summary: 'Ask another agent a question',
  input: t.object({
    from_agent_id: agentId,
    to_agent_id: agentId,
    question: t.string({ minLength: 1, maxLength: 65_536, description: 'The question.' }),
    question_kind: t.enum(['open_ended', 'multiple_choice', 'entry', 'assumption_confirm'], {
      default: 'open_ended',
      description: 'Form of the expected answer.'
    }),
    options: t.optional(
      t.array(t.string({ minLength: 1, maxLength: 1_024 }), {
        minItems: 2,
        maxItems: 5,
        description: 'Choices of a multiple-choice question.'
      })
    ),
    urgency: t.optional(
      t.string({ minLength: 1, maxLength: 64, description: 'How soon an answer is needed, in words.' })
    ),
    session_id: session
  }),
  output: t.object({ question_id: t.string(), from_agent_id: t.integer(), to_agent_id: t.integer() }),
  errors,
  expose: {
    mcp: tool('ask_agent', {
      toolsets: ['messages'],
      use: 'The other agent answers later; svc_pending_questions shows the answer. To tell without asking: svc_a2a_send.'
    }),
    rpc: true,
    cli: { command: 'orch messages ask', args: ['from_agent_id', 'to_agent_id', 'question'] }
  }
})

function askAgentHandler({ orchestrator, bus }: Dependencies): Handler<typeof askAgent> {
  return async ({ from_agent_id, to_agent_id, question, question_kind, options, urgency, session_id }) => {
    const from = agentOf(orchestrator, from_agent_id)
    const to = agentOf(orchestrator, to_agent_id)
    assertSpeaksFor(from, session_id)
    const question_id = randomUUID()
    const payload = { clarification_intent: question, question_kind, options, urgency }
    await busOf(bus).send({
      sender: from.id,
      receiver: to.id,
      msg_type: QUESTION,
      payload: JSON.stringify(payload),
      route: 'db',
      correlation_id: question_id
    })
    return { question_id, from_agent_id: from.id, to_agent_id: to.id }
  }
}

const pendingQuestions = defineOperation({
  id: 'orchestrator.pendingQuestions',
  summary: 'List questions to an agent, and answers to its own',
  input: t.object({ agent_id: agentId, session_id: session }),
  output: t.object({
    pending: t.array(
      t.object({
        question_id: t.string(),
        from_agent_id: t.integer(),
        question: t.string(),
        question_kind: t.optional(t.string()),
        options: t.optional(t.array(t.string())),
        urgency: t.optional(t.string()),
        asked_at_ms: t.integer()
      })
    ),
    answers: t.array(
      t.object({
        question_id: t.string(),
        from_agent_id: t.integer(),
        answer: t.string(),
        answered_at_ms: t.integer()
      }),
      { description: 'Answers to the agent’s questions; they remain until they are acknowledged.' }
    ),
    text: t.string({ description: 'Questions and answers as readable text.' })
  }),
  errors,
  effect: 'read',
  expose: {
    mcp: tool('pending_questions', {
      toolsets: ['messages'],
      use: 'Questions of other agents to this one, and their answers to it. Questions to the user: dashboard_inbox.'
    }),
    rpc: true,
    cli: { command: 'orch messages list', args: ['agent_id'], view: { text: 'text' } }
  }
})

function pendingQuestionsHandler({ orchestrator, bus }: Dependencies): Handler<typeof pendingQuestions> {
  return async ({ agent_id, session_id }) => {
    const agent = agentOf(orchestrator, agent_id)
    assertSpeaksFor(agent, session_id)
    const waiting = await waitingFor(agent.id, busOf(bus))
    const found = {
      pending: waiting.flatMap(message => {
        if (message.msg_type !== QUESTION) return []
        const { clarification_intent: question, ...rest } = payloadOf(message)
        const { question_kind, options, urgency } = rest
        return {
          question_id: idOf(message),
          from_agent_id: message.sender,
          question: String(question),
          ...(typeof question_kind === 'string' ? { question_kind } : {}),
          ...(Array.isArray(options) ? { options: options.map(String) } : {}),
          ...(typeof urgency === 'string' ? { urgency } : {}),
          asked_at_ms: message.timestamp_ms
        }
      }),
      answers: waiting.flatMap(message => {
        if (message.msg_type !== ANSWER) return []
        const { answer, clarification_intent } = payloadOf(message)
        return {
          question_id: message.correlation_id ?? idOf(message),
          from_agent_id: message.sender,
          answer: String(answer ?? clarification_intent),
          answered_at_ms: message.timestamp_ms
        }
      })
    }
    return { ...found, text: messagesText(found) }
  }
}

function messagesText({ pending, answers }: Omit<OutputOf<typeof pendingQuestions>, 'text'>): string {
  const head = (atMs: number, from: number, id: string): string =>
    `${new Date(atMs).toISOString()}  from ${agentLabel(from)}  ${id}`
  const questions = pending.flatMap(({ question_id, from_agent_id, question, options = [], urgency, asked_at_ms }) => [
    `${head(asked_at_ms, from_agent_id, question_id)}${urgency === undefined ? '' : `  ${urgency}`}`,
    `  ${question}`,
    ...options.map(option => `  - ${option}`)
  ])
  const replies = answers.flatMap(({ question_id, from_agent_id, answer, answered_at_ms }) => [
    head(answered_at_ms, from_agent_id, question_id),
    `  ${answer}`
  ])
  const parts = [
    ...(questions.length === 0 ? [] : [['Questions:', ...questions].join('\n')]),
    ...(replies.length === 0 ? [] : [['Answers:', ...replies].join('\n')])
  ]
  return parts.length === 0 ? 'No questions or answers.' : parts.join('\n\n')
}

const answerQuestion = defineOperation({
  id: 'orchestrator.answerQuestion',
  summary: 'Answer a question to an agent',
  input: t.object({
    agent_id: agentId,
    question_id: t.string({ minLength: 1, maxLength: 256, description: 'Id of the question.' }),
    answer: t.string({ minLength: 1, maxLength: 65_536, description: 'The answer.' }),
    session_id: session
  }),
  output: t.object({
    question_id: t.string(),
    answered_agent_id: t.integer({ description: 'Agent that asked the question.' })
  }),
  errors,
  expose: {
    mcp: tool('answer_question', {
      toolsets: ['messages'],
      use: 'For questions that svc_pending_questions lists. Questions of a clarification session: svc_questioning_submit_answer.'
    }),
    rpc: true,
    cli: { command: 'orch messages answer', args: ['agent_id', 'question_id', 'answer'] }
  }
})

function answerQuestionHandler({ orchestrator, bus }: Dependencies): Handler<typeof answerQuestion> {
  return async ({ agent_id, question_id, answer, session_id }) => {
    const agent = agentOf(orchestrator, agent_id)
    assertSpeaksFor(agent, session_id)
    const messages = busOf(bus)
    const waiting = await waitingFor(agent.id, messages)
    const asked = waiting.find(
      each => each.msg_type === QUESTION && [each.correlation_id, each.uuid].includes(question_id)
    )
    if (asked === undefined)
      throw toolErrors.create(
        'OTL_QUESTION_NOT_FOUND',
        `question ${question_id} is not pending for ${agentLabel(agent.id)}`,
        {
          hint: 'list the pending questions of this agent'
        }
      )
    const id = idOf(asked)
    const payload = { clarification_intent: payloadOf(asked).clarification_intent, answer }
    await messages.send({
      sender: agent.id,
      receiver: asked.sender,
      msg_type: ANSWER,
      payload: JSON.stringify(payload),
      route: 'db',
      correlation_id: id,
      // If the acknowledgement below fails, a repeated answer is not delivered twice.
      idempotency_key: `answer-${id}`
    })
    if (asked.uuid !== undefined) await messages.ack(agent.id, asked.uuid)
    return { question_id: id, answered_agent_id: asked.sender }
  }
}

async function waitingFor(agent: number, bus: A2aBus): Promise<readonly A2aMessage[]> {
  const messages = await bus.history({ limit: MAX_SEARCHED })
  return messages.filter(({ receiver, acknowledged }) => receiver === agent && !acknowledged)
}

export function idOf({ correlation_id, uuid, id }: A2aMessage): string {
  return correlation_id ?? uuid ?? String(id)
}

/** Parses the payload of a message; an empty object if it is not a JSON object. */
export function payloadOf({ payload }: A2aMessage): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(payload)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** Returns the message bus. Throws `OTL_NO_MESSAGES` if there is none. */
export function busOf(bus: Dependencies['bus']): A2aBus {
  const messages = bus?.available
  if (messages !== undefined) return messages
  throw toolErrors.create('OTL_NO_MESSAGES', 'agents cannot send messages: the plugin a2a is not running', {
    hint: 'svc plugins why a2a shows the reason'
  })
}

/** Throws `ORC_SESSION_MISMATCH` if the agent is bound to another session. */
export function assertSpeaksFor({ id, session_id: bound }: AgentView, session: string | undefined): void {
  if (bound === undefined || bound === session) return
  const problem = session === undefined ? 'session_id is missing' : 'session_id is another session'
  throw orchestrationErrors.create(
    'ORC_SESSION_MISMATCH',
    `Session mismatch: ${agentLabel(id)} is bound to a session, but ${problem}`,
    { hint: 'pass the session of the agent as session_id' }
  )
}

export const questions = [
  bound(askAgent, askAgentHandler),
  bound(pendingQuestions, pendingQuestionsHandler),
  bound(answerQuestion, answerQuestionHandler)
]
