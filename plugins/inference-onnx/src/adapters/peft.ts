import { join } from 'node:path'
import type { Adapter, LowRankFactors } from '../adapter.ts'
import { readJsonObject } from '../files.ts'
import { readSafetensors, type TensorEntry } from '../safetensors.ts'
import { projectionLabel } from '../weights/tensor-names.ts'
import { invalidAdapter } from './invalid-adapter.ts'
import { ModulePatterns } from './module-patterns.ts'

export const PEFT_CONFIGURATION = 'adapter_config.json'
const PEFT_TENSORS = 'adapter_model.safetensors'

/** Fields that low-rank factors cannot express, each with its meaning. */
const refused: Readonly<Record<string, string>> = {
  use_dora: 'DoRA, which also scales the rows of the weights',
  use_qalora: 'QALoRA',
  use_bdlora: 'block-diagonal LoRA',
  kasa_config: 'KaSA',
  monteclora_config: 'MonteCLoRA',
  arrow_config: 'routing between adapters',
  alora_invocation_tokens: 'activated LoRA, which starts in the middle of a prompt',
  modules_to_save: 'whole modules in addition to the factors',
  trainable_token_indices: 'embeddings of single tokens',
  target_parameters: 'factors of parameters outside linear layers',
  layer_replication: 'a base model with repeated layers',
  fan_in_fan_out: 'weights that are stored transposed',
  lora_bias: 'biases of the factors',
  megatron_config: 'parallel linear layers of Megatron'
}

/** Initialisations that change the base weights, unless the adapter was converted when it was saved. */
const CHANGING_INITIALISATIONS = /^(pissa|olora|corda|loftq|lora_ga)/

interface PeftConfiguration {
  readonly file: string
  readonly rank: number
  readonly alpha: number
  readonly rankStabilised: boolean
  readonly rankPattern: ReadonlyMap<string, number>
  readonly alphaPattern: ReadonlyMap<string, number>
}

/**
 * Reads an adapter in the format of Hugging Face PEFT: https://huggingface.co/docs/peft/developer_guides/checkpoint
 *
 * Throws `INF_ADAPTER_INVALID`, naming the field or tensor, for anything but LoRA of linear layers. Throws
 * `INF_RUN_DIR_*` for missing or damaged files.
 */
export async function readPeftAdapter(folder: string): Promise<Adapter> {
  const file = join(folder, PEFT_CONFIGURATION)
  const value = await readJsonObject(file)
  const patterns = new ModulePatterns(file)
  const configuration = parseConfiguration(file, value, patterns)
  const tensorFile = join(folder, PEFT_TENSORS)
  const { tensors } = await readSafetensors(tensorFile)
  const pairs = pairUp(tensorFile, tensors)
  const paths = [...pairs.keys()]
  checkTargets(file, value.target_modules, paths, patterns)
  const ranks = valuesOf('rank_pattern', configuration.rankPattern, paths, patterns)
  const alphas = valuesOf('alpha_pattern', configuration.alphaPattern, paths, patterns)
  const factors = new Map<string, LowRankFactors>()
  for (const [path, { a, b }] of pairs) {
    const label = projectionLabel(path)
    if (label === null)
      throw invalidAdapter(tensorFile, `${a.name} changes ${path}, which is not a projection of a decoder`)
    if (factors.has(label)) throw invalidAdapter(tensorFile, `${a.name} changes the same weight as another tensor`)
    const own = { rank: ranks.get(path) ?? configuration.rank, alpha: alphas.get(path) ?? configuration.alpha }
    factors.set(label, { label, a, b, scale: scaleOf(tensorFile, { ...configuration, ...own }, a, b) })
  }
  return {
    rank: configuration.rank,
    alpha: configuration.alpha,
    targets: [...new Set([...factors.keys()].map(label => label.replace(/^l\d+\./, '')))],
    factors,
    baseKeys: new Map(),
    files: [tensorFile, file]
  }
}

function parseConfiguration(file: string, value: Record<string, unknown>, patterns: ModulePatterns): PeftConfiguration {
  if (value.peft_type !== 'LORA')
    throw invalidAdapter(file, `peft_type is ${JSON.stringify(value.peft_type)}, not "LORA"`)
  for (const [field, meaning] of Object.entries(refused)) {
    if (!isEmpty(value[field])) throw invalidAdapter(file, `${field} is set: ${meaning} is not supported`)
  }
  const { bias = 'none', init_lora_weights: initialisation } = value
  if (bias !== 'none') throw invalidAdapter(file, `bias is ${JSON.stringify(bias)}: trained biases are not supported`)
  if (typeof initialisation === 'string' && CHANGING_INITIALISATIONS.test(initialisation)) {
    throw invalidAdapter(
      file,
      `init_lora_weights is ${JSON.stringify(initialisation)}, which changes the base weights`,
      'Save the adapter with path_initial_model_for_weight_conversion, which converts it to plain LoRA.'
    )
  }
  const { r, lora_alpha: alpha = 8, use_rslora: rankStabilised = false } = value
  if (!isRank(r)) throw invalidAdapter(file, `r is ${JSON.stringify(r)}, not a whole number above 0`)
  if (!isNumber(alpha)) throw invalidAdapter(file, 'lora_alpha is not a number')
  if (typeof rankStabilised !== 'boolean') throw invalidAdapter(file, 'use_rslora is neither true nor false')
  return {
    file,
    rank: r,
    alpha,
    rankStabilised,
    rankPattern: patternOf(file, 'rank_pattern', value.rank_pattern, isRank, patterns),
    alphaPattern: patternOf(file, 'alpha_pattern', value.alpha_pattern, isNumber, patterns)
  }
}

