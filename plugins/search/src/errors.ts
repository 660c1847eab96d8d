import { errorTable } from '@svc/plugin-sdk'

export const searchErrors = errorTable({
  SRH_QUERY_INVALID: { message: 'A search query is empty or too long.', status: 400 }
})
