import { errorTable } from '@svc/plugin-sdk'

export const planningErrors = errorTable({
  PLN_SESSION_UNKNOWN: { message: 'No plan has that session id.', status: 404 },
  PLN_ADEQUACY: {
    message: '"Plan adequacy": a plan stayed too thin for its goal after it was refined.',
    status: 422
  },
  PLN_QUALITY_GATE: {
    message: 'Steps of a plan are too vague, unfinished or destructive to execute.',
    status: 422
  },
  PLN_FILE_REFUSED: { message: 'PLAN.md could not be written into the project.', status: 409 }
})
