import { join } from 'node:path'
import {
  databaseStore,
  type InferenceChatEvent,
  type InferenceChatRequest,
  type InferenceClient,
  inferenceClient,
  type PrimaryDatabase
} from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import { type Fake, type TestKernel, testKernel } from '@svc/plugin-sdk/testing'
import type { Test } from 'tap'
import '../../database/test/built-worker.ts'
import database from '@svc/plugin-database'
import client from '@svc/plugin-inference-client'
import providers from '#plugin'

/** Address at which nothing listens. */
export const NOWHERE = 'http://127.0.0.1:9'

export interface World {
  readonly kernel: TestKernel
  readonly client: InferenceClient
  readonly store: PrimaryDatabase
  call(id: string, input?: object): Promise<any>
  /** Returns the answer's text and its last event. Throws the errors of the client. */
  ask(request?: Partial<InferenceChatRequest>): Promise<Answer>
}

export interface Answer {
  readonly text: string
  readonly events: readonly InferenceChatEvent[]
  readonly done: Extract<InferenceChatEvent, { type: 'done' }>
}

export interface WorldOptions {
  /** Base URL of the local server. Default: nothing listens. */
  readonly local?: string
  readonly settings?: object
  readonly plugins?: readonly Plugin[]
  readonly services?: readonly Fake[]
  /** Files of the folder with models.toml and catalog.json. */
  readonly files?: Readonly<Record<string, string>>
}

/** Opens the plugin with the inference client and a database in the real kernel. */
export async function openWorld(
  t: Test,
  { local = NOWHERE, settings = {}, plugins = [], services = [], files: content = {} }: WorldOptions = {}
): Promise<World> {
  let found: { readonly client: InferenceClient; readonly store: PrimaryDatabase } | undefined
  const spy = definePlugin({
    name: 'spy',
    requires: { client: inferenceClient, store: databaseStore },
    activate(_ctx, deps) {
      found = deps
    }
  })
  const folder = t.testdir(content)
  const files = { models_file: join(folder, 'models.toml'), catalog_cache: join(folder, 'catalog.json') }
  const kernel = await testKernel([database, client, providers, spy, ...plugins] as Plugin[], {
    services,
    settings: { 'inference-client': { url: local, model: 'toy' }, providers: { ...files, ...settings } }
  })
  t.teardown(() => kernel.close())
  if (found === undefined) throw new Error('the services were not provided')
  const world = found
  return {
    ...world,
    kernel,
    call: (id, input = {}) => kernel.callById(`models.${id}`, input),
    ask: async request => {
      const events: InferenceChatEvent[] = []
      for await (const event of world.client.chat({ messages: [{ role: 'user', content: 'hello' }], ...request })) {
        events.push(event)
      }
      const text = events.map(event => (event.type === 'text' ? event.text : '')).join('')
      return { text, events, done: events.at(-1) as Answer['done'] }
    }
  }
}
