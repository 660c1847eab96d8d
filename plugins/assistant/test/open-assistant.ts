import type { ServerResponse } from 'node:http'
import {
  databaseStore,
  type Orchestrator,
  orchestrator,
  type PrimaryDatabase,
  type Transcripts,
  transcripts
} from '@svc/contracts'
import { definePlugin, type Plugin, ref } from '@svc/plugin-sdk'
import { type TestKernel, testKernel } from '@svc/plugin-sdk/testing'
import type { Test } from 'tap'
import '../../database/test/built-worker.ts'
import compiler from '@svc/plugin-compiler'
import database from '@svc/plugin-database'
import inference from '@svc/plugin-inference-client'
import orchestratorPlugin from '@svc/plugin-orchestrator'
import providers from '@svc/plugin-providers'
import questioning from '@svc/plugin-questioning'
import search from '@svc/plugin-search'
import sessions from '@svc/plugin-sessions'
import web from '@svc/plugin-web'
import assistant from '#plugin'
import { type FakeOptions, type FakeServer, fakeServer } from '../../inference-client/test/fake-server.ts'

export interface OpenAssistant {
  readonly kernel: TestKernel
  readonly server: FakeServer
  readonly orchestrator: Orchestrator
  readonly transcripts: Transcripts
  /** Undefined without a database. */
  readonly store: PrimaryDatabase | undefined
  /** Returns the conversations sent to the model, in order. */
  requestMessages(): { role: string; content: string }[][]
}

export interface OpenOptions {
  readonly settings?: object
  readonly database?: boolean
  readonly server?: FakeOptions
  /** Answers of the model, one per request; the last one is repeated. */
  readonly answers?: readonly string[]
  /** Settings of the orchestrator. */
  readonly orchestrator?: object
  /** Settings of the plugin `providers`, which is absent without them. */
  readonly providers?: object
}

/** Opens the plugin with its real dependencies and a scripted model server on a real socket. */
export async function openAssistant(t: Test, options: OpenOptions = {}): Promise<OpenAssistant> {
  const { answers = ['all right'], settings = {} } = options
  const server = await fakeServer(t, { chat: scripted(answers), ...options.server })
  let held: { orchestrator: { current: Orchestrator }; transcripts: { current: Transcripts } } | undefined
  let store: { readonly current: PrimaryDatabase } | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { orchestrator: ref(orchestrator), transcripts: ref(transcripts) },
    optional: { store: ref(databaseStore) },
    activate(_ctx, deps) {
      held = deps
      store = deps.store
    }
  })
  const withDatabase = options.database ?? true
  const kernel = await testKernel(
    [
      ...(withDatabase ? [database] : []),
      orchestratorPlugin,
      sessions,
      questioning,
      search,
      ...(options.providers === undefined ? [] : [providers]),
      inference,
      web,
      compiler,
      assistant,
      probe
    ] as Plugin[],
    {
      settings: {
        assistant: settings,
        ...(options.orchestrator === undefined ? {} : { orchestrator: options.orchestrator }),
        'inference-client': { url: server.url, model: 'toy' },
        ...(options.providers === undefined ? {} : { providers: options.providers })
      }
    }
  )
  t.teardown(() => kernel.close())
  return {
    kernel,
    server,
    get orchestrator() {
      return held!.orchestrator.current
    },
    get transcripts() {
      return held!.transcripts.current
    },
    get store() {
      return withDatabase ? store!.current : undefined
    },
    requestMessages: () =>
      server.seen
        .filter(({ path }) => path === '/api/chat')
        .map(({ body }) => body.messages as { role: string; content: string }[])
  }
}

/** Returns a chat handler in Ollama's format that gives one answer per request. */
export function scripted(answers: readonly string[]): NonNullable<FakeOptions['chat']> {
  let next = 0
  return (body, response) => {
    const answer = answers[Math.min(next++, answers.length - 1)] ?? ''
    streamReply(body, response, answer)
  }
}

export function streamReply(body: Record<string, unknown>, response: ServerResponse, answer: string): void {
  const row = (value: object) => void response.write(`${JSON.stringify({ model: body.model, ...value })}\n`)
  for (const content of answer.split(/(?<= )/)) row({ message: { role: 'assistant', content }, done: false })
  const counts = { prompt_eval_count: 11, eval_count: 5, prompt_eval_duration: 2e6, eval_duration: 6e6 }
  row({ message: { role: 'assistant', content: '' }, done: true, done_reason: 'stop', ...counts })
  response.end()
}
