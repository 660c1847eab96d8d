import { errorTable } from '@svc/plugin-sdk'

export const publicationErrors = errorTable({
  PUB_APPROVAL_REFUSED: { message: 'This caller may not approve publications.', status: 403 },
  PUB_APPROVER_INVALID: { message: 'A name of an approver cannot be used.', status: 400 },
  PUB_APPROVER_UNKNOWN: { message: 'A person is not among the configured approvers.', status: 403 },
  PUB_CONTENT_INVALID: { message: 'The content of a publication is not valid.', status: 422 },
  PUB_DATABASE_MISSING: { message: 'Publications need the database.', status: 503 },
  PUB_DIGEST_CHANGED: { message: 'The content changed after the caller read it.', status: 409 },
  PUB_FILE_INVALID: { message: 'A manuscript cannot be read.', status: 422 },
  PUB_FILE_OUTSIDE: { message: 'A manuscript is outside of the project.', status: 403 },
  PUB_OPTIONS_CONFLICT: { message: 'Options cannot be combined, or lack another one.', status: 400 },
  PUB_REVOKE_REFUSED: { message: 'An approval cannot be revoked: content was or is being sent.', status: 409 },
  PUB_TOKEN_REFUSED: { message: 'The token of an approver is missing or wrong.', status: 403 },
  PUB_UNKNOWN: { message: 'No publication has that id.', status: 404 }
})
