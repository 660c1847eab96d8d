import {
  type Attention,
  type DatabaseStore,
  DOUBT_SESSIONS,
  orchestrationErrors,
  type QuestionAnswered
} from '@svc/contracts'
import type { Handler } from '@svc/plugin-sdk'
import { inboxItem } from './console.ts'
import type {
  questioningAnswer,
  questioningInbox,
  questioningList,
  questioningPending,
  questioningSync
} from './operations.ts'
import { syncDocument } from './policy-document.ts'
import type { QuestionStore } from './store.ts'

function attached<A>(value: A | null): A {
  if (value !== null) return value
  throw orchestrationErrors.create('ORC_NO_DATABASE', 'Database not attached.', {
    hint: 'enable the plugin database, which stores questions'
  })
}

export function pendingHandler(store: QuestionStore | null): Handler<typeof questioningPending> {
  return async ({ session_id }) => {
    const open = await attached(store).open(session_id)
    if (open === null) return { open: false, pending: [] }
    const pending = await attached(store).pending(session_id)
    return {
      open: true,
      question_session_id: open.question_session_id,
      belief_state_json: open.belief_state_json,
      pending: pending.map(({ session_id: _session, created_at_ms: _time, options, ...question }) => ({
        ...question,
        options: [...options]
      }))
    }
  }
}

export function answerHandler(
  store: QuestionStore | null,
  attention: Attention | null,
  answered: (answer: QuestionAnswered) => void
): Handler<typeof questioningAnswer> {
  return async input => {
    const { question_id, ...receipt } = await attached(store).answer(input)
    answered({ session_id: input.session_id, question_id, answer_text: input.answer_text })
    attention?.debit(0, 'ClarificationAnswered', { frequency: false })
    return receipt
  }
}

export function listHandler(store: QuestionStore | null): Handler<typeof questioningList> {
  return async ({ session_id, limit }) => {
    const pending = await attached(store).pending(session_id, limit)
    return {
      questions: pending.map(each => ({
        session: each.session_id,
        question: each.prompt,
        options: each.options.map(({ option_id }) => option_id).join(', '),
        id: each.question_id,
        asked: new Date(each.created_at_ms).toISOString()
      })),
      note: pending.length === 0 ? 'no question is pending' : 'answer with: svc questions answer SESSION TEXT'
    }
  }
}

/** Maximum questions in the inbox, so that all of them fit into one frame of the console's stream. */
const MAX_INBOX = 75

/** Returns the handler. Without a database there are no questions. */
export function inboxHandler(store: QuestionStore | null): Handler<typeof questioningInbox> {
  return async () => {
    const pending = (await store?.pending()) ?? []
    const asked = pending.filter(({ session_id }) => !session_id.startsWith(DOUBT_SESSIONS))
    return { items: asked.slice(0, MAX_INBOX).map(inboxItem) }
  }
}

export function syncHandler(
  database: DatabaseStore | undefined,
  root: string,
  document: string
): Handler<typeof questioningSync> {
  return async ({ relative_path = document }) => ({
    ...(await syncDocument(attached(database ?? null), root, relative_path))
  })
}
