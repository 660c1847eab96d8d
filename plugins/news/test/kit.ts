import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  databaseStore,
  type NewsChannel,
  newsChannels,
  type PrimaryDatabase,
  type Publications,
  publications,
  rowsByName
} from '@svc/contracts'
import database from '@svc/plugin-database'
import publication from '@svc/plugin-publication'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import { type TestKernel, testKernel } from '@svc/plugin-sdk/testing'
import type { Test } from 'tap'
import '../../database/test/built-worker.ts'
import plugin from '#plugin'
import { newsPublish, newsScan } from '#root'

export interface OpenNews {
  readonly kernel: TestKernel
  readonly store: PrimaryDatabase
  readonly publications: Publications
  /** Writes an item to `docs/news/ID.md`. */
  write(item: TestItem): void
  /** Stores the approvals of two people for the current text of an item, or of the given ones. */
  approve(id: string, approvers?: readonly string[]): Promise<void>
  /** Writes an item and approves it. */
  approved(item: TestItem): Promise<void>
  /** Sends an item; not a dry run. */
  publish(id: string, options?: { readonly channels?: string[]; readonly again?: boolean }): Promise<Published>
  rows(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>
}

export interface Published {
  readonly digest: string
  readonly dry_run: boolean
  readonly channels: readonly {
    readonly channel: string
    readonly outcome: string
    readonly decision_reasons: readonly string[]
    readonly external_id?: string
    readonly code?: string
    readonly retryable?: boolean
    readonly failure_class?: string
    readonly message?: string
    readonly url?: string
    readonly retry_at_ms?: number
  }[]
}

export interface TestItem {
  readonly id: string
  readonly title?: string
  readonly tags?: readonly string[]
  /** YAML of further fields, such as `syndication:\n  mastodon: true`. */
  readonly more?: string
  readonly body?: string
}

export interface OpenOptions {
  /** Settings of the plugin; news are enabled and not a dry run unless they say so. */
  readonly settings?: object
  /** Settings of the plugin `publication`; armed and not a dry run unless they say so. */
  readonly publication?: object
  readonly channels?: readonly NewsChannel[]
  readonly plugins?: readonly Plugin[]
  readonly withoutDatabase?: boolean
  /** File of the database; default: a new one. */
  readonly database?: string
}

/** Opens the plugin with the real database and publications, in an empty project. */
export async function openNews(t: Pick<Test, 'teardown'>, options: OpenOptions = {}): Promise<OpenNews> {
  const held: { store?: PrimaryDatabase; publications?: Publications } = {}
  const probe = definePlugin({
    name: 'probe',
    requires: { publications },
    optional: { store: databaseStore },
    activate(ctx, { store, publications }) {
      held.publications = publications
      if (store !== undefined) held.store = store
      for (const channel of options.channels ?? []) ctx.contribute(newsChannels, channel)
    }
  })
  const plugins = [
    ...(options.withoutDatabase === true ? [] : [database]),
    publication,
    ...(options.plugins ?? []),
    probe,
    plugin
  ] as Plugin[]
  const kernel = await testKernel(plugins, {
    settings: {
      database: { path: options.database ?? 'test.db' },
      publication: { armed: true, dry_run: false, ...options.publication },
      news: { enabled: true, dry_run: false, ...options.settings }
    }
  })
  t.teardown(() => kernel.close())
  if (kernel.state('news') !== 'active') throw new Error(`news is ${kernel.state('news')}`)
  const store = held.store as PrimaryDatabase
  const rows = async (sql: string) => rowsByName(await store.query(sql))
  const write = (item: TestItem): void => {
    const file = join(kernel.root, 'docs/news', `${item.id}.md`)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, itemText(item))
  }
  const approve = async (id: string, approvers: readonly string[] = ['ada', 'grace']): Promise<void> => {
    await kernel.call(newsScan, {})
    const found = rowsByName(
      await store.query('SELECT content_sha3_256 FROM publication_manifests WHERE publication_id = ?', [id])
    )[0]
    for (const approver of approvers) {
      await store.execute('INSERT INTO publication_approvals VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING', [
        id,
        String(found?.content_sha3_256),
        approver,
        'human',
        Date.now()
      ])
    }
    if (new Set(approvers).size > 1) {
      await store.execute("UPDATE publication_manifests SET state = 'approved' WHERE publication_id = ?", [id])
    }
  }
  return {
    kernel,
    store,
    publications: held.publications as Publications,
    write,
    approve,
    rows,
    async approved(item) {
      write(item)
      await approve(item.id)
    },
    publish: (id, more = {}) => kernel.call(newsPublish, { id, dry_run: false, ...more }) as Promise<Published>
  }
}

export function itemText({ id, title = `Title of ${id}`, tags = [], more = '', body }: TestItem): string {
  return [
    '---',
    `id: ${id}`,
    `title: ${JSON.stringify(title)}`,
    'author: Ada Lovelace',
    'published_at: 2026-03-01T09:00:00Z',
    ...(tags.length === 0 ? [] : [`tags: ${JSON.stringify(tags)}`]),
    ...(more === '' ? [] : [more]),
    '---',
    '',
    body ?? `First paragraph of ${id}.`,
    ''
  ].join('\n')
}
