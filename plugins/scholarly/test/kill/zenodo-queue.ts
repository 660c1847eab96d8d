import type { DatabaseStore } from '@svc/contracts'
import { Records } from '@svc/plugin-publication/testing'
import { AdapterChoice, JobRunner, JobStore, type Settings, SubmissionStore, Tables, zenodoAdapter } from '#root'
import { LOCK_TTL_MS } from './scenario.ts'

export interface ZenodoQueueOptions {
  readonly apiBase: string
  readonly token: string
  readonly settleSeconds: number
}

/** Queue with the archive Zenodo on a database, without a kernel, so that a process starts fast. */
export function zenodoQueue(store: DatabaseStore, { apiBase, token, settleSeconds }: ZenodoQueueOptions) {
  const log = { debug() {}, info() {}, warn() {}, error: (...args: unknown[]) => console.error(...args) } as never
  const settings = {
    max_attempts: 100,
    job_lock_ttl_seconds: LOCK_TTL_MS / 1_000,
    disabled: [],
    publish_now: true,
    upload_allowlist: [],
    zenodo_access_token: token,
    zenodo_api_base: apiBase,
    zenodo_http_max_attempts: 2,
    zenodo_settle_seconds: settleSeconds
  } as unknown as Settings
  const adapter = zenodoAdapter({
    settings: () => settings,
    secret: async setting => setting ?? null,
    dataDirectory: async () => '/nowhere',
    projectRoot: '/nowhere',
    log
  })
  const tables = new Tables(store)
  const jobs = new JobStore(tables)
  const submissions = new SubmissionStore(tables)
  const publications = new Records({ store, settings: () => ({ armed: true, dry_run: false }), log, changed() {} })
  const runner = new JobRunner({
    store: jobs,
    submissions,
    publications,
    choice: new AdapterChoice(
      () => [adapter],
      () => settings
    ),
    settings: () => settings,
    log,
    mask: text => text,
    owner: () => 'child',
    changed() {}
  })
  return { jobs, submissions, publications, runner }
}
