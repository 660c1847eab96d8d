import { errorTable } from '@svc/plugin-sdk'

export const postgresErrors = errorTable({
  CPG_CA_UNREADABLE: { message: 'A certificate file for the PostgreSQL server cannot be read.', status: 500 },
  CPG_NOT_CONFIGURED: { message: 'No PostgreSQL server is configured.', status: 409 },
  CPG_URL_INVALID: { message: 'The URL of the PostgreSQL server is not valid.', status: 500 }
})
