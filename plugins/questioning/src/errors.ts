import { errorTable, type SvcError } from '@svc/plugin-sdk'

export const questioningErrors = errorTable({
  QST_ANSWER_FIRST: { message: 'A question of the session must be answered first.', status: 409 },
  QST_SESSION_NONE: { message: 'No open clarification session for this session_id.', status: 404 },
  QST_NOTHING_PENDING: { message: 'Every question of the session is answered.', status: 409 },
  QST_QUESTION_UNKNOWN: { message: 'The session has no question with that id.', status: 404 },
  QST_ANSWERED: { message: 'The question is already answered.', status: 409 },
  QST_OPTION_UNKNOWN: { message: 'The question has no option with that id.', status: 422 },
  QST_QUESTION_INVALID: { message: 'A proposed question has invalid numbers, options or prompt.', status: 422 },
  QST_PATH_REFUSED: { message: 'The document is outside the project.', status: 403 },
  QST_DOCUMENT_UNREADABLE: { message: 'The document is missing, too large, or not text.', status: 404 }
})

export function sessionNone(session: string): SvcError {
  return questioningErrors.create('QST_SESSION_NONE', 'No open clarification session for this session_id.', {
    data: { session_id: session },
    hint: 'list the pending questions to see their ids'
  })
}
