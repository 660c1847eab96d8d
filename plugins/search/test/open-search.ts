import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { databaseStore, type PrimaryDatabase, type SearchService, search } from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import { type TestKernel, testKernel } from '@svc/plugin-sdk/testing'
import type { Test } from 'tap'
import '../../database/test/built-worker.ts'
import database from '@svc/plugin-database'
import plugin from '#plugin'

export interface OpenSearch {
  readonly kernel: TestKernel
  readonly service: SearchService
  readonly store: PrimaryDatabase
  /** Writes files of the project, by path. */
  write(files: Readonly<Record<string, string>>): void
}

export interface OpenOptions {
  readonly settings?: object
  readonly plugins?: readonly Plugin[]
}

/** Opens the plugin with the real database in an empty project. Nothing is sent to the web unless the settings say so. */
export async function openSearch(t: Test, { settings = {}, plugins = [] }: OpenOptions = {}): Promise<OpenSearch> {
  let held: { service: SearchService; store: PrimaryDatabase } | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { service: search, store: databaseStore },
    activate(_ctx, deps) {
      held = deps
    }
  })
  const kernel = await testKernel([database, plugin, ...plugins, probe] as Plugin[], {
    settings: { search: { ddg_fallback_disabled: true, ...settings } }
  })
  t.teardown(() => kernel.close())
  if (held === undefined) throw new Error(`search is ${kernel.state('search')}`)
  execFileSync('git', ['init', '-q'], { cwd: kernel.root })
  return {
    kernel,
    ...held,
    write(files) {
      for (const [path, text] of Object.entries(files)) {
        const file = join(kernel.root, path)
        mkdirSync(dirname(file), { recursive: true })
        writeFileSync(file, text)
      }
    }
  }
}