function patternOf(
  file: string,
  field: string,
  value: unknown,
  isValid: (entry: unknown) => entry is number,
  patterns: ModulePatterns
): ReadonlyMap<string, number> {
  const pattern = new Map<string, number>()
  if (value === undefined || value === null) return pattern
  if (typeof value !== 'object' || Array.isArray(value)) throw invalidAdapter(file, `${field} is not an object`)
  for (const [key, entry] of Object.entries(value)) {
    if (!isValid(entry)) throw invalidAdapter(file, `${field} of ${JSON.stringify(key)} is ${JSON.stringify(entry)}`)
    patterns.compile(field, key)
    pattern.set(key, entry)
  }
  return pattern
}

/** Pairs the factors A and B of each module, by module path. */
function pairUp(
  file: string,
  tensors: ReadonlyMap<string, TensorEntry>
): ReadonlyMap<string, { readonly a: TensorEntry; readonly b: TensorEntry }> {
  const halves = new Map<string, { a?: TensorEntry; b?: TensorEntry }>()
  for (const entry of tensors.values()) {
    const [, path, half] = /^base_model\.model\.(.+)\.lora_(A|B)\.weight$/.exec(entry.name) ?? []
    if (path === undefined) {
      throw invalidAdapter(file, `tensor ${entry.name} is neither lora_A.weight nor lora_B.weight of a module`)
    }
    const pair = halves.get(path) ?? {}
    halves.set(path, pair)
    pair[half === 'A' ? 'a' : 'b'] = entry
  }
  if (halves.size === 0) throw invalidAdapter(file, 'it contains no tensor')
  const pairs = new Map<string, { readonly a: TensorEntry; readonly b: TensorEntry }>()
  for (const [path, { a, b }] of halves) {
    if (a === undefined || b === undefined) {
      throw invalidAdapter(file, `base_model.model.${path}.lora_${a === undefined ? 'A' : 'B'}.weight is missing`)
    }
    pairs.set(path, { a, b })
  }
  return pairs
}

/**
 * Checks that the tensors change only modules in `target_modules`, which may also name modules that the model lacks.
 */
function checkTargets(file: string, targets: unknown, paths: readonly string[], patterns: ModulePatterns): void {
  const refuse = (path: string) =>
    invalidAdapter(file, `target_modules does not name ${path}, which the tensors change`)
  if (targets === undefined || targets === null || targets === 'all-linear') return
  if (typeof targets === 'string') {
    const matching = patterns.test('target_modules', targets, paths)
    const other = paths.find((_, index) => matching[index] !== true)
    if (other !== undefined) throw refuse(other)
    return
  }
  if (!Array.isArray(targets) || !targets.every(target => typeof target === 'string')) {
    throw invalidAdapter(file, 'target_modules is neither a list of names nor a regular expression')
  }
  const names = (path: string, target: string) => path === target || path.endsWith(`.${target}`)
  const other = paths.find(path => !targets.some(target => names(path, target)))
  if (other !== undefined) throw refuse(other)
}

/** `rank` and `alpha`: those of the module. */
function scaleOf(
  tensorFile: string,
  { file, rank, alpha, rankStabilised }: PeftConfiguration,
  a: TensorEntry,
  b: TensorEntry
): number {
  for (const [entry, axis] of [
    [a, 0],
    [b, 1]
  ] as const) {
    if (!['F32', 'F16', 'BF16'].includes(entry.dtype)) {
      throw invalidAdapter(tensorFile, `${entry.name} is ${entry.dtype}, not F32, F16 or BF16`)
    }
    if (entry.shape.length !== 2 || entry.shape[axis] !== rank) {
      throw invalidAdapter(tensorFile, `${entry.name} is [${entry.shape.join(', ')}], but ${file} states rank ${rank}`)
    }
  }
  return alpha / (rankStabilised ? Math.sqrt(rank) : rank)
}

/** Returns the value of the first key that matches the end of each module's path, by path. */
function valuesOf(
  field: string,
  pattern: ReadonlyMap<string, number>,
  paths: readonly string[],
  patterns: ModulePatterns
): ReadonlyMap<string, number> {
  const values = new Map<string, number>()
  for (const [key, value] of pattern) {
    const rest = paths.filter(path => !values.has(path))
    const matching = patterns.test(field, `(.*\\.)?(${key})`, rest)
    for (const [index, path] of rest.entries()) if (matching[index] === true) values.set(path, value)
  }
  return values
}

function isEmpty(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0
  return value === undefined || value === null || value === false
}

function isRank(value: unknown): value is number {
  return isNumber(value) && Number.isSafeInteger(value) && value > 0
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}
