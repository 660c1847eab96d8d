import { inferenceErrors } from '../errors.ts'
import type { TensorEntry } from '../safetensors.ts'
import { ggufConfiguration } from './configuration.ts'
import { type GgufFile, readGguf } from './read-gguf.ts'
import { checkpointTensors } from './tensors.ts'
import { ggufTokenizer } from './tokenizer.ts'

/** Parts of a checkpoint folder, from a GGUF model. */
export interface GgufModel {
  /** First file, which contains the metadata. */
  readonly file: string
  /** Configuration in the form of `config.json`, with the end tokens. */
  readonly configuration: Record<string, unknown>
  /** Tokenizer in the form of `tokenizer.json` and `tokenizer_config.json`. */
  readonly tokenizer: Record<string, unknown>
  readonly tokenizerConfiguration: Record<string, unknown>
  readonly tensors: ReadonlyMap<string, TensorEntry>
}

/** Reads the files of a GGUF model, except the weight data. Throws `INF_RUN_DIR_*`, `INF_ARCHITECTURE_UNSUPPORTED` or
 * `INF_TOKENIZER_UNSUPPORTED`, naming the file. */
export async function readGgufModel(files: readonly string[]): Promise<GgufModel> {
  const parts: GgufFile[] = []
  for (const file of files) parts.push(await readGguf(file))
  const [first] = parts as [GgufFile]
  const whole = { ...first, tensors: joinParts(parts) }
  const tokenizer = await ggufTokenizer(first.path, first.metadata)
  const { configuration, layout, shape } = await ggufConfiguration(whole, tokenizer.vocabularySize)
  return {
    file: first.path,
    configuration: { ...configuration, eos_token_id: tokenizer.endTokens },
    tokenizer: tokenizer.definition,
    tokenizerConfiguration: tokenizer.configuration,
    tensors: checkpointTensors(first.path, whole.tensors, layout, shape)
  }
}

function joinParts(parts: readonly GgufFile[]): ReadonlyMap<string, TensorEntry> {
  const tensors = new Map<string, TensorEntry>()
  for (const [index, part] of parts.entries()) {
    checkPart(part, index, parts.length)
    for (const [name, entry] of part.tensors) {
      const other = tensors.get(name)
      if (other !== undefined) throw wrongPart(part, `tensor ${JSON.stringify(name)} is also in ${other.file}`)
      tensors.set(name, entry)
    }
  }
  return tensors
}

/** Throws if metadata says that the file is another part, or a part of another set. */
function checkPart(part: GgufFile, index: number, count: number): void {
  const [number, total] = [part.metadata.get('split.no') ?? 0, part.metadata.get('split.count') ?? 0]
  if (total === 0 ? count === 1 : total === count && number === index) return
  const found = total === 0 ? 'not part of a set' : `part ${Number(number) + 1} of ${total}`
  throw wrongPart(part, `it is ${found}, but its name says part ${index + 1} of ${count}`)
}

function wrongPart({ path }: GgufFile, reason: string) {
  return inferenceErrors.create('INF_RUN_DIR_MALFORMED', `${path} does not belong to this model: ${reason}`, {
    at: { file: path },
    data: { file: path, offset: 0 },
    hint: 'Download all parts of the model again, under their own names.'
  })
}
