import { t } from '@svc/plugin-sdk'

const live = { 'x-reload': 'live' } as const

const text = (variable: string, maxLength: number, description: string) =>
  t.optional(t.string({ minLength: 1, maxLength, 'x-env': variable, ...live, description }))

const address = (variable: string, description: string) =>
  t.optional(t.string({ pattern: '^https?://[^\\s/?#]', maxLength: 1_000, 'x-env': variable, ...live, description }))

/** Settings of the adapter `crossref_deposit`. */
export const crossrefSettings = {
  enable_crossref: t.boolean({
    default: false,
    'x-env': 'SVC_SCHOLARLY_ENABLE_CROSSREF',
    ...live,
    description: 'Whether DOIs are registered at Crossref. A registered DOI cannot be deleted.'
  }),
  crossref_login: t.optional(
    t.secret({
      minLength: 1,
      'x-env': 'SVC_CROSSREF_LOGIN',
      ...live,
      description: 'Login at Crossref: a role, or an e-mail address and a role with a slash between them.'
    })
  ),
  crossref_password: t.optional(
    t.secret({ minLength: 1, 'x-env': 'SVC_CROSSREF_PASSWORD', ...live, description: 'Password of the login.' })
  ),
  crossref_doi_prefix: t.optional(
    t.string({
      pattern: '^10\\.[0-9]{4,9}$',
      'x-env': 'SVC_CROSSREF_DOI_PREFIX',
      ...live,
      description: 'DOI prefix that Crossref assigned, such as 10.5555.'
    })
  ),
  crossref_depositor_name: text('SVC_CROSSREF_DEPOSITOR_NAME', 130, 'Name of the organization that sends deposits.'),
  crossref_depositor_email: t.optional(
    t.string({
      pattern: '^[^\\s@]+@[^\\s@]+\\.[^\\s@]+$',
      minLength: 6,
      maxLength: 200,
      'x-env': 'SVC_CROSSREF_DEPOSITOR_EMAIL',
      ...live,
      description: 'E-mail address that Crossref sends the result of each deposit to.'
    })
  ),
  crossref_registrant: text(
    'SVC_CROSSREF_REGISTRANT',
    255,
    'Organization that owns the content. Default: the depositor.'
  ),
  crossref_database_title: text(
    'SVC_CROSSREF_DATABASE_TITLE',
    255,
    'Title of the collection that data sets are registered in. Default: the registrant.'
  ),
  crossref_resource_base: address(
    'SVC_CROSSREF_RESOURCE_BASE',
    'Address that the id of a publication is appended to, if its metadata contains no url. DOIs lead there.'
  ),
  crossref_api_base: address(
    'SVC_CROSSREF_API_BASE',
    'Base address of the deposit system. Default: https://doi.crossref.org, or https://test.crossref.org in the sandbox.'
  ),
  crossref_sandbox: t.boolean({
    default: false,
    'x-env': 'SVC_CROSSREF_SANDBOX',
    ...live,
    description: 'Whether deposits go to the test system of Crossref, which registers no DOI.'
  }),
  crossref_http_max_attempts: t.integer({
    default: 3,
    minimum: 1,
    maximum: 10,
    'x-env': 'SVC_CROSSREF_HTTP_MAX_ATTEMPTS',
    ...live,
    description: 'Attempts of an HTTP request to Crossref.'
  }),
  crossref_settle_seconds: t.integer({
    default: 120,
    minimum: 0,
    maximum: 3_600,
    ...live,
    description: 'Seconds after a lost answer in which a deposit that Crossref does not know is not sent again.'
  })
}
