import { errorTable } from '@svc/plugin-sdk'

export const supportErrors = errorTable({
  SUP_EXISTS: { message: 'The file of a support bundle exists.', status: 409 },
  SUP_REFUSED: { message: 'The user did not want the support bundle to be written.', status: 409 },
  SUP_WRITE_FAILED: { message: 'A support bundle cannot be written.', status: 500 }
})
