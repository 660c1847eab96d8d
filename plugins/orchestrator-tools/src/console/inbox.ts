import {
  type AgentView,
  agentLabel,
  dashboardInboxOutput,
  dashboardSearchInput,
  dashboardSearchOutput,
  type InboxItem,
  type Orchestrator,
  taskLabel
} from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { bound, type Dependencies } from '../dependencies.ts'
import { type StateFeeds, TOPICS } from '../feeds/state-feeds.ts'
import { short, type TaskRow } from '../feeds/task-row.ts'
import { MESSAGES_TOPIC, type OpenQuestion, OpenQuestions } from '../messages/open-questions.ts'

/** Maximum items of each kind, so that all of them fit into one frame of the console's stream. */
const MAX_ITEMS = 75
const MAX_FAILURES = 25
const MAX_BODY = 400

const inbox = defineOperation({
  id: 'orchestrator.inbox',
  summary: 'List approvals, doubts, failed tasks and questions that wait for a user',
  input: t.object({}),
  output: dashboardInboxOutput,
  effect: 'read',
  watch: { on: [TOPICS.tasks, MESSAGES_TOPIC], minMs: 1_000 },
  expose: { rpc: true }
})

function inboxHandler({ local, feeds, port, bus }: Dependencies): Handler<typeof inbox> {
  const questions = new OpenQuestions(() => bus?.available, port.topics)
  return async (_, { signal }) => {
    await feeds.refreshForeign(signal)
    const waiting = feeds.needingAttention()
    const approvals = oldest(waiting, 'BlockedOnApproval', MAX_ITEMS)
    const doubts = oldest(waiting, 'Doubted', MAX_ITEMS)
    // The newest failures: old ones are history.
    const failures = oldest(waiting, 'Failed', Number.MAX_SAFE_INTEGER).slice(-MAX_FAILURES)
    const items = [
      ...approvals.map(row => approvalItem(row, local)),
      ...doubts.map(row => doubtItem(row, local)),
      ...(await questions.all()).slice(0, MAX_ITEMS).flatMap(question => questionItem(question, local)),
      ...failures.map(row => failureItem(row))
    ]
    return { items: items.map(item => ({ ...item, answers: item.answers.map(answerOf) })) }
  }
}

function answerOf({ input, ask, ...answer }: InboxItem['answers'][number]) {
  return { ...answer, input: { ...input }, ...(ask === undefined ? {} : { ask: [...ask] }) }
}

function oldest(rows: readonly TaskRow[], state: TaskRow['state'], limit: number): readonly TaskRow[] {
  const found = rows.filter(row => row.state === state)
  return found.sort((one, other) => since(one) - since(other) || one.id - other.id).slice(0, limit)
}

function since({ ended_at_ms, started_at_ms, submitted_at_ms }: TaskRow): number {
  return ended_at_ms ?? started_at_ms ?? submitted_at_ms
}

function taskLink(key: string): string {
  return `/ui/p/orchestrator-tools/tasks/${encodeURIComponent(key)}`
}

function approvalItem(row: TaskRow, orchestrator: Orchestrator): InboxItem {
  const task = row.own ? orchestrator.task(row.id) : null
  const files =
    task === null || task.files.length === 0 ? '' : `\n\nFiles: ${task.files.map(({ path }) => path).join(', ')}`
  return {
    id: `approval-${row.key}`,
    kind: 'approval',
    title: `${row.task} waits for approval`,
    body: short(`${task?.description ?? row.description}${files}`, MAX_BODY),
    since: since(row),
    link: taskLink(row.key),
    answers: [
      { label: 'Approve', operation: 'orchestrator.approveTask', input: { task_id: row.key }, tone: 'primary' },
      { label: 'Cancel task', operation: 'orchestrator.cancelTask', input: { task_id: row.key }, tone: 'danger' }
    ]
  }
}

