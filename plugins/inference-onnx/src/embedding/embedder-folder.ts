import { join } from 'node:path'
import { ConfigFields } from '../config-fields.ts'
import { exists, readJsonObject, readOptionalJsonObject, requireFolder } from '../files.ts'
import type { TensorEntry } from '../safetensors.ts'
import { readShards } from '../shards.ts'
import { NO_PROMPTS, type RolePrompts } from './embedder.ts'
import { readModules, type SentenceModules } from './pooling.ts'
import { STATIC_NAMES } from './static.ts'

/** Longest `model_max_length` that is a limit: larger numbers mean that there is none. */
const MAX_LENGTH = 1e9

/** Contents of a folder with an embedding model or a reranker, except the weights. */
export interface EmbedderFolder {
  readonly path: string
  /** Folder with the weights: the same one, or one inside. */
  readonly modelPath: string
  readonly modules: SentenceModules
  /** `config.json`; empty if there is none. */
  readonly config: ConfigFields
  readonly tokenizerFile: string
  readonly tokenizer: Record<string, unknown>
  readonly tokenizerConfiguration: Record<string, unknown> | null
  readonly prompts: RolePrompts
  /** Limit of tokens that the configuration sets; infinity for none. */
  readonly maxTokens: number
  readonly tensors: ReadonlyMap<string, TensorEntry>
  readonly weightFiles: readonly string[]
  /** Path of an exported graph; null if there is none. */
  readonly exported: string | null
  readonly isStatic: boolean
  readonly isReranker: boolean
  /** All files that were read, including those with weights. */
  readonly files: readonly string[]
}

/** Reads a folder. Throws `INF_RUN_DIR_*`, naming the file, and `INF_ARCHITECTURE_UNSUPPORTED`. */
export async function readEmbedderFolder(path: string): Promise<EmbedderFolder> {
  await requireFolder(
    path,
    `The model folder ${path}`,
    'Name the folder that contains config.json, tokenizer.json and the weights of the embedding model.'
  )
  const modules = await readModules(path)
  const modelPath = join(path, modules.modelFolder)
  const files: string[] = [...modules.files]
  const optional = async (folder: string, name: string) => {
    const value = await readOptionalJsonObject(join(folder, name))
    if (value !== null) files.push(join(folder, name))
    return value
  }
  const config = new ConfigFields(join(modelPath, 'config.json'), (await optional(modelPath, 'config.json')) ?? {})
  const tokenizerFile = join(modelPath, 'tokenizer.json')
  const tokenizer = await readJsonObject(tokenizerFile)
  files.push(tokenizerFile)
  const tokenizerConfiguration = await optional(modelPath, 'tokenizer_config.json')
  const sentence = await optional(modelPath, 'sentence_bert_config.json')
  const sentenceFields = new ConfigFields(join(modelPath, 'sentence_bert_config.json'), sentence ?? {})
  if (sentenceFields.boolean('do_lower_case', false)) throw sentenceFields.unsupported('do_lower_case', true, 'false')
  const shards = await readShards(modelPath)
  const tensors = shards?.tensors ?? new Map<string, TensorEntry>()
  const weightFiles = shards?.files ?? []
  const isStatic = STATIC_NAMES.some(name => tensors.has(name))
  const limits = [
    sentenceFields.optionalNumber('max_seq_length'),
    tokenizerConfiguration?.model_max_length,
    isStatic ? config.optionalNumber('max_length') : null
  ]
  const numbers = limits.filter(limit => typeof limit === 'number' && limit >= 1 && limit < MAX_LENGTH) as number[]
  return {
    path,
    modelPath,
    modules,
    config,
    tokenizerFile,
    tokenizer,
    tokenizerConfiguration,
    prompts: readPrompts(
      join(path, 'config_sentence_transformers.json'),
      await optional(path, 'config_sentence_transformers.json')
    ),
    maxTokens: Math.floor(Math.min(...numbers, Number.POSITIVE_INFINITY)),
    tensors,
    weightFiles,
    exported: await findGraph(modelPath),
    isStatic,
    isReranker: readKind(config),
    files: [...files, ...weightFiles]
  }
}

async function findGraph(folder: string): Promise<string | null> {
  for (const name of ['model.onnx', 'onnx/model.onnx']) {
    const file = join(folder, name)
    if (await exists(file)) return file
  }
  return null
}

/** Returns true for a cross-encoder with one label. Throws for a classifier with several. */
function readKind(config: ConfigFields): boolean {
  const { architectures, id2label, num_labels: labels } = config.values
  const [architecture] = Array.isArray(architectures) ? architectures : []
  if (typeof architecture !== 'string' || !architecture.endsWith('ForSequenceClassification')) return false
  const count = typeof id2label === 'object' && id2label !== null ? Object.keys(id2label).length : Number(labels ?? 2)
  if (count !== 1) throw config.unsupported('id2label', count, '1 label, of a reranker')
  return true
}

function readPrompts(file: string, values: Record<string, unknown> | null): RolePrompts {
  if (values === null) return NO_PROMPTS
  const fields = new ConfigFields(file, values)
  const prompts = fields.section('prompts')?.values ?? {}
  const text = (name: string): string => {
    const value = prompts[name] ?? ''
    if (typeof value === 'string') return value
    throw fields.refuse(`prompts.${name}`, `${JSON.stringify(value)} is not a text`)
  }
  const standard = values.default_prompt_name ?? null
  if (standard !== null && (typeof standard !== 'string' || !Object.hasOwn(prompts, standard))) {
    throw fields.refuse('default_prompt_name', `prompts has no ${JSON.stringify(standard)}`)
  }
  return {
    query: text('query'),
    document: text('document') || text('passage'),
    none: standard === null ? '' : text(standard)
  }
}
