import { t } from '@svc/plugin-sdk'

const live = { 'x-reload': 'live' } as const

const off = (variable: string, description: string) =>
  t.boolean({ default: false, 'x-env': variable, ...live, description })

/** Choice of the archive, kill switches, and the queue of submissions. */
export const queueSettings = {
  adapter: t.string({
    default: 'local_ledger',
    minLength: 1,
    maxLength: 100,
    'x-env': 'SVC_SCHOLARLY_ADAPTER',
    ...live,
    description: 'Archive of submissions that name none; svc scholarly adapters lists them.'
  }),
  disable: off('SVC_SCHOLARLY_DISABLE', 'Whether all submissions and status checks are disabled.'),
  disable_live: off(
    'SVC_SCHOLARLY_DISABLE_LIVE',
    'Whether submissions to archives on other machines, and their status checks, are disabled.'
  ),
  disable_zenodo: off('SVC_SCHOLARLY_DISABLE_ZENODO', 'Whether Zenodo is disabled.'),
  disable_openreview: off('SVC_SCHOLARLY_DISABLE_OPENREVIEW', 'Whether OpenReview is disabled.'),
  disable_osf: off('SVC_SCHOLARLY_DISABLE_OSF', 'Whether OSF is disabled.'),
  disable_arxiv_assist: off('SVC_SCHOLARLY_DISABLE_ARXIV_ASSIST', 'Whether bundles for arXiv are disabled.'),
  disable_crossref_deposit: off('SVC_SCHOLARLY_DISABLE_CROSSREF_DEPOSIT', 'Whether deposits at Crossref are disabled.'),
  disabled: t.array(t.string({ minLength: 1, maxLength: 100 }), {
    default: [],
    ...live,
    description: 'Names of further archives that are disabled, such as those of other plugins.'
  }),
  job_lock_owner: t.optional(
    t.string({
      minLength: 1,
      maxLength: 200,
      'x-env': 'SVC_SCHOLARLY_JOB_LOCK_OWNER',
      ...live,
      description: 'Name of this process in locks of jobs. Default: svc:PID.'
    })
  ),
  job_lock_ttl_seconds: t.integer({
    default: 300,
    minimum: 5,
    maximum: 3_600,
    ...live,
    description: 'Seconds until the job of a process that ended is taken over. A working process renews its lock.'
  }),
  max_attempts: t.integer({
    default: 20,
    minimum: 1,
    maximum: 1_000,
    ...live,
    description: 'Attempts after which a job that fails again is not repeated.'
  }),
  worker_interval_seconds: t.integer({
    default: 30,
    minimum: 0,
    maximum: 86_400,
    description: 'Seconds between two searches for due jobs in a serving process; 0: none.'
  }),
  status_interval_seconds: t.integer({
    default: 0,
    minimum: 0,
    maximum: 2_592_000,
    description: 'Seconds between two status checks of undecided submissions in a serving process; 0: none.'
  })
}
