import { errorTable } from '@svc/plugin-sdk'

/** Refusals of the control plane. Their messages are the bodies of the responses, after `mesh: `. */
export const controlErrors = errorTable({
  MSC_BODY_INVALID: { message: 'A field of a request to the control plane is missing or wrong.', status: 400 },
  MSC_BODY_TOO_LARGE: { message: 'The body of a request to the control plane is too large.', status: 413 },
  MSC_CONFLICT: { message: 'Another node holds the lease, or the lease has passed on.', status: 409 },
  MSC_FORBIDDEN: {
    message: 'The role of the caller, or the state of its node, does not allow the request.',
    status: 403
  },
  MSC_GONE: { message: 'The one-time token was used, or has expired.', status: 410 },
  MSC_HOST_DENIED: { message: 'The Host header names a host that this control plane does not serve.', status: 403 },
  MSC_INTERNAL: { message: 'A request failed in the control plane; its log has the cause.', status: 500 },
  MSC_MEDIA_TYPE: { message: 'The body of a request to the control plane is not JSON.', status: 415 },
  MSC_METHOD: { message: 'The path does not accept the method.', status: 405 },
  MSC_NOT_FOUND: { message: 'The node, message, lease or path does not exist.', status: 404 },
  MSC_ORIGIN_DENIED: { message: 'A web page may not call this control plane.', status: 403 },
  MSC_RATE_LIMITED: { message: 'A client sent more requests than its rate limit allows.', status: 429 },
  MSC_SETTINGS_INVALID: { message: 'A setting of the control plane cannot be used.', status: 500 },
  MSC_UNAUTHORIZED: { message: 'The bearer token is missing, unknown, expired or used.', status: 401 },
  MSC_UNAVAILABLE: { message: 'The store does not respond, or something is not configured.', status: 503 }
})
