import { errorTable } from '@svc/plugin-sdk'

export const toolErrors = errorTable({
  OTL_NO_MESSAGES: {
    message: 'Messages between agents go nowhere here: the plugin a2a is off, or starts just now.',
    status: 503
  },
  OTL_QUESTION_NOT_FOUND: {
    message: 'No question of that id waits for the agent: it was answered, or is another agent’s.',
    status: 404
  }
})
