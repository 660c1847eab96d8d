import { t } from '@svc/plugin-sdk'

const live = { 'x-reload': 'live' } as const

/** Settings of the adapter `zenodo`. */
export const zenodoSettings = {
  zenodo_access_token: t.optional(
    t.secret({
      minLength: 1,
      'x-env': 'SVC_ZENODO_ACCESS_TOKEN',
      ...live,
      description: 'Personal access token of Zenodo with the scopes deposit:write and deposit:actions.'
    })
  ),
  zenodo_api_base: t.optional(
    t.string({
      pattern: '^https?://',
      'x-env': 'SVC_ZENODO_API_BASE',
      ...live,
      description: 'URL of the API of Zenodo, used instead of both hosts; https, except on this machine.'
    })
  ),
  zenodo_sandbox: t.boolean({
    default: false,
    'x-env': 'SVC_ZENODO_SANDBOX',
    'x-env-type': 'truthy',
    ...live,
    description: 'Whether submissions go to sandbox.zenodo.org, which has its own accounts and tokens.'
  }),
  zenodo_http_max_attempts: t.integer({
    default: 3,
    minimum: 1,
    maximum: 10,
    'x-env': 'SVC_ZENODO_HTTP_MAX_ATTEMPTS',
    ...live,
    description: 'Attempts of a request to Zenodo.'
  }),
  zenodo_settle_seconds: t.integer({
    default: 60,
    minimum: 0,
    maximum: 86_400,
    ...live,
    description: 'Seconds until a new deposition is certainly in the lists of Zenodo.'
  })
}
