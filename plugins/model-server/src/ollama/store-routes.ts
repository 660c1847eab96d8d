import { t } from '@svc/plugin-sdk'
import type { FastifyInstance } from 'fastify'
import { bodyReader, invalid } from '../body-reader.ts'
import type { PullEvent } from '../pull/progress.ts'
import { replySignal, sendStream } from '../stream-reply.ts'
import { unsupported } from '../unsupported-fields.ts'
import { contextOf, toWireError } from '../wire-error.ts'
import type { WireServices } from '../wire-services.ts'
import { readCreateRequest } from './create-request.ts'
import { line } from './reply.ts'

const open = { additionalProperties: true }
const named = { model: t.optional(t.string()), name: t.optional(t.string()) }
const readPullBody = bodyReader(
  t.object({ ...named, stream: t.optional(t.boolean()), insecure: t.optional(t.boolean()) }, open)
)
const readDeleteBody = bodyReader(t.object(named, open))
const readCopyBody = bodyReader(t.object({ source: t.string(), destination: t.string() }, open))

type Row = Readonly<Record<string, unknown>>

/** Adds the routes that change which models there are: `/api/pull`, `/api/copy`, `/api/create`, `/api/delete`. */
export function storeRoutes(scope: FastifyInstance, services: WireServices): void {
  const { store, log } = services

  scope.post('/api/pull', async (request, reply) => {
    const { model, name, stream = true, insecure = false } = readPullBody(request.body)
    const asked = nameOf(model ?? name)
    if (insecure) throw unsupported('insecure', 'models are only pulled over https')
    const signal = replySignal(reply)
    if (!stream) {
      await store.pull(asked, signal, () => undefined)
      return { status: 'success' }
    }
    const rows = pullRows(onEvent => store.pull(asked, signal, onEvent))
    // Errors before the first row get their own status.
    const first = await rows.next()
    const lines = async function* () {
      try {
        if (first.done !== true) yield line(first.value)
        for await (const row of rows) yield line(row)
      } catch (error) {
        yield line({ error: toWireError(error, contextOf(request, log)).message })
      }
    }
    return sendStream(reply, 'application/x-ndjson', lines(), services.stallMs())
  })

  scope.post('/api/copy', async (request, reply) => {
    const { source, destination } = readCopyBody(request.body)
    await store.copy(nameOf(source), nameOf(destination))
    return reply.send()
  })

  scope.post('/api/create', async (request, reply) => {
    const { model, name, from, defaults, stream } = readCreateRequest(request.body)
    await store.create(nameOf(model ?? name), from, defaults)
    if (!stream) return { status: 'success' }
    const rows = ['reading the model', 'writing the defaults', 'success'].map(status => line({ status }))
    return reply.type('application/x-ndjson').send(rows.join(''))
  })

  scope.delete('/api/delete', async (request, reply) => {
    const { model, name } = readDeleteBody(request.body)
    await store.remove(nameOf(model ?? name))
    return reply.send()
  })
}

function nameOf(name: string | undefined): string {
  if (name === undefined || name === '') throw invalid(`'model' must be the name of a model`, 'model')
  return name
}

/** Yields the rows of a pull as they happen; the last one is `success`. Throws the error of the pull. */
async function* pullRows(pull: (onEvent: (event: PullEvent) => void) => Promise<unknown>): AsyncGenerator<Row, void> {
  // A client that reads slowly gets the latest row of each kind, so the queue stays short.
  const waiting = new Map<string, Row>()
  let wake: () => void = () => undefined
  let ended = false
  const running = pull(event => {
    const row = rowOf(event)
    if (row === null) return
    waiting.set(String(row.status), row)
    wake()
  }).finally(() => {
    ended = true
    wake()
  })
  // The error is thrown below.
  running.catch(() => undefined)
  for (;;) {
    for (const [status, row] of waiting) {
      waiting.delete(status)
      yield row
    }
    if (ended) break
    await new Promise<void>(resolve => {
      wake = resolve
      if (waiting.size > 0 || ended) resolve()
    })
  }
  await running
  yield { status: 'success' }
}

function rowOf({ status, file, digest, completed, total }: PullEvent): Row | null {
  if (status === 'planning') return { status: 'pulling manifest' }
  if (status === 'done') return null
  const shown = digest?.startsWith('sha256:') === true ? digest.slice('sha256:'.length, 'sha256:'.length + 12) : file
  return {
    status: `pulling ${shown}`,
    ...(digest === undefined ? {} : { digest }),
    completed,
    ...(total === undefined ? {} : { total })
  }
}