function doubtItem(row: TaskRow, orchestrator: Orchestrator): InboxItem {
  const task = row.own ? orchestrator.task(row.id) : null
  const reason = task?.status.kind === 'Doubted' ? task.status.reason : null
  const resolve = (outcome: string, report: string) => ({ task_id: row.key, outcome, report })
  return {
    id: `doubt-${row.key}`,
    kind: 'doubt',
    title: `${row.task} is doubted: ${short(reason ?? 'no reason stated', 120)}`,
    body: short(task?.description ?? row.description, MAX_BODY),
    since: since(row),
    link: taskLink(row.key),
    answers: [
      {
        label: 'Doubt is right: queue again',
        operation: 'orchestrator.resolveDoubt',
        input: resolve('validated', 'A user reviewed the doubt in the console and found it right.')
      },
      {
        label: 'Doubt is wrong: accept',
        operation: 'orchestrator.resolveDoubt',
        input: resolve('overruled', 'A user reviewed the doubt in the console and found it wrong.'),
        tone: 'primary'
      },
      {
        label: 'Write a report',
        operation: 'orchestrator.resolveDoubt',
        input: { task_id: row.key },
        ask: ['outcome', 'report']
      }
    ]
  }
}

function failureItem(row: TaskRow): InboxItem {
  return {
    id: `failure-${row.key}`,
    kind: 'failure',
    title: `${row.task} failed: ${row.description}`,
    body: row.error ?? '',
    since: since(row),
    link: taskLink(row.key),
    answers: [
      { label: 'Retry', operation: 'orchestrator.retryTask', input: { task_id: row.key }, tone: 'primary' },
      { label: 'Cancel task', operation: 'orchestrator.cancelTask', input: { task_id: row.key }, tone: 'danger' }
    ]
  }
}

/** Returns the item of a question to an agent of this process; none if the agent is unknown here. */
function questionItem(question: OpenQuestion, orchestrator: Orchestrator): InboxItem[] {
  const agent = orchestrator.agent(question.to)
  if (agent === null) return []
  const given = {
    agent_id: agent.id,
    question_id: question.id,
    ...(agent.session_id === undefined ? {} : { session_id: agent.session_id })
  }
  const operation = 'orchestrator.answerQuestion'
  const from = orchestrator.agent(question.from)?.name ?? agentLabel(question.from)
  return [
    {
      id: `question-${question.to}-${question.id}`,
      kind: 'question',
      title: `${from} asks ${agent.name}`,
      body: short(question.text, MAX_BODY),
      since: question.askedAt,
      link: '/ui/p/a2a/messages',
      answers: [
        ...question.options.map(option => ({ label: option, operation, input: { ...given, answer: option } })),
        { label: question.options.length === 0 ? 'Answer' : 'Other answer', operation, input: given, ask: ['answer'] }
      ]
    }
  ]
}

const search = defineOperation({
  id: 'orchestrator.search',
  summary: 'Search tasks and agents by label, name or text',
  input: dashboardSearchInput,
  output: dashboardSearchOutput,
  effect: 'read',
  expose: { rpc: true }
})

function searchHandler({ local, feeds }: Dependencies): Handler<typeof search> {
  return async ({ text, limit }, { signal }) => {
    await feeds.refreshForeign(signal)
    const agents = [...local.agents(), ...feeds.foreignAgents]
    return { results: [...agentResults(agents, text), ...taskResults(feeds, text, limit)].slice(0, limit) }
  }
}

function agentResults(agents: readonly Pick<AgentView, 'id' | 'name'>[], text: string) {
  const wanted = text.toLowerCase()
  return agents.flatMap(({ id, name }) =>
    `${agentLabel(id)} ${name}`.toLowerCase().includes(wanted)
      ? [{ title: `${agentLabel(id)}  ${name}`, kind: 'agent', link: `/ui/p/orchestrator-tools/agents/${id}` }]
      : []
  )
}

function taskResults(feeds: StateFeeds, text: string, limit: number) {
  return feeds.search(text, limit).map(({ key, id, description }) => ({
    title: `${taskLabel(id)}  ${description}`,
    kind: 'task',
    link: taskLink(key)
  }))
}

export const inboxOperations = [bound(inbox, inboxHandler), bound(search, searchHandler)]
