import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { GenerateEvent, GenerateRequest, LoadedModel, LoadOptions } from '@svc/contracts'
import { OnnxEngine, type OnnxEngineOptions } from '#root'

export const fixtures = resolve(import.meta.dirname, '../fixtures')
/** Models of this repository. */
export const models = resolve(import.meta.dirname, '../../../model-server/models')

interface Teardown {
  teardown(run: () => Promise<void>): void
}

/** Creates a folder that is removed when the test ends. */
export async function temporaryFolder(t: Teardown): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-inference-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Opens an engine on the CPU with a separate cache. On the CPU, loads start no programs to find GPUs. */
export async function openEngine(t: Teardown, options: Partial<OnnxEngineOptions> = {}): Promise<OnnxEngine> {
  const cacheDirectory = join(await temporaryFolder(t), 'cache')
  const engine = new OnnxEngine({ cacheDirectory, threads: 1, device: 'cpu', ...options })
  t.teardown(() => engine.close())
  return engine
}

/** Loads a fixture; default: `llama-tiny-bf16`. */
export async function loadModel(
  t: Teardown,
  options: Partial<LoadOptions> & { readonly engine?: Partial<OnnxEngineOptions>; readonly name?: string } = {}
): Promise<LoadedModel> {
  const { engine: engineOptions, name = 'llama-tiny-bf16', ...load } = options
  const engine = await openEngine(t, engineOptions)
  const model = await engine.load({ runDirectory: join(fixtures, name), ...load })
  t.teardown(() => model.close())
  return model
}

export interface Expected {
  readonly runDirectory: string
  readonly vocabularySize: number
  readonly specialTokens: Readonly<Record<string, number>>
  readonly chats: readonly {
    readonly name: string
    readonly messages: readonly { readonly role: 'system' | 'user' | 'assistant'; readonly content: string }[]
    readonly rendered: string
    readonly tokens: readonly number[]
  }[]
  readonly tokenizations: readonly {
    readonly text: string
    readonly ordinary: readonly number[]
    readonly special: readonly number[]
    readonly decoded: string
  }[]
  readonly prompts: readonly {
    readonly tokens: readonly number[]
    readonly positions: readonly number[]
    readonly variants: Readonly<
      Partial<Record<'base' | 'adapter', { offset: number; greedy: readonly number[]; greedyText: string }>>
    >
  }[]
}

/** Reads the outputs of the reference implementation for a run directory. */
export async function readExpected(name: string): Promise<Expected & { readonly logitValues: Float32Array }> {
  const expected = JSON.parse(await readFile(join(fixtures, `${name}.expected.json`), 'utf8'))
  const bytes = await readFile(join(fixtures, expected.logits))
  return { ...expected, logitValues: new Float32Array(new Uint8Array(bytes).buffer) }
}

export interface Generated {
  readonly text: string
  readonly tokens: readonly number[]
  readonly pieces: readonly string[]
  readonly done: Extract<GenerateEvent, { type: 'done' }>
}

/** Runs a generation to its end. */
export async function collect(
  events: AsyncIterable<GenerateEvent>,
  onText: (count: number) => void | Promise<void> = () => {}
): Promise<Generated> {
  const pieces: string[] = []
  const tokens: number[] = []
  let done: Generated['done'] | undefined
  for await (const event of events) {
    if (event.type === 'done') {
      done = event
    } else {
      pieces.push(event.text)
      tokens.push(...event.tokens)
      await onText(pieces.length)
    }
  }
  if (done === undefined) throw new Error('the sequence ended without its final event')
  return { text: pieces.join(''), tokens, pieces, done }
}

/** Returns a greedy request that runs to its token limit. */
export function greedy(tokens: readonly number[], maxTokens: number): GenerateRequest {
  return { tokens, maxTokens, ignoreEos: true, sampling: { temperature: 0 } }
}
