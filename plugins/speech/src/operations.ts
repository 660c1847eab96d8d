import { randomUUID } from 'node:crypto'
import { speechErrors } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { pluginErrors } from './errors.ts'
import { transcriptBody } from './http/bodies.ts'
import { languageHint } from './language-hint.ts'
import type { ModelDownload } from './model-download.ts'
import { type StatusParts, statusOf } from './status.ts'
import type { Transcriber } from './transcriber.ts'
import type { Tunables } from './tunables.ts'

const { SPP_DOWNLOAD_FAILED } = pluginErrors.specs
/** Six hours, because large models take long on slow connections. */
const DOWNLOAD_TIMEOUT_MS = 6 * 3_600_000

export const speechTranscribe = defineOperation({
  id: 'speech.transcribe',
  summary: 'Transcribe a recording of the workspace',
  input: t.object({
    path: t.string({ minLength: 1, description: 'Path of a recording or a text file, relative to the workspace.' }),
    language_hint: t.optional(
      t.string({
        description: 'Spoken language, such as en. Default: the setting language, else detected by the model.'
      })
    )
  }),
  output: t.object({
    correlation_id: t.string(),
    path: t.string(),
    raw_text: t.string({ description: 'The recognised text.' }),
    refined_text: t.string({ description: 'The recognised text, refined by the rules and the lexicon.' }),
    text: t.string({ description: 'Same as refined_text.' }),
    confidence: t.number({ minimum: 0, maximum: 1 }),
    n_best: t.optional(t.array(t.string(), { description: 'Alternative texts, best first, if there are several.' })),
    language: t.nullable(t.string()),
    duration_ms: t.nullable(t.integer()),
    clarification_recommended: t.boolean({
      description: 'True if the caller should confirm the text before acting on it.'
    })
  }),
  errors: { ...speechErrors.specs },
  effect: 'read',
  // The deadlines are settings of this plugin.
  timeoutMs: 0,
  expose: {
    mcp: {
      name: 'svc_oratio_transcribe',
      toolsets: ['speech'],
      use: 'Turns an audio file of the project into text. Readiness: svc_oratio_status.'
    },
    rpc: true,
    cli: { command: 'speech transcribe', args: ['path'], view: { text: 'text' } }
  }
})

export const speechStatus = defineOperation({
  id: 'speech.status',
  summary: 'Check whether speech recognition is ready',
  input: t.object({}),
  output: t.object({
    status: t.enum(['ready', 'no_model', 'unavailable']),
    summary: t.string(),
    model: t.string(),
    missing: t.array(t.string(), { description: 'Missing files of the model.' })
  }),
  effect: 'read',
  expose: {
    mcp: {
      name: 'svc_oratio_status',
      toolsets: ['speech'],
      use: 'Call it before svc_oratio_transcribe: it says which model or program is missing.'
    },
    rpc: true,
    cli: { command: 'speech status', view: { text: 'summary' } }
  }
})

export const speechDownload = defineOperation({
  id: 'speech.download',
  summary: 'Download a speech model from a hub',
  input: t.object({
    model: t.optional(t.string({ pattern: '^[^/]+/[^/]+$', description: 'OWNER/NAME. Default: the configured model.' }))
  }),
  output: t.object({
    folder: t.string(),
    bytes: t.integer({ description: 'Downloaded bytes.' }),
    files: t.array(t.string()),
    text: t.string()
  }),
  errors: { SPP_DOWNLOAD_FAILED },
  effect: 'write',
  timeoutMs: DOWNLOAD_TIMEOUT_MS,
  concurrency: 1,
  expose: { rpc: true, cli: { command: 'speech download', args: ['model'], view: { text: 'text' } } }
})

export function transcribeHandler(transcriber: Transcriber, tunables: Tunables): Handler<typeof speechTranscribe> {
  return async ({ path, language_hint }, call) => {
    const language = languageHint(language_hint)
    const options = { signal: call.signal, ...(language === null ? {} : { language }) }
    const transcript = await transcriber.transcribe({ kind: 'file', path }, options)
    const { n_best, ...body } = transcriptBody(call.requestId === '' ? randomUUID() : call.requestId, path, transcript)
    return {
      ...body,
      ...(n_best === undefined ? {} : { n_best: [...n_best] }),
      language: transcript.language,
      duration_ms: transcript.durationMs,
      clarification_recommended: transcript.confidence < tunables.tool_route_min_confidence
    }
  }
}

export function statusHandler(parts: StatusParts): Handler<typeof speechStatus> {
  return async () => {
    const { status, summary, model, missing } = await statusOf(parts)
    return { status, summary, model, missing: [...missing] }
  }
}

export function downloadHandler(download: ModelDownload): Handler<typeof speechDownload> {
  return async ({ model }, call) => {
    const progress = (done: number, total: number, file: string) => call.progress(done, total, file)
    const { folder, bytes, files } = await download.fetch(model, call.signal, progress)
    const text = `${folder} contains ${files.length} files (${bytes} bytes were downloaded)`
    return { folder, bytes, files: [...files], text }
  }
}
