import { errorTable } from '@svc/plugin-sdk'

/** Errors of request bodies. */
export const httpBodyErrors = errorTable({
  HTTP_BODY_INVALID: { message: 'The body is not valid JSON.', status: 400 },
  HTTP_BODY_NOT_UTF8: { message: 'The body is not valid UTF-8.', status: 400 },
  HTTP_BODY_TOO_LARGE: { message: 'The body is larger than the limit.', status: 413 },
  HTTP_MEDIA_TYPE: { message: 'The body has a content type that the route does not read.', status: 415 }
})
