import { WireFailure } from '@svc/contracts'
import { failureOf } from '../wires/wire-failure.ts'

/** Where and how a provider computes embeddings. */
export interface EmbeddingTarget {
  readonly format: 'openai' | 'ollama' | 'huggingface'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly model: string
}

export interface EmbeddingAnswer {
  readonly rows: readonly (readonly number[])[]
  /** Tokens that the provider counted; 0 if it counts none. */
  readonly tokens: number
  /** US dollars; null if the provider reports none. */
  readonly costUsd: number | null
}

/** Maximum bytes of an answer. */
const MAX_BYTES = 67_108_864
/**
 * Characters of a text for servers that cannot cut it: fewer than the 8,192 tokens of OpenAI's models, except in texts
 * with less than three characters a token.
 */
const MAX_CHARACTERS = 24_000

/** Computes vectors of a few texts. Throws `WireFailure`, also for an invalid answer, and the errors of `fetch`. */
export async function requestEmbeddings(
  target: EmbeddingTarget,
  texts: readonly string[],
  truncate: boolean,
  signal: AbortSignal
): Promise<EmbeddingAnswer> {
  const response = await fetch(target.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...target.headers },
    body: JSON.stringify(bodyOf(target, texts, truncate)),
    // A redirect would send the key and the texts to another server.
    redirect: 'error',
    signal
  })
  if (!response.ok) throw await failureOf(response)
  const answer = answerOf(target, await readJson(response))
  const [{ length: size } = []] = answer.rows
  const isValid = answer.rows.length === texts.length && answer.rows.every(row => row.length === size)
  if (isValid && size !== 0) return answer
  throw new WireFailure(
    502,
    `the answer contains ${answer.rows.length} vectors for ${texts.length} texts, or unequal ones`
  )
}

function bodyOf({ format, model }: EmbeddingTarget, texts: readonly string[], truncate: boolean): object {
  if (format === 'huggingface') return { inputs: texts, truncate }
  if (format === 'ollama') return { model, input: texts, truncate }
  const input = truncate ? texts.map(text => text.slice(0, MAX_CHARACTERS)) : texts
  return { model, input, encoding_format: 'float' }
}

interface OllamaFields {
  readonly embeddings?: unknown
  readonly prompt_eval_count?: unknown
}

interface OpenAiFields {
  readonly data?: unknown
  readonly usage?: { readonly total_tokens?: unknown; readonly cost?: unknown } | null
}

function answerOf({ format }: EmbeddingTarget, document: unknown): EmbeddingAnswer {
  if (format === 'huggingface') return { rows: rowsOf(document), tokens: 0, costUsd: null }
  const fields = (document ?? {}) as OpenAiFields & OllamaFields
  if (format === 'ollama')
    return { rows: rowsOf(fields.embeddings), tokens: count(fields.prompt_eval_count), costUsd: null }
  const data: unknown[] = Array.isArray(fields.data) ? [...fields.data] : []
  const indexOf = (each: unknown) => Number((each as { index?: unknown } | null)?.index ?? 0)
  data.sort((a, b) => indexOf(a) - indexOf(b))
  const { usage } = fields
  const cost = usage?.cost
  return {
    rows: rowsOf(data.map(each => (each as { embedding?: unknown } | null)?.embedding)),
    tokens: count(usage?.total_tokens),
    costUsd: isCost(cost) ? cost : null
  }
}

function rowsOf(value: unknown): readonly (readonly number[])[] {
  // Vectors are kept as float32.
  const isComponent = (each: unknown) => typeof each === 'number' && Number.isFinite(Math.fround(each))
  const isRow = (row: unknown): row is number[] => Array.isArray(row) && row.every(isComponent)
  if (Array.isArray(value) && value.every(isRow)) return value
  throw new WireFailure(502, 'the answer contains no list of vectors: the model may not compute embeddings of texts')
}

function count(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0
}

/** JSON may contain numbers that are too large for the type: they become infinite. */
function isCost(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

async function readJson(response: Response): Promise<unknown> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of response.body ?? []) {
    bytes += part.byteLength
    if (bytes > MAX_BYTES) throw new WireFailure(502, `the answer has more than ${MAX_BYTES} bytes`)
    parts.push(part)
  }
  try {
    return JSON.parse(Buffer.concat(parts).toString('utf8'))
  } catch {
    throw new WireFailure(502, 'the answer is not JSON')
  }
}
