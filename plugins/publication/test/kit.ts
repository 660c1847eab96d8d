import { join } from 'node:path'
import {
  type DatabaseStore,
  databaseStore,
  type ManifestContent,
  type Publications,
  publications
} from '@svc/contracts'
import database from '@svc/plugin-database'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import { type TestKernel, testKernel } from '@svc/plugin-sdk/testing'
import type { Test } from 'tap'
import plugin from '#plugin'
import type { Records } from '#root'

export interface World {
  readonly kernel: TestKernel
  readonly records: Records
  /** Only with the plugin database. */
  readonly store: DatabaseStore
}

export function content(changes: Partial<ManifestContent> = {}): ManifestContent {
  return {
    publication_id: 'study-1',
    content_type: 'article',
    source_ref: null,
    title: 'A study of gates',
    author: 'Ann Example; Bob Example',
    abstract_text: 'We study gates.',
    body_markdown: '# Gates\n\nThey are open or closed.\n',
    citations_json: null,
    metadata_json: null,
    ...changes
  }
}

/** Kernel in this process with the plugin and a database file; `null`: without the plugin database. */
export async function open(t: Test, settings: object = {}, file: string | null = 'store.db'): Promise<World> {
  let records: Publications | undefined
  let store: DatabaseStore | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { publications },
    optional: { store: databaseStore },
    activate(_ctx, deps) {
      records = deps.publications
      store = deps.store
    }
  })
  const plugins: Plugin[] = file === null ? [plugin, probe] : [database, plugin, probe]
  const kernel = await testKernel(plugins, {
    settings: { publication: settings, database: file === null ? {} : { path: file } }
  })
  t.teardown(() => kernel.close())
  return { kernel, records: records as Records, store: store as DatabaseStore }
}

export function databaseFile(kernel: TestKernel): string {
  return join(kernel.root, 'store.db')
}
