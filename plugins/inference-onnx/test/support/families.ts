import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { elementCount } from '#ort'
import { readSafetensors } from '#root'
import { seededRandom } from '#sampling'
import { TensorReader } from '#weights'
import { fixtures, temporaryFolder } from './models.ts'
import { type Source, safetensors } from './safetensors.ts'

export const families = [
  'llama3',
  'mistral',
  'qwen2',
  'qwen3',
  'qwen3_5',
  'gemma2',
  'gemma3',
  'phi3',
  'phi3-longrope'
] as const

export interface FamilyPrompt {
  readonly name: string
  /** Load option for which the reference is valid; null for the full context. */
  readonly maxContext: number | null
  readonly tokens: readonly number[]
  readonly positions: readonly number[]
  readonly greedy: readonly number[]
  /** `[positions][vocabulary]` */
  readonly logits: readonly Float32Array[]
}

/** Reads the outputs of the reference implementation for a family's fixture. */
export async function readFamily(name: string): Promise<readonly FamilyPrompt[]> {
  const folder = join(fixtures, 'families', name)
  const { prompts } = JSON.parse(await readFile(join(folder, 'expected.json'), 'utf8'))
  const { vocab_size } = JSON.parse(await readFile(join(folder, 'config.json'), 'utf8'))
  const values = new Float32Array(new Uint8Array(await readFile(join(folder, 'logits.bin'))).buffer)
  let row = 0
  return prompts.map((prompt: FamilyPrompt) => ({
    ...prompt,
    logits: prompt.positions.map(() => values.subarray(row * vocab_size, ++row * vocab_size))
  }))
}

export interface Change {
  /** Size of the vocabulary; the rows after the fixture's own are random. */
  readonly vocabulary?: number
  /** Element type of the weights; F32 is used in place, BF16 is packed. */
  readonly dtype?: 'F32' | 'BF16'
  readonly config?: (config: Record<string, any>) => Record<string, any>
  readonly tensorName?: (name: string) => string
}

/** Creates a run directory from a family's fixture. */
export async function familyDirectory(
  t: Parameters<typeof temporaryFolder>[0],
  name: string,
  { dtype = 'BF16', config = same => same, tensorName = same => same, vocabulary }: Change = {}
): Promise<string> {
  const source = join(fixtures, 'families', name)
  const folder = join(await temporaryFolder(t), name)
  await mkdir(folder)
  await copyFile(join(fixtures, 'llama-tiny-bf16', 'tokenizer.json'), join(folder, 'tokenizer.json'))
  const document = JSON.parse(await readFile(join(source, 'config.json'), 'utf8'))
  await writeFile(
    join(folder, 'config.json'),
    JSON.stringify(config(vocabulary === undefined ? document : { ...document, vocab_size: vocabulary }))
  )
  const { tensors } = await readSafetensors(join(source, 'model.safetensors'))
  const reader = new TensorReader()
  const rewritten: Record<string, Source> = {}
  const random = seededRandom(1)
  for (const entry of tensors.values()) {
    let wide = new Float32Array(elementCount(entry.shape))
    let { shape } = entry
    await reader.read(entry, 0, wide)
    if (vocabulary !== undefined && /embed_tokens|lm_head/.test(entry.name)) {
      const own = wide
      shape = [vocabulary, shape[1] as number]
      wide = Float32Array.from({ length: elementCount(shape) }, (_, i) => own[i] ?? random() * 0.2 - 0.1)
    }
    const data = dtype === 'F32' ? wide : Uint16Array.from(new Uint32Array(wide.buffer), bits => bits >>> 16)
    rewritten[tensorName(entry.name)] = { dtype, shape, data: new Uint8Array(data.buffer) }
  }
  await reader.close()
  await writeFile(join(folder, 'model.safetensors'), safetensors(rewritten))
  return folder
}
