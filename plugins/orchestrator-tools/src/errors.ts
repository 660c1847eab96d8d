import { errorTable } from '@svc/plugin-sdk'

export const toolErrors = errorTable({
  OTL_NO_MESSAGES: {
    message: 'Messages between agents are not available: the plugin a2a is off or still starting.',
    status: 503
  },
  OTL_QUESTION_NOT_FOUND: {
    message: 'No question with that id waits for the agent: it was answered, or belongs to another agent.',
    status: 404
  }
})
