import type { AddressInfo } from 'node:net'
import { NO_MODEL_HOOKS } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import Fastify from 'fastify'
import type { Test } from 'tap'
import {
  Completions,
  Grammars,
  type Limits,
  MemoryResponses,
  type ModelChoice,
  type ModelChoices,
  modelServerRoutes,
  RequestTaps,
  ServedModel,
  UnknownModels,
  type WireServices
} from '#root'
import { ToyModel, type ToyOptions } from './toy-engine.ts'

export interface ServeOptions extends ToyOptions, Partial<Limits>, Partial<Omit<WireServices, 'stallMs'>> {
  /** Answers that the toy model generates concurrently; default 1. */
  readonly slots?: number
  readonly stallMs?: number
  /** State of the model; default: ready. */
  readonly state?: ServedModel['state']
}

export interface Serving {
  readonly url: string
  readonly port: number
  readonly model: ToyModel
  readonly served: ServedModel
  readonly completions: Completions
  /** Log lines of level error. */
  readonly errors: string[]
  readonly warnings: string[]
  /** Recorded error codes. */
  readonly codes: string[]
  /** Field `request_id` of each warning and error; every request has the id t-1. */
  readonly requestIds: unknown[]
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>
}

const NO_STORE: WireServices['store'] = {
  pull: () => Promise.reject(new Error('no store')),
  copy: () => Promise.reject(new Error('no store')),
  create: () => Promise.reject(new Error('no store')),
  remove: () => Promise.reject(new Error('no store'))
}

function onlyModel(primary: ModelChoice): ModelChoices {
  return {
    primary,
    has: name => primary.served.has(name),
    slots: async () => [primary],
    slot: async () => primary,
    choose: async () => ({ ...primary, loadNs: 0 })
  }
}

/** Serves the routes on a real socket with the toy engine, until the test ends. */
export async function serve(t: Test, options: ServeOptions = {}): Promise<Serving> {
  const { slots = 1, queue = 8, maxTokens = 64, temperature = 0, timeoutMs = 0, stallMs = 60_000, ...rest } = options
  const model = new ToyModel(options, { slots })
  const served = new ServedModel('toy', '/models/toy')
  served.state = options.state ?? { status: 'ready', model, modifiedAt: new Date('2026-01-02T03:04:05Z') }
  const completions = new Completions(served, () => ({ queue, maxTokens, temperature, timeoutMs }))
  const errors: string[] = []
  const warnings: string[] = []
  const codes: string[] = []
  const requestIds: unknown[] = []
  const log: Logger = {
    debug: () => undefined,
    info: () => undefined,
    warn: (message, fields) => {
      warnings.push(message)
      requestIds.push(fields?.request_id)
    },
    error: (message, fields) => {
      errors.push(message)
      requestIds.push(fields?.request_id)
    }
  }
  const responses = new MemoryResponses()
  const use = async () => ({ ...served.ready(), loadNs: 0, release: () => undefined })
  const app = Fastify({ forceCloseConnections: true })
  const recordError = (code: string): void => void codes.push(code)
  app.decorateRequest('caller', { getter: () => ({ requestId: 't-1', recordError }) })
  await modelServerRoutes(app, {
    models: onlyModel({ served, weights: { use, unload: async () => undefined, expiresAt: null }, completions }),
    store: NO_STORE,
    grammars: new Grammars(),
    responses: () => responses,
    embedder: null,
    reranker: null,
    log,
    taps: (_headers, { name }) => new RequestTaps(NO_MODEL_HOOKS, name),
    unknownModels: new UnknownModels(log),
    version: '1.2.3',
    host: '127.0.0.1',
    apiKey: undefined,
    maxBodyBytes: 65_536,
    stallMs: () => stallMs,
    ...rest
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const { port } = app.server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const post: Serving['post'] = (path, body, headers = {}) =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body)
    })
  return { url, port, model, served, completions, errors, warnings, codes, requestIds, post }
}
