import { type DashboardPage, dashboardActions, dashboardInbox, dashboardPages } from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'
import type { PendingQuestion } from './store.ts'

const MAX_BODY = 1_000
const MAX_TITLE = 120

const questions: DashboardPage = {
  path: 'questioning/questions',
  title: 'Questions',
  summary: 'Questions of sessions that wait for an answer',
  icon: 'message-square',
  section: 'run',
  order: 52,
  view: {
    kind: 'table',
    operation: 'questioning.list',
    input: { limit: { value: 100 } },
    rows: 'questions',
    key: 'id',
    of: 'question',
    columns: [
      { field: 'question', title: 'Question' },
      { field: 'options', title: 'Options' },
      {
        field: 'session',
        title: 'Session',
        link: { page: 'sessions/sessions/:id', params: { id: { from: 'row', name: 'session' } } }
      },
      { field: 'asked', title: 'Asked', format: 'time' }
    ],
    filters: [
      { name: 'session', label: 'Session', field: 'session' },
      { name: 'question', label: 'Question', field: 'question' }
    ],
    empty:
      'Questions appear here when a tool needs an answer from you, for example a plan with open points: svc plan new GOAL. Without a database no question is asked.'
  }
}

export function contributeConsole(ctx: Pick<PluginContext, 'contribute'>): void {
  ctx.contribute(dashboardPages, questions, `page ${questions.path}`)
  ctx.contribute(dashboardInbox, { operation: 'questioning.inbox' })
  ctx.contribute(dashboardActions, {
    on: 'question',
    label: 'Answer',
    operation: 'questioning.answer',
    bind: { session_id: { from: 'row', name: 'session' }, question_id: { from: 'row', name: 'id' } },
    ask: ['answer_text'],
    tone: 'primary'
  })
}

/** Returns the item of a question: one click for each option, and an answer in words. */
export function inboxItem({ session_id, question_id, prompt, options, created_at_ms }: PendingQuestion) {
  const operation = 'questioning.answer'
  const given = { session_id, question_id }
  const [title = ''] = prompt.split('\n', 1)
  return {
    id: question_id,
    kind: 'question' as const,
    title: short(title, MAX_TITLE),
    body: short(prompt, MAX_BODY),
    since: created_at_ms,
    link: `/ui/p/sessions/sessions/${encodeURIComponent(session_id)}`,
    answers: [
      ...options
        .filter(({ is_other }) => !is_other)
        .map(({ option_id, label }) => ({
          label,
          operation,
          input: { ...given, answer_text: label, selected_option_id: option_id }
        })),
      { label: options.length === 0 ? 'Answer' : 'Other answer', operation, input: given, ask: ['answer_text'] }
    ]
  }
}

function short(text: string, characters: number): string {
  return text.length > characters ? `${text.slice(0, characters - 1)}…` : text
}
