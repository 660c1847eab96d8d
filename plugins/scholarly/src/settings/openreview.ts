import { t } from '@svc/plugin-sdk'

const live = { 'x-reload': 'live' } as const

const secret = (variable: string, description: string) =>
  t.optional(t.secret({ minLength: 1, 'x-env': variable, ...live, description }))

/** Settings of the adapter `openreview`. */
export const openreviewSettings = {
  openreview_access_token: secret(
    'SVC_OPENREVIEW_ACCESS_TOKEN',
    'Token of OpenReview. Used instead of the e-mail address and the password.'
  ),
  openreview_email: secret('SVC_OPENREVIEW_EMAIL', 'E-mail address of the account at OpenReview.'),
  openreview_password: secret('SVC_OPENREVIEW_PASSWORD', 'Password of the account at OpenReview.'),
  openreview_invitation: t.optional(
    t.string({
      minLength: 1,
      maxLength: 500,
      'x-env': 'SVC_OPENREVIEW_INVITATION',
      ...live,
      description: 'Invitation of the venue, such as Venue.org/2027/Conference/-/Submission.'
    })
  ),
  openreview_signature: t.optional(
    t.string({
      minLength: 1,
      maxLength: 500,
      'x-env': 'SVC_OPENREVIEW_SIGNATURE',
      ...live,
      description: 'Profile or group that signs submissions, such as ~Ada_Lovelace1.'
    })
  ),
  openreview_marker_field: t.optional(
    t.string({
      pattern: '^[A-Za-z][A-Za-z0-9_]{0,79}$',
      'x-env': 'SVC_OPENREVIEW_MARKER_FIELD',
      ...live,
      description:
        'Text field of the invitation that receives the digest. Default: notes are recognized by their title.'
    })
  ),
  openreview_api_base: t.optional(
    t.string({
      pattern: '^https?://[^\\s/?#]',
      maxLength: 1_000,
      'x-env': 'SVC_OPENREVIEW_API_BASE',
      ...live,
      description: 'Base address of the API, version 2. Default: https://api2.openreview.net.'
    })
  ),
  openreview_http_max_attempts: t.integer({
    default: 3,
    minimum: 1,
    maximum: 10,
    'x-env': 'SVC_OPENREVIEW_HTTP_MAX_ATTEMPTS',
    ...live,
    description: 'Attempts of an HTTP request to OpenReview.'
  }),
  openreview_settle_seconds: t.integer({
    default: 60,
    minimum: 0,
    maximum: 3_600,
    ...live,
    description: 'Seconds after a lost answer in which no other note is created.'
  })
}
