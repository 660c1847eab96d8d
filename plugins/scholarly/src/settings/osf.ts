import { t } from '@svc/plugin-sdk'

const live = { 'x-reload': 'live' } as const

/** Settings of the adapter `osf`. */
export const osfSettings = {
  osf_access_token: t.optional(
    t.secret({
      minLength: 1,
      'x-env': 'SVC_OSF_ACCESS_TOKEN',
      ...live,
      description: 'Personal access token of OSF with the scope osf.full_write.'
    })
  ),
  osf_api_base: t.string({
    default: 'https://api.osf.io/v2',
    pattern: '^https?://',
    'x-env': 'SVC_OSF_API_BASE',
    ...live,
    description: 'URL of the API of OSF; https, except on this machine.'
  }),
  osf_files_base: t.string({
    default: 'https://files.osf.io/v1',
    pattern: '^https?://',
    'x-env': 'SVC_OSF_FILES_BASE',
    ...live,
    description: 'URL of the file service of OSF; https, except on this machine.'
  }),
  osf_http_max_attempts: t.integer({
    default: 3,
    minimum: 1,
    maximum: 10,
    'x-env': 'SVC_OSF_HTTP_MAX_ATTEMPTS',
    ...live,
    description: 'Attempts of a request to OSF.'
  }),
  osf_settle_seconds: t.integer({
    default: 60,
    minimum: 0,
    maximum: 86_400,
    ...live,
    description: 'Seconds until a new project is certainly in the lists of OSF.'
  })
}
