import { errorTable, type SvcError } from '@svc/plugin-sdk'

export const questioningErrors = errorTable({
  QST_ANSWER_FIRST: { message: 'A question of the session waits for an answer.', status: 409 },
  QST_SESSION_NONE: { message: 'No open clarification session for this session_id.', status: 404 },
  QST_NOTHING_PENDING: { message: 'Every question of the session is answered.', status: 409 },
  QST_QUESTION_UNKNOWN: { message: 'The session has no question of that id.', status: 404 },
  QST_ANSWERED: { message: 'A question has been answered already.', status: 409 },
  QST_OPTION_UNKNOWN: { message: 'A question has no such option.', status: 422 },
  QST_QUESTION_INVALID: { message: 'A question breaks the rules of its kind.', status: 422 },
  QST_PATH_REFUSED: { message: 'A document is outside the project.', status: 403 },
  QST_DOCUMENT_UNREADABLE: { message: 'A document is missing, too large, or not text.', status: 404 }
})

export function sessionNone(session: string): SvcError {
  return questioningErrors.create('QST_SESSION_NONE', 'No open clarification session for this session_id.', {
    data: { session_id: session },
    hint: 'list the pending questions to see their ids'
  })
}
