import { dashboardInboxOutput, orchestrationErrors } from '@svc/contracts'
import { defineOperation, t } from '@svc/plugin-sdk'
import { questioningErrors } from './errors.ts'

/** Topic: a question was asked or answered. */
export const QUESTIONS_TOPIC = 'questioning.questions'

const { ORC_NO_DATABASE } = orchestrationErrors.specs
const {
  QST_ANSWERED,
  QST_DOCUMENT_UNREADABLE,
  QST_NOTHING_PENDING,
  QST_OPTION_UNKNOWN,
  QST_PATH_REFUSED,
  QST_QUESTION_UNKNOWN,
  QST_SESSION_NONE
} = questioningErrors.specs

const session = t.string({ minLength: 1, maxLength: 2_048, description: 'Session of the question.' })

const pendingQuestion = t.object({
  question_event_id: t.integer(),
  question_id: t.string(),
  question_kind: t.string({ description: 'multiple_choice, open_ended, entry or assumption_confirm.' }),
  prompt: t.string(),
  expected_information_gain_bits: t.number(),
  options: t.array(
    t.object({
      option_id: t.string(),
      label: t.string(),
      prior_probability: t.nullable(t.number()),
      posterior_probability: t.nullable(t.number()),
      is_other: t.boolean()
    })
  )
})

export const questioningPending = defineOperation({
  id: 'questioning.pending',
  summary: 'List the pending questions of a session',
  input: t.object({ session_id: session }),
  output: t.object({
    open: t.boolean({ description: 'Whether a clarification session is open.' }),
    question_session_id: t.optional(t.integer()),
    belief_state_json: t.optional(t.nullable(t.string())),
    pending: t.array(pendingQuestion)
  }),
  errors: { ORC_NO_DATABASE },
  effect: 'read',
  expose: {
    mcp: {
      name: 'svc_questioning_pending',
      result: 'tool-result',
      lane: 'ai',
      toolsets: ['messages'],
      use: 'Clarifications that a plan or a chat needs. Questions between agents: svc_pending_questions.'
    },
    rpc: true
  }
})

export const questioningAnswer = defineOperation({
  id: 'questioning.answer',
  summary: 'Answer a question of a session, by default the newest one',
  input: t.object({
    session_id: session,
    answer_text: t.string({ minLength: 1, maxLength: 65_536, description: 'The answer of the user.' }),
    answer_type: t.string({ default: 'free_text', minLength: 1, maxLength: 64, description: 'Form of the answer.' }),
    question_id: t.optional(t.string({ minLength: 1, description: 'Default: the newest pending question.' })),
    selected_option_id: t.optional(t.string({ minLength: 1, description: 'Id of the selected option.' })),
    information_contribution_bits: t.number({
      default: 0.08,
      minimum: 0,
      maximum: 64,
      description: 'Information in the answer, in bits.'
    })
  }),
  output: t.object({
    question_session_id: t.integer(),
    answered_at_ms: t.integer(),
    still_pending_clarification: t.boolean({ description: 'Whether another question of the session is pending.' })
  }),
  errors: {
    ORC_NO_DATABASE,
    QST_SESSION_NONE,
    QST_NOTHING_PENDING,
    QST_QUESTION_UNKNOWN,
    QST_ANSWERED,
    QST_OPTION_UNKNOWN
  },
  expose: {
    mcp: {
      name: 'svc_questioning_submit_answer',
      result: 'tool-result',
      lane: 'ai',
      toolsets: ['messages'],
      use: 'Only with an answer of the user. Answers between agents: svc_answer_question.'
    },
    rpc: true,
    cli: { command: 'questions answer', args: ['session_id', 'answer_text'] }
  }
})

export const questioningSync = defineOperation({
  id: 'questioning.sync_ssot',
  summary: 'Add the questioning policy document to the search index',
  input: t.object({
    relative_path: t.optional(
      t.string({
        minLength: 1,
        maxLength: 4_096,
        description: 'Path relative to the project. Default: the setting policy_document.'
      })
    )
  }),
  output: t.object({
    relative_path: t.string(),
    content_sha3_256: t.string(),
    search_document_id: t.integer()
  }),
  errors: { ORC_NO_DATABASE, QST_PATH_REFUSED, QST_DOCUMENT_UNREADABLE },
  idempotent: true,
  expose: {
    mcp: {
      name: 'svc_questioning_sync_ssot',
      result: 'tool-result',
      lane: 'ai',
      toolsets: ['messages'],
      use: 'Call it after the policy document changed.'
    },
    rpc: true
  }
})

export const questioningList = defineOperation({
  id: 'questioning.list',
  summary: 'List pending questions, oldest first',
  input: t.object({
    session_id: t.optional(session),
    limit: t.integer({ default: 100, minimum: 1, maximum: 1_000, description: 'Maximum number of questions.' })
  }),
  output: t.object({
    questions: t.array(
      t.object({
        session: t.string(),
        question: t.string(),
        options: t.string({ description: 'Ids of the options, separated by commas.' }),
        id: t.string(),
        asked: t.string({ description: 'Time of the question, ISO 8601.' })
      })
    ),
    note: t.string({ description: 'Next step.' })
  }),
  errors: { ORC_NO_DATABASE },
  effect: 'read',
  watch: { on: [QUESTIONS_TOPIC], minMs: 1_000 },
  expose: {
    rpc: true,
    cli: {
      command: 'questions list',
      args: ['session_id'],
      view: { rows: 'questions', columns: ['session', 'question', 'options', 'id', 'asked'], note: 'note' }
    }
  }
})

export const questioningInbox = defineOperation({
  id: 'questioning.inbox',
  summary: 'List pending questions with their answers, oldest first',
  input: t.object({}),
  output: dashboardInboxOutput,
  effect: 'read',
  watch: { on: [QUESTIONS_TOPIC], minMs: 1_000 },
  expose: { rpc: true }
})

export const operations = [questioningPending, questioningAnswer, questioningSync, questioningList, questioningInbox]
