import { resolve } from 'node:path'
import {
  type ManifestContent,
  type PublicationManifest,
  type Publications,
  publications,
  type ScholarlyAdapter,
  scholarlyAdapters
} from '@svc/contracts'
import database from '@svc/plugin-database'
import publication from '@svc/plugin-publication'
import { definePlugin, type OutputOf, type Plugin } from '@svc/plugin-sdk'
import { type TestKernel, testKernel } from '@svc/plugin-sdk/testing'
import type { Test } from 'tap'
import '../../database/test/built-worker.ts'
import plugin from '#plugin'
import type { scholarlyJobs, scholarlySubmit } from '#root'

export type SubmitAnswer = OutputOf<typeof scholarlySubmit>
export type JobFields = OutputOf<typeof scholarlyJobs>['jobs'][number]

export const DATABASE_FILE = 'svc.db'

export function content(changes: Partial<ManifestContent> = {}): ManifestContent {
  return {
    publication_id: 'paper-1',
    content_type: 'article',
    source_ref: 'docs/paper.md',
    title: 'Idempotent deposits in unreliable archives',
    author: 'Lovelace, Ada; Hopper, Grace',
    abstract_text: 'We deposit each digest exactly once.',
    body_markdown: '# Idempotent deposits\n\nA deposit is sent once [@gray1981].\n',
    citations_json: JSON.stringify([
      {
        id: 'gray1981',
        type: 'paper-conference',
        title: 'The Transaction Concept: Virtues and Limitations',
        author: [{ family: 'Gray', given: 'Jim' }],
        issued: { 'date-parts': [[1981]] }
      }
    ]),
    metadata_json: JSON.stringify({
      license: 'CC-BY-4.0',
      keywords: ['idempotency', 'archives'],
      language: 'en',
      publication_date: '2026-02-03',
      version: '1.0',
      creators: [
        { name: 'Lovelace, Ada', affiliation: 'Analytical Engine Lab', orcid: '0000-0002-1825-0097' },
        { name: 'Hopper, Grace' }
      ]
    }),
    ...changes
  }
}

export interface WorldOptions {
  /** Settings of this plugin. */
  readonly settings?: object
  /** Settings of the plugin publication; default: armed, no dry run. */
  readonly publication?: object
  /** Further archives, contributed by another plugin. */
  readonly adapters?: readonly ScholarlyAdapter[]
  readonly plugins?: readonly Plugin[]
  /** Database file; default: in the project folder. `null`: no database. */
  readonly databaseFile?: string | null
}

/** Kernel in this process with a database file, and the plugins publication and scholarly. */
export interface World {
  readonly kernel: TestKernel
  readonly publications: Publications
  readonly databaseFile: string
  /** Prepares a publication, and lets two people approve it. */
  prepare(changes?: Partial<ManifestContent>): Promise<PublicationManifest>
  approve(manifest: PublicationManifest, people?: readonly string[]): Promise<void>
  /** Calls `scholarly.submit` with `submit: true` for `paper-1`. */
  submit(input?: object): Promise<SubmitAnswer>
  /** Runs due jobs, and returns them. */
  tick(): Promise<readonly JobFields[]>
  /** Returns all jobs, oldest first. */
  jobs(): Promise<readonly JobFields[]>
  /** Lets a waiting job be due now. */
  makeDue(jobId: number): Promise<void>
  /** Runs a statement on the database. */
  execute(sql: string, parameters?: readonly (string | number | null)[]): Promise<readonly unknown[][]>
}

/** A kernel without the plugin database answers `PUB_DATABASE_MISSING` and `SCH_DATABASE_MISSING`. */
export async function openWorld(t: Test, options: WorldOptions = {}): Promise<World> {
  const { settings = {}, adapters = [], plugins = [], databaseFile = DATABASE_FILE } = options
  // No worker: tests run due jobs themselves.
  const scholarly = { worker_interval_seconds: 0, ...settings }
  let records: (Publications & Approving) | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { publications },
    activate(ctx, deps) {
      records = deps.publications as Publications & Approving
      for (const adapter of adapters) ctx.contribute(scholarlyAdapters, adapter, adapter.name)
    }
  })
  const kernel = await testKernel(
    [
      ...(databaseFile === null ? [] : [database as Plugin]),
      publication as Plugin,
      ...plugins,
      plugin as Plugin,
      probe
    ],
    {
      settings: {
        ...(databaseFile === null ? {} : { database: { path: databaseFile } }),
        publication: { armed: true, dry_run: false, ...options.publication },
        scholarly
      }
    }
  )
  t.teardown(() => kernel.close())
  if (records === undefined) throw new Error('the plugin publication is not active')
  const publicationRecords = records
  const statement = async (sql: string, parameters: readonly (string | number | null)[] = []) => {
    const { openFile } = await import('@svc/plugin-database/testing')
    const store = await openFile(resolve(kernel.root, databaseFile ?? DATABASE_FILE), {
      busyTimeoutMs: 10_000
    } as never)
    try {
      const isQuery = /^\s*select/i.test(sql)
      return (await (isQuery ? store.query(sql, parameters) : store.execute(sql, parameters))).rows as unknown[][]
    } finally {
      await store.close()
    }
  }
  const world: World = {
    kernel,
    publications: publicationRecords,
    databaseFile: resolve(kernel.root, databaseFile ?? DATABASE_FILE),
    async prepare(changes) {
      const manifest = await publicationRecords.prepare(content(changes))
      await world.approve(manifest)
      return manifest
    },
    async approve({ publication_id, content_sha3_256 }, people = ['ann', 'ben']) {
      for (const name of people)
        await publicationRecords.approve(publication_id, content_sha3_256, { name, role: 'human' })
    },
    submit: input =>
      kernel.callById('scholarly.submit', {
        publication_id: 'paper-1',
        submit: true,
        ...input
      }) as Promise<SubmitAnswer>,
    tick: async () => ((await kernel.callById('scholarly.run', {})) as { jobs: JobFields[] }).jobs,
    jobs: async () =>
      ((await kernel.callById('scholarly.jobs', { limit: 1_000 })) as { jobs: JobFields[] }).jobs.toReversed(),
    makeDue: async jobId => {
      await statement('UPDATE external_submission_jobs SET next_retry_at_ms = 0 WHERE id = ?', [jobId])
    },
    execute: statement
  }
  return world
}

/** Part of the plugin publication that tests use instead of its operations. */
interface Approving {
  approve(
    publicationId: string,
    digest: string,
    approver: { readonly name: string; readonly role: 'human' | 'agent' }
  ): Promise<unknown>
}
