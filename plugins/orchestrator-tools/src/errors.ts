import { errorTable } from '@svc/plugin-sdk'

export const toolErrors = errorTable({
  OTL_NO_MESSAGES: {
    message: 'Messages between agents are not available: the plugin a2a is off or still starting.',
    status: 503
  },
  OTL_QUESTION_NOT_FOUND: {
    message: 'The agent has no pending question with that id: it was answered, or is for another agent.',
    status: 404
  }
})
